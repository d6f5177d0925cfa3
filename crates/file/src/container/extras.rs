//! The extras record: names the global buffers that only pennon knows. Other readers never look here.
//!
//! ```text
//! … GBO table │ n × { u32 kind, u32 global buffer index } │ u32 n │ u32 CRC32C │ "PENNONX1" │ footer
//!                                                                      │
//!                  of GBO table ‖ entries ‖ n ‖ the 40 bytes of the footer
//! ```
//!
//! A file without the record has no extras. A damaged record is an error, not a file without extras:
//! otherwise damage could switch off the checksums that would have found it. See docs/format/extras.md.

use super::FOOTER_BYTES;
use crate::Result;
use crate::error::corrupt;

/// Checksums: see `checksums.rs`.
pub(crate) const KIND_CHECKSUMS: u32 = 1;
/// The field directory: see `directory.rs`.
pub(crate) const KIND_DIRECTORY: u32 = 2;
/// Zone statistics: see `stats/buffer.rs`.
pub(crate) const KIND_STATISTICS: u32 = 3;
/// Bloom filters: see `stats/bloom/buffer.rs`.
pub(crate) const KIND_BLOOMS: u32 = 4;
/// Last bytes of the record.
pub(crate) const EXTRAS_MAGIC: [u8; 8] = *b"PENNONX1";
/// n, CRC and magic.
const FIXED_BYTES: usize = 16;
const ENTRY_BYTES: usize = 8;
/// More kinds than there will ever be; keeps the record inside every tail read.
pub(crate) const MAX_EXTRAS: usize = 1024;
/// Bytes before the footer that tell whether there is a record.
pub(crate) const MAX_RECORD_BYTES: usize = FIXED_BYTES + MAX_EXTRAS * ENTRY_BYTES;

/// One global buffer with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extra {
    pub(crate) kind: u32,
    pub(crate) global_buffer: u32,
}

/// The record for these extras, to stand directly before `footer`.
pub(crate) fn emit(extras: &[Extra], gbo_table: &[u8], footer: &[u8; FOOTER_BYTES]) -> Vec<u8> {
    debug_assert!(extras.len() <= MAX_EXTRAS);
    let mut record = Vec::with_capacity(FIXED_BYTES + extras.len() * ENTRY_BYTES);
    for extra in extras {
        record.extend_from_slice(&extra.kind.to_le_bytes());
        record.extend_from_slice(&extra.global_buffer.to_le_bytes());
    }
    record.extend_from_slice(&(extras.len() as u32).to_le_bytes());
    let crc = record_crc(&record, gbo_table, footer);
    record.extend_from_slice(&crc.to_le_bytes());
    record.extend_from_slice(&EXTRAS_MAGIC);
    record
}

/// The CRC of a record; `body` is entries and n.
fn record_crc(body: &[u8], gbo_table: &[u8], footer: &[u8; FOOTER_BYTES]) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(gbo_table), body);
    crc32c::crc32c_append(crc, footer)
}

/// The extras of a file. `before` ends where the footer starts and holds what is left of the file there,
/// up to [`MAX_RECORD_BYTES`].
pub(crate) fn parse(before: &[u8], gbo_table: &[u8], footer: &[u8; FOOTER_BYTES]) -> Result<Vec<Extra>> {
    let Some((rest, end)) = before.split_last_chunk::<FIXED_BYTES>() else { return Ok(Vec::new()) };
    let magic = &end[8..];
    let wrong = magic.iter().zip(EXTRAS_MAGIC).filter(|(a, b)| **a != *b).count();
    let n = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
    let stored = u32::from_le_bytes([end[4], end[5], end[6], end[7]]);
    let entries = n.checked_mul(ENTRY_BYTES).filter(|_| n <= MAX_EXTRAS).and_then(|bytes| {
        let at = rest.len().checked_sub(bytes)?;
        Some(&rest[at..])
    });
    let computed = entries.map(|entries| {
        let mut body = entries.to_vec();
        body.extend_from_slice(&end[..4]);
        record_crc(&body, gbo_table, footer)
    });
    match (wrong, computed) {
        (0, Some(crc)) if crc == stored => {}
        (0, None) => corrupt!("the extras record says {n} entries; {} bytes are there", rest.len()),
        (0, Some(crc)) => corrupt!(
            "checksum of the extras record, the global buffer table and the footer: \
             expected {stored:08x}, found {crc:08x}"
        ),
        // The name of the record is damaged, or all but its name is as it should be.
        (1..=2, _) => {
            corrupt!("the extras record is named {:?}, not PENNONX1", String::from_utf8_lossy(magic))
        }
        (_, Some(crc)) if crc == stored => {
            corrupt!("an extras record with the right checksum is named {:02x?}, not PENNONX1", magic)
        }
        _ => return Ok(Vec::new()),
    }
    let entries = entries.unwrap_or_default().as_chunks::<ENTRY_BYTES>().0;
    Ok(entries
        .iter()
        .map(|e| Extra {
            kind: u32::from_le_bytes([e[0], e[1], e[2], e[3]]),
            global_buffer: u32::from_le_bytes([e[4], e[5], e[6], e[7]]),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOOTER: [u8; 40] = *b"0123456789012345678901234567890123456789";

    fn record() -> Vec<u8> {
        let extras = [Extra { kind: 1, global_buffer: 3 }, Extra { kind: 77, global_buffer: 2 }];
        emit(&extras, b"table", &FOOTER)
    }

    #[test]
    fn a_record_has_the_stated_layout_and_comes_back() {
        let record = record();
        assert_eq!(record[..20], [1, 0, 0, 0, 3, 0, 0, 0, 77, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
        let mut covered = b"table".to_vec();
        covered.extend_from_slice(&record[..20]);
        covered.extend_from_slice(&FOOTER);
        assert_eq!(record[20..24], crc32c::crc32c(&covered).to_le_bytes());
        assert_eq!(&record[24..], b"PENNONX1");
        let mut before = b"whatever".to_vec();
        before.extend_from_slice(&record);
        let extras = parse(&before, b"table", &FOOTER).unwrap();
        assert_eq!(extras, [Extra { kind: 1, global_buffer: 3 }, Extra { kind: 77, global_buffer: 2 }]);
    }

    #[test]
    fn files_without_a_record_have_no_extras() {
        assert_eq!(parse(b"", b"table", &FOOTER).unwrap(), []);
        assert_eq!(parse(&[0x48; 100], b"table", &FOOTER).unwrap(), []);
    }

    #[test]
    fn no_single_wrong_byte_makes_the_record_go_unnoticed() {
        let good = record();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(parse(&bad, b"table", &FOOTER).is_err(), "byte {at} bit {bit}");
            }
        }
        let mut footer = FOOTER;
        footer[3] ^= 1;
        assert!(parse(&good, b"table", &footer).is_err());
        assert!(parse(&good, b"tabel", &FOOTER).is_err());
        let mut renamed = good.clone();
        let name = renamed.len() - 8;
        renamed[name..].copy_from_slice(b"nonsense");
        assert!(parse(&renamed, b"table", &FOOTER).is_err());
    }
}
