//! Guards what the verbs print and write when used right.

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, RecordBatch, StringViewArray};
use common::{Place, table, write};
use pennon::convert::Format;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn every_format_converts_to_every_other_and_stays_equal() {
    let p = Place::new();
    for from in ["lance", "parquet", "arrow"] {
        for to in ["lance", "parquet", "arrow", "arrows"] {
            let target = format!("{from}.{to}");
            let ran = p.run(&["convert", &format!("t.{from}"), &target, "--check"]);
            assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (0, "", ""), "{target}");
            let ran = p.run(&["diff", "t.arrow", &target, "--ordered"]);
            assert_eq!(
                (ran.code, ran.out.as_str()),
                (0, "equal: 1,000 rows, 4 columns, in order\n"),
                "{target}: {}",
                ran.err
            );
        }
    }
    for version in ["2.1", "2.2"] {
        let ran = p.run(&[
            "convert",
            "t.arrow",
            "v.lance",
            "--format-version",
            version,
            "--align",
            "4096",
            "--compression",
            "zstd:5",
            "--no-checksums",
            "--max-page-bytes",
            "4KiB",
        ]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let made = json(&p.run(&["inspect", "v.lance", "--json", "--pages"]).out);
        assert_eq!(made["format_version"], version);
        assert!(made["columns"][0]["num_pages"].as_u64() > Some(1));
        assert!(
            made["columns"][0]["pages"][0]["buffers"].as_array().unwrap().iter().all(|b| b["offset"]
                .as_u64()
                .unwrap()
                % 4096
                == 0)
        );
        assert_eq!(
            p.run(&["diff", "t.arrow", "v.lance"]).out,
            "equal: 1,000 rows, 4 columns, in any order\n"
        );
        assert!(p.run(&["verify", "v.lance"]).out.ends_with("no checksums\n"));
    }
    assert!(p.names().iter().all(|n| !n.starts_with('.')), "{:?}", p.names());
}

#[test]
fn a_check_knows_the_types_that_a_format_stores_as_others() {
    let p = Place::new();
    let words = || (0..100).map(|i| (i % 7 != 3).then(|| format!("a word that is not short {i}")));
    let texts: StringViewArray = words().collect();
    let bytes: BinaryViewArray = words().collect();
    let columns: [(&str, ArrayRef); 2] = [("t", Arc::new(texts)), ("b", Arc::new(bytes))];
    write(&p.path("v.arrow"), Format::Arrow, &[RecordBatch::try_from_iter(columns).unwrap()]);
    for to in ["lance", "parquet", "arrow", "arrows", "jsonl"] {
        let ran = p.run(&["convert", "v.arrow", &format!("v.{to}"), "--check"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{to}");
        assert!(p.path(&format!("v.{to}")).exists());
    }
    assert!(p.names().iter().all(|n| !n.starts_with('.')), "{:?}", p.names());
}

#[test]
fn text_formats_go_round_with_their_schema() {
    let p = Place::new();
    for (to, columns) in [("csv", "id,word"), ("jsonl", "id,word,s,l")] {
        let ran = p.run(&["convert", "t.lance", &format!("o.{to}"), "--columns", columns, "--check"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{to}");
        std::fs::write(p.path("schema.json"), p.run(&["schema", "t.lance", "--json"]).out).unwrap();
        let back = ["convert", &format!("o.{to}"), "back.lance", "--schema", "schema.json"];
        if to == "jsonl" {
            assert_eq!(p.run(&back).err, "");
            assert_eq!(p.run(&["diff", "t.lance", "back.lance", "--ordered"]).code, 0);
        } else {
            assert_eq!(p.run(&back).err, "pennon: o.csv: --schema names column \"s\", which is not there\n");
        }
    }
    let ran = p.run(&["convert", "birds.csv", "birds.jsonl"]);
    assert_eq!(ran.err, "");
    assert_eq!(
        std::fs::read_to_string(p.path("birds.jsonl")).unwrap(),
        "{\"name\":\"auk\",\"wings\":2}\n{\"name\":\"owl\",\"wings\":2}\n{\"name\":null,\"wings\":null}\n"
    );
}

#[test]
fn several_sources_are_joined_and_a_file_may_be_its_own_target() {
    let p = Place::new();
    write(&p.path("u.lance"), Format::Lance, &[table(1000..1500)]);
    assert_eq!(p.run(&["convert", "t.lance", "u.lance", "t.lance"]).err, "");
    assert_eq!(p.run(&["count", "t.lance"]).out, "1500\n");
    assert_eq!(p.run(&["convert", "t.lance", "t.lance", "--columns", "word,id", "--check"]).err, "");
    assert_eq!(
        p.run(&["take", "t.lance", "--rows", "1499,0"]).out,
        "{\"word\":\"word 1499\",\"id\":1499}\n{\"word\":\"word 0\",\"id\":0}\n"
    );
}

#[test]
fn pipes_carry_every_format() {
    let p = Place::new();
    let ran = p.shell("cat t.parquet | $P convert - - --to arrow | $P convert - - --to lance | $P convert - - --to jsonl | $P count -");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("1000\n", ""));
    let ran = p.shell("$P scan t.lance --columns id --limit 2 --offset 5 | $P take - --rows 1,0");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"id\":6}\n{\"id\":5}\n", ""));
    let ran = p.shell("printf 'a,b\\n1,x\\n' | $P head -");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"a\":1,\"b\":\"x\"}\n", ""));
    let ran = p.shell("$P head <(cat t.lance) -n 1 --columns id");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"id\":0}\n", ""));
}

