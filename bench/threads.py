#!/usr/bin/env python3
"""Takes of 100 random rows by several Python threads that share one open file.

    python bench/run.py --tables lineitem,text --engines pennon_fast,pennon_balanced,lance_dataset --measures open --rounds 1   writes the files
    python bench/threads.py

Each (round, table, engine, columns, threads) is a process of its own, in shuffled order. Printed are medians over the rounds: takes a second of all threads
together, and the CPU time of one take. Of pylance it is the dataset: its file reader refuses a second thread (RuntimeError: Already borrowed).
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

import common
import engines
import measures

ENGINES = ["pennon_fast", "pennon_balanced", "lance_dataset"]
TABLES = ["lineitem", "text"]
THREADS = [1, 2, 4, 16]


def measure(job):
    engine = engines.load(job["engine"])
    handle = engine.open(job["path"])
    columns = [measures.COLUMNS[job["table"]][0]] if job["columns"] == "one" else None
    sets = [engine.rows(numbers) for numbers in measures.row_sets(job["num_rows"], 100)]
    for rows in sets:
        engine.take(handle, rows, columns)
    failures = []
    counts, gate = [0] * job["threads"], threading.Barrier(job["threads"] + 1)

    def work(number):
        gate.wait()
        done = 0
        try:
            while time.perf_counter() < until:
                engine.take(handle, sets[(number + done) % len(sets)], columns)
                done += 1
        except Exception as e:  # A thread's exception would only be printed.
            failures.append(e)
        counts[number] = done

    threads = [threading.Thread(target=work, args=(number,)) for number in range(job["threads"])]
    for thread in threads:
        thread.start()
    began, cpu = time.perf_counter(), time.process_time()
    until = began + job["seconds"]
    gate.wait()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    if failures:
        raise failures[0]
    return {"takes": sum(counts) / wall, "cpu": cpu / sum(counts), "busy": cpu / wall}


def run(options):
    listing = json.loads((options.data / "tables.json").read_text())
    kinds = [(t, e, c, n) for t in options.tables for e in options.engines for c in ("one", "all") for n in options.threads]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "job.json")
        for number in range(options.rounds):
            random.Random(number).shuffle(kinds)
            for table, engine, columns, threads in kinds:
                file = options.files / engines.file_name(table, engine)
                path.write_text(json.dumps({
                    "engine": engine, "table": table, "path": str(file), "num_rows": listing[table]["rows"], "columns": columns, "threads": threads,
                    "seconds": options.seconds,
                }))
                answer = json.loads(common.run(sys.executable, __file__, "--job", path).splitlines()[-1])
                found.setdefault((table, engine, columns, threads), []).append(answer)
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    return [
        dict(zip(("table", "engine", "columns", "threads"), key)) | {word: statistics.median(a[word] for a in answers) for word in answers[0]}
        for key, answers in found.items()
    ]


def show(answers):
    cells = {(a["table"], a["columns"], a["engine"], a["threads"]): a for a in answers}
    threads = sorted({a["threads"] for a in answers})
    rows = []
    for table, columns, engine in sorted({key[:3] for key in cells}):
        line = [cells[table, columns, engine, n] for n in threads]
        rows.append([f"{table} {columns} {engine}", *(f"{a['takes']:,.0f}" for a in line), *(f"{a['cpu'] * 1e3:.3f}" for a in line), *(f"{a['busy']:.2f}" for a in line)])
    common.print_table(["", *(f"takes/s, {n}" for n in threads), *(f"CPU ms, {n}" for n in threads), *(f"busy, {n}" for n in threads)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=pathlib.Path, default=common.DATA)
    parser.add_argument("--files", type=pathlib.Path, help="(default: files/ beside the tables)")
    parser.add_argument("--tables", type=common.chosen(TABLES), default=TABLES)
    parser.add_argument("--engines", type=common.chosen(ENGINES), default=ENGINES)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in common.words(text)], default=THREADS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--out", type=pathlib.Path, default=common.DATA / "threads.json")
    options = parser.parse_args()
    options.files = options.files or options.data / "files"
    if options.job:
        return print(json.dumps(measure(json.loads(options.job.read_text()))))
    answers = run(options)
    options.out.write_text(json.dumps(answers) + "\n")
    show(answers)


if __name__ == "__main__":
    main()
