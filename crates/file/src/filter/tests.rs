//! Predicates as text, bound to types, and over values.
//!
//! Guards against text that does not come back as it went, literals that change on the way to a column's type, and
//! kernels that differ from the plain reading of three-valued logic.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use half::f16;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn parsed(text: &str) -> Predicate {
    Predicate::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn text_and_functions_build_the_same_tree() {
    for (text, built) in [
        ("a.b >= -1.50", col("a.b").ge(-1.5)),
        ("3 < x", Predicate::Compare { op: Comparison::Less, left: 3.into(), right: col("x").into() }),
        ("x == 1e3", col("x").eq(1000)),
        ("x != 'it''s'", col("x").ne("it's")),
        ("a and b or not c", (col("a").is_true() & col("b").is_true()) | !col("c").is_true()),
        ("a AND (b OR c)", col("a").is_true() & (col("b").is_true() | col("c").is_true())),
        ("NOT NOT (a)", !!col("a").is_true()),
        ("(x) > 3", col("x").gt(3)),
        ("x is null", col("x").is_null()),
        ("x IS NOT NULL", col("x").is_not_null()),
        ("x in (1, -2.5)", col("x").is_in([Literal::from(1), Literal::from(-2.5)])),
        ("x NOT IN ()", col("x").is_not_in(Vec::<i64>::new())),
        ("x BETWEEN 1 AND y AND z", col("x").between(1, col("y")) & col("z").is_true()),
        ("NOT x LIKE 'a%_'", !col("x").like("a%_")),
        ("starts_with(`a b`, 'x')", col("a b").starts_with("x")),
        ("starts_with(x, X'00FF')", col("x").starts_with(vec![0u8, 255])),
        ("IS_NAN(x#2)", col("x#2").is_nan()),
        ("date > DATE '2026-01-31'", col("date").gt(Literal::Date(20_484))),
        (
            "t = TIMESTAMP '1970-01-01 00:00:01.5+00:00'",
            col("t").eq(Timestamp::new(1, 500_000_000, true).unwrap()),
        ),
        ("t = time '10:00'", col("t").eq(Literal::Time(36_000_000_000_000))),
        ("x < FLOAT 'Infinity'", col("x").lt(f64::INFINITY)),
        ("TRUE", Predicate::Constant(true)),
        ("b = FALSE", col("b").eq(false)),
        ("`and`.x.or > größe", col("`and`.x.or").gt(col("größe"))),
        ("x > 123456789012345678901234567890123456789012", {
            col("x").gt(Literal::number("123456789012345678901234567890123456789012").unwrap())
        }),
    ] {
        assert_eq!(parsed(text), built, "{text}");
        assert_eq!(parsed(&built.to_string()), built, "{text} is printed {built}");
    }
    assert_eq!(col("and"), col("`and`"));
    assert_eq!(col("1st"), col("`1st`"));
    assert_eq!(col("price (U.S.)").path(), "`price (U.S.)`");
    assert_eq!(parsed("x LIKE '10!%%' ESCAPE '!' OR y").to_string(), "x LIKE '10!%%' ESCAPE '!' OR y");
}