#[test]
fn rows_are_taken_in_the_order_asked_from_every_format() {
    let p = Place::new();
    std::fs::write(p.path("rows.txt"), "999\n3\n\n3\n").unwrap();
    p.shell("$P take t.lance --rows 999,3,3 --columns id -o rows.parquet");
    for file in ["t.lance", "t.parquet", "t.arrow", "t.jsonl"] {
        let expected =
            "{\"id\":999,\"word\":\"word 999\"}\n{\"id\":3,\"word\":null}\n{\"id\":3,\"word\":null}\n";
        for rows in [
            &["--rows", "999,3..4,3..=3,7..7"][..],
            &["--rows-from", "rows.txt"],
            &["--rows-from", "rows.parquet"],
        ] {
            let args = [&["take", file, "--columns", "id,word"], rows].concat();
            let ran = p.run(&args);
            assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, ""), "{args:?}");
        }
        assert_eq!(
            p.run(&["take", file, "--rows", "5..5", "--to", "csv", "--columns", "id"]).out,
            "id\n",
            "{file}"
        );
    }
}

#[test]
fn rows_print_as_json_lines_in_a_pipe_and_as_asked_otherwise() {
    let p = Place::new();
    assert_eq!(
        p.run(&["head", "t.lance", "-n", "1"]).out,
        "{\"id\":0,\"word\":\"word 0\",\"s\":{\"x\":0.0,\"b\":true},\"l\":[]}\n"
    );
    assert_eq!(
        p.run(&["scan", "t.lance", "--columns", "s.b,id", "--limit", "1", "--to", "jsonl"]).out,
        "{\"s\":{\"b\":true},\"id\":0}\n"
    );
    assert_eq!(
        p.run(&["scan", "t.lance", "--columns", "word,id", "--offset", "998", "--to", "csv"]).out,
        "word,id\nword 998,998\nword 999,999\n"
    );
    let table = p.run(&["head", "t.lance", "-n", "4", "--to", "table"]).out;
    assert!(
        table.contains("│    id ┆ word   ┆ s") && table.contains("│     3 ┆ null   ┆ {x: null, b: false}"),
        "{table}"
    );
    assert_eq!(p.run(&["head", "t.lance", "-n", "0"]).out, "");
    assert_eq!(p.run(&["scan", "t.lance", "--to", "arrow", "-o", "o.arrow"]).out, "");
    assert_eq!(p.run(&["scan", "t.lance", "--limit", "3", "-o", "o.csv", "--columns", "id"]).out, "");
    assert_eq!(std::fs::read_to_string(p.path("o.csv")).unwrap(), "id\n0\n1\n2\n");
    assert!(std::fs::read(p.path("o.arrow")).unwrap().starts_with(b"ARROW1"));
}

