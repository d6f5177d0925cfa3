#!/usr/bin/env python3
"""Instructions of ten fixed operations of pennon, counted by valgrind's callgrind: the same on a busy machine as on a quiet one.

    cargo build --release -p pennon -p pennon-measure
    python bench/instructions.py              prints counts beside those in instructions.json
    python bench/instructions.py --check      and fails where one is over 5 % more
    python bench/instructions.py --update     writes them

Needs valgrind, pyarrow and numpy. The inputs are small tables made by rule, written by pennon in a preset that the operation names. Counted is one
run, after one that is not, on one thread. Counts move a little with the compiler and the processor (memory is copied by other
instructions), so --update belongs to a change of those, too.
"""
import argparse
import json
import pathlib
import tempfile

import numpy as np
import pyarrow as pa

import common

MEASURE = common.HERE.parent / "target/release/pennon-measure"
COUNTS = common.HERE / "instructions.json"
TOLERANCE = 0.05
ROWS = 60_000
WORDS = "ash birch cedar elm fir hazel larch linden maple oak pine rowan spruce willow yew".split()


def mixed(n, salt):
    """Numbers without a pattern: the finalizer of splitmix64 over a counter, no generator that may change."""
    x = np.arange(n, dtype=np.uint64) + np.uint64(salt << 32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def below(n, salt, limit):
    return (mixed(n, salt) % np.uint64(limit)).astype(np.int64)


def orders():
    """Numbers of several shapes, short words and sentences, much like lineitem."""
    words = np.array(WORDS)
    sentences = [" ".join(words[picked]) for picked in below(ROWS * 6, 7, len(WORDS)).reshape(ROWS, 6)]
    cents = below(ROWS, 2, 10_000_000)
    return pa.table({
        "key": np.cumsum(below(ROWS, 1, 4)),
        "price": pa.array(cents / 100),
        "cents": pa.array(cents).cast(pa.decimal128(19, 0)),
        "quantity": pa.array(below(ROWS, 3, 50).astype(np.int32), mask=below(ROWS, 4, 10) == 0),
        "day": pa.array((below(ROWS, 5, 2_500) + 8_000).astype(np.int32)).cast(pa.date32()),
        "flag": pa.array(words[:3][below(ROWS, 6, 3)]),
        "comment": pa.array(sentences),
    })


def nested():
    """Lists of words, and lists of structs."""
    offsets = np.concatenate([[0], np.cumsum(below(ROWS // 2, 11, 5))]).astype(np.int32)
    items = pa.array(np.array(WORDS)[below(offsets[-1], 12, len(WORDS))])
    pairs = pa.StructArray.from_arrays([items, pa.array(below(offsets[-1], 13, 1_000_000))], ["name", "number"])
    return pa.table({"words": pa.ListArray.from_arrays(offsets, items), "pairs": pa.ListArray.from_arrays(offsets, pairs)})


def vectors():
    values = (below(4_000 * 128, 21, 1 << 24) / (1 << 24)).astype(np.float32)
    return pa.table({"id": np.arange(4_000), "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), 128)})


def wide():
    return pa.table({f"c{i:04}": below(100, 31 + i, 1000).astype(np.float32) for i in range(2_000)})


TABLES = {"orders": orders, "nested": nested, "vectors": vectors, "wide": wide}
# A name to the table, the preset, the measure, and the column of measures of one.
OPERATIONS = {
    "open": ("orders", "balanced", "open", None),
    "open 2,000 columns, read one": ("wide", "balanced", "open_one", "c1234"),
    "scan, balanced": ("orders", "balanced", "scan", None),
    "scan of lists": ("nested", "balanced", "scan", None),
    "scan of sentences": ("orders", "fast", "one", "comment"),
    "take 1,000, fast": ("orders", "fast", "take_1000_all", None),
    "take 1,000, balanced": ("orders", "balanced", "take_1000_all", None),
    "take 100 of lists, opened": ("nested", "fast", "open_take_all", None),
    "take 1,000 vectors": ("vectors", "balanced", "take_1000_all", None),
    "write, balanced": ("orders", "balanced", "write", None),
}


def row_sets(num_rows):
    """Two sets each: one for the run that is not counted."""
    return {
        size: [sorted(np.argsort(mixed(num_rows, 41 + salt), kind="stable")[:size].tolist()) for salt in range(2)]
        for size in (100, 1_000) if size <= num_rows
    }


def make(folder):
    """Each table as an Arrow file, and in each preset that is asked for as pennon writes it."""
    num_rows = {}
    for name, build in TABLES.items():
        table = build()
        num_rows[name] = table.num_rows
        common.write_arrow(table, folder / f"{name}.arrow", batch_rows=16_384)
    for name, preset in sorted({operation[:2] for operation in OPERATIONS.values()}):
        common.run(common.ENGINE, "convert", folder / f"{name}.arrow", folder / f"{name}.{preset}.lance", "--preset", preset)
    return num_rows


def count(folder, operation, num_rows):
    """Instructions of the run that counts."""
    table, preset, measure, column = operation
    job = {
        "file": str(folder / f"{table}.{preset}.lance"), "measures": [measure], "seconds": 0, "threads": 1, "one": [column], "two": [],
        "sets": row_sets(num_rows[table]),
    }
    if measure == "write":
        job["write"] = {"source": str(folder / f"{table}.arrow"), "preset": preset}
    path, out = folder / "job.json", folder / "callgrind.out"
    path.write_text(json.dumps(job))
    common.run("valgrind", "--tool=callgrind", "--toggle-collect=*measures::counted*", f"--callgrind-out-file={out}", MEASURE, path)
    return next(int(line.split()[1]) for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where an operation costs over 5 %% more")
    parser.add_argument("--update", action="store_true", help="write instructions.json")
    options = parser.parse_args()
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        num_rows = make(folder)
        counts = {name: count(folder, operation, num_rows) for name, operation in OPERATIONS.items()}
    rows, worse = [], []
    for name, found in counts.items():
        known = before.get(name)
        rows.append([name, f"{found:,}", f"{known:,}" if known else "-", f"{found / known - 1:+.1%}" if known else "-"])
        if known and found > known * (1 + TOLERANCE):
            worse.append(name)
    common.print_table(["instructions", "now", "before", ""], rows)
    if options.update:
        COUNTS.write_text(json.dumps(counts, indent=1) + "\n")
    if options.check and (worse or before.keys() != counts.keys()):
        raise SystemExit(f"over {TOLERANCE:.0%} more: {', '.join(worse)}" if worse else "instructions.json lists other operations: --update")


if __name__ == "__main__":
    main()