#[test]
fn errors_of_syntax_say_where_and_what_was_expected() {
    for (text, summary) in [
        ("", "the predicate is empty; expected one as in x > 3 at the end of \"\""),
        ("x >", "expected a column or a value after >, found nothing at the end of \"x >\""),
        ("x > AND y", "expected a column or a value after >, found AND at character 5: \"AND y\""),
        ("x > 3 y", "expected AND, OR or the end, found y at character 7: \"y\""),
        ("(x > 3", "expected ), AND or OR, found nothing at the end of \"(x > 3\""),
        ("x > 3)", "a ) without its ( at character 6: \")\""),
        (
            "1 < x < 3",
            "comparisons do not chain: write a < b AND b < c; found another at character 7: \"< 3\"",
        ),
        (
            "x = NULL",
            "no value equals NULL: write x IS NULL or x IS NOT NULL; found NULL at character 5: \"NULL\"",
        ),
        (
            "1 = 1",
            "a comparison needs a column on one of its sides; found two values at character 1: \"1 = 1\"",
        ),
        (
            "x = \"a\"",
            "texts stand in single quotes, as in 'a', and names in backquotes, as in `a`; found \" at character 5: \"\\\"a\\\"\"",
        ),
        ("a && b", "found &&: write AND; at character 3: \"&& b\""),
        ("x = 'a", "a text has no closing ' at character 5: \"'a\""),
        ("x = X'0'", "expected pairs of hexadecimal digits, as in X'00ff', at character 5: \"X'0'\""),
        ("x > 2nd", "a number goes on with letters; a column is quoted: `2nd` at character 6: \"nd\""),
        (
            "d > DATE '2026-02-30'",
            "expected a date, as in 2026-01-31, found \"2026-02-30\" at character 10: \"'2026-02-30'\"",
        ),
        (
            "lower(x) = 'a'",
            "there are is_nan(x) and starts_with(x, 'a'), found lower at character 1: \"lower(x) = 'a'\"",
        ),
        ("x IN 1", "expected ( in x IN (1, 2), found 1 at character 6: \"1\""),
        ("x NOT 3", "expected IN, BETWEEN or LIKE after NOT, found 3 at character 7: \"3\""),
        ("x IS 3", "expected NULL or NOT NULL after IS, found 3 at character 6: \"3\""),
        ("'a'", "expected a comparison after 'a', found nothing at the end of \"'a'\""),
        ("x ? 3", "'?' has no meaning in a predicate, at character 3: \"? 3\""),
    ] {
        let error = Predicate::parse(text).expect_err(text);
        assert_eq!(error.summary(), summary, "{text}");
    }
    let error = Predicate::parse("ä > 1 AND\n  b > ").unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a column or a value after >, found nothing at character 17\n    b > \n        ^"
    );
    let deep = format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000));
    let error = Predicate::parse(&deep).unwrap_err();
    assert_eq!(error.message(), "more than 64 forms in one another");
    let line = format!("…{}{}…", "(".repeat(48), "(".repeat(30));
    let shown = format!("{} at character 66\n  {line}\n  {}^", error.message(), " ".repeat(49));
    assert_eq!(error.to_string(), shown);
    // Long texts are cut where they are named, too.
    let long = format!("x = 3 AND {} y", "'a'".repeat(50_000));
    for text in [
        format!("{long} z"),
        format!("x {long}"),
        format!("{} x", "ä".repeat(90_000)),
        format!("1{0} {0}('')", "f".repeat(90_000)),
    ] {
        let error = Predicate::parse(&text).unwrap_err();
        let (shown, summary) = (error.to_string(), error.summary());
        assert!(shown.len() < 600 && summary.len() < 400, "{} and {} bytes", shown.len(), summary.len());
    }
    let long = parsed(&format!("i8 = '{}'", "a".repeat(90_000))).bind(&schema()).unwrap_err();
    assert!(long.to_string().ends_with("a… does not fit int8 column i8: expected a whole number"));
    assert!(long.to_string().len() < 200);
    assert!(Predicate::parse(&"NOT ".repeat(100_000)).is_err());
}

