//! What a predicate can be over a stretch of rows, by what statistics say of its columns: without looking at a value.
//!
//! ```text
//!                                nulls > 0              NULL
//! facts of a column, a test  ──▶ NaNs > 0               what the test is of NaN
//!                                min ≤ other values ≤ max   FALSE, TRUE or both, by where the literals lie
//! ```
//!
//! A stretch whose verdict has no TRUE is passed over; one whose verdict is TRUE alone passes as it is. Bounds need not be
//! values: what lies between them contains all values, and more values make more outcomes only. So that one of them is equal
//! to a bound is nowhere relied on.
//!
//! A bloom filter tells of a single value that it is not there; that it is, is never known.

use std::cmp::Ordering;

use super::bind::{Known, Node, Test};
use super::like::Pattern;
use super::outcomes::Outcomes;
use super::predicate::Comparison;
use crate::stats::{Facts, Value, ZoneFilter};

/// What a predicate can be in rows of which `known` has what is known of each of its columns, in their order.
pub(super) fn verdict(node: &Node, known: &[Known<'_>]) -> Outcomes {
    let of = |column: &usize| known.get(*column).and_then(|known| known.facts);
    match node {
        Node::Constant(value) => Outcomes::of(*value),
        Node::And(parts) => parts.iter().fold(Outcomes::TRUE, |all, part| all.and(verdict(part, known))),
        Node::Or(parts) => parts.iter().fold(Outcomes::FALSE, |any, part| any.or(verdict(part, known))),
        Node::Not(part) => verdict(part, known).not(),
        Node::Test { column, test } => {
            let known = known.get(*column).copied().unwrap_or_default();
            match known.facts {
                Some(facts) => of_test(test, facts, known.filter),
                None => unknown(test, known.filter),
            }
        }
        Node::Columns { op, left, right } => match (of(left), of(right)) {
            (Some(left), Some(right)) => of_columns(*op, left, right),
            (Some(one), None) | (None, Some(one)) if present(one) == 0 => nulls(one),
            _ => Outcomes::ANY,
        },
    }
}

/// What a test can be of values of which nothing is known.
fn unknown(test: &Test, filter: Option<ZoneFilter<'_>>) -> Outcomes {
    match test {
        Test::IsNull => Outcomes::KNOWN,
        Test::Compare(..) | Test::In(_) | Test::Like(_) => {
            // There may be nulls, and NaN, which compares false.
            let open = Span { min: None, max: None };
            Outcomes::NULL.union(Outcomes::FALSE).union(of_ordered(test, &open, filter))
        }
        _ => Outcomes::ANY,
    }
}

/// Values that are not null.
fn present(facts: &Facts) -> u64 {
    facts.values.saturating_sub(facts.nulls)
}

/// What nulls make of every test but IS NULL.
fn nulls(facts: &Facts) -> Outcomes {
    Outcomes::NULL.when(facts.nulls > 0)
}

fn of_test(test: &Test, facts: &Facts, filter: Option<ZoneFilter<'_>>) -> Outcomes {
    let (some_null, some_value) = (facts.nulls > 0, present(facts) > 0);
    if *test == Test::IsNull {
        return Outcomes::TRUE.when(some_null).union(Outcomes::FALSE.when(some_value));
    }
    // NaN compares false with everything and is in no list.
    let of_nan = Outcomes::of(*test == Test::IsNan).when(facts.nans > 0);
    let of_others = of_ordered(test, &Span::of(facts), filter).when(facts.ordered() > 0);
    nulls(facts).union(of_nan).union(of_others)
}

/// What a test can be of values that have an order, all of them in a span.
fn of_ordered(test: &Test, span: &Span<'_>, filter: Option<ZoneFilter<'_>>) -> Outcomes {
    let may_have = |value: &Value| filter.is_none_or(|filter| filter.may_have(value));
    match test {
        Test::Compare(op, with) => {
            let mut orders = span.orders(with);
            orders.equal = orders.equal && may_have(with);
            of_orders(*op, orders)
        }
        Test::IsTrue => of_orders(Comparison::Equal, span.orders(&Value::Bool(true))),
        Test::In(list) if filter.is_some() => {
            let left: Vec<Value> = list.iter().filter(|value| may_have(value)).cloned().collect();
            of_list(&left, span)
        }
        Test::In(list) => of_list(list, span),
        Test::StartsWith(prefix) => of_prefix(prefix, span),
        Test::Like(Pattern::Exact(text)) => {
            let text = Value::Bytes(text.as_bytes().to_vec());
            of_ordered(&Test::Compare(Comparison::Equal, text), span, filter)
        }
        Test::Like(pattern) => of_pattern(pattern, span),
        // Both are told by counts.
        Test::IsNan => Outcomes::FALSE,
        Test::IsNull => Outcomes::KNOWN,
    }
}

/// Two columns: any value of the one beside any of the other.
fn of_columns(op: Comparison, left: &Facts, right: &Facts) -> Outcomes {
    let null = nulls(left).union(nulls(right));
    let some_value = present(left) > 0 && present(right) > 0;
    let of_nan = Outcomes::FALSE.when(some_value && (left.nans > 0 || right.nans > 0));
    let orders = Span::of(left).orders_of(&Span::of(right));
    let of_others = of_orders(op, orders).when(left.ordered() > 0 && right.ordered() > 0);
    null.union(of_nan).union(of_others)
}

/// Where values lie; a side that is not known is open.
struct Span<'a> {
    min: Option<&'a Value>,
    max: Option<&'a Value>,
}

