#!/usr/bin/env python3
"""File sizes of pennon beside its peers, and the CPU time of writing them.

    python bench/make_data.py --lance 2.1,2.2
    cargo build --release -p pennon
    python bench/size.py                          all tables and the ten single columns
    python bench/size.py --tables flights,text    only these
    python bench/size.py --only pennon            peers from the last run (bench/data/sizes.json)
    python bench/size.py --columns flights        bytes of each column
    python bench/size.py --regret                 what looking at samples only costs in bytes

Peers: pylance 14.0.2 (file writer, defaults), Parquet by pyarrow with snappy and zstd (defaults, row groups of 1,048,576 rows), Vortex 0.93.0 where
the package vortex-data is there. Every file of pennon is read back by pylance, whole and in 200 random rows, and compared; `--no-check` leaves that out.
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

HERE = pathlib.Path(__file__).resolve().parent
STRUCTURED = ["lineitem", "flights", "text", "cities", "nested"]
TABLES = STRUCTURED + ["embeddings", "images", "wide"]
PRESETS = ["balanced", "fast", "small"]
VERSIONS = ["2.1", "2.2"]
ROWS = 1_000_000
# Bytes that balanced and small may take at most, version 2.2.
COLUMN_GOALS = {
    "strings_10": (530_000, 450_000), "strings_1000": (1_400_000, 1_300_000), "int64_counting": (1_300_000, 64_000),
    "timestamps": (3_600_000, 2_500_000), "bool_rare": (32_000, 16_000), "prices": (3_000_000, 2_500_000),
    "urls": (9_000_000, 2_800_000), "null_but_last": (64_000, 8_000),
}


def single_columns():
    """The ten columns: name to an array of a million values, the same on every machine."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{i:04d}{'abcdefghij'[i % 10] * (i % 5)}" for i in range(1000)])
    steps = np.cumsum(rng.integers(900, 1100, ROWS)) + 1_700_000_000_000
    skewed = np.minimum(rng.zipf(1.5, ROWS), 500)
    return {
        "strings_10": pa.array(np.array([f"value{i}" for i in range(10)])[rng.integers(0, 10, ROWS)]),
        "strings_1000": pa.array(words[rng.integers(0, 1000, ROWS)]),
        "int64_counting": pa.array(np.arange(ROWS)),
        "timestamps": pa.array(steps).cast(pa.timestamp("ms")),
        "bool_rare": pa.array(rng.random(ROWS) < 0.001),
        "prices": pa.array(np.round(rng.uniform(1, 1000, ROWS), 2)),
        "urls": pa.array([f"https://images.example.com/datasets/train/{i:09d}/original.jpg?size=large" for i in range(ROWS)]),
        "null_but_last": pa.array([None] * (ROWS - 1) + [5], pa.int64()),
        "uuids": pa.array([rng.bytes(16).hex() for _ in range(ROWS)]),
        "categories_skewed": pa.array([f"category {c}" for c in skewed], mask=rng.random(ROWS) < 0.1),
    }


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def cpu_of(command):
    """Runs a command; its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{answer.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_peer(peer, source, target):
    """One peer's file of an Arrow file, in a process of its own. Prints the CPU seconds of the writing alone."""
    table = feather.read_table(source, memory_map=False)
    before = resource.getrusage(resource.RUSAGE_SELF)
    if peer.startswith("pylance"):
        from lance.file import LanceFileWriter
        with LanceFileWriter(target, table.schema, version=peer.split()[1]) as writer:
            for batch in table.to_batches():
                writer.write_batch(batch)
    elif peer.startswith("parquet"):
        parquet.write_table(table, target, compression=peer.split()[1])
    else:
        import vortex
        vortex.io.write(table, target)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def peers_of(source, folder):
    sizes = {}
    for peer in ["pylance 2.1", "pylance 2.2", "parquet snappy", "parquet zstd", "vortex"]:
        target = folder / "peer"
        answer = subprocess.run([sys.executable, __file__, "--peer", peer, source, target], capture_output=True, text=True)
        if answer.returncode:
            print(f"{source.stem}: no {peer}: {answer.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            continue
        sizes[peer] = {"bytes": target.stat().st_size, "cpu": float(answer.stdout)}
        target.unlink()
    return sizes


def check(source, target):
    """Whether pylance reads what the Arrow file holds."""
    from lance.file import LanceFileReader
    expected = feather.read_table(source)
    reader = LanceFileReader(str(target))
    rows = sorted(random.Random(3).sample(range(expected.num_rows), min(200, expected.num_rows)))
    whole = reader.read_all(batch_size=65_536).to_table()
    some = reader.take_rows(rows, batch_size=len(rows)).to_table()
    # Vectors of a batch with other list names are the same vectors.
    return whole.cast(expected.schema).equals(expected) and some.cast(expected.schema).equals(expected.take(rows))


def ours_of(options, source, folder):
    sizes = {}
    for version in VERSIONS:
        for preset in PRESETS:
            target = folder / f"{source.stem}.{preset}.lance"
            command = [options.engine, "convert", source, target, "--preset", preset, "--format-version", version]
            sizes[f"{preset} {version}"] = {"cpu": cpu_of(command), "bytes": target.stat().st_size}
            if not options.no_check and not check(source, target):
                raise SystemExit(f"{source.stem}, {preset}, {version}: pylance reads other values")
            if options.regret and version == "2.2":
                cpu_of([*command, "--thorough"])
                sizes[f"{preset} {version}"]["thorough"] = target.stat().st_size
            target.unlink()
    return sizes


def table(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
    print()


def show(results, arrow_bytes):
    names = [n for n in results if n not in COLUMN_GOALS and n in arrow_bytes]
    kinds = [f"{p} {v}" for v in VERSIONS for p in PRESETS]
    peers = ["pylance 2.1", "pylance 2.2", "parquet snappy", "parquet zstd", "vortex"]
    size = lambda name, kind: results[name].get(kind, {}).get("bytes")
    mb = lambda n: "-" if n is None else f"{n / 1e6:.3f}"
    print("MB")
    table(["", *kinds, *peers], [[n, *(mb(size(n, k)) for k in kinds + peers)] for n in names])
    tables = [n for n in STRUCTURED if n in results]
    for peer, goals in [("pylance 2.2", {"balanced 2.2": 0.58, "fast 2.2": 0.75}), ("parquet snappy", {}),
                        ("parquet zstd", {"small 2.2": 0.80}), ("vortex", {})]:
        ratio = lambda n, k: size(n, k) / size(n, peer) if size(n, peer) and size(n, k) else None
        text = lambda r: "-" if r is None else f"{r:.3f}"
        rows = [[n, *(text(ratio(n, k)) for k in kinds)] for n in names]
        if len(tables) == len(STRUCTURED) and all(ratio(n, kinds[0]) for n in tables):
            means = [geometric_mean([ratio(n, k) for n in tables]) for k in kinds]
            mark = lambda k, m: f"{m:.3f}" + (f" (goal {goals[k]}{'' if m <= goals[k] else ', missed'})" if k in goals else "")
            rows.append(["mean of the five", *(mark(k, m) for k, m in zip(kinds, means))])
        print(f"times the size of {peer}")
        table(["", *kinds], rows)
    rows = []
    for n in results:
        if n not in names:
            goals = COLUMN_GOALS.get(n, (None, None))
            cells = [f"{size(n, k + ' 2.2'):,}" for k in ("balanced", "small")]
            marks = ["-" if g is None else f"{g:,}" + ("" if size(n, k + " 2.2") <= g else " missed")
                     for k, g in zip(("balanced", "small"), goals)]
            rows.append([n, cells[0], marks[0], cells[1], marks[1], *(f"{size(n, p) or 0:,}" for p in peers)])
    if rows:
        print(f"bytes of one column of {ROWS:,} values, version 2.2")
        table(["", "balanced", "goal", "small", "goal", *peers], rows)
    print("MB of Arrow data written per CPU second, version 2.2 (of pennon the whole program, reading its source too)")
    rate = lambda n, k: f"{arrow_bytes[n] / 1e6 / max(results[n][k]['cpu'], 1e-3):.0f}" if k in results[n] else "-"
    table(["", *(f"{p} 2.2" for p in PRESETS), "pylance 2.2", "parquet zstd"],
          [[n, *(rate(n, f"{p} 2.2") for p in PRESETS), rate(n, "pylance 2.2"), rate(n, "parquet zstd")] for n in names])
    regrets = [(n, k, v["bytes"] / v["thorough"] - 1) for n in results for k, v in results[n].items() if v.get("thorough")]
    for name, kind, regret in sorted(regrets, key=lambda r: -r[2])[:8]:
        print(f"regret of sampling: {name}, {kind}: {100 * regret:.2f} %")


def show_columns(options, name):
    """Bytes of each column in the presets and in pylance's file."""
    def columns(path):
        text = subprocess.run([options.engine, "inspect", "--json", path], capture_output=True, text=True, check=True).stdout
        return {c["path"]: c["bytes"] for c in json.loads(text)["columns"]}

    with tempfile.TemporaryDirectory() as folder:
        files = {"pylance 2.2": columns(options.data / f"{name}.v2_2.lance")}
        for preset in PRESETS:
            target = pathlib.Path(folder, f"{preset}.lance")
            cpu_of([options.engine, "convert", options.data / f"{name}.arrow", target, "--preset", preset])
            files[preset] = columns(target)
    table([name, *files], [[c, *(f"{f.get(c, 0):,}" for f in files.values())] for c in files["balanced"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--tables", default=",".join(TABLES) + ",columns")
    parser.add_argument("--engine", type=pathlib.Path, default=HERE.parent / "target/release/pennon")
    parser.add_argument("--only", choices=["pennon", "peers"])
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--regret", action="store_true")
    parser.add_argument("--columns", metavar="TABLE")
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return write_peer(*options.peer)
    if options.columns:
        return show_columns(options, options.columns)

    known_path = options.data / "sizes.json"
    known = json.loads(known_path.read_text()) if known_path.exists() else {}
    listing = json.loads((options.data / "tables.json").read_text())
    arrow_bytes = {name: listing[name]["arrow_bytes"] for name in listing}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sources = []
        for name in options.tables.split(","):
            if name != "columns":
                sources.append(options.data / f"{name}.arrow")
                continue
            for column, values in single_columns().items():
                feather.write_feather(pa.table({"x": values}), folder / f"{column}.arrow", compression="uncompressed")
                sources.append(folder / f"{column}.arrow")
        for source in sources:
            found = dict(known.get(source.stem, {}))
            if options.only != "pennon":
                found |= peers_of(source, folder)
            if options.only != "peers":
                found |= ours_of(options, source, folder)
            results[source.stem] = known[source.stem] = found
            known_path.write_text(json.dumps(known, indent=1) + "\n")
            print(f"{source.stem}: done", file=sys.stderr)
    show(results, arrow_bytes)


if __name__ == "__main__":
    main()
