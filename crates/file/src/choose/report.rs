//! Why a page is stored as it is: what was considered, and what it came to.

/// One way to store a page that was looked at.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Considered {
    /// The encodings, outermost first, as `inspect` names them.
    pub encoding: String,
    /// Bytes that it would take, from a sample.
    pub estimated_bytes: u64,
    /// Nanoseconds to decode a value in a scan, by rule.
    pub decode_ns: f64,
    /// Nanoseconds to reach a single value, by rule.
    pub point_ns: f64,
    /// What the preset's weights make of these.
    pub cost: f64,
}

/// The choice for one page.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// Rows of the page.
    pub num_rows: u64,
    /// The encodings it got.
    pub encoding: String,
    /// Bytes of its buffers.
    pub bytes: u64,
    /// Bytes of the values as they are, with their offsets.
    pub plain_bytes: u64,
    /// Why, in a few words.
    pub reason: &'static str,
    /// What was looked at, the cheapest first.
    pub considered: Vec<Considered>,
}
