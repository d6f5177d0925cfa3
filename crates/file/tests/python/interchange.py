"""Reads Lance files with the official library, for tests that compare the values themselves.

One JSON object a line on stdin: {"id", "file", "columns" (or null), "ranges": [[start, rows]], "takes": [[row]], "out"}.
Answers go to OUT.all, OUT.range0, OUT.take0 and so on as Arrow IPC streams; one line on stdout says how it went:
{"id", "error" (or null)}. The official file reader takes ascending, distinct rows only.
"""
import json
import sys

import pyarrow as pa
from lance.file import LanceFileReader


def store(path, batches):
    table = batches.to_table()
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table)


def answer(job):
    reader = LanceFileReader(job["file"], columns=job["columns"])
    store(job["out"] + ".all", reader.read_all())
    for i, (start, rows) in enumerate(job["ranges"]):
        store(f"{job['out']}.range{i}", reader.read_range(start, rows))
    for i, rows in enumerate(job["takes"]):
        store(f"{job['out']}.take{i}", reader.take_rows(rows))


def main():
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer(job)
            error = None
        except BaseException as e:  # the library's panics are not Exceptions
            error = f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
        print(json.dumps({"id": job["id"], "error": error}), flush=True)


main()
