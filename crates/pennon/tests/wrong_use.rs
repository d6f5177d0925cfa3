//! Guards the exact line that each wrong use is answered with, its exit code, and that nothing is lost.

mod common;

use common::Place;

/// One line on standard error, nothing on standard output.
#[track_caller]
fn says(place: &Place, args: &[&str], code: i32, line: &str) {
    let ran = place.run(args);
    assert_eq!(ran.err, format!("pennon: {line}\n"), "{args:?}");
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}");
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    let p = Place::new();
    says(&p, &["fly"], 2, "unrecognized subcommand 'fly'; see pennon --help");
    says(
        &p,
        &["take", "t.lance"],
        2,
        "the following required arguments were not provided: <--rows <ROWS>|--rows-from <F>>; see pennon take --help",
    );
    says(
        &p,
        &["take", "t.lance", "--rows", "1,x"],
        2,
        "invalid value '1,x' for '--rows <ROWS>': expected N, A..B or A..=B, found \"x\"; see pennon take --help",
    );
    says(
        &p,
        &["take", "t.lance", "--rows", "1", "--rows-from", "f"],
        2,
        "the argument '--rows <ROWS>' cannot be used with '--rows-from <F>'; see pennon take --help",
    );
    says(
        &p,
        &["head", "t.lance", "-n", "many"],
        2,
        "invalid value 'many' for '-n <N>': invalid digit found in string; see pennon head --help",
    );
    says(
        &p,
        &["scan", "t.lance", "--to", "xml"],
        2,
        "invalid value 'xml' for '--to <FORM>': expected table, csv, jsonl, arrow, arrows, parquet or lance; see pennon scan --help",
    );
    says(
        &p,
        &["scan", "t.lance", "--from", "orc"],
        2,
        "invalid value 'orc' for '--from <FORMAT>': format \"orc\": expected lance, parquet, arrow, arrows, csv or jsonl; see pennon scan --help",
    );
    says(
        &p,
        &["scan", "t.lance", "--memory", "lots"],
        2,
        "invalid value 'lots' for '--memory <BYTES>': expected a number of bytes, as in 65536, 64KiB or 8M, found \"lots\"; see pennon scan --help",
    );
    says(
        &p,
        &["scan", "t.lance", "--limits", "3"],
        2,
        "unexpected argument '--limits' found (a similar argument exists: '--limit'); see pennon scan --help",
    );
    says(
        &p,
        &["convert", "t.lance"],
        2,
        "2 values required by '<SRC> <DST>...'; only 1 was provided; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "o.lance", "--format-version", "1.9"],
        2,
        "invalid value '1.9' for '--format-version <VERSION>' [possible values: 2.0, 2.1, 2.2]; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "o.lance", "--compression", "zstd:99"],
        2,
        "invalid value 'zstd:99' for '--compression <METHOD>': expected auto, none, lz4, zstd or zstd:LEVEL, found \"zstd:99\"; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "o.lance", "--align", "100"],
        2,
        "invalid value '100' for '--align <BYTES>' [possible values: 64, 4096]; see pennon convert --help",
    );
}

