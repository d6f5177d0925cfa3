"""ORC by pyarrow. A take reads the file."""
import pyarrow as pa
from pyarrow import orc

from engines import Engine


class Orc(Engine):
    largest_take = 100
    cannot = {"embeddings": "no lists of fixed size", "blobs": "no large binary", "wide": "takes minutes"}

    def __init__(self, compression):
        self.compression = compression

    def write(self, table, path):
        orc.write_table(table, path, compression=self.compression)

    def write_stream(self, schema, batches, path):
        with orc.ORCWriter(path, compression=self.compression) as writer:
            for batch in batches:
                writer.write(pa.Table.from_batches([batch]))

    def open(self, path, columns=None):
        return orc.ORCFile(path)

    def describe(self, handle):
        handle.schema
        return handle.nrows

    def scan(self, handle, columns=None):
        return handle.read(columns=columns)

    def stream(self, handle, columns=None):
        return (handle.read_stripe(i, columns=columns) for i in range(handle.nstripes))

    def take(self, handle, rows, columns=None):
        return handle.read(columns=columns).take(pa.array(rows))


def make(compression):
    return Orc(compression)
