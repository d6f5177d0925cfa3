#!/usr/bin/env python3
"""What the presets cost those who read: CPU of scans and of takes of 1,000 rows, by pennon and by pylance's file reader.

    python bench/run.py --engines pennon_fast,pennon_balanced,pennon_small --measures open --rounds 1     writes the files
    python bench/cost.py

Needs what run.py needs. Each (round, table, preset, reader) is a process of its own, in shuffled order. Printed are medians over
the rounds, and how many times more `balanced` costs than `fast` and `small` than `balanced`.
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile

import common
from engines import file_name

TABLES = ["lineitem", "flights", "text", "cities", "nested", "embeddings", "images", "wide"]
PRESETS = ["fast", "balanced", "small"]
READERS = {"pennon": "pennon_fast", "pylance": "lance_file"}


def measures_of(num_rows):
    """The scan, and the largest take that leaves out half of the rows."""
    return {"scan": "scan", "take": "take_1000_all" if num_rows >= 2_000 else "take_100_all"}


def measure(job, folder):
    path = pathlib.Path(folder, "job.json")
    path.write_text(json.dumps(job))
    return json.loads(common.run(sys.executable, common.HERE / "measures.py", path).splitlines()[-1])


def collect(options):
    """CPU seconds by (table, reader, measure, preset), a value for each round."""
    listing = json.loads((options.data / "tables.json").read_text())
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            jobs = [(t, reader, preset) for t in options.tables for reader in READERS for preset in PRESETS]
            random.Random(number).shuffle(jobs)
            for table, reader, preset in jobs:
                measures = measures_of(listing[table]["rows"])
                path = options.files / file_name(table, f"pennon_{preset}")
                if not path.exists():
                    raise SystemExit(f"{path} is missing; run.py writes it")
                answer = measure({
                    "engine": READERS[reader], "table": table, "path": str(path), "source": str(options.data / f"{table}.arrow"),
                    "num_rows": listing[table]["rows"], "seconds": options.seconds, "measures": list(measures.values()), "check": False,
                }, folder)
                for short, name in measures.items():
                    found.setdefault((table, reader, short, preset), []).append(answer[name]["cpu"])
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    return {key: statistics.median(values) for key, values in found.items()}


def show(options, cpu):
    header = ["CPU ms", *PRESETS, "balanced/fast", "small/balanced"]
    for reader in READERS:
        for short in ("scan", "take"):
            rows, ratios = [], ([], [])
            for table in options.tables:
                fast, balanced, small = (cpu[table, reader, short, preset] * 1e3 for preset in PRESETS)
                for kept, ratio in zip(ratios, (balanced / fast, small / balanced)):
                    kept.append(ratio)
                rows.append([table, *(f"{value:.3g}" for value in (fast, balanced, small)), *(f"{kept[-1]:.2f}" for kept in ratios)])
            rows.append(["geometric mean", "", "", "", *(f"{common.geometric_mean(kept):.2f}" for kept in ratios)])
            print(f"{short} by {reader}" + ("; of 1,000 rows, of 100 in wide" if short == "take" else "") + "\n")
            common.print_table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=common.DATA)
    parser.add_argument("--files", type=pathlib.Path, help="(default: files/ beside the tables)")
    parser.add_argument("--tables", type=common.chosen(TABLES), default=TABLES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each measure in each process")
    options = parser.parse_args()
    options.files = options.files or options.data / "files"
    show(options, collect(options))


if __name__ == "__main__":
    main()