fn schema() -> Schema {
    let decimal = DataType::Decimal128(5, 2);
    let inner = vec![Field::new("deep", DataType::Int64, true), Field::new("n#2", DataType::Int8, true)];
    Schema::new(vec![
        Field::new("i8", DataType::Int8, true),
        Field::new("u64", DataType::UInt64, true),
        Field::new("f16", DataType::Float16, true),
        Field::new("f32", DataType::Float32, true),
        Field::new("f64", DataType::Float64, true),
        Field::new("dec", decimal, true),
        Field::new("text", DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), true),
        Field::new("bin", DataType::FixedSizeBinary(2), true),
        Field::new("day", DataType::Date32, true),
        Field::new("day64", DataType::Date64, true),
        Field::new("time", DataType::Time32(TimeUnit::Second), true),
        Field::new("utc", DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Berlin".into())), true),
        Field::new("local", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("span", DataType::Duration(TimeUnit::Millisecond), true),
        Field::new("flag", DataType::Boolean, true),
        Field::new("list", DataType::List(Arc::new(Field::new("item", DataType::Int32, true))), true),
        Field::new("s", DataType::Struct(inner.into()), true),
        Field::new("a.b", DataType::Int32, true),
        Field::new("a", DataType::Struct(vec![Field::new("b", DataType::Utf8, true)].into()), true),
        Field::new("twin", DataType::Int8, true),
        Field::new("twin", DataType::Utf8, true),
        Field::new("nothing", DataType::Null, true),
    ])
}

#[test]
fn literals_that_fit_bind_and_others_name_both_sides() {
    for fits in [
        "i8 = 127",
        "i8 = 1.0",
        "i8 > -1.28e2",
        "u64 < 18446744073709551615",
        "f32 = 0.1",
        "f32 > 16777216",
        "f32 = 3e10",
        "f64 = 1e23",
        "f16 < 65504",
        "f16 = FLOAT 'NaN'",
        "dec = 999.99",
        "dec = -0.5",
        "dec = 0",
        "text = 'a'",
        "text LIKE 'a'",
        "bin = X'00ff'",
        "starts_with(bin, X'0011223344')",
        "day > '2026-01-31'",
        "day = TIMESTAMP '2026-01-31T00:00:00'",
        "day64 < DATE '+12345-01-31'",
        "time = '10:00:01'",
        "utc > TIMESTAMP '2026-01-31T10:00:00.123Z'",
        "utc < '2026-01-31 10:00+02:00'",
        "local = DATE '2026-01-31'",
        "span > '1h 30m'",
        "span > 5",
        "flag",
        "flag = TRUE",
        "flag IN (TRUE)",
        "list IS NULL",
        "s IS NOT NULL",
        "s.deep = 3",
        "s.`n#2` = 1",
        "s.n#2 = 1",
        "a.b = 3",
        "`a`.b = 'x'",
        "twin = 1",
        "twin#2 = 'a'",
        "nothing = 5",
        "nothing LIKE 'a'",
        "i8 < twin",
        "f32 BETWEEN 1 AND 2.5",
        "is_nan(f16)",
        "TRUE",
    ] {
        parsed(fits).bind(&schema()).unwrap_or_else(|e| panic!("{fits}: {e}"));
    }
    for (text, message) in [
        ("i8 = 300", "300 does not fit int8 column i8: its values are from -128 to 127"),
        ("i8 = 2.5", "2.5 does not fit int8 column i8: its values are whole numbers"),
        ("i8 = 'a'", "'a' does not fit int8 column i8: expected a whole number"),
        ("u64 = -1", "-1 does not fit uint64 column u64: its values are from 0 to 18446744073709551615"),
        ("f32 = 16777217", "16777217 does not fit float32 column f32: the nearest value is 16777216"),
        (
            "f64 < 9007199254740993",
            "9007199254740993 does not fit float64 column f64: the nearest value is 9007199254740992",
        ),
        ("f16 < 2049", "2049 does not fit float16 column f16: the nearest value is 2048"),
        ("f32 < 1e39", "1e39 does not fit float32 column f32: it is out of range"),
        ("dec = 0.125", "0.125 does not fit decimal128(5,2) column dec: it has 2 digits after the point"),
        ("dec = 1000", "1000 does not fit decimal128(5,2) column dec: it has 5 digits"),
        ("text = 3", "3 does not fit utf8 column text: expected a text in single quotes"),
        ("bin = X'00'", "X'00' does not fit fixed_size_binary[2] column bin: it has 1 bytes"),
        ("day = 'x'", "'x' does not fit date32 column day: expected a date, as in DATE '2026-01-31'"),
        (
            "day = TIMESTAMP '2026-01-31T10:00:00'",
            "TIMESTAMP '2026-01-31T10:00:00' does not fit date32 column day: a date has no time of day",
        ),
        (
            "time = '10:00:00.5'",
            "'10:00:00.5' does not fit time32[s] column time: its values are whole seconds",
        ),
        (
            "utc = TIMESTAMP '2026-01-31T10:00:00'",
            "TIMESTAMP '2026-01-31T10:00:00' does not fit timestamp[ms, Europe/Berlin] column utc: the column's times have a zone; expected TIMESTAMP '2026-01-31T10:00:00Z'",
        ),
        (
            "local = '2026-01-31T10:00:00Z'",
            "'2026-01-31T10:00:00Z' does not fit timestamp[us] column local: the column's times have no zone; expected TIMESTAMP '2026-01-31T10:00:00'",
        ),
        ("span = '1us'", "'1us' does not fit duration[ms] column span: its values are whole milliseconds"),
        ("flag = 1", "1 does not fit bool column flag: expected TRUE or FALSE"),
        (
            "list = 1",
            "1 does not fit list column list: values of this type are not compared, only IS NULL is known",
        ),
        ("i8", "a column alone is for TRUE and FALSE; column i8 is int8"),
        ("i8 LIKE 'a'", "LIKE is for text; column i8 is int8"),
        ("starts_with(text, X'00')", "starts_with is for bytes; column text is utf8"),
        ("is_nan(i8)", "is_nan is for floating-point numbers; column i8 is int8"),
        ("i8 = u64", "columns i8 and u64 are not compared: the one is int8, the other uint64"),
        ("list = list", "columns list and list are not compared: the one is list, the other list"),
        (
            "list.item = 1",
            "no column \"list.item\" for a predicate: list is list, and only structs are walked",
        ),
        ("s.dep = 1", "no column \"s.dep\": no dep in s; did you mean deep?"),
        ("txt = 'a'", "no column \"txt\": no txt; did you mean text?"),
        ("s.other = 1", "no column \"s.other\": no other in s; there are deep, `n#2`"),
    ] {
        let error = parsed(text).bind(&schema()).expect_err(text);
        assert_eq!(error.message(), message, "{text}");
    }
    let mut deep = col("flag").is_true();
    for _ in 0..300 {
        deep = !deep;
    }
    assert_eq!(deep.bind(&schema()).unwrap_err().kind(), crate::ErrorKind::Limit);
    let bound = parsed("i8 = 1").bind(&schema()).unwrap();
    let other = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert!(
        bound.evaluate(&other).unwrap_err().message().starts_with("the predicate is bound to another schema")
    );
}

/// The rows kept of one column named `x`.
#[track_caller]
fn kept(array: impl Array + 'static, text: &str) -> Vec<usize> {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", Arc::new(array) as ArrayRef, true)]).unwrap();
    let bound = parsed(text).bind(&batch.schema()).unwrap_or_else(|e| panic!("{text}: {e}"));
    let kept: Vec<usize> = bound.evaluate(&batch).unwrap().set_indices().collect();
    // The same from the middle of something longer.
    let schema = batch.schema();
    let twice = arrow_select::concat::concat_batches(&schema, &[batch.clone(), batch.clone()]).unwrap();
    let shifted = twice.slice(1, batch.num_rows());
    let again = bound.evaluate(&shifted).unwrap();
    let expected: Vec<usize> =
        (0..batch.num_rows()).filter(|i| kept.contains(&((i + 1) % batch.num_rows()))).collect();
    assert_eq!(again.set_indices().collect::<Vec<_>>(), expected, "{text} over a slice");
    kept
}

#[test]
fn every_type_is_compared_in_its_own_order() {
    assert_eq!(kept(UInt64Array::from(vec![Some(u64::MAX), None, Some(1)]), "x > 9223372036854775807"), [0]);
    assert_eq!(kept(Int8Array::from(vec![-5, 0, 5]), "x NOT BETWEEN -1 AND 4"), [0, 2]);
    let floats =
        || Float64Array::from(vec![Some(f64::NAN), Some(-0.0), None, Some(1.5), Some(f64::INFINITY)]);
    assert_eq!(kept(floats(), "x = 0"), [1]);
    assert_eq!(kept(floats(), "x <> 0"), [3, 4]);
    assert_eq!(kept(floats(), "NOT x = 0"), [0, 3, 4]);
    assert_eq!(kept(floats(), "x >= FLOAT 'NaN' OR x < FLOAT 'NaN'"), [0usize; 0]);
    assert_eq!(kept(floats(), "is_nan(x)"), [0]);
    assert_eq!(kept(floats(), "NOT is_nan(x)"), [1, 3, 4]);
    assert_eq!(kept(floats(), "x IN (0, FLOAT 'NaN', FLOAT 'inf')"), [1, 4]);
    assert_eq!(kept(floats(), "x <> x OR x < x"), [0usize; 0]);
    assert_eq!(kept(Float16Array::from(vec![f16::from_f32(0.1), f16::NAN]), "x = 0.1"), [0]);
    assert_eq!(kept(Float32Array::from(vec![0.1, 0.2]), "x > 0.1"), [1]);
    let many: String = (0..20).map(|i| format!("{}, ", i * 3)).collect();
    let many = format!("x IN ({}-1)", many);
    assert_eq!(kept(Int32Array::from_iter_values(0..7), &many), [0, 3, 6]);
    let decimals =
        Decimal256Array::from(vec![i256::from_i128(150), i256::MAX]).with_precision_and_scale(76, 2).unwrap();
    assert_eq!(kept(decimals, "x <= 1.5"), [0]);
    let decimals = Decimal32Array::from(vec![150, 151]).with_precision_and_scale(5, 2).unwrap();
    assert_eq!(kept(decimals, "x > 1.50"), [1]);
    for texts in [
        Arc::new(StringArray::from(vec![Some("äb"), None, Some(""), Some("a%")])) as ArrayRef,
        Arc::new(LargeStringArray::from(vec![Some("äb"), None, Some(""), Some("a%")])),
        Arc::new(StringViewArray::from(vec![Some("äb"), None, Some(""), Some("a%")])),
    ] {
        assert_eq!(kept(texts.clone(), "x LIKE '_b'"), [0]);
        assert_eq!(kept(texts.clone(), "x LIKE '%!%' ESCAPE '!'"), [3]);
        assert_eq!(kept(texts.clone(), "x NOT LIKE '%b%'"), [2, 3]);
        assert_eq!(kept(texts.clone(), "x > 'a' AND x < 'b'"), [3]);
        assert_eq!(kept(texts.clone(), "starts_with(x, 'ä')"), [0]);
        assert_eq!(kept(texts, "x NOT IN ('', 'zz')"), [0, 3]);
    }
    let bytes = BinaryArray::from(vec![Some(&b"\x00\xff"[..]), None, Some(b"")]);
    assert_eq!(kept(bytes, "x >= X'00'"), [0]);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1u8, 2], [3, 4]].iter()).unwrap();
    assert_eq!(kept(fixed, "starts_with(x, X'03')"), [1]);
    assert_eq!(kept(BooleanArray::from(vec![Some(true), None, Some(false)]), "x"), [0]);
    assert_eq!(kept(BooleanArray::from(vec![Some(true), None, Some(false)]), "x < TRUE"), [2]);
    assert_eq!(kept(Date32Array::from(vec![0, 1]), "x > DATE '1970-01-01'"), [1]);
    assert_eq!(kept(Date64Array::from(vec![0, 86_400_000]), "x = '1970-01-02'"), [1]);
    let zoned = TimestampMillisecondArray::from(vec![0, 1]).with_timezone("+02:00");
    assert_eq!(kept(zoned, "x = TIMESTAMP '1970-01-01T02:00:00.001+02:00'"), [1]);
    assert_eq!(kept(Time64NanosecondArray::from(vec![1, 2]), "x = TIME '00:00:00.000000002'"), [1]);
    assert_eq!(kept(DurationSecondArray::from(vec![90, 91]), "x <= '1m 30s'"), [0]);
    assert_eq!(kept(NullArray::new(3), "x IS NULL AND NOT x IS NOT NULL"), [0, 1, 2]);
    assert_eq!(kept(NullArray::new(3), "x = 1 OR NOT x = 1 OR x"), [0usize; 0]);
}