#[test]
fn arguments_that_do_not_go_together_are_wrong_usage() {
    let p = Place::new();
    let before = p.names();
    for args in [
        &["take", "-", "--rows-from", "-"][..],
        &["diff", "-", "-"],
        &["diff", "-", "-", "--ordered"],
        &["convert", "-", "-", "o.lance"],
    ] {
        let line = format!(
            "standard input can be read only once; name a file for one of the two; see pennon {} --help",
            args[0]
        );
        says(&p, args, 2, &line);
    }
    for option in ["--align=64", "--format-version=2.1", "--max-page-bytes=1MiB", "--no-checksums"] {
        let line = format!(
            "{} is about Lance files; the target is parquet; see pennon convert --help",
            option.split('=').next().unwrap()
        );
        says(&p, &["convert", "t.lance", "o.parquet", option], 2, &line);
    }
    says(
        &p,
        &["convert", "-", "-"],
        2,
        "standard output has no extension that names a format; say --to FORMAT; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "-", "--to", "csv", "--check"],
        2,
        "--check reads everything twice, which standard input and output do not allow; name files; see pennon convert --help",
    );
    for verb in [&["scan", "t.lance"][..], &["take", "t.lance", "--rows", "1"]] {
        let line = format!(
            "o: the extension names no format; expected .lance, .parquet, .arrow, .arrows, .csv or .jsonl, or say --to FORMAT; see pennon {} --help",
            verb[0]
        );
        says(&p, &[verb, &["-o", "o"]].concat(), 2, &line);
    }
    says(
        &p,
        &["take", "t.lance", "--rows", "1,5..3"],
        2,
        "invalid value '1,5..3' for '--rows <ROWS>': \"5..3\" ends before it begins; see pennon take --help",
    );
    assert_eq!(p.names(), before);
}

#[test]
fn empty_names_and_empty_lists_are_told() {
    let p = Place::new();
    let before = p.names();
    let nameless = "\"\": no such file; the name is empty";
    says(&p, &["count", ""], 1, nameless);
    says(&p, &["take", "t.lance", "--rows-from", ""], 1, nameless);
    says(&p, &["convert", "", "o.lance"], 1, nameless);
    says(&p, &["convert", "t.lance", ""], 2, "the name of the target is empty; see pennon convert --help");
    says(&p, &["scan", "t.lance", "-o", ""], 2, "the name after -o is empty; see pennon scan --help");
    let nothing = |file: &str| {
        format!("{file}: expected one row number a line or a single integer column, found nothing")
    };
    for text in ["", "\n \n"] {
        std::fs::write(p.path("rows.txt"), text).unwrap();
        says(&p, &["take", "t.lance", "--rows-from", "rows.txt"], 1, &nothing("rows.txt"));
        std::fs::remove_file(p.path("rows.txt")).unwrap();
    }
    says(&p, &["take", "t.lance", "--rows-from", "-"], 1, &nothing("-"));
    assert_eq!(p.names(), before);
}

#[test]
fn a_column_that_is_asked_twice_is_not_silently_given_once() {
    let p = Place::new();
    for verb in ["convert", "scan", "head"] {
        let files = if verb == "convert" { &["t.lance", "o.lance"][..] } else { &["t.lance"] };
        let args = [&[verb], files, &["--columns", "id,word,id"]].concat();
        let line = format!(
            "invalid value 'id,word,id' for '--columns <PATHS>': id stands there twice; see pennon {verb} --help"
        );
        says(&p, &args, 2, &line);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let p = Place::new();
    if std::path::Path::new("/dev/full").exists() {
        let line = "pennon: cannot write standard output: No space left on device (os error 28)\n";
        for args in ["--help", "take --help", "--version"] {
            let ran = p.shell(&format!("$P {args} > /dev/full"));
            assert_eq!((ran.code, ran.err.as_str()), (1, line), "{args}");
        }
    }
    let ran = p.shell("set -o pipefail; $P convert --help | true; echo $?");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("0\n", ""));
}

#[test]
fn options_of_later_releases_do_not_exist_yet() {
    let p = Place::new();
    for args in [
        &["take", "t.lance", "--rows", "1", "--where", "id = 1"][..],
        &["verify", "t.lance", "--objects"],
        &["objects", "ls"],
    ] {
        let ran = p.run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
    }
}

