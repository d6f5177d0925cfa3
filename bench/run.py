#!/usr/bin/env python3
"""pennon beside other engines: writing, memory, opening, scanning and taking rows.

    python bench/make_data.py
    python bench/run.py                                       everything, some ten minutes a round
    python bench/run.py --tables lineitem --measures scan,take_100_all --rounds 3
    python bench/run.py table                                 prints what the last run found
    python bench/run.py table --each                          and every figure, by table

Needs the package pennon (a release build), pylance==14.0.2, pyarrow==26.0.1, vortex-data==0.93.0 and numpy. Files are written anew at
the beginning, except those of peers that are newer than their table. Each (round, table, engine) is a process of its own,
engines in shuffled order, so that a busy minute meets all of them; printed are ratios of medians over the rounds. CPU is user
and system time of all threads and bears a busy machine; wall times do not.
"""
import argparse
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile
import time
from importlib import metadata

import common
import measures
import report
from engines import ENGINES, PROGRAMS, file_name, file_owner, program

PACKAGES = ["pylance", "pyarrow", "vortex-data", "numpy"]


def child(job, folder):
    """The answer of one process."""
    kind = ENGINES[job["engine"]]
    if kind.module == "program":
        return program.measure(kind.variant, job, folder)
    path = pathlib.Path(folder, f"{job['table']}.{job['engine']}.json")
    path.write_text(json.dumps(job))
    command = [sys.executable, str(common.HERE / "measures.py"), str(path)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return {"error": "took more than 15 minutes"}
    if answer.returncode:
        return {"error": answer.stderr.strip()[-300:] or f"exit code {answer.returncode}"}
    return json.loads(answer.stdout.splitlines()[-1])


def make_files(options, rows, folder):
    """Writes the files that are to be read."""
    owners = dict.fromkeys(file_owner(name) for name in options.engines)
    for table in options.tables:
        for owner in owners:
            path, source = options.files / file_name(table, owner), options.data / f"{table}.arrow"
            ours = owner.startswith("pennon")
            if path.exists() and path.stat().st_mtime > source.stat().st_mtime and (options.keep or not ours):
                continue
            job = {"engine": owner, "table": table, "path": str(path), "source": str(source), "num_rows": rows[table], "make": True}
            if found := child(job, folder):
                print(f"{table}, {owner}: not written, {' '.join(map(str, found.values()))}", file=sys.stderr)


def machine():
    versions = {name: metadata.version(name) for name in PACKAGES}
    return {"when": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "machine": platform.machine(), "versions": versions}


def run(options):
    listing = json.loads((options.data / "tables.json").read_text())
    rows = {table: listing[table]["rows"] for table in options.tables}
    options.files.mkdir(parents=True, exist_ok=True)
    results = {"about": machine() | {"rounds": options.rounds, "seconds": options.seconds}, "answers": [], "bytes": {}}
    timed = [name for name in options.measures if name not in measures.MEMORY]
    memory = [name for name in options.measures if name in measures.MEMORY]
    with tempfile.TemporaryDirectory() as folder:
        make_files(options, rows, folder)
        for table in options.tables:
            for name in options.engines:
                path = options.files / file_name(table, name)
                if path.exists():
                    parts = path.rglob("*") if path.is_dir() else [path]
                    results["bytes"][f"{table} {name}"] = sum(part.stat().st_size for part in parts if part.is_file())
        for number in range(options.rounds):
            for table in options.tables:
                for name in random.Random(f"{number} {table}").sample(options.engines, len(options.engines)):
                    path = options.files / file_name(table, name)
                    if not path.exists():
                        continue
                    # Memory wants processes that have done nothing before.
                    parts = [timed, *([m] for m in memory if number < options.memory_rounds and name not in PROGRAMS)]
                    answer = {"round": number, "table": table, "engine": name, "load": os.getloadavg()[0]}
                    for part in filter(None, parts):
                        job = {
                            "engine": name, "table": table, "path": str(path), "source": str(options.data / f"{table}.arrow"),
                            "num_rows": rows[table], "seconds": options.seconds, "measures": part, "check": number == 0 and part is timed,
                        }
                        answer |= child(job, folder)
                    for complaint in {"error", "wrong"} & answer.keys():
                        print(f"{table}, {name}: {complaint}: {answer[complaint]}", file=sys.stderr)
                    results["answers"].append(answer)
                options.out.write_text(json.dumps(results) + "\n")
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    report.print_ratios(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["run", "table"], default="run")
    parser.add_argument("--data", type=pathlib.Path, default=common.DATA, help="where make_data.py has put the tables")
    parser.add_argument("--files", type=pathlib.Path, help="where the files of the engines go (default: files/ beside the tables)")
    parser.add_argument("--keep", action="store_true", help="files of pennon, too, are not written anew")
    parser.add_argument("--tables", type=common.chosen(common.TABLES), default=common.TABLES)
    parser.add_argument("--engines", type=common.chosen(list(ENGINES)), help="(default: all that are there)")
    parser.add_argument("--measures", type=common.chosen(measures.MEASURES), default=measures.MEASURES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-rounds", type=int, default=1, help="peaks of memory hardly change from round to round")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each measure in each process")
    parser.add_argument("--out", type=pathlib.Path, help="results as JSON (default: results.json beside the tables)")
    parser.add_argument("--each", action="store_true", help="of table: every figure, by table")
    options = parser.parse_args()
    options.files = options.files or options.data / "files"
    options.out = options.out or options.data / "results.json"
    built = [name for name in ENGINES if name not in PROGRAMS or program.PROGRAMS[ENGINES[name].variant].exists()]
    options.engines = options.engines or built
    if options.what == "run":
        return run(options)
    results = json.loads(options.out.read_text())
    report.print_ratios(results)
    if options.each:
        report.print_each(results)


if __name__ == "__main__":
    main()