#[test]
fn dictionaries_and_runs_are_their_values() {
    // A null among the values, and a key out of range under a null.
    let values = StringArray::from(vec![Some("b"), None, Some("a")]);
    let keys = Int8Array::new(
        vec![0, 1, 2, 99, 2].into(),
        Some(NullBuffer::from(vec![true, true, true, false, true])),
    );
    let words = || DictionaryArray::try_new(keys.clone(), Arc::new(values.clone())).unwrap();
    assert_eq!(kept(words(), "x = 'a'"), [2, 4]);
    assert_eq!(kept(words(), "NOT x = 'a'"), [0]);
    assert_eq!(kept(words(), "x IS NULL"), [1, 3]);
    assert_eq!(kept(words(), "x = x"), [0, 2, 4]);
    let runs =
        RunArray::try_new(&Int32Array::from(vec![2, 3, 5]), &Int64Array::from(vec![Some(7), None, Some(8)]))
            .unwrap();
    assert_eq!(kept(runs.clone(), "x > 7"), [3, 4]);
    assert_eq!(kept(runs.clone(), "NOT x > 7"), [0, 1]);
    assert_eq!(kept(runs, "x IS NULL"), [2]);
}

/// A table with its rows beside it, in the plainest form.
#[derive(Debug, Clone)]
struct Row {
    int: Option<i32>,
    float: Option<f64>,
    word: Option<&'static str>,
    /// A field of a struct; the outer is the struct.
    inner: Option<Option<i32>>,
}