#[test]
fn presets_and_explanations_say_what_is_expected() {
    let p = Place::new();
    let expected = "expected balanced, fast or small, found \"tiny\"";
    for (args, line) in [
        (&["convert", "t.lance", "o.lance", "--preset", "tiny"][..], "'tiny' for '--preset <PRESET>'"),
        (
            &["convert", "t.lance", "o.lance", "--column-preset", "id=tiny"],
            "'id=tiny' for '--column-preset <COLUMN=PRESET>'",
        ),
        (&["inspect", "t.lance", "--why", "--preset", "tiny"], "'tiny' for '--preset <PRESET>'"),
    ] {
        says(&p, args, 2, &format!("invalid value {line}: {expected}; see pennon {} --help", args[0]));
    }
    for args in [
        &["inspect", "t.lance", "--preset", "small"][..],
        &["inspect", "t.lance", "--columns", "id"],
        &["inspect", "t.lance", "--why", "--pages"],
        &["inspect", "t.lance", "--why", "--format-version", "2.0"],
    ] {
        assert_eq!(p.run(args).code, 2, "{args:?}");
    }
    says(
        &p,
        &["convert", "t.lance", "-", "--to", "csv", "--columns", "id", "--summary"],
        2,
        "--summary is about a file; the target is standard output; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "o.lance", "--column-preset", "wrod=small"],
        1,
        "a preset for column \"wrod\", which the schema has not: expected one of id, word, s.x, s.b, l.item (file o.lance)",
    );
    says(
        &p,
        &["convert", "t.lance", "o.lance", "--bloom", "wrod"],
        1,
        "a bloom filter for column \"wrod\", which the schema has not; inside of structs columns are named as in a.b (file o.lance)",
    );
    says(
        &p,
        &["convert", "t.lance", "o.csv", "--bloom", "word"],
        2,
        "--bloom is about Lance files; the target is csv; see pennon convert --help",
    );
    assert_eq!(p.run(&["convert", "t.arrow", "old.lance", "--format-version", "2.0"]).code, 0);
    says(
        &p,
        &["inspect", "old.lance", "--why"],
        1,
        "unsupported: pages of format version 2.0 are stored by fixed rules, there is no choice to explain; ask for 2.1 or 2.2 (file old.lance)",
    );
    let ran = p.run(&["inspect", "t.lance", "--why", "--columns", "wrod"]);
    assert!(ran.code == 1 && ran.err.contains("wrod") && ran.out.is_empty(), "{}", ran.err);
}

#[test]
fn wrong_columns_and_rows_are_named_before_any_output() {
    let p = Place::new();
    says(&p, &["scan", "t.lance", "--columns", "wrod"], 1, "t.lance: no column \"wrod\"; did you mean word?");
    says(
        &p,
        &["head", "t.parquet", "--columns", "id,s.y"],
        1,
        "t.parquet: no column \"s.y\"; did you mean s.b, s.x, s?",
    );
    says(
        &p,
        &["head", "birds.csv", "--columns", "beak"],
        1,
        "birds.csv: no column \"beak\"; the columns are name, wings",
    );
    says(
        &p,
        &["head", "t.lance", "--columns", "`id"],
        1,
        "column path \"`id\": expected a closing backquote",
    );
    for file in ["t.lance", "t.parquet", "t.arrow", "t.jsonl"] {
        for (rows, bad) in [
            ("0,1000", "1000"),
            ("-1", "-1"),
            ("5..=1000", "1000"),
            ("99999999999999999999", "99999999999999999999"),
        ] {
            let line =
                format!("{file}: row {bad} is out of range: the file has 1000 rows, rows go from 0 to 999");
            says(&p, &["take", file, "--rows", rows], 1, &line);
        }
    }
    // Long runs are checked as runs: no list of that many numbers is made.
    let of = |file: &str| format!("{file}: row 3 is out of range: the file has 3 rows, rows go from 0 to 2");
    says(&p, &["take", "birds.csv", "--rows", "0..4294967296"], 1, &of("birds.csv"));
    says(&p, &["take", "birds.csv", "--rows", "0..1000000000000"], 1, &of("birds.csv"));
    for rows in ["0..4294967296", "1,0..5", "3"] {
        let ran = p.shell(&format!("$P take - --rows {rows} < birds.csv"));
        assert_eq!((ran.code, ran.err), (1, format!("pennon: {}\n", of("standard input"))), "{rows}");
    }
    std::fs::write(p.path("rows.txt"), "1\n2 3\n").unwrap();
    says(
        &p,
        &["take", "t.lance", "--rows-from", "rows.txt"],
        1,
        "rows.txt: expected one row number a line or a single integer column, found \"2 3\" in line 2",
    );
    says(
        &p,
        &["take", "t.lance", "--rows-from", "birds.csv"],
        1,
        "birds.csv: expected one row number a line or a single integer column, found 2 columns",
    );
    says(&p, &["take", "t.lance", "--rows-from", "none"], 1, "none: no such file");
}