#[test]
fn the_json_shapes_have_their_members() {
    let p = Place::new();
    let schema = json(&p.run(&["schema", "t.lance", "--json"]).out);
    assert_eq!(
        schema["fields"][2],
        json(
            r#"{"name":"s","type":"struct","nullable":true,"id":2,"metadata":{},"children":[
            {"name":"x","type":"float64","nullable":true,"id":3,"metadata":{},"children":[]},
            {"name":"b","type":"bool","nullable":true,"id":4,"metadata":{},"children":[]}]}"#
        )
    );
    let inspection = json(&p.run(&["inspect", "t.lance", "--json", "--pages"]).out);
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&inspection),
        "columns file_bytes format format_version global_buffers metadata_bytes num_rows"
    );
    assert_eq!(
        (&inspection["format"], &inspection["format_version"], &inspection["num_rows"]),
        (&json("\"lance\""), &json("\"2.2\""), &json("1000"))
    );
    assert_eq!(keys(&inspection["global_buffers"][0]), "bytes index kind offset");
    assert_eq!(
        keys(&inspection["columns"][0]),
        "bytes bytes_per_value encodings index num_pages num_values pages path share type"
    );
    assert_eq!(
        keys(&inspection["columns"][0]["pages"][0]),
        "buffers encoding first_row layout levels num_rows num_values"
    );
    assert_eq!(keys(&inspection["columns"][0]["pages"][0]["buffers"][0]), "bytes offset");
    let paths: Vec<_> = inspection["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        paths,
        [("id", "int64"), ("word", "utf8"), ("s.x", "float64"), ("s.b", "bool"), ("l.item", "int32")]
    );
    let without = json(&p.run(&["inspect", "t.lance", "--json"]).out);
    assert!(without["columns"][0].get("pages").is_none());
    let report = json(&p.run(&["verify", "t.lance", "--json"]).out);
    assert_eq!(keys(&report), "bytes columns faults file format pages unchecked_bytes");
    assert_eq!(
        (&report["faults"], &report["columns"], &report["unchecked_bytes"]),
        (&json("[]"), &json("5"), &json("0"))
    );
    let difference = json(&p.run(&["diff", "t.lance", "t.arrow", "--json"]).out);
    assert_eq!(keys(&difference), "columns equal ordered rows_a rows_b rows_equal schema");
}

#[test]
fn differences_are_named_by_column_and_by_cell() {
    let p = Place::new();
    std::fs::write(p.path("a.csv"), "id,w\n1,x\n2,y\n3,\n").unwrap();
    std::fs::write(p.path("b.csv"), "id,w\n3,\n1,x\n2,y\n").unwrap();
    std::fs::write(p.path("c.csv"), "id,w\n1,x\n2,z\n3,q\n4,r\n").unwrap();
    std::fs::write(p.path("d.csv"), "id,w\n1,y\n2,x\n3,\n").unwrap();
    let diff = |args: &[&str]| {
        let ran = p.run(&[&["diff"], args].concat());
        assert_eq!(ran.err, "");
        (ran.code, ran.out)
    };
    assert_eq!(diff(&["a.csv", "b.csv"]), (0, "equal: 3 rows, 2 columns, in any order\n".into()));
    assert_eq!(
        diff(&["a.csv", "c.csv", "--ordered"]),
        (1, "rows: 3 in A, 4 in B\nrow 1, w: y in A, z in B\nrow 2, w: null in A, q in B\ndifferent: 2 cells differ: w 2\n".into())
    );
    assert_eq!(
        diff(&["a.csv", "c.csv"]),
        (1, "rows: 3 in A, 4 in B\ncolumn id: values differ; nulls: 0 in A, 0 in B\ncolumn w: values differ; nulls: 1 in A, 0 in B\ndifferent: 2 of 2 columns differ (--ordered shows cells)\n".into())
    );
    assert_eq!(
        diff(&["a.csv", "d.csv"]),
        (1, "different: every column holds the same values, but they stand in other rows together\n".into())
    );
    let (code, out) = diff(&["t.lance", "birds.csv"]);
    assert_eq!(code, 1);
    assert!(
        out.starts_with(
            "schema: only A has id, word, s, l\nschema: only B has name, wings\nrows: 1,000 in A, 3 in B\n"
        ),
        "{out}"
    );
}