/// How values of a span can stand to others.
#[derive(Debug, Clone, Copy)]
struct Orders {
    less: bool,
    equal: bool,
    greater: bool,
    /// Some may have no order.
    none: bool,
}

impl<'a> Span<'a> {
    fn of(facts: &'a Facts) -> Self {
        Self { min: facts.min.as_ref().map(|b| &b.value), max: facts.max.as_ref().map(|b| &b.value) }
    }

    /// The one value that all are equal to.
    fn single(&self) -> Option<&'a Value> {
        self.min.filter(|min| self.max.is_some_and(|max| min.order(max) == Some(Ordering::Equal)))
    }

    fn orders(&self, with: &Value) -> Orders {
        if with.order(with).is_none() {
            // Nothing has an order with NaN.
            return Orders { less: false, equal: false, greater: false, none: true };
        }
        self.orders_of(&Span { min: Some(with), max: Some(with) })
    }

    fn orders_of(&self, with: &Span<'_>) -> Orders {
        // `None` tells nothing: the side is open, or the bounds cannot be compared.
        let between = |a: Option<&Value>, b: Option<&Value>| a?.order(b?);
        let (low, high) = (between(self.min, with.max), between(self.max, with.min));
        Orders {
            less: low.is_none_or(Ordering::is_lt),
            equal: low.is_none_or(Ordering::is_le) && high.is_none_or(Ordering::is_ge),
            greater: high.is_none_or(Ordering::is_gt),
            none: false,
        }
    }
}

fn of_orders(op: Comparison, orders: Orders) -> Outcomes {
    let (less, equal, greater) = match op {
        Comparison::Equal => (false, true, false),
        Comparison::NotEqual => (true, false, true),
        Comparison::Less => (true, false, false),
        Comparison::LessOrEqual => (true, true, false),
        Comparison::Greater => (false, false, true),
        Comparison::GreaterOrEqual => (false, true, true),
    };
    Outcomes::of(less)
        .when(orders.less)
        .union(Outcomes::of(equal).when(orders.equal))
        .union(Outcomes::of(greater).when(orders.greater))
        .union(Outcomes::FALSE.when(orders.none))
}