#[test]
fn sources_that_cannot_be_read_say_why() {
    let p = Place::new();
    std::fs::create_dir(p.path("dir")).unwrap();
    std::fs::write(p.path("text.lance"), "a,b\n1,2\n").unwrap();
    std::fs::write(p.path("bytes.parquet"), [0u8, 1, 2, 3, 250]).unwrap();
    std::fs::write(p.path("empty.csv"), "").unwrap();
    std::fs::write(p.path("notes"), "hello\n").unwrap();
    std::fs::write(p.path("x.orc"), b"ORC\x01\x02").unwrap();
    says(&p, &["head", "none.lance"], 1, "none.lance: no such file");
    says(&p, &["head", "dir"], 1, "dir is a directory; expected a file");
    says(
        &p,
        &["head", "text.lance"],
        1,
        "text.lance: not a Lance file: expected \"LANC\" as the last four bytes, found text beginning \"a,b\\n1,2\\n\"",
    );
    says(
        &p,
        &["head", "bytes.parquet"],
        1,
        "bytes.parquet: not a Parquet file: expected \"PAR1\" at both ends, found bytes beginning 00 01 02 03 FA",
    );
    says(&p, &["head", "empty.csv"], 1, "empty.csv: the file is empty (0 bytes), so it has no format");
    says(
        &p,
        &["head", "notes"],
        1,
        "notes: text without a format that can be told by content; say --from csv or --from jsonl",
    );
    says(&p, &["head", "x.orc"], 1, "unsupported: x.orc: this is an ORC file; ORC is not read yet");
    says(
        &p,
        &["head", "t.lance", "--schema", "birds.csv"],
        1,
        "birds.csv: not a schema: expected ident at line 1 column 2",
    );
    std::fs::write(p.path("schema.json"), r#"{"fields":[{"name":"wings","type":"int7"}]}"#).unwrap();
    says(
        &p,
        &["head", "birds.csv", "--schema", "schema.json"],
        1,
        "schema.json: not a schema: field \"wings\": type \"int7\": no such type; `pennon schema FILE --json` shows names of types",
    );
    std::fs::write(p.path("schema.json"), r#"{"fields":[{"name":"beaks","type":"int8"}]}"#).unwrap();
    says(
        &p,
        &["head", "birds.csv", "--schema", "schema.json"],
        1,
        "birds.csv: --schema names column \"beaks\", which is not there",
    );
    says(
        &p,
        &["head", "t.lance", "--schema", "schema.json"],
        1,
        "t.lance: --schema gives types to csv and jsonl; a Lance file brings its own",
    );
    says(
        &p,
        &["inspect", "t.parquet"],
        1,
        "unsupported: t.parquet: inspect shows Lance files, this is Parquet; `pennon schema` and `pennon verify` read it",
    );
}

#[test]
fn an_unreadable_source_is_named() {
    let p = Place::new();
    // The superuser reads everything; then there is nothing to test.
    let ran = p.shell("chmod 0 t.lance; [ -r t.lance ] && echo readable; $P count t.lance");
    if !ran.out.contains("readable") {
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (1, "pennon: t.lance: permission denied; the file must be readable\n")
        );
    }
}

#[test]
fn targets_that_cannot_be_written_say_why_and_lose_nothing() {
    let p = Place::new();
    std::fs::create_dir(p.path("dir")).unwrap();
    let before = p.names();
    says(
        &p,
        &["convert", "t.lance", "dir"],
        2,
        "dir: the extension names no format; expected .lance, .parquet, .arrow, .arrows, .csv or .jsonl, or say --to FORMAT; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "dir", "--to", "lance"],
        1,
        "dir is a directory; expected a file name to write to",
    );
    says(&p, &["convert", "t.lance", "no/o.lance"], 1, "no/o.lance: there is no directory no; make it first");
    says(
        &p,
        &["convert", "t.lance", "o.orc"],
        1,
        "unsupported: o.orc: ORC is not written yet; name the target .lance, .parquet, .arrow, .csv or .jsonl",
    );
    says(
        &p,
        &["convert", "t.lance", "-"],
        2,
        "standard output has no extension that names a format; say --to FORMAT; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "t.parquet", "--no-clobber"],
        1,
        "t.parquet exists; it is kept because of --no-clobber",
    );
    says(
        &p,
        &["convert", "t.lance", "o.csv"],
        1,
        "unsupported: column \"s\" of type struct<x: float64, b: bool> cannot be written as CSV; choose jsonl, arrow, parquet or lance, or leave it out with --columns (file o.csv)",
    );
    says(
        &p,
        &["convert", "t.lance", "o.csv", "--columns", "id", "--compression", "lz4"],
        2,
        "--compression: a csv file is plain text; compress it afterwards; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "o.parquet", "--align", "4096"],
        2,
        "--align is about Lance files; the target is parquet; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "-", "o.lance", "--check"],
        2,
        "--check reads everything twice, which standard input and output do not allow; name files; see pennon convert --help",
    );
    says(
        &p,
        &["convert", "t.lance", "birds.csv", "o.lance"],
        1,
        "t.lance and birds.csv cannot be joined: column 0 is called \"id\" in the one and \"name\" in the other",
    );
    says(&p, &["convert", "t.lance", "none.lance", "o.lance"], 1, "none.lance: no such file");
    assert_eq!(p.names(), before);
}

#[test]
fn a_file_size_limit_or_a_full_disk_is_one_line_and_loses_nothing() {
    let p = Place::new();
    let before = p.names();
    let old = std::fs::read(p.path("t.parquet")).unwrap();
    for target in ["o.lance", "o.parquet", "o.arrow", "o.jsonl", "t.parquet"] {
        // 8 KiB; every target is larger.
        let ran = p.shell(&format!("ulimit -f 8; exec $P convert t.arrow {target} --compression none"));
        assert_eq!(
            (ran.code, ran.err),
            (1, format!("pennon: cannot write {target}: File too large (os error 27)\n")),
            "{target}"
        );
        assert_eq!(p.names(), before, "{target}");
    }
    assert_eq!(std::fs::read(p.path("t.parquet")).unwrap(), old);
    if std::path::Path::new("/dev/full").exists() {
        for to in ["jsonl", "csv", "arrow"] {
            let ran = p.shell(&format!("$P scan t.lance --columns id,word --to {to} > /dev/full"));
            let line = "pennon: cannot write standard output: No space left on device (os error 28)\n";
            assert_eq!((ran.code, ran.err.as_str()), (1, line), "{to}");
        }
    }
}

#[test]
fn a_reader_that_went_away_ends_the_program_without_a_word() {
    let p = Place::new();
    for verb in [
        "scan t.lance",
        "scan t.lance --columns id --to csv",
        "scan t.lance --to table",
        "inspect t.lance",
        "schema t.lance",
    ] {
        let ran = p.shell(&format!("set -o pipefail; $P {verb} | true; echo $?"));
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("0\n", ""), "{verb}");
    }
}