#[test]
fn verify_says_what_was_checked() {
    let p = Place::new();
    let ran = p.run(&["verify", "t.lance"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.starts_with("no faults: 1,000 rows, 5 columns, 5 pages, ")
            && ran.out.ends_with("; every byte of data has a checksum\n"),
        "{}",
        ran.out
    );
    let ran = p.run(&["verify", "t.parquet"]);
    assert!(
        ran.code == 0
            && ran.out.starts_with("no faults: 1,000 rows, 4 columns, ")
            && ran.out.ends_with("no checksums\n"),
        "{}",
        ran.out
    );
}

#[test]
fn verify_claims_no_checksums_and_no_size_of_a_stream() {
    let p = Place::new();
    let ran = p.shell("$P verify - < birds.csv");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "no faults: 3 rows, 2 columns checked; no checksums\n"),
        "{}",
        ran.err
    );
}

#[test]
fn the_demo_converts_and_compares() {
    let p = Place::new();
    let ran = p.run(&["demo", "--keep", "kept"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("flights: 1,000 random rows, all columns") && ran.out.contains("Parquet / Lance"),
        "{}",
        ran.out
    );
    assert_eq!(p.run(&["count", "kept/flights.lance"]).out, "100000\n");
}

#[test]
fn help_has_examples_for_every_verb() {
    let p = Place::new();
    for verb in ["demo", "convert", "schema", "head", "scan", "take", "count", "inspect", "verify", "diff"] {
        let ran = p.run(&[verb, "--help"]);
        assert!(ran.code == 0 && ran.out.contains("Examples:\n  pennon ") && ran.err.is_empty(), "{verb}");
    }
    assert_eq!(p.run(&[]).code, 2);
    assert_eq!(p.run(&["--version"]).out, format!("pennon {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_file_of_an_unstable_format_version_is_read_with_one_note() {
    let p = Place::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../file/tests/planar");
    std::fs::copy(folder.join("sparse_list.lance"), p.path("u.lance")).expect("to copy");
    let note = "note: u.lance has format version 2.3, which its authors mark unstable: it may not be readable by later releases\n";
    let ran = p.run(&["scan", "u.lance"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, note));
    assert_eq!(ran.out, "{\"x\":[1,2]}\n{\"x\":null}\n{\"x\":[]}\n{\"x\":[3,null]}\n");
    let ran = p.run(&["convert", "u.lance", "s.lance", "--check"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, note));
    let ran = p.run(&["inspect", "u.lance"]);
    assert!(ran.out.contains("sparse mini-block flat(32)"), "{}", ran.out);
    let ran = p.run(&["convert", "t.arrow", "v.lance", "--format-version", "2.3"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("'2.3'"), "{}", ran.err);
}

#[test]
fn where_keeps_the_rows_for_which_it_is_true_in_every_format() {
    let p = Place::new();
    let filter = "s.x >= 200 AND s.b AND word LIKE 'word 8_0'";
    let expected = "{\"id\":800}\n{\"id\":810}\n{\"id\":820}\n{\"id\":830}\n{\"id\":840}\n{\"id\":860}\n{\"id\":870}\n{\"id\":880}\n{\"id\":890}\n";
    for from in ["t.lance", "t.parquet", "t.arrow", "t.jsonl"] {
        let ran = p.run(&["scan", from, "--columns", "id", "--where", filter]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, expected, ""), "{from}");
        let ran = p.run(&["count", from, "--where", filter]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "9\n", ""), "{from}");
        // First the filter, then the offset and the limit.
        let ran =
            p.run(&["scan", from, "--columns", "id", "--where", filter, "--offset", "7", "--limit", "1"]);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"id\":880}\n", ""), "{from}");
        // All columns, one of the struct, none, and nothing that passes.
        let ran = p.run(&["scan", from, "--where", "id = 4", "--to", "jsonl"]);
        assert_eq!(
            ran.out, "{\"id\":4,\"word\":\"word 4\",\"s\":{\"x\":1.0,\"b\":true},\"l\":[]}\n",
            "{from}"
        );
        let ran = p.run(&["scan", from, "--columns", "s.b", "--where", "s.x IS NULL AND id < 9"]);
        assert_eq!(ran.out, "{\"s\":{\"b\":false}}\n", "{from}");
        let ran = p.run(&["scan", from, "--columns", "word,id", "--where", "NOT TRUE", "--to", "csv"]);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("word,id\n", ""), "{from}");
        assert_eq!(p.run(&["count", from, "--where", "TRUE"]).out, "1000\n", "{from}");
    }
    for to in ["lance", "parquet", "arrow", "jsonl"] {
        let target = format!("some.{to}");
        let ran = p.run(&[
            "convert",
            "t.lance",
            "t.parquet",
            &target,
            "--where",
            "-1 < id AND id <= 99",
            "--check",
        ]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{to}");
        assert_eq!(p.run(&["count", &target]).out, "200\n", "{to}");
    }
    let ran = p.shell("cat birds.csv | $P scan - --where \"name >= 'b' AND wings IN (2, 3)\"");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"name\":\"owl\",\"wings\":2}\n", ""));
}

