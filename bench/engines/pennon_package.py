"""pennon through its Python package: its own files by preset, and those that pylance wrote."""
import pennon

from engines import Engine


class Pennon(Engine):
    def __init__(self, preset):
        self.preset = preset

    def write(self, table, path):
        pennon.write(table, path, preset=self.preset, format_version="2.2")

    def write_stream(self, schema, batches, path):
        with pennon.Writer(path, schema, preset=self.preset, format_version="2.2") as writer:
            for batch in batches:
                writer.write(batch)

    def open(self, path, columns=None):
        return pennon.open(path)

    def describe(self, handle):
        handle.schema
        return handle.num_rows

    def scan(self, handle, columns=None):
        return handle.to_table(columns)

    def stream(self, handle, columns=None):
        return handle.to_batches(columns)

    def take(self, handle, rows, columns=None):
        return handle.take(rows, columns)


class OnPylance(Pennon):
    def __init__(self):
        pass

    write = Engine.write
    write_stream = Engine.write_stream


def make(preset):
    return Pennon(preset) if preset else OnPylance()
