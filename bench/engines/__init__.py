"""The engines that run.py compares, one a file.

An engine is a class with the methods of `Engine`. What `open` gives it gets back as `handle`; `columns` is a list of names or
None for all. `scan` and `take` give a pyarrow Table. Row numbers reach `take` as `rows` has made them of a sorted NumPy
array, which is not timed: a caller may hold them in the form that the engine likes best.
"""
import collections
import importlib

# `owner` is the engine whose file is read, where it is not the engine's own.
Kind = collections.namedtuple("Kind", "module variant extension owner", defaults=[None])
ENGINES = {
    "pennon_fast": Kind("pennon_package", "fast", ".lance"),
    "pennon_balanced": Kind("pennon_package", "balanced", ".lance"),
    "pennon_small": Kind("pennon_package", "small", ".lance"),
    "pennon_on_pylance": Kind("pennon_package", None, ".lance", "lance_file"),
    "lance_file": Kind("lance_file", "2.2", ".lance"),
    "lance_dataset": Kind("lance_dataset", "2.2", ".dataset"),
    "parquet": Kind("parquet", "zstd", ".parquet"),
    "vortex": Kind("vortex_file", None, ".vortex"),
    "ipc": Kind("ipc", None, ".arrow"),
    "orc": Kind("orc", "zstd", ".orc"),
    # Programs without Python, measured where they are built.
    "rust_pennon_fast": Kind("program", "pennon", ".lance", "pennon_fast"),
    "rust_pennon_balanced": Kind("program", "pennon", ".lance", "pennon_balanced"),
    "rust_pennon_on_pylance": Kind("program", "pennon", ".lance", "lance_file"),
    "rust_lance_file": Kind("program", "lance", ".lance", "lance_file"),
    "rust_parquet": Kind("program", "parquet", ".parquet", "parquet"),
}
PROGRAMS = [name for name, kind in ENGINES.items() if kind.module == "program"]


class Engine:
    """One format through one library. What is not overridden is not measured."""

    # Tables that cannot be written, and why.
    cannot = {}
    # The largest take worth timing; where a take is a scan, more rows tell nothing new.
    largest_take = 1_000_000
    # Rows of a batch of streams, for those that have to be told.
    batch_rows = 32_768

    def write(self, table, path):
        """The table in memory to a closed file."""
        raise NotImplementedError

    def write_stream(self, schema, batches, path):
        """Batch by batch, as little kept as the library allows."""
        raise NotImplementedError

    def open(self, path, columns=None):
        """A handle that is ready to read. `columns` are those to be read, for libraries that want to know on opening."""
        raise NotImplementedError

    def describe(self, handle):
        """The number of rows, the schema known."""
        raise NotImplementedError

    def scan(self, handle, columns=None):
        raise NotImplementedError

    def stream(self, handle, columns=None):
        """An iterator of record batches."""
        raise NotImplementedError

    def rows(self, numbers):
        return numbers

    def take(self, handle, rows, columns=None):
        raise NotImplementedError


def load(name):
    """The engine of a name, its libraries imported."""
    kind = ENGINES[name]
    return importlib.import_module(f"engines.{kind.module}").make(kind.variant)


def file_owner(name):
    return ENGINES[name].owner or name


def file_name(table, name):
    """The file that an engine reads of a table."""
    return f"{table}.{file_owner(name)}{ENGINES[name].extension}"
