"""Vortex with its defaults. An open file keeps what it has read, so that a second scan would read nothing: scans open it anew."""
import numpy as np
import pyarrow as pa
import vortex

from engines import Engine


class Handle:
    def __init__(self, path):
        self.path, self.file = path, vortex.open(path)


class Vortex(Engine):
    def write(self, table, path):
        vortex.io.write(table, path)

    def write_stream(self, schema, batches, path):
        vortex.io.write(pa.RecordBatchReader.from_batches(schema, batches), path)

    def open(self, path, columns=None):
        return Handle(path)

    def describe(self, handle):
        handle.file.dtype
        return len(handle.file)

    def scan(self, handle, columns=None):
        return self.stream(handle, columns).read_all()

    def stream(self, handle, columns=None):
        return vortex.open(handle.path).to_arrow(projection=columns)

    def rows(self, numbers):
        return vortex.array(pa.array(numbers.astype(np.uint64)))

    def take(self, handle, rows, columns=None):
        return handle.file.to_arrow(projection=columns, indices=rows).read_all()


def make(_):
    return Vortex()