#[test]
fn a_cut_or_altered_file_is_told_where() {
    let p = Place::new();
    let good = std::fs::read(p.path("t.lance")).unwrap();
    std::fs::write(p.path("cut.lance"), &good[..good.len() / 2]).unwrap();
    let ran = p.run(&["count", "cut.lance"]);
    assert_eq!((ran.code, ran.err.lines().count()), (1, 1));
    assert!(
        ran.err.starts_with("pennon: cut.lance: not a Lance file: expected \"LANC\" as the last four bytes"),
        "{}",
        ran.err
    );
    // In the middle of the last buffer of the first column.
    let made: serde_json::Value =
        serde_json::from_str(&p.run(&["inspect", "t.lance", "--json", "--pages"]).out).unwrap();
    let buffers = made["columns"][0]["pages"][0]["buffers"].as_array().unwrap();
    let last = &buffers[buffers.len() - 1];
    let at = last["offset"].as_u64().unwrap() + last["bytes"].as_u64().unwrap() / 2;
    let mut bad = good;
    bad[at as usize] ^= 0xFF;
    std::fs::write(p.path("bad.lance"), &bad).unwrap();
    for args in [
        &["scan", "bad.lance"][..],
        &["take", "bad.lance", "--rows", "1"],
        &["convert", "bad.lance", "o.lance"],
    ] {
        let ran = p.run(args);
        assert_eq!((ran.code, ran.err.lines().count()), (1, 1), "{args:?}");
        for part in ["corrupt file: ", "file bad.lance", "column id", "page 0"] {
            assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
        }
    }
    assert!(!p.path("o.lance").exists());
    let ran = p.run(&["verify", "bad.lance"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert!(
        ran.out.starts_with("corrupt: column id, page 0")
            && ran.out.lines().last().unwrap().starts_with("1 fault: 1,000 rows")
            && ran.out.ends_with(" checked; all of it has checksums\n"),
        "{}",
        ran.out
    );
    // The footer says where the metadata lie: here, nowhere.
    let end = bad.len();
    bad[end - 40..end - 8].fill(0xFF);
    std::fs::write(p.path("bad.lance"), &bad).unwrap();
    let ran = p.run(&["verify", "bad.lance"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.ends_with("1 fault: 0 rows, 0 columns, 0 B checked; no data was read\n"), "{}", ran.out);
}

#[test]
fn a_wrong_predicate_is_wrong_usage_and_one_that_does_not_fit_the_file_is_an_error() {
    let p = Place::new();
    let before = p.names();
    for verb in [&["scan", "t.lance"][..], &["count", "t.lance"], &["convert", "t.lance", "o.lance"]] {
        let line = format!(
            "invalid value 'id > AND s.b' for '--where <EXPR>': expected a column or a value after >, found AND at character 6: \"AND s.b\"; see pennon {} --help",
            verb[0]
        );
        says(&p, &[verb, &["--where", "id > AND s.b"]].concat(), 2, &line);
        // Of a long one the beginning is quoted, and the place.
        let line = format!(
            "invalid value '{}…' for '--where <EXPR>': more than 64 forms in one another at character 66: \"{}…\"; see pennon {} --help",
            "(".repeat(80),
            "(".repeat(30),
            verb[0]
        );
        says(&p, &[verb, &["--where", &"(".repeat(5000)]].concat(), 2, &line);
    }
    for from in ["t.lance", "t.parquet"] {
        let named = |text: &str| format!("{text} (file {from})");
        for verb in [&["scan"][..], &["count"], &["convert", "o.lance"]] {
            let args = [&[verb[0], from], &verb[1..], &["--where", "id = 'a'"]].concat();
            says(&p, &args, 1, &named("'a' does not fit int64 column id: expected a whole number"));
            let args = [&[verb[0], from], &verb[1..], &["--where", "word"]].concat();
            says(&p, &args, 1, &named("a column alone is for TRUE and FALSE; column word is utf8"));
        }
    }
    says(
        &p,
        &["count", "t.parquet", "--where", "wrod = 'a'"],
        1,
        "t.parquet: no column \"wrod\"; did you mean word?",
    );
    assert_eq!(p.names(), before);
}
