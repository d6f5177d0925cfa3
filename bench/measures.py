"""What run.py measures, and the process that measures it: one engine on one table.

    python bench/measures.py JOB.json

Every measure is run once for nothing (unless that took long) and then again and again for some time; the answer holds the seconds of
one run: `cpu` is user and system time of all threads (the mean), `wall` the median. Freeing what a run gave is part of it.
"""
import gc
import json
import os
import pathlib
import shutil
import statistics
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute  # noqa: F401  (loaded on first use otherwise)

import engines
from common import table_difference

# The column of measures of one column, and the two of measures of two.
COLUMNS = {
    "lineitem": ("l_extendedprice", ("l_orderkey", "l_comment")),
    "flights": ("dep_delay", ("air_time", "tailnum")),
    "text": ("gloss", ("lemma", "gloss")),
    "cities": ("name", ("name", "lat")),
    "nested": ("pointers", ("words", "lex")),
    "embeddings": ("vector", ("id", "vector")),
    "images": ("image", ("label", "image")),
    "blobs": ("blob", ("id", "blob")),
    "wide": ("f05000", ("f00001", "f09999")),
}
TAKES = [100, 1_000, 10_000]
SETS = 16
MEMORY = ["write_memory", "stream_memory"]
MEASURES = [
    "write", "open", "scan", "stream", "stream_touched", "one", "two",
    *(f"take_{n}_{what}" for n in TAKES for what in ("one", "all")),
    "open_take_one", "open_take_all", "open_one", *MEMORY,
]
# pyarrow asks buffers of IPC files to lie at multiples of 8 bytes only, and pylance panics on decimals that do not lie at 16.
ALIGNED = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)


def applies(measure, table, num_rows):
    """Whether a measure tells something on a table."""
    if measure == "open_one":
        return table == "wide"
    if measure.startswith("take_"):
        size = int(measure.split("_")[1])
        return size == TAKES[0] or 2 * size <= num_rows
    return True


def row_sets(num_rows, size):
    """Sets of random ascending row numbers, the same for every engine."""
    generators = (np.random.default_rng([size, number]) for number in range(SETS))
    return [np.sort(rng.choice(num_rows, size, replace=False)).astype(np.int64) for rng in generators]


def repeat(seconds, work, least=3):
    """`work(i)` again and again after one run for nothing; what is freed is freed within the time of its run."""
    gc.collect()
    walls, began, cpu = [], time.perf_counter(), time.process_time()
    work(0)
    first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
    if first > max(1, 4 * seconds):
        # What a first run pays more than others is lost in it.
        return {"cpu": first_cpu, "wall": first, "runs": 1}
    end = began = time.perf_counter()
    cpu = time.process_time()
    while len(walls) < least or end - began < seconds:
        before = time.perf_counter()
        work(len(walls) + 1)
        end = time.perf_counter()
        walls.append(end - before)
        # What takes long is not run three times.
        if end - began > 4 * seconds:
            break
    cpu = time.process_time() - cpu
    return {"cpu": cpu / len(walls), "wall": statistics.median(walls), "runs": len(walls)}


def source_batches(path):
    """The batches of a table's Arrow file, read one by one."""
    reader = pa.ipc.open_file(pa.OSFile(str(path)), options=ALIGNED)
    return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))


def buffers(array):
    """The buffers that hold the values of an array, those of its children too."""
    return [buffer for buffer in array.buffers() if buffer is not None]


def touch(batch):
    """The sum of all words in the buffers of a batch, which reads every byte once."""
    total = 0
    for column in batch.columns:
        for buffer in buffers(column):
            whole = buffer.size // 8 * 8
            total += int(np.frombuffer(buffer, np.uint64, whole // 8).sum(dtype=np.uint64)) if whole else 0
    return total


def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key)) * 1024


