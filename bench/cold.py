#!/usr/bin/env python3
"""Takes from a file that is not in the page cache, beside what the device can do.

    python bench/cold.py --size 10G                    all of it; the file is kept in bench/data/cold for the next time
    python bench/cold.py --size 1G --engines pennon_calls,pylance --takes 5

The file holds vectors of 768 float32, an int64 and a text of some 60 letters a row, written by pennon (preset fast) or, with `--writer
lance_file`, by pylance; all engines read the same file. Before every take its pages are dropped from the page cache (`--drop-caches`, as
root, drops those of the machine). The handle is open, and has taken other rows before. Times are wall times. Bytes are those that the
process had read from the device, requests those that the device has served in that time: keep the machine quiet. Random reads of
about the same size by `fio` (direct, 1, 16 and 32 at a time), where it is installed, say what the device can do.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

import common
import engines

DIMENSIONS = 768
ROW_BYTES = DIMENSIONS * 4 + 8 + 60
BATCH_ROWS = 8_192
DEPTHS = [1, 16, 32]
COLUMNS = {"all": None, "vector": ["vector"], "id": ["id"], "text": ["text"]}
ENGINES = {
    "pennon": "as it is opened",
    "pennon_calls": "mapping=False",
    "pennon_mapped": "mapped by a scan before",
    "pylance": "its file reader",
}


def size(text):
    """A number of bytes, as in `10G`."""
    factor = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:].upper())
    return int(float(text[:-1]) * factor) if factor else int(text)


def batches(num_rows, schema):
    words = np.array("a hill of birds that sing at dawn before rain falls over grey water and long grass".split())
    for start in range(0, num_rows, BATCH_ROWS):
        rng = np.random.default_rng(start)
        count = min(BATCH_ROWS, num_rows - start)
        vectors = rng.standard_normal(count * DIMENSIONS, dtype=np.float32)
        texts = [" ".join(words[row]) for row in rng.integers(0, len(words), (count, 12))]
        columns = [
            pa.array(rng.integers(0, 2**62, count)), pa.array(texts),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors), type=schema.field("vector").type),
        ]
        yield pa.record_batch(columns, schema=schema)


def make_file(path, options):
    num_rows = options.size // ROW_BYTES
    note = path.with_suffix(".json")
    if path.exists() and note.exists():
        return json.loads(note.read_text())
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema({"id": pa.int64(), "text": pa.string(), "vector": pa.list_(pa.float32(), DIMENSIONS)})
    engines.load(options.writer).write_stream(schema, batches(num_rows, schema), str(path))
    about = {"rows": num_rows, "bytes": path.stat().st_size}
    note.write_text(json.dumps(about))
    return about


class Device:
    """Counters of the device that holds a file, and of this process."""

    def __init__(self, path):
        number = os.stat(path).st_dev
        self.stat = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")

    def read(self):
        """Requests of the device, bytes read by this process from any."""
        own = dict(line.split(": ") for line in pathlib.Path("/proc/self/io").read_text().splitlines())
        return int(self.stat.read_text().split()[0]), int(own["read_bytes"])


def drop(file, everything):
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    if everything:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")


def opened(name, path):
    """An engine and a handle of it."""
    engine = engines.load("lance_file" if name == "pylance" else "pennon_fast")
    if name != "pennon_calls":
        handle = engine.open(path)
    else:
        import pennon

        handle = pennon.open(path, mapping=False)
    if name == "pennon_mapped":
        # A scan maps the file; the pages that it touches stay, those of one batch here.
        next(iter(engine.stream(handle, ["id"])))
    return engine, handle


def measure(job):
    path, columns, rng = job["path"], COLUMNS[job["columns"]], np.random.default_rng(job["seed"])
    device, file = Device(path), os.open(path, os.O_RDONLY)
    answer = {"wall": [], "cpu": [], "requests": [], "bytes": [], "warm": []}

    def rows():
        return engine.rows(np.sort(rng.choice(job["num_rows"], job["rows"], replace=False)).astype(np.int64))

    for _ in range(job["takes"]):
        # Pages that a mapping has touched are not dropped, so every take has a handle of its own.
        engine, handle = opened(job["engine"], path)
        engine.take(handle, rows(), columns)
        wanted = rows()
        drop(file, job["drop_caches"])
        requests, own = device.read()
        cpu, began = time.process_time(), time.perf_counter()
        taken = engine.take(handle, wanted, columns)
        answer["wall"].append(time.perf_counter() - began)
        answer["cpu"].append(time.process_time() - cpu)
        after = device.read()
        assert len(taken) == job["rows"]
        answer["requests"].append(after[0] - requests)
        answer["bytes"].append(after[1] - own)
        began = time.perf_counter()
        engine.take(handle, wanted, columns)
        answer["warm"].append(time.perf_counter() - began)
        del handle, taken
    return {key: statistics.median(values) for key, values in answer.items()}


def fio(path, read_bytes, seconds):
    """Random reads a second of the device, by how many are under way at once."""
    if not shutil.which("fio"):
        return {}
    found = {}
    for depth in DEPTHS:
        answer = common.run(
            "fio", "--name=cold", f"--filename={path}", "--readonly", "--rw=randread", f"--bs={read_bytes}", "--direct=1", "--ioengine=libaio",
            f"--iodepth={depth}", "--time_based", f"--runtime={seconds}", "--norandommap", "--output-format=json",
        )
        found[depth] = json.loads(answer[answer.index("{") :])["jobs"][0]["read"]["iops"]
    return found


def child(job, folder):
    path = pathlib.Path(folder, "job.json")
    path.write_text(json.dumps(job))
    return json.loads(common.run(sys.executable, __file__, "--job", path).splitlines()[-1])


def run(options):
    path = options.files / f"cold.{options.size}.{options.writer}.lance"
    about = make_file(path, options)
    results = {"about": about | {"rows_of_a_take": options.rows, "takes": options.takes, "when": time.strftime("%Y-%m-%d")}, "answers": [], "fio": {}}
    subprocess.run(["sync", str(path)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for columns in options.columns:
            for name in options.engines:
                job = {
                    "engine": name, "path": str(path), "columns": columns, "num_rows": about["rows"], "rows": options.rows, "takes": options.takes,
                    "seed": len(columns), "drop_caches": options.drop_caches,
                }
                results["answers"].append(child(job, folder) | {"engine": name, "columns": columns})
    for answer in results["answers"]:
        answer["read_bytes"] = max(4096, -(-answer["bytes"] // max(answer["requests"], 1) // 4096) * 4096)
    # Of the size that the first engine asks for, for all columns.
    read_bytes = int(min(results["answers"][0]["read_bytes"], 1 << 20))
    results["fio"] = fio(path, read_bytes, options.seconds)
    results["about"]["fio_bytes"] = read_bytes
    options.out.write_text(json.dumps(results) + "\n")
    show(results)
    if options.remove:
        path.unlink()
        path.with_suffix(".json").unlink()


def show(results):
    about, best = results["about"], max(results["fio"].values(), default=None)
    print(f"{about['bytes'] / 1e9:.2f} GB, {about['rows']:,} rows; takes of {about['rows_of_a_take']} rows, nothing in the page cache\n")
    rows = []
    for answer in results["answers"]:
        count = about["rows_of_a_take"]
        a_second = answer["requests"] / answer["wall"]
        rows.append([
            f"{answer['engine']} {answer['columns']}", f"{count / answer['wall']:,.0f}", f"{answer['wall'] * 1e3:.1f}", f"{answer['cpu'] * 1e3:.1f}",
            f"{answer['bytes'] / count:,.0f}", f"{answer['requests'] / count:.2f}", f"{a_second:,.0f}", f"{a_second / best:.0%}" if best else "",
            f"{answer['warm'] * 1e3:.2f}",
        ])
    common.print_table(["engine, columns", "rows/s", "ms", "CPU ms", "bytes/row", "requests/row", "requests/s", "of fio", "again, warm ms"], rows)
    if best:
        print(f"fio, random reads of {about['fio_bytes']} bytes: " + ", ".join(f"{iops:,.0f}/s at depth {depth}" for depth, iops in results["fio"].items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=size, default=size("10G"), help="bytes of the file, about")
    parser.add_argument("--writer", choices=["pennon_fast", "pennon_balanced", "lance_file"], default="pennon_fast")
    parser.add_argument("--engines", type=common.chosen(list(ENGINES)), default=list(ENGINES), help="; ".join(f"{k}: {v}" for k, v in ENGINES.items()))
    parser.add_argument("--columns", type=common.chosen(list(COLUMNS)), default=list(COLUMNS))
    parser.add_argument("--rows", type=int, default=1_000, help="of a take")
    parser.add_argument("--takes", type=int, default=7, help="the median is printed")
    parser.add_argument("--seconds", type=int, default=4, help="of fio, for each depth")
    parser.add_argument("--drop-caches", action="store_true", help="drops the page cache of the whole machine, not only that of the file")
    parser.add_argument("--remove", action="store_true", help="the file, in the end")
    parser.add_argument("--files", type=pathlib.Path, default=common.DATA / "cold")
    parser.add_argument("--out", type=pathlib.Path, default=common.DATA / "cold.json")
    options = parser.parse_args()
    if options.job:
        return print(json.dumps(measure(json.loads(options.job.read_text()))))
    run(options)


if __name__ == "__main__":
    main()