fn batch_of(rows: &[Row]) -> RecordBatch {
    let ints: Int32Array = rows.iter().map(|r| r.int).collect();
    let floats: Float64Array = rows.iter().map(|r| r.float).collect();
    let words: DictionaryArray<Int16Type> = rows.iter().map(|r| r.word).collect();
    // Under a null struct there is a value that must not be seen.
    let inner: Int32Array = rows.iter().map(|r| r.inner.unwrap_or(Some(1))).collect();
    let outer: NullBuffer = rows.iter().map(|r| r.inner.is_some()).collect();
    let fields = vec![Field::new("v", DataType::Int32, true)];
    let structs = StructArray::new(fields.into(), vec![Arc::new(inner)], Some(outer));
    let columns: [(&str, ArrayRef); 4] =
        [("i", Arc::new(ints)), ("f", Arc::new(floats)), ("w", Arc::new(words)), ("s", Arc::new(structs))];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

/// The definition: one row, three values.
fn plain(p: &Predicate, row: &Row) -> Option<bool> {
    #[derive(PartialEq, PartialOrd, Debug)]
    enum Plain {
        Number(f64),
        Text(String),
    }
    let value = |operand: &Operand| -> Option<Plain> {
        match operand {
            Operand::Column(c) => match c.path() {
                "i" => row.int.map(|v| Plain::Number(v.into())),
                "f" => row.float.map(Plain::Number),
                "w" => row.word.map(|v| Plain::Text(v.into())),
                _ => row.inner.flatten().map(|v| Plain::Number(v.into())),
            },
            Operand::Literal(Literal::String(text)) => Some(Plain::Text(text.clone())),
            Operand::Literal(literal) => literal.to_string().parse().ok().map(Plain::Number),
        }
    };
    let compare = |op: Comparison, left: &Operand, right: &Operand| -> Option<bool> {
        let order = value(left)?.partial_cmp(&value(right)?);
        Some(order.is_some_and(|o| match op {
            Comparison::Equal => o == Ordering::Equal,
            Comparison::NotEqual => o != Ordering::Equal,
            Comparison::Less => o == Ordering::Less,
            Comparison::LessOrEqual => o != Ordering::Greater,
            Comparison::Greater => o == Ordering::Greater,
            Comparison::GreaterOrEqual => o != Ordering::Less,
        }))
    };
    let not = |v: Option<bool>, negated: bool| v.map(|v| v != negated);
    let and = |a, b| match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    match p {
        Predicate::And(parts) => parts.iter().map(|p| plain(p, row)).fold(Some(true), and),
        Predicate::Or(parts) => {
            let none = parts.iter().map(|p| not(plain(p, row), true)).fold(Some(true), and);
            not(none, true)
        }
        Predicate::Not(p) => not(plain(p, row), true),
        Predicate::Compare { op, left, right } => compare(*op, left, right),
        Predicate::IsNull { column, negated } => {
            let is_null = match column.path() {
                "s" => row.inner.is_none(),
                _ => value(&column.clone().into()).is_none(),
            };
            Some(is_null != *negated)
        }
        Predicate::In { column, list, negated } => {
            let column = Operand::Column(column.clone());
            value(&column)?;
            let any =
                list.iter().any(|l| compare(Comparison::Equal, &column, &l.clone().into()) == Some(true));
            Some(any != *negated)
        }
        Predicate::Between { column, low, high, negated } => {
            let column = Operand::Column(column.clone());
            let both = and(
                compare(Comparison::GreaterOrEqual, &column, low),
                compare(Comparison::LessOrEqual, &column, high),
            );
            not(both, *negated)
        }
        Predicate::StartsWith { prefix: Literal::String(prefix), .. } => {
            Some(row.word?.starts_with(prefix.as_str()))
        }
        Predicate::IsNan(_) => Some(row.float?.is_nan()),
        Predicate::Constant(value) => Some(*value),
        other => panic!("not generated: {other}"),
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let float = prop::sample::select(vec![f64::NAN, -0.0, 0.0, 1.0, 2.5, f64::NEG_INFINITY]);
    let small = || prop::option::of(-2..3i32);
    let row = (
        small(),
        prop::option::of(float),
        prop::option::of(prop::sample::select(vec!["", "a", "ab", "b"])),
        prop::option::of(small()),
    );
    prop::collection::vec(row.prop_map(|(int, float, word, inner)| Row { int, float, word, inner }), 0..150)
}

pub(super) fn predicates() -> impl Strategy<Value = Predicate> {
    let op = prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let operand = || {
        prop_oneof![
            (prop::sample::select(vec!["i", "s.v"]), -2..3i32).prop_map(|(c, v)| (col(c), Literal::from(v))),
            prop::sample::select(vec![-1.5, 0.0, 1.0, 2.5]).prop_map(|v| (col("f"), Literal::from(v))),
            prop::sample::select(vec!["", "a", "it's"]).prop_map(|v| (col("w"), Literal::from(v))),
        ]
    };
    let test = prop_oneof![
        (op.clone(), operand(), any::<bool>()).prop_map(|(op, (c, l), turned)| {
            let (left, right) = (Operand::Column(c), Operand::Literal(l));
            if turned {
                Predicate::Compare { op, left: right, right: left }
            } else {
                Predicate::Compare { op, left, right }
            }
        }),
        op.prop_map(|op| Predicate::Compare { op, left: col("i").into(), right: col("s.v").into() }),
        (prop::sample::select(vec!["i", "f", "w", "s", "s.v"]), any::<bool>())
            .prop_map(|(c, negated)| Predicate::IsNull { column: col(c), negated }),
        (prop::collection::vec(-3..4i32, 0..12), any::<bool>()).prop_map(|(list, negated)| {
            Predicate::In { column: col("i"), list: list.into_iter().map(Literal::from).collect(), negated }
        }),
        (-2..3i32, operand(), any::<bool>()).prop_map(|(low, (_, _), negated)| Predicate::Between {
            column: col("s.v"),
            low: low.into(),
            high: col("i").into(),
            negated,
        }),
        prop::sample::select(vec!["a", "", "b"]).prop_map(|p| col("w").starts_with(p)),
        Just(col("f").is_nan()),
        any::<bool>().prop_map(Predicate::Constant),
    ];
    test.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::Or),
            inner.prop_map(|p| !p),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_parses_to_the_same(predicate in predicates()) {
        prop_assert_eq!(parsed(&predicate.to_string()), predicate);
    }

    #[test]
    fn rows_are_kept_where_the_plain_reading_is_true(predicate in predicates(), rows in rows()) {
        let batch = batch_of(&rows);
        let bound = predicate.bind(&batch.schema()).expect("columns of the table");
        let kept: Vec<bool> = bound.evaluate(&batch).expect("its own batch").iter().collect();
        let expected: Vec<bool> = rows.iter().map(|row| plain(&predicate, row) == Some(true)).collect();
        prop_assert_eq!(kept, expected, "{}", predicate);
    }

    #[test]
    fn any_text_is_a_predicate_or_an_error(text in "[ -~äö'`]{0,40}") {
        if let Ok(predicate) = Predicate::parse(&text) {
            prop_assert_eq!(parsed(&predicate.to_string()), predicate);
        }
    }

    #[test]
    fn any_words_are_a_predicate_or_an_error(words in prop::collection::vec(prop::sample::select(vec![
        "x", "a.b", "`q r`", "AND", "OR", "NOT", "(", ")", "=", "<", "IN", "IS", "NULL", "LIKE", "'a%'", "BETWEEN", "1", "-2.5e7", ",",
        "TRUE", "DATE", "'2026-01-31'", "is_nan", "starts_with", "ESCAPE", "'!'", "X'00'",
    ]), 0..12)) {
        let text = words.join(" ");
        match Predicate::parse(&text) {
            Ok(predicate) => prop_assert_eq!(parsed(&predicate.to_string()), predicate),
            Err(e) => prop_assert!(!e.summary().contains('\n') && !e.to_string().is_empty()),
        }
    }

    #[test]
    fn numbers_keep_every_digit(text in "-?[0-9]{1,50}(\\.[0-9]{0,30})?(e-?[0-9]{1,3})?") {
        let number = Literal::number(&text).expect("a number");
        prop_assert_eq!(&Literal::number(&number.to_string()).expect("printed"), &number);
        let (a, b): (f64, f64) = (text.parse().unwrap(), number.to_string().parse().unwrap());
        prop_assert!(a == b, "{} is printed {}", text, number);
    }
}

#[test]
fn an_empty_list_is_false_and_null_for_a_null_of_every_type() {
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let lists = [Some(vec![Some(1)]), None, Some(vec![])];
    let keys = Int8Array::from(vec![Some(0), None, Some(1)]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        // A null of the dictionary is one as well.
        Arc::new(DictionaryArray::<Int8Type>::new(keys, words.clone())),
        Arc::new(RunArray::try_new(&Int32Array::from(vec![2, 3]), &words).expect("three rows")),
        new_null_array(&DataType::Null, 3),
        new_null_array(&DataType::Struct(vec![Field::new("x", DataType::Int8, true)].into()), 3),
    ];
    for (column, values) in columns.into_iter().zip([2, 1, 2, 0, 0]) {
        let name = column.data_type().to_string();
        let batch = RecordBatch::try_from_iter([("c", column)]).expect("a column");
        let count = |text: &str| {
            let bound = parsed(text).bind(&batch.schema()).expect("a test of any type");
            bound.evaluate(&batch).expect("its own batch").count_set_bits()
        };
        assert_eq!((count("c IN ()"), count("c NOT IN ()")), (0, values), "{name}");
        assert_eq!(count("c IN () OR c IS NULL"), 3 - values, "{name}");
    }
}
