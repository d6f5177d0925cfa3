//! Guards the memory that a conversion takes, and what a killed one leaves behind.

mod common;

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use common::{Place, table, write};
use pennon::convert::{Format, Output, WriterOptions, create_writer};

/// `VmHWM` of a running process, bytes.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Runs the program and looks at its peak memory until it ends.
fn peak_of(place: &Place, args: &[&str]) -> u64 {
    let mut child = place.command(args).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    loop {
        most = most.max(peak(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{args:?}");
            return most;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// 256 MiB of numbers and texts that do not repeat.
fn write_large(place: &Place) {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    let mut batch = || -> RecordBatch {
        let numbers: Vec<i64> = (0..65_536).map(|_| next() as i64).collect();
        let texts: Vec<String> = numbers
            .iter()
            .map(|n| format!("{n:x}{:x}{:x}{:x}", n.rotate_left(7), n.rotate_left(17), n.rotate_left(37)))
            .collect();
        let columns: [(&str, ArrayRef); 2] =
            [("n", Arc::new(Int64Array::from(numbers))), ("t", Arc::new(StringArray::from(texts)))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let first = batch();
    let mut writer = create_writer(
        Format::Arrow,
        Output::path(&place.path("large.arrow"), true).unwrap(),
        &first.schema(),
        &WriterOptions::default(),
    )
    .unwrap();
    let bytes = pennon::convert::batch_bytes(&first);
    for _ in 0..(256 << 20) / bytes {
        writer.write(&batch()).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
}

#[test]
fn a_large_conversion_stays_within_its_memory() {
    let p = Place::new();
    write_large(&p);
    let base = peak_of(&p, &["count", "t.lance"]);
    for (from, to) in
        [("large.arrow", "large.lance"), ("large.lance", "large.parquet"), ("large.parquet", "back.lance")]
    {
        let peak = peak_of(&p, &["convert", from, to]);
        let over = peak.saturating_sub(base) >> 20;
        println!("{from} to {to}: {over} MiB over the {} MiB of a small run", base >> 20);
        assert!(over <= 128, "{from} to {to}: {over} MiB");
    }
    let peak = peak_of(&p, &["scan", "large.lance", "--to", "arrow"]);
    println!("scan: {} MiB over", peak.saturating_sub(base) >> 20);
    assert!(peak.saturating_sub(base) >> 20 <= 128);
    assert_eq!(p.run(&["diff", "large.arrow", "back.lance"]).code, 0);
}

#[test]
fn a_long_list_of_rows_takes_no_more_memory_than_a_short_one() {
    let p = Place::new();
    std::fs::write(p.path("n.csv"), (0..1000).fold("n\n".to_owned(), |text, n| text + &format!("{n}\n")))
        .unwrap();
    assert_eq!(p.run(&["convert", "n.csv", "n.lance"]).err, "");
    let runs = vec!["0..1000"; 8_000].join(",");
    let short = peak_of(&p, &["take", "n.lance", "--rows", "0..1000", "--to", "csv"]);
    for rows in [&runs, &vec!["0..1000"; 16_000].join(",")] {
        let over =
            peak_of(&p, &["take", "n.lance", "--rows", rows, "--to", "csv"]).saturating_sub(short) >> 20;
        println!("{over} MiB over a short list");
        assert!(over <= 32, "{over} MiB");
    }
    let out = p.run(&["take", "n.lance", "--rows", &runs, "--to", "csv"]).out;
    let expected = (0..8_000).flat_map(|_| 0..1000u32);
    assert!(out.lines().skip(1).map(|n| n.parse::<u32>().unwrap()).eq(expected));
}

/// A Lance file of about 300 bytes with one column that claims `rows` nulls, made of the parts of a kept file:
/// `schema, rows | column encoding, page { rows, layout } | offset tables | footer`.
fn nulls(rows: u64) -> Vec<u8> {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/prim_null.v2_1.lance");
    let golden = std::fs::read(golden).unwrap();
    let mut varint = Vec::new();
    let mut rest = rows;
    while rest > 0x7F {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    let mut file = [&[0x0A, 27], &golden[3..30], &[0x10], &varint].concat();
    let column = file.len() as u64;
    file.extend_from_slice(&golden[0x94..0xBF]);
    file.extend([&[0x12, 45 + varint.len() as u8, 0x18], varint.as_slice(), &golden[0xC4..0xF0]].concat());
    let columns = file.len() as u64;
    file.extend([column, columns - column].map(u64::to_le_bytes).concat());
    let globals = file.len() as u64;
    file.extend([0, column, column, columns, globals].map(u64::to_le_bytes).concat());
    file.extend([1u32, 1].map(u32::to_le_bytes).concat());
    file.extend_from_slice(b"\x02\0\x01\0LANC");
    file
}

#[test]
fn a_small_file_of_very_many_rows_is_verified_and_read_from_anywhere() {
    let p = Place::new();
    for (rows, said) in [(1 << 40, "1,099,511,627,776"), (u64::MAX, "18,446,744,073,709,551,615")] {
        std::fs::write(p.path("nulls.lance"), nulls(rows)).unwrap();
        let ran = p.run(&["verify", "nulls.lance"]);
        assert!(
            ran.out.starts_with(&format!("no faults: {said} rows, 1 columns, ")),
            "{} {}",
            ran.out,
            ran.err
        );
        let last = rows - 1;
        let ran =
            p.shell(&format!("$P take nulls.lance --rows {last},0..1000000000000 --to csv | head -n 3"));
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("none\n\"\"\n\"\"\n", ""));
        let ran = p.run(&["take", "nulls.lance", "--rows", &format!("0..={rows}")]);
        let line = format!("row {rows} is out of range: the file has {rows} rows, rows go from 0 to {last}");
        assert_eq!(ran.err, format!("pennon: nulls.lance: {line}\n"));
    }
}

/// Starts a conversion whose source does not end, and waits until it writes.
fn start_endless(p: &Place, target: &str) -> (Child, std::process::ChildStdin) {
    let mut child = p
        .command(&["convert", "-", target, "--memory", "1MiB"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    write(
        &p.path("part.arrows"),
        Format::ArrowStream,
        &(0..200).map(|i| table(i * 1000..i * 1000 + 1000)).collect::<Vec<_>>(),
    );
    let bytes = std::fs::read(p.path("part.arrows")).unwrap();
    // Without the end of the stream.
    stdin.write_all(&bytes[..bytes.len() - 8]).unwrap();
    stdin.flush().unwrap();
    let started = Instant::now();
    while !p.names().iter().any(|n| n.starts_with(&format!(".{target}.pennon-{}-", child.id()))) {
        assert!(started.elapsed() < Duration::from_secs(30), "no temporary file appeared: {:?}", p.names());
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, stdin)
}

#[test]
fn a_killed_conversion_leaves_the_target_as_it_was() {
    let p = Place::new();
    let old = std::fs::read(p.path("t.lance")).unwrap();
    for target in ["t.lance", "new.lance"] {
        let (mut child, stdin) = start_endless(&p, target);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(stdin);
    }
    assert_eq!(std::fs::read(p.path("t.lance")).unwrap(), old);
    assert!(!p.path("new.lance").exists());
    let left: Vec<_> = p.names().into_iter().filter(|n| n.starts_with('.')).collect();
    assert!(left.iter().all(|n| n.contains(".pennon-") && n.ends_with(".tmp")), "{left:?}");
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupted_conversion_takes_its_temporary_file_along() {
    let p = Place::new();
    for name in ["-TERM", "-INT", "-HUP", "-QUIT", "-XCPU"] {
        let (mut child, stdin) = start_endless(&p, "new.lance");
        signal(&child, name);
        let status = child.wait().unwrap();
        drop(stdin);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(!status.success() && err.is_empty(), "{name}: {err}");
        assert!(p.names().iter().all(|n| !n.starts_with('.') && n != "new.lance"), "{name}: {:?}", p.names());
    }
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let p = Place::new();
    let ran = p.shell("trap '' HUP; (sleep 1; cat t.jsonl) | $P convert - new.lance & p=$!; sleep 0.5; kill -HUP $p; wait $p");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(p.run(&["count", "new.lance"]).out, "1000\n");
}