class Peak:
    """The highest resident memory over what the process had at the beginning: `bytes` of all pages, `anonymous` of
    those that are no file's, as far as `look` was called at the right moments."""

    def __init__(self):
        gc.collect()
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        self.before, self.anonymous_before = resident("VmRSS"), resident("RssAnon")
        self.anonymous = self.anonymous_before

    def look(self):
        self.anonymous = max(self.anonymous, resident("RssAnon"))

    def answer(self):
        self.look()
        return {"bytes": resident("VmHWM") - self.before, "anonymous": self.anonymous - self.anonymous_before}


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def beside(path, word):
    """Another name in the same folder, of the same extension: pennon goes by it."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{word}.{name}")


def write_memory(engine, job):
    schema, batches = source_batches(job["source"])
    peak = Peak()

    def watched():
        for batch in batches:
            peak.look()
            yield batch

    path = beside(job["path"], "streamed")
    engine.write_stream(schema, watched(), path)
    answer = peak.answer()
    remove(path)
    return answer


def stream_memory(engine, job):
    handle = engine.open(job["path"])
    peak = Peak()
    for batch in engine.stream(handle):
        peak.look()
        del batch
    return peak.answer()


def check(engine, handle, job):
    """What a take of 100 rows of all columns has differently from the source, or None."""
    schema, batches = source_batches(job["source"])
    rows = row_sets(job["num_rows"], 100)[0]
    wanted, start = [], 0
    for batch in batches:
        inside = rows[(rows >= start) & (rows < start + len(batch))] - start
        wanted.append(batch.take(pa.array(inside)))
        start += len(batch)
    taken = engine.take(handle, engine.rows(rows))
    # Engines may answer with other types for the same values, string views for strings.
    taken = pa.table([taken[f.name] if taken[f.name].type == f.type else taken[f.name].cast(f.type) for f in schema], schema=schema)
    return table_difference(taken, pa.Table.from_batches(wanted, schema))


def works(engine, job):
    """The measures by name, as functions of the number of the run."""
    path = job["path"]
    one, two = COLUMNS[job["table"]]
    one, two = [one], list(two)
    handle = engine.open(path)
    sets = {}

    def rows(size, i):
        if size not in sets:
            sets[size] = [engine.rows(numbers) for numbers in row_sets(job["num_rows"], size)]
        return sets[size][i % SETS]

    def taking(size, columns):
        return lambda i: engine.take(handle, rows(size, i), columns)

    def count(batches):
        return sum(batch.get_total_buffer_size() for batch in batches)

    return handle, {
        "open": lambda i: engine.describe(engine.open(path)),
        "scan": lambda i: engine.scan(handle),
        "stream": lambda i: count(engine.stream(handle)),
        "stream_touched": lambda i: sum(touch(batch) for batch in engine.stream(handle)),
        "one": lambda i: engine.scan(handle, one),
        "two": lambda i: engine.scan(handle, two),
        **{f"take_{n}_one": taking(n, one) for n in TAKES},
        **{f"take_{n}_all": taking(n, None) for n in TAKES},
        "open_take_one": lambda i: engine.take(engine.open(path, one), rows(100, i), one),
        "open_take_all": lambda i: engine.take(engine.open(path), rows(100, i)),
        "open_one": lambda i: engine.scan(engine.open(path, one), one),
    }


def measure(job):
    engine = engines.load(job["engine"])
    if job["table"] in engine.cannot:
        return {"left_out": engine.cannot[job["table"]]}
    if job.get("make"):
        remove(job["path"])
        schema, batches = source_batches(job["source"])
        engine.write(pa.Table.from_batches(batches, schema), job["path"])
        return {}
    wanted = [name for name in job["measures"] if applies(name, job["table"], job["num_rows"])]
    answer = {}
    can_write = type(engine).write is not engines.Engine.write
    if "write" in wanted and can_write:
        schema, batches = source_batches(job["source"])
        table = pa.Table.from_batches(batches, schema)
        path = beside(job["path"], "written")
        answer["write"] = repeat(job["seconds"], lambda i: engine.write(table, path), least=2)
        remove(path)
        del table
    if "write_memory" in wanted and can_write:
        answer["write_memory"] = write_memory(engine, job)
    if "stream_memory" in wanted:
        answer["stream_memory"] = stream_memory(engine, job)
    rest = [name for name in wanted if name != "write" and name not in MEMORY]
    if rest or job["check"]:
        handle, known = works(engine, job)
        if job["check"] and (found := check(engine, handle, job)):
            answer["wrong"] = found
        for name in rest:
            if name.startswith("take_") and int(name.split("_")[1]) > engine.largest_take:
                continue
            answer[name] = repeat(job["seconds"], known[name])
    return answer


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(pathlib.Path(sys.argv[1]).read_text()))))
