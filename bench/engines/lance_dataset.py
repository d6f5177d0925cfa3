"""A Lance dataset through pylance with its defaults: what its users have."""
import lance
import pyarrow as pa

from engines import Engine


class LanceDataset(Engine):
    def __init__(self, version):
        self.version = version

    def write(self, table, path):
        lance.write_dataset(table, path, data_storage_version=self.version, mode="overwrite")

    def write_stream(self, schema, batches, path):
        self.write(pa.RecordBatchReader.from_batches(schema, batches), path)

    def open(self, path, columns=None):
        return lance.dataset(path)

    def describe(self, handle):
        handle.schema
        return handle.count_rows()

    def scan(self, handle, columns=None):
        return handle.to_table(columns=columns)

    def stream(self, handle, columns=None):
        return handle.to_batches(columns=columns)

    def rows(self, numbers):
        return pa.array(numbers)

    def take(self, handle, rows, columns=None):
        return handle.take(rows, columns=columns)


def make(version):
    return LanceDataset(version)
