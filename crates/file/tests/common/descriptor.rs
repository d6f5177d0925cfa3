//! The schema as a file has it: what every reader sees of it, found without this project's own reader.

/// One field of a descriptor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredField {
    pub name: String,
    pub id: u64,
    pub parent: i64,
    pub logical_type: String,
    pub metadata: Vec<(String, String)>,
}

impl StoredField {
    pub fn tag(&self) -> Option<&str> {
        self.metadata.iter().find(|(key, _)| key == "pennon:arrow-type").map(|(_, value)| value.as_str())
    }
}

/// All fields, parents before children.
pub fn stored_fields(file: &[u8]) -> Vec<StoredField> {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes")) as usize;
    let table = word(file.len() - 24);
    let descriptor = &file[word(table)..][..word(table + 8)];
    let mut fields = Vec::new();
    for (number, schema, _) in parts(descriptor) {
        for (inner, bytes, _) in if number == 1 { parts(schema) } else { Vec::new() } {
            if inner == 1 {
                fields.push(field(bytes));
            }
        }
    }
    fields
}

fn field(bytes: &[u8]) -> StoredField {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut out = StoredField::default();
    for (number, bytes, word) in parts(bytes) {
        match number {
            2 => out.name = text(bytes),
            3 => out.id = word,
            4 => out.parent = word as i64,
            5 => out.logical_type = text(bytes),
            10 => {
                let part =
                    |n| parts(bytes).into_iter().find(|(m, ..)| *m == n).map_or("".into(), |p| text(p.1));
                out.metadata.push((part(1), part(2)));
            }
            _ => {}
        }
    }
    out
}

/// Field number, bytes and number of every part of a message of ours.
fn parts(mut bytes: &[u8]) -> Vec<(u64, &[u8], u64)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut out = 0;
        for shift in (0..70).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            out |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
        }
        out
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let word = varint(&mut bytes);
        match key & 7 {
            0 => out.push((key >> 3, &bytes[..0], word)),
            2 => {
                let (part, rest) = bytes.split_at(word as usize);
                out.push((key >> 3, part, word));
                bytes = rest;
            }
            other => panic!("wire type {other} in a descriptor"),
        }
    }
    out
}
