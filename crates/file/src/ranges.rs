//! Half-open ranges of rows, items or slots: ascending, disjoint, none empty.

use std::ops::Range;

/// Ascending, distinct numbers as ranges.
pub(crate) fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}

/// The first `count` numbers of some ranges.
pub(crate) fn first_of(ranges: &[Range<u64>], mut count: u64) -> Vec<Range<u64>> {
    let mut first = Vec::new();
    for range in ranges {
        let len = (range.end - range.start).min(count);
        if len == 0 {
            break;
        }
        first.push(range.start..range.start + len);
        count -= len;
    }
    first
}

/// Takes the first `count` numbers off.
#[cfg(feature = "filter")]
pub(crate) fn drop_first(ranges: &mut Vec<Range<u64>>, mut count: u64) {
    let mut whole = 0;
    for range in ranges.iter_mut() {
        let len = range.end - range.start;
        if len > count {
            range.start += count;
            break;
        }
        count -= len;
        whole += 1;
    }
    ranges.drain(..whole);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(of_numbers([2, 3, 4, 7, 9, 10]), [2..5, 7..8, 9..11]);
        assert_eq!(of_numbers([]), []);
    }

    #[test]
    fn ranges_have_first_numbers() {
        let ranges = [0..3, 5..6, 10..20];
        assert_eq!(first_of(&ranges, 5), [0..3, 5..6, 10..11]);
        assert_eq!(first_of(&ranges, 4), [0..3, 5..6]);
        assert_eq!(first_of(&ranges, 0), []);
        assert_eq!(first_of(&ranges, 99), ranges);
    }

    #[cfg(feature = "filter")]
    #[test]
    fn ranges_lose_their_first_numbers() {
        let mut ranges = vec![0..3, 5..6, 10..20];
        drop_first(&mut ranges, 5);
        assert_eq!(ranges, [11..20]);
        drop_first(&mut ranges, 99);
        assert_eq!(ranges, []);
    }
}
