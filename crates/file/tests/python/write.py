"""Writes Lance files with the official library, one for each line of standard input.

A line is {"id", "file": an Arrow IPC file, "out": where to, "version", "max_page_bytes": or null}; the answer is
{"id"} or {"id", "error"}.
"""

import json
import os
import sys

import pyarrow as pa
from lance.file import LanceFileWriter


def write(job):
    table = pa.ipc.open_file(job["file"]).read_all()
    options = {"version": job["version"]}
    if job["max_page_bytes"]:
        options["max_page_bytes"] = job["max_page_bytes"]
    if os.path.exists(job["out"]):
        os.remove(job["out"])
    with LanceFileWriter(job["out"], table.schema, **options) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


for line in sys.stdin:
    job = json.loads(line)
    answer = {"id": job["id"]}
    try:
        write(job)
    except BaseException as e:  # A panic of the library is no Exception.
        answer["error"] = f"{type(e).__name__}: {e}"[:500]
    print(json.dumps(answer), flush=True)
