"""Arrow IPC files without compression, near what the machine can do: scans read into memory, takes go through a mapping."""
import numpy as np
import pyarrow as pa

from engines import Engine


class Handle:
    """A mapped file, and by projection its batches with the row at which each begins."""

    def __init__(self, path):
        self.path, self.mapped = path, {}
        self.file = pa.ipc.open_file(pa.memory_map(path))

    def options(self, columns):
        # Fields are counted among all, those inside of others not.
        fields = columns and [self.file.schema.get_field_index(name) for name in columns]
        return pa.ipc.IpcReadOptions(included_fields=fields)

    def batches(self, columns):
        key = tuple(columns) if columns else None
        if key not in self.mapped:
            reader = pa.ipc.open_file(pa.memory_map(self.path), options=self.options(columns)) if columns else self.file
            batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
            self.mapped[key] = batches, np.cumsum([0, *map(len, batches)])
        return self.mapped[key]


class Ipc(Engine):
    def write(self, table, path):
        self.write_stream(table.schema, table.to_batches(), path)

    def write_stream(self, schema, batches, path):
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def open(self, path, columns=None):
        return Handle(path)

    def describe(self, handle):
        handle.file.schema
        return sum(handle.file.get_batch(i).num_rows for i in range(handle.file.num_record_batches))

    def scan(self, handle, columns=None):
        with pa.OSFile(handle.path) as source:
            return pa.ipc.open_file(source, options=handle.options(columns)).read_all()

    def stream(self, handle, columns=None):
        with pa.OSFile(handle.path) as source:
            reader = pa.ipc.open_file(source, options=handle.options(columns))
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)

    def take(self, handle, rows, columns=None):
        batches, starts = handle.batches(columns)
        cuts = np.searchsorted(rows, starts)
        parts = [
            batch.take(pa.array(rows[cuts[i] : cuts[i + 1]] - starts[i]))
            for i, batch in enumerate(batches) if cuts[i + 1] > cuts[i]
        ]
        return pa.Table.from_batches(parts, batches[0].schema)


def make(_):
    return Ipc()
