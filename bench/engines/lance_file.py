"""pylance's reader and writer of single files."""
import os

from lance.file import LanceFileReader, LanceFileWriter

from engines import Engine


class Handle:
    """The columns are fixed when pylance opens a file, so each projection has a reader of its own, opened once."""

    def __init__(self, path):
        self.path, self.readers = path, {}

    def reader(self, columns):
        key = tuple(columns) if columns else None
        if key not in self.readers:
            self.readers[key] = LanceFileReader(self.path, columns=columns)
        return self.readers[key]


class LanceFile(Engine):
    def __init__(self, version):
        self.version = version

    def write(self, table, path):
        self.write_stream(table.schema, table.to_batches(), path)

    def write_stream(self, schema, batches, path):
        if os.path.exists(path):
            os.remove(path)
        with LanceFileWriter(path, schema, version=self.version) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def open(self, path, columns=None):
        handle = Handle(path)
        handle.reader(columns)
        return handle

    def describe(self, handle):
        reader = handle.reader(None)
        reader.metadata().schema
        return reader.num_rows()

    def scan(self, handle, columns=None):
        return handle.reader(columns).read_all(batch_size=self.batch_rows).to_table()

    def stream(self, handle, columns=None):
        return handle.reader(columns).read_all(batch_size=self.batch_rows).to_batches()

    def rows(self, numbers):
        return numbers.tolist()

    def take(self, handle, rows, columns=None):
        return handle.reader(columns).take_rows(rows, batch_size=len(rows)).to_table()


def make(version):
    return LanceFile(version)
