//! Names of types in messages.

use arrow_schema::{DataType, TimeUnit};

/// A type as messages call it, without what is inside it.
pub(crate) fn type_name(data_type: &DataType) -> String {
    use DataType::*;
    let unit = |u: &TimeUnit| match u {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        Boolean => "bool".into(),
        LargeUtf8 => "large_utf8".into(),
        Utf8View => "utf8_view".into(),
        LargeBinary => "large_binary".into(),
        BinaryView => "binary_view".into(),
        FixedSizeBinary(n) => format!("fixed_size_binary[{n}]"),
        Decimal32(p, s) => format!("decimal32({p},{s})"),
        Decimal64(p, s) => format!("decimal64({p},{s})"),
        Decimal128(p, s) => format!("decimal128({p},{s})"),
        Decimal256(p, s) => format!("decimal256({p},{s})"),
        Time32(u) => format!("time32[{}]", unit(u)),
        Time64(u) => format!("time64[{}]", unit(u)),
        Timestamp(u, None) => format!("timestamp[{}]", unit(u)),
        Timestamp(u, Some(zone)) => format!("timestamp[{}, {zone}]", unit(u)),
        Duration(u) => format!("duration[{}]", unit(u)),
        Interval(_) => "interval".into(),
        List(_) | LargeList(_) | ListView(_) | LargeListView(_) => "list".into(),
        FixedSizeList(_, n) => format!("fixed_size_list[{n}]"),
        Struct(_) => "struct".into(),
        Union(..) => "union".into(),
        Map(..) => "map".into(),
        Dictionary(..) => "dictionary".into(),
        RunEndEncoded(..) => "run_end_encoded".into(),
        Null | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float16 | Float32
        | Float64 | Utf8 | Binary | Date32 | Date64 => data_type.to_string().to_ascii_lowercase(),
    }
}