/// `list` ascends, each value once, without NaN: the binder sees to it.
fn of_list(list: &[Value], span: &Span<'_>) -> Outcomes {
    let [first, ..] = list else { return Outcomes::FALSE };
    let (Some(min), Some(max)) = (span.min, span.max) else {
        let whole = Span { min: list.first(), max: list.last() };
        return Outcomes::FALSE.union(Outcomes::TRUE.when(span.orders_of(&whole).equal));
    };
    if min.order(first).is_none() || max.order(first).is_none() {
        return Outcomes::KNOWN;
    }
    let from = list.partition_point(|v| v.order(min) == Some(Ordering::Less));
    let to = list.partition_point(|v| v.order(max) != Some(Ordering::Greater));
    let inside = to.saturating_sub(from) as u128;
    let all = num_between(min, max) == Some(inside);
    Outcomes::TRUE.when(inside > 0).union(Outcomes::FALSE.when(!all))
}

/// How many values there are from `min` to `max`, both included, where they can be counted.
fn num_between(min: &Value, max: &Value) -> Option<u128> {
    match (min, max) {
        (Value::Bool(min), Value::Bool(max)) => Some(1 + u128::from(min != max)),
        (Value::Int(min), Value::Int(max)) if min <= max => max.abs_diff(*min).checked_add(1),
        _ => (min.order(max) == Some(Ordering::Equal)).then_some(1),
    }
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn of_prefix(prefix: &[u8], span: &Span<'_>) -> Outcomes {
    let (min, max) = (span.min.and_then(bytes), span.max.and_then(bytes));
    let begins = |value: Option<&[u8]>| value.is_some_and(|v| v.starts_with(prefix));
    // What begins with the prefix comes after it, and before all that is greater without beginning with it.
    let after = min.is_some_and(|min| min > prefix) && !begins(min);
    let before = max.is_some_and(|max| max < prefix);
    // What lies between two texts that begin alike begins like them.
    let all = prefix.is_empty() || begins(min) && begins(max);
    Outcomes::TRUE.when(!after && !before).union(Outcomes::FALSE.when(!all))
}

fn of_pattern(pattern: &Pattern, span: &Span<'_>) -> Outcomes {
    let by_prefix = match pattern {
        Pattern::Exact(text) => {
            return of_orders(Comparison::Equal, span.orders(&Value::Bytes(text.as_bytes().to_vec())));
        }
        Pattern::Prefix(text) => return of_prefix(text.as_bytes(), span),
        Pattern::Suffix(_) | Pattern::Inside(_) => Outcomes::KNOWN,
        Pattern::Steps(steps) => of_prefix(steps.prefix().as_bytes(), span),
    };
    if !by_prefix.has(Outcomes::TRUE) {
        return Outcomes::FALSE;
    }
    let single = span.single().and_then(bytes).and_then(|text| std::str::from_utf8(text).ok());
    single.map_or(Outcomes::KNOWN, |text| Outcomes::of(pattern.matches(text)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use arrow_array::types::Decimal256Type;
    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, Float64Array, Int8Array, PrimitiveArray, RecordBatch,
        StringArray,
    };
    use arrow_buffer::i256;

    use super::*;
    use crate::filter::{Bound, Predicate};
    use crate::stats;

    /// Every stretch of up to `most` of the values, null among them.
    fn stretches<T: Clone>(values: &[T], most: usize) -> Vec<Vec<Option<T>>> {
        let values: Vec<Option<T>> = values.iter().cloned().map(Some).chain([None]).collect();
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..most {
            let longer = |s: &Vec<Option<T>>| {
                let s = s.clone();
                values
                    .iter()
                    .map(move |v| [s.as_slice(), std::slice::from_ref(v)].concat())
                    .collect::<Vec<_>>()
            };
            last = last.iter().flat_map(longer).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// What statistics say of values, as exactly as can be.
    fn facts(values: &[Option<Value>]) -> Facts {
        let is_nan = |v: &&Value| v.order(v).is_none();
        let known = || values.iter().flatten();
        let least = |a: &&Value, b: &&Value| a.order(b).expect("an order");
        let others = || known().filter(|v| !is_nan(v));
        let bound = |value: Option<&Value>| value.map(|v| stats::Bound { value: v.clone(), exact: true });
        Facts {
            values: values.len() as u64,
            nulls: values.iter().filter(|v| v.is_none()).count() as u64,
            nans: known().filter(is_nan).count() as u64,
            min: bound(others().min_by(least)),
            max: bound(others().max_by(least)),
        }
    }

    /// The same with bounds that are farther away, or none.
    fn loosened(facts: &Facts) -> Vec<Facts> {
        let moved = |bound: &Option<stats::Bound>, up: bool| -> Vec<Option<stats::Bound>> {
            let Some(stats::Bound { value, .. }) = bound else { return vec![None] };
            let value = match value {
                Value::Bool(_) => Value::Bool(up),
                Value::Int(v) => Value::Int(if up { v + 1 } else { v - 1 }),
                Value::Wide(v) if up => Value::Wide(*v + i256::ONE),
                Value::Wide(v) => Value::Wide(*v - i256::ONE),
                Value::Float(v) => Value::Float(if up { v + 1.0 } else { v - 1.0 }),
                // Cut after a byte, which is raised for the maximum.
                Value::Bytes(v) if up => match v.first() {
                    None => Value::Bytes(vec![0]),
                    Some(0xff) => return vec![bound.clone(), None],
                    Some(first) => Value::Bytes(vec![first + 1]),
                },
                Value::Bytes(v) => Value::Bytes(v.iter().take(1).copied().collect()),
            };
            vec![bound.clone(), Some(stats::Bound { value, exact: false }), None]
        };
        let (mins, maxs) = (moved(&facts.min, false), moved(&facts.max, true));
        let pairs = mins.iter().flat_map(|min| maxs.iter().map(move |max| (min.clone(), max.clone())));
        pairs.map(|(min, max)| Facts { min, max, ..facts.clone() }).collect()
    }

    /// TRUE, FALSE and NULL as they occur in the rows of a batch.
    fn occurring(bound: &Bound, batch: &RecordBatch) -> Outcomes {
        let opposite =
            Bound { columns: bound.columns.clone(), root: Node::Not(Box::new(bound.root.clone())) };
        let (truth, falsehood) = (bound.evaluate(batch).unwrap(), opposite.evaluate(batch).unwrap());
        (0..batch.num_rows()).fold(Outcomes::NONE, |set, row| {
            set.union(match (truth.value(row), falsehood.value(row)) {
                (true, false) => Outcomes::TRUE,
                (false, true) => Outcomes::FALSE,
                (false, false) => Outcomes::NULL,
                (true, true) => panic!("a row is TRUE and FALSE"),
            })
        })
    }

    /// Stretches that a predicate was asked about, those it was known to be TRUE nowhere, and TRUE everywhere.
    type Sharpness = BTreeMap<String, [usize; 3]>;

    fn check(predicate: &str, columns: &[(&ArrayRef, &[Facts])], sharp: &mut Sharpness) {
        let named =
            ["x", "y"].into_iter().zip(columns).map(|(name, (array, _))| (name, (*array).clone(), true));
        let batch = RecordBatch::try_from_iter_with_nullable(named).unwrap();
        let bound = Predicate::parse(predicate).unwrap().bind(&batch.schema()).unwrap();
        let occurring = occurring(&bound, &batch);
        let none = [None];
        // Each as it is known, more loosely, and not at all.
        let first = columns[0].1.iter().map(Some).chain(none);
        for one in first {
            let second = columns.get(1).map_or(&[] as &[Facts], |c| c.1).iter().map(Some).chain(none);
            for two in second {
                let known = [one, two].map(|facts| Known { facts, filter: None });
                let verdict = verdict(&bound.root, &known);
                assert_eq!(verdict.union(occurring), verdict, "{predicate} of {batch:?} by {one:?}, {two:?}");
                let counts = sharp.entry(predicate.to_owned()).or_default();
                counts[0] += 1;
                counts[1] += usize::from(verdict.excludes_true() && batch.num_rows() > 0);
                counts[2] += usize::from(verdict.is_only_true());
            }
        }
    }

    fn check_all<T: Clone>(
        values: &[T],
        value: impl Fn(&T) -> Value,
        array: impl Fn(&[Option<T>]) -> ArrayRef,
        predicates: &[&str],
    ) -> Sharpness {
        let mut sharp = Sharpness::new();
        for stretch in stretches(values, 3) {
            let known = facts(&stretch.iter().map(|v| v.as_ref().map(&value)).collect::<Vec<_>>());
            for predicate in predicates {
                check(predicate, &[(&array(&stretch), &loosened(&known))], &mut sharp);
            }
        }
        for (predicate, [asked, excluded, whole]) in &sharp {
            println!("{predicate}: of {asked}, {excluded} without TRUE, {whole} of TRUE alone");
            assert!(*excluded > 0 && *whole > 0, "{predicate} is never sharp");
        }
        sharp
    }

    #[test]
    fn what_occurs_in_integers_is_in_the_verdict() {
        check_all(
            &[-3i8, 0, 2, 3],
            |v| Value::Int((*v).into()),
            |s| Arc::new(Int8Array::from(s.to_vec())),
            &[
                "x = 2",
                "x <> 2",
                "x < 2",
                "x <= 2",
                "x > 2",
                "x >= 2",
                "x IN (2, 3)",
                "x NOT IN (2, 3, -7)",
                "x IN (-3, 100)",
                "x BETWEEN 0 AND 2",
                "x NOT BETWEEN 0 AND 2",
                "x IS NULL",
                "x IS NOT NULL",
                "x NOT IN ()",
                "NOT (x < 0 OR x > 2)",
                "x IS NULL OR x >= 2",
                "x > 0 AND x IS NOT NULL",
            ],
        );
    }

    #[test]
    fn what_occurs_in_floats_with_nan_and_zeros_is_in_the_verdict() {
        check_all(
            &[f64::NAN, -0.0, 0.0, 1.5, f64::INFINITY],
            |v| Value::Float(*v),
            |s| Arc::new(Float64Array::from(s.to_vec())),
            &[
                "x = 0",
                "x <> 0",
                "NOT x = 0",
                "x < 1.5",
                "NOT x < 1.5",
                "x <= 0",
                "x >= 1.5",
                "x > -1",
                "x IN (0, 1.5)",
                "x NOT IN (0, 1.5)",
                "x NOT IN (FLOAT 'NaN')",
                "NOT x = FLOAT 'NaN'",
                "NOT x <> FLOAT 'NaN'",
                "is_nan(x)",
                "NOT is_nan(x)",
                "x IS NULL",
            ],
        );
    }

    #[test]
    fn what_occurs_in_texts_is_in_the_verdict() {
        check_all(
            &["", "a", "ab", "abc", "b", "é"],
            |v| Value::Bytes(v.as_bytes().to_vec()),
            |s| Arc::new(StringArray::from(s.to_vec())),
            &[
                "x = 'ab'",
                "x < 'ab'",
                "x IN ('a', 'b')",
                "x LIKE 'ab'",
                "x LIKE 'ab%'",
                "x NOT LIKE 'ab%'",
                "x LIKE '%b'",
                "x LIKE '%b%'",
                "x LIKE 'a_'",
                "x LIKE 'a%_c'",
                "x NOT LIKE 'a_%'",
                "starts_with(x, 'a')",
                "NOT starts_with(x, 'ab')",
                "NOT starts_with(x, 'abcd')",
            ],
        );
    }

    #[test]
    fn what_occurs_in_bytes_is_in_the_verdict() {
        check_all(
            &[&b""[..], b"\xff", b"\xff\xff", b"\xff\x00", b"\x00"],
            |v| Value::Bytes(v.to_vec()),
            |s| Arc::new(BinaryArray::from(s.to_vec())),
            &[
                "x >= X'ff'",
                "x < X'ffff'",
                "starts_with(x, X'ff')",
                "NOT starts_with(x, X'ffff')",
                "x IN (X'', X'00')",
            ],
        );
    }

    #[test]
    fn what_occurs_in_booleans_is_in_the_verdict() {
        check_all(
            &[false, true],
            |v| Value::Bool(*v),
            |s| Arc::new(BooleanArray::from(s.to_vec())),
            &[
                "x",
                "NOT x",
                "x = FALSE",
                "x < TRUE",
                "x IN (TRUE, FALSE)",
                "x NOT IN (TRUE)",
                "x IS NOT NULL",
            ],
        );
    }

    #[test]
    fn what_occurs_in_wide_decimals_is_in_the_verdict() {
        let wide = |v: &i128| i256::from_i128(*v);
        check_all(
            &[-2i128, 0, 7],
            |v| Value::Wide(wide(v)),
            |s| {
                let values: PrimitiveArray<Decimal256Type> = s.iter().map(|v| v.as_ref().map(wide)).collect();
                Arc::new(values.with_precision_and_scale(50, 0).unwrap())
            },
            &["x = 7", "x <> 7", "x < 0", "x >= 0", "x IN (-2, 7)", "x NOT IN (0, 7)"],
        );
    }

    #[test]
    fn what_occurs_between_two_columns_is_in_the_verdict() {
        let values = [f64::NAN, -0.0, 0.0, 1.0];
        let mut sharp = Sharpness::new();
        let column = |stretch: &[Option<f64>]| {
            let known = facts(&stretch.iter().map(|v| v.map(Value::Float)).collect::<Vec<_>>());
            (Arc::new(Float64Array::from(stretch.to_vec())) as ArrayRef, loosened(&known))
        };
        for left in stretches(&values, 2) {
            for right in stretches(&values, 2).iter().filter(|s| s.len() == left.len()) {
                let ((left, of_left), (right, of_right)) = (column(&left), column(right));
                for predicate in
                    ["x = y", "x <> y", "x < y", "x <= y", "x > y", "x >= y", "NOT x < y", "x = x"]
                {
                    check(predicate, &[(&left, &of_left), (&right, &of_right)], &mut sharp);
                }
            }
        }
        println!("{sharp:?}");
        assert!(sharp.values().all(|[_, excluded, whole]| *excluded > 0 && *whole > 0), "{sharp:?}");
    }

    #[test]
    fn bounds_of_another_kind_say_nothing() {
        let array: ArrayRef = Arc::new(Int8Array::from(vec![Some(5), Some(7)]));
        let bounds =
            [Value::Bytes(vec![9]), Value::Float(f64::NAN), Value::Wide(i256::ONE), Value::Bool(true)];
        let bound = |value: &Value| Some(stats::Bound { value: value.clone(), exact: true });
        let wrong = |v: &Value| Facts { values: 2, nulls: 0, nans: 0, min: bound(v), max: bound(v) };
        let wrong: Vec<Facts> = bounds.iter().map(wrong).collect();
        for predicate in ["x = 5", "x > 6", "x NOT IN (5)", "x IN (5, 6)", "x IN (7)"] {
            check(predicate, &[(&array, &wrong)], &mut Sharpness::new());
        }
    }

    #[test]
    fn long_lists_are_searched() {
        let list: Vec<Value> = (0..1000).map(|v| Value::Int(3 * v)).collect();
        let among = |min: i128, max: i128| {
            of_list(&list, &Span { min: Some(&Value::Int(min)), max: Some(&Value::Int(max)) })
        };
        assert_eq!(among(1, 2), Outcomes::FALSE);
        assert_eq!(among(3, 3), Outcomes::TRUE);
        assert_eq!(among(2, 3), Outcomes::KNOWN);
        assert_eq!(among(i128::MIN, i128::MAX), Outcomes::KNOWN);
        assert_eq!(among(2998, i128::MAX), Outcomes::FALSE);
    }
}