#[test]
fn where_finds_the_second_column_of_a_name() {
    let p = Place::new();
    let numbers =
        |from: i64| -> ArrayRef { Arc::new(arrow_array::Int64Array::from_iter_values(from..from + 50)) };
    let fields = ["x", "x", "y"].map(|n| arrow_schema::Field::new(n, arrow_schema::DataType::Int64, true));
    let schema = Arc::new(arrow_schema::Schema::new(fields.to_vec()));
    let batch = RecordBatch::try_new(schema, vec![numbers(0), numbers(100), numbers(200)]).unwrap();
    for format in [Format::Lance, Format::Arrow] {
        let name = format!("twins.{format}");
        write(&p.path(&name), format, std::slice::from_ref(&batch));
        for columns in ["y", "x#2,y", "x#2"] {
            let ran = p.run(&["scan", &name, "--columns", columns, "--where", "x#2 = 107", "--to", "csv"]);
            let values: Vec<&str> =
                columns.split(',').map(|c| if c == "y" { "207" } else { "107" }).collect();
            assert_eq!(ran.out.lines().nth(1), Some(values.join(",").as_str()), "{name}: {}", ran.err);
        }
    }
}

#[test]
fn inspect_tells_why_each_column_is_stored_as_it_is() {
    let p = Place::new();
    assert_eq!(p.run(&["convert", "t.arrow", "plain.lance", "--compression", "none"]).err, "");
    let ran = p.run(&["inspect", "plain.lance", "--why", "--columns", "word,id"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("1,000 rows, 2 columns: plain values "), "{}", ran.out);
    assert!(lines[0].contains("pages under balanced for format version 2.2"), "{}", lines[0]);
    let place = |start: &str| lines.iter().position(|line| line.starts_with(start)).expect(start);
    assert!(place("word ") < place("utf8 ") && place("utf8 ") < place("id "), "{}", ran.out);
    for part in ["file: mini-block variable(32)", "file: mini-block flat(64)", "* ", "why: costs least"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let widest = lines.iter().map(|line| line.chars().count()).max();
    assert!(widest < Some(160), "{widest:?}: {}", ran.out);

    let why = json(&p.run(&["inspect", "plain.lance", "--why", "--json", "--preset", "small"]).out);
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&why), "columns format_version preset");
    assert_eq!((why["preset"].as_str(), why["format_version"].as_str()), (Some("small"), Some("2.2")));
    let column = &why["columns"][0];
    assert_eq!(keys(column), "bytes candidates encodings file metadata pages path plain_bytes reasons type");
    assert_eq!(keys(&column["file"]), "bytes encodings pages");
    assert_eq!(keys(&column["encodings"][0]), "encoding pages");
    assert_eq!(keys(&column["reasons"][0]), "pages reason");
    assert_eq!(
        keys(&column["candidates"][0]),
        "chosen_bytes chosen_pages cost decode_ns encoding estimated_bytes pages plain_bytes point_ns settings"
    );
    // What was foretold is what a conversion comes to.
    assert_eq!(p.run(&["convert", "plain.lance", "small.lance", "--preset", "small"]).err, "");
    let small = json(&p.run(&["inspect", "small.lance", "--json"]).out);
    let bytes = |of: &Value| -> Vec<(String, u64)> {
        let columns = of["columns"].as_array().unwrap().iter();
        columns.map(|c| (c["path"].to_string(), c["bytes"].as_u64().unwrap())).collect()
    };
    assert_eq!(bytes(&why), bytes(&small));
    assert!(column["bytes"].as_u64() < column["file"]["bytes"].as_u64(), "{column}");

    // A file of the official library, in each format version that has a choice.
    for (name, version) in [("bss_on_lz4.v2_1", "2.1"), ("unicode.v2_2", "2.2"), ("unicode.v2_3", "2.2")] {
        let golden = format!("{}/../../testdata/golden/{name}.lance", env!("CARGO_MANIFEST_DIR"));
        let why = json(&p.run(&["inspect", &golden, "--why", "--json"]).out);
        assert_eq!(why["format_version"], version);
        assert!(!why["columns"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_conversion_sums_up_what_it_came_to() {
    let p = Place::new();
    let ran = p.run(&["convert", "t.parquet", "t.parquet", "o.lance", "--summary"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let size = |name: &str| std::fs::metadata(p.path(name)).unwrap().len();
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].starts_with("o.lance: 2,000 rows in "), "{}", ran.err);
    let ratio = format!("ratio {:.2}", size("o.lance") as f64 / (2 * size("t.parquet")) as f64);
    assert!(lines[0].ends_with(&ratio), "{ratio}: {}", lines[0]);
    assert!(lines[1].split_whitespace().eq(["column", "bytes", "share", "encoding"]), "{}", lines[1]);
    let names: Vec<&str> = lines[2..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 6, "five columns and the rest: {}", ran.err);
    assert!(["id", "word", "s.x", "s.b", "l.item"].iter().all(|name| names.contains(name)), "{}", ran.err);
    // The source itself as the target is measured before it is replaced.
    let before = size("o.lance");
    let ran = p.run(&["convert", "o.lance", "o.lance", "--compression", "none", "--summary"]);
    assert!(
        ran.err
            .lines()
            .next()
            .unwrap()
            .ends_with(&format!("ratio {:.2}", size("o.lance") as f64 / before as f64))
    );
    let ran = p.run(&["convert", "o.lance", "o.jsonl", "--summary"]);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("o.jsonl: 2,000 rows in "), "{}", ran.err);
    // Of a stream the size is not known.
    let ran = p.shell("cat t.jsonl | $P convert - s.lance --summary");
    assert!(ran.err.starts_with("s.lance: 1,000 rows") && !ran.err.contains("ratio"), "{}", ran.err);
}

#[test]
fn a_summary_names_the_largest_columns_and_counts_the_others() {
    let p = Place::new();
    let columns = (0..12).map(|i| {
        let column: ArrayRef = Arc::new(
            (0..500i64).map(|row| row * row % (1 << (4 + 3 * i))).collect::<arrow_array::Int64Array>(),
        );
        (format!("c{i}"), column)
    });
    write(&p.path("wide.arrow"), Format::Arrow, &[RecordBatch::try_from_iter(columns).unwrap()]);
    let ran = p.run(&["convert", "wide.arrow", "wide.lance", "--summary", "--compression", "none"]);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2 + 8 + 2, "{}", ran.err);
    assert!(lines[10].starts_with("4 others "), "{}", ran.err);
    assert!(lines[11].starts_with("metadata, padding, extras "), "{}", ran.err);
}

#[test]
fn bloom_filters_are_written_on_request_used_by_filters_shown_by_stats_and_checked_by_verify() {
    let p = Place::new();
    let args = ["convert", "t.lance", "b.lance", "--bloom", "word", "--bloom", "s.x", "--no-stats"];
    assert_eq!(p.run(&args).code, 0);
    let shown = p.run(&["stats", "b.lance"]).out;
    assert!(shown.contains("bloom filters of word: 1 zones of 8,192 rows, "), "{shown}");
    assert!(shown.contains("bloom filters of s.x: 1 zones of 8,192 rows, "), "{shown}");
    let json = json(&p.run(&["stats", "b.lance", "--json"]).out);
    assert_eq!(json["bloom_filters"][0]["path"], "word");
    for (filter, rows) in
        [("word = 'word 8'", "1\n"), ("word = 'word 9999'", "0\n"), ("s.x IN (2.0, 0.5)", "2\n")]
    {
        assert_eq!(p.run(&["count", "b.lance", "--where", filter]).out, rows, "{filter}");
    }
    assert!(p.run(&["verify", "b.lance"]).out.starts_with("no faults"));
    assert!(p.run(&["inspect", "b.lance"]).code == 0);
}
