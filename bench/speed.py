#!/usr/bin/env python3
"""Reading speed of pennon beside pylance's file reader, on the files that pylance wrote.

    python bench/make_data.py lineitem flights --lance 2.1,2.2
    cargo build --release -p pennon-measure
    python bench/speed.py

Needs pylance==14.0.2 and numpy. Each round runs every (file, reader) once, in shuffled order, in a process of its own;
a process reads its file warm, for a fixed time per measure, and tells the seconds of one repetition. Printed are the
medians over the rounds and how many times less CPU pennon needed. CPU is user + system time of all threads,
which a busy machine disturbs least; wall times are in the JSON that --out writes.

Measures: open (until the row count is known), scan (the whole table as Arrow in memory), stream (the same batch by batch, none kept),
take (1,000 random ascending rows of all columns, another set each time, file open), open_take (the same on a fresh handle).
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ENGINE = HERE.parent / "target/release/pennon-measure"
BATCH_ROWS = 65_536
MEASURES = ["open", "scan", "stream", "take", "open_take"]


def repeat(seconds, work):
    """As `repeat` in measure/src/main.rs."""
    rows = work()
    wall, cpu, runs = time.perf_counter(), time.process_time(), 0
    while not runs or time.perf_counter() - wall < seconds:
        work()
        runs += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / runs, "wall": wall / runs, "runs": runs, "rows": rows}


def measure_pylance(path, rows, seconds):
    """The Python side's process: the same measures through pylance."""
    import itertools
    from lance.file import LanceFileReader

    sets = itertools.cycle([[int(n) for n in line.split(" ")] for line in rows.read_text().splitlines()])
    path = str(path)
    reader = LanceFileReader(path)

    def take(source):
        rows = next(sets)
        return source.take_rows(rows, batch_size=len(rows)).to_table().num_rows

    answer = {
        "rows": reader.num_rows(),
        "open": repeat(seconds / 4, lambda: LanceFileReader(path).num_rows()),
        "scan": repeat(seconds, lambda: reader.read_all(batch_size=BATCH_ROWS).to_table().num_rows),
        "stream": repeat(seconds, lambda: sum(b.num_rows for b in reader.read_all(batch_size=BATCH_ROWS).to_batches())),
        "take": repeat(seconds, lambda: take(reader)),
        "open_take": repeat(seconds, lambda: take(LanceFileReader(path))),
    }
    print(json.dumps(answer))


def write_row_sets(path, num_rows, sets=16, size=1_000):
    rng = random.Random(num_rows)
    lines = (" ".join(map(str, sorted(rng.sample(range(num_rows), min(size, num_rows))))) for _ in range(sets))
    path.write_text("\n".join(lines) + "\n")


def run(command):
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{answer.stderr}")
    return json.loads(answer.stdout)


def compare(options):
    files = {}
    listing = json.loads((options.data / "tables.json").read_text())
    for table in options.tables.split(","):
        for version in options.versions.split(","):
            path = options.data / f"{table}.v{version.replace('.', '_')}.lance"
            if not path.exists():
                raise SystemExit(f"{path} is missing: python bench/make_data.py {table} --lance {version}")
            files[f"{table} {version}"] = path, listing[table]
    results = {name: {"pennon": [], "pylance": []} for name in files}
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, table) in files.items():
            write_row_sets(pathlib.Path(folder, name), table["rows"])
        for number in range(options.rounds):
            jobs = [(name, reader) for name in files for reader in ("pennon", "pylance")]
            random.Random(number).shuffle(jobs)
            for name, reader in jobs:
                engine = [options.engine] if reader == "pennon" else [sys.executable, __file__, "pylance"]
                threads = [options.threads] if reader == "pennon" else []
                results[name][reader].append(
                    run([*engine, files[name][0], pathlib.Path(folder, name), options.seconds, *threads]))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")

    print("| file | measure | pennon CPU ms | pylance CPU ms | times less | pennon wall ms | pylance wall ms |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, readers in results.items():
        for measure in MEASURES:
            middle = {
                (reader, clock): 1e3 * statistics.median(answer[measure][clock] for answer in answers)
                for reader, answers in readers.items() for clock in ("cpu", "wall")
            }
            cpu = middle["pennon", "cpu"], middle["pylance", "cpu"]
            print(f"| {name} | {measure} | {cpu[0]:.3f} | {cpu[1]:.3f} | {cpu[1] / cpu[0]:.2f} "
                  f"| {middle['pennon', 'wall']:.3f} | {middle['pylance', 'wall']:.3f} |")


def main():
    if sys.argv[1:2] == ["pylance"]:
        return measure_pylance(sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4]))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    options.add_argument("--tables", default="lineitem,flights")
    options.add_argument("--versions", default="2.1,2.2")
    options.add_argument("--engine", type=pathlib.Path, default=ENGINE)
    options.add_argument("--threads", type=int, default=1, help="of pennon's scan")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=0.5, help="for each measure in each process")
    options.add_argument("--out", type=pathlib.Path, help="all figures as JSON")
    return compare(options.parse_args())


if __name__ == "__main__":
    main()
