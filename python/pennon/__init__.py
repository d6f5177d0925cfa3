"""Columnar files for AI data: Lance, Parquet and Arrow files, read by range or row by row, and written.

>>> import pennon
>>> pennon.write([{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}], "some.lance")
2
>>> f = pennon.open("some.lance")
>>> f[0]
{'id': 1, 'tags': ['a', 'b']}

Tables come as pyarrow's where pyarrow is installed. Without it they come as :class:`pennon.Table`, which any library that
knows the Arrow PyCapsule interface takes.
"""

from ._errors import (
    ColumnNotFound,
    CorruptFile,
    Error,
    InvalidArgument,
    IoError,
    LimitExceeded,
    MissingFile,
    PermissionDenied,
    RowOutOfRange,
    Unsupported,
)
from ._pennon import (
    Array,
    Batches,
    Buffer,
    Expression,
    Field,
    File,
    RecordBatch,
    Scan,
    Schema,
    Table,
    Writer,
    __version__,
    col,
    expr,
    open,
    schema,
    write,
)
from ._values import MonthDayNano


def scan_polars(source, *, format=None):
    """A ``polars.LazyFrame`` of a file (a path, or an open :class:`File`), with columns, rows and predicates pushed down."""
    from ._polars import scan_polars

    return scan_polars(source, format=format)


__all__ = [
    "Array",
    "Batches",
    "Buffer",
    "ColumnNotFound",
    "CorruptFile",
    "Error",
    "Expression",
    "Field",
    "File",
    "InvalidArgument",
    "IoError",
    "LimitExceeded",
    "MissingFile",
    "MonthDayNano",
    "PermissionDenied",
    "RecordBatch",
    "RowOutOfRange",
    "Scan",
    "Schema",
    "Table",
    "Unsupported",
    "Writer",
    "__version__",
    "col",
    "expr",
    "open",
    "scan_polars",
    "schema",
    "write",
]
