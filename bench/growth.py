#!/usr/bin/env python3
"""How cost grows with rows and with columns: opening a file, and taking 100 random rows from an open one.

    python bench/growth.py                               everything, and docs/growth.svg
    python bench/growth.py --rows 1e3,1e5 --columns 10,1000 --engines pennon_fast,lance_file
    python bench/growth.py plot                          the picture anew, from what the last run found

Tables by rows have four columns (int64, float32, int32 of 100 values, a string of up to 7 letters) and are written batch by batch; tables by
columns have 1,000 rows of float32. `take` takes 16 sets of rows in turn, `new` rows that were not taken before, each of one column (float32) and
of four; `open` is until the schema and the number of rows are known. Each (engine, size) is a process of its own, its file is written at
the beginning and deleted in the end: 3 GB at most, for 10^8 rows. CPU is that of all threads, the mean; the page cache is warm.
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

import common
import engines
import measures
import svg

ENGINES = {
    "pennon_fast": ("pennon, fast", svg.FAST),
    "pennon_balanced": ("pennon, balanced", svg.BALANCED),
    "lance_file": ("pylance", svg.PYLANCE),
    "ipc": ("Arrow IPC", svg.IPC),
}
ROWS = [10**power for power in range(3, 9)]
COLUMNS = [10, 100, 1_000, 5_000, 20_000]
ROWS_OF_WIDE = 1_000
BATCH_ROWS = 65_536
NAMES = ["id", "value", "kind", "name"]
PANELS = {"open": "Open, schema", "take_one": "Take of 100 rows, one column", "take_four": "Take of 100 rows, four columns"}


def long_batches(num_rows):
    for start in range(0, num_rows, BATCH_ROWS):
        rng, count = np.random.default_rng(start), min(BATCH_ROWS, num_rows - start)
        numbers = pa.array(rng.integers(0, 2**22, count))
        kinds, values = rng.integers(0, 100, count, dtype=np.int32), rng.standard_normal(count, dtype=np.float32)
        yield pa.record_batch([pa.array(rng.integers(0, 2**40, count)), pa.array(values), pa.array(kinds), numbers.cast(pa.string())], NAMES)


def wide_batches(num_columns):
    rng = np.random.default_rng(num_columns)
    columns = [pa.array(rng.standard_normal(ROWS_OF_WIDE, dtype=np.float32)) for _ in range(num_columns)]
    yield pa.record_batch(columns, [f"c{i:05}" for i in range(num_columns)])


def projections(job):
    """One column and four."""
    if job["by"] == "rows":
        return ["value"], NAMES
    count = job["size"]
    return [f"c{count // 2:05}"], [f"c{count * i // 4:05}" for i in range(4)]


def measure(job):
    engine, path = engines.load(job["engine"]), job["path"]
    num_rows = job["size"] if job["by"] == "rows" else ROWS_OF_WIDE
    batches = long_batches(job["size"]) if job["by"] == "rows" else wide_batches(job["size"])
    began, cpu = time.perf_counter(), time.process_time()
    first = next(batches)

    def all_batches():
        yield first
        yield from batches

    engine.write_stream(first.schema, all_batches(), path)
    answer = {"bytes": pathlib.Path(path).stat().st_size}
    answer["written"] = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    one, four = projections(job)
    handle = engine.open(path)
    sets = [engine.rows(numbers) for numbers in measures.row_sets(num_rows, 100)]
    rng = np.random.default_rng(0)
    fresh = [engine.rows(np.sort(rng.choice(num_rows, 100, replace=False)).astype(np.int64)) for _ in range(job["new"] + 1)]
    answer["open"] = measures.repeat(job["seconds"], lambda i: engine.describe(engine.open(path)))
    for name, columns in (("one", one), ("four", four)):
        # What only a first take meets is not what the others cost.
        engine.take(handle, sets[0], columns)
        began, cpu = time.perf_counter(), time.process_time()
        for rows in fresh[1:]:
            engine.take(handle, rows, columns)
        answer[f"new_{name}"] = {"cpu": (time.process_time() - cpu) / job["new"], "wall": (time.perf_counter() - began) / job["new"]}
        answer[f"take_{name}"] = measures.repeat(job["seconds"], lambda i: engine.take(handle, sets[i % len(sets)], columns))
    return answer


def child(job, folder):
    path = pathlib.Path(folder, "job.json")
    path.write_text(json.dumps(job))
    answer = subprocess.run([sys.executable, __file__, "--job", str(path)], capture_output=True, text=True)
    pathlib.Path(job["path"]).unlink(missing_ok=True)
    return json.loads(answer.stdout.splitlines()[-1]) if answer.returncode == 0 else {"error": answer.stderr.strip()[-300:]}


def run(options):
    options.files.mkdir(parents=True, exist_ok=True)
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for by, sizes in (("rows", options.rows), ("columns", options.columns)):
            for size in sizes:
                for name in random.sample(options.engines, len(options.engines)):
                    path = options.files / f"growth{engines.ENGINES[name].extension}"
                    job = {"engine": name, "by": by, "size": size, "path": str(path), "seconds": options.seconds, "new": options.new}
                    answer = child(job, folder)
                    if "error" in answer:
                        print(f"{name}, {size:,} {by}: {answer['error']}", file=sys.stderr)
                        continue
                    answers.append({"engine": name, "by": by, "size": size} | answer)
                options.out.write_text(json.dumps({"when": time.strftime("%Y-%m-%d"), "answers": answers}) + "\n")
                print(f"{size:,} {by}", file=sys.stderr)
    return answers


def show(answers, clock):
    kinds = ["open", "new_one", "take_one", "new_four", "take_four"]
    for by in ("rows", "columns"):
        sizes = sorted({answer["size"] for answer in answers if answer["by"] == by})
        cells = {(a["engine"], a["size"], kind): a[kind][clock] * 1e3 for a in answers if a["by"] == by for kind in kinds}
        rows = [
            [f"{name} {kind}", *(f"{cells[name, size, kind]:.3f}" if (name, size, kind) in cells else "" for size in sizes)]
            for kind in kinds for name in ENGINES if any(a["engine"] == name for a in answers)
        ]
        if sizes:
            common.print_table([f"{clock} ms by {by}", *(f"{size:,}" for size in sizes)], rows)


WIDTH, HEIGHT, LEFT, TOP, PANEL, SPAN, DEEP = 996, 596, 64, 88, 315, 245, 180


def drawing(answers, clock):
    parts = list(svg.legend(LEFT, 33, dict(ENGINES.values())))
    for row, by in enumerate(("rows", "columns")):
        chosen = [answer for answer in answers if answer["by"] == by]
        if not chosen:
            continue
        sizes = sorted({answer["size"] for answer in chosen})
        values = [answer[kind][clock] * 1e3 for answer in chosen for kind in PANELS]
        low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
        for column, (kind, name) in enumerate(PANELS.items()):
            left, top = LEFT + column * PANEL, TOP + row * (DEEP + 72)

            def x(size):
                return left + SPAN * math.log(size / sizes[0]) / max(math.log(sizes[-1] / sizes[0]), 1e-9)

            def y(value):
                return top + DEEP * math.log(high / value) / math.log(high / low)

            parts.append(svg.text(left, top - 12, name))
            for tick in svg.ticks(low, high, (1,)):
                parts.append(f'<line x1="{left}" x2="{left + SPAN}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
                parts.append(svg.text(left - 6, y(tick) + 4, f"{tick:g} ms" if column == 0 else f"{tick:g}", "end", "tick"))
            for tick in svg.ticks(sizes[0], sizes[-1], (1,)):
                parts.append(svg.text(x(tick), top + DEEP + 18, f"{tick:,.0f}" if tick < 1e5 else f"10{superscript(tick)}", "middle", "tick"))
            parts.append(svg.text(left + SPAN / 2, top + DEEP + 36, by, "middle", "tick"))
            for engine, (_, colour) in ENGINES.items():
                points = sorted((a["size"], a[kind][clock] * 1e3) for a in chosen if a["engine"] == engine)
                line = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in points)
                parts.append(f'<polyline points="{line}" stroke="{colour}"/>')
    word = {"cpu": "CPU time", "wall": "Wall time"}[clock]
    return svg.picture(WIDTH, HEIGHT, f"{word} by rows and by columns of the file, warm", parts)


def superscript(number):
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(round(math.log10(number))))


def numbers(text):
    return [int(float(word)) for word in common.words(text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["run", "table", "plot"], default="run")
    parser.add_argument("--job", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--engines", type=common.chosen(list(ENGINES)), default=list(ENGINES))
    parser.add_argument("--rows", type=numbers, default=ROWS)
    parser.add_argument("--columns", type=numbers, default=COLUMNS)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measure")
    parser.add_argument("--new", type=int, default=100, help="takes of rows that were not taken before")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--files", type=pathlib.Path, default=common.DATA / "growth")
    parser.add_argument("--out", type=pathlib.Path, default=common.DATA / "growth.json")
    parser.add_argument("--picture", type=pathlib.Path, help="(default: docs/growth.svg, after a run of everything)")
    options = parser.parse_args()
    if options.job:
        return print(json.dumps(measure(json.loads(options.job.read_text()))))
    answers = run(options) if options.what == "run" else json.loads(options.out.read_text())["answers"]
    show(answers, options.clock)
    is_whole = (options.rows, options.columns, options.engines) == (ROWS, COLUMNS, list(ENGINES))
    if is_whole and options.what != "table" and options.picture is None:
        options.picture = common.HERE.parent / "docs/growth.svg"
    if options.picture:
        options.picture.write_text(drawing(answers, options.clock))


if __name__ == "__main__":
    main()
