"""A pennon file as a ``pyarrow.dataset.Dataset``: DuckDB, Polars and pandas ask it for columns and rows.

>>> import pennon
>>> dataset = pennon.open("birds.lance").to_dataset()  # doctest: +SKIP
>>> duckdb.sql("SELECT count(*) FROM dataset WHERE wings > 0")  # doctest: +SKIP
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from . import _translate
from ._errors import InvalidArgument, Unsupported


class Dataset(ds.Dataset):
    """The rows of one file. Columns and filters that are asked of it are asked of the file.

    A filter, or a part of one, that pennon has no predicate for is applied by pyarrow to what the file gives.
    """

    def __init__(self, file, filter=None):
        self._file = file
        self._filter = filter
        self._schema = file.schema

    def __reduce__(self):
        return (Dataset, (self._file, self._filter))

    def __repr__(self):
        return f"<pennon.dataset.Dataset of {self._file!r}>"

    @property
    def file(self):
        """The file below."""
        return self._file

    @property
    def schema(self):
        return self._schema

    @property
    def partition_expression(self):
        return pc.scalar(True)

    def scanner(self, columns=None, filter=None, batch_size=None, limit=None, **_):
        """A scanner with the columns and the filter pushed down; further options of pyarrow's scanners change nothing."""
        filter = _both(self._filter, filter)
        pushed, rest = self._split(filter)
        named = columns if isinstance(columns, dict) or columns is None else list(columns)
        if rest is None and not isinstance(named, dict):
            reader = self._reader(named, pushed, batch_size, limit)
            return ds.Scanner.from_batches(reader, schema=reader.schema)
        # What pyarrow still has to do needs its columns.
        wanted = None if named is None else _top_level(named, rest, self._schema)
        reader = self._reader(wanted, pushed, batch_size, None)
        scanner = ds.Scanner.from_batches(reader, schema=reader.schema, columns=named, filter=rest)
        if limit is None:
            return scanner
        reader = pa.RecordBatchReader.from_batches(scanner.projected_schema, _first(scanner.to_batches(), limit))
        return ds.Scanner.from_batches(reader, schema=reader.schema)

    def _reader(self, columns, filter, batch_size, limit):
        paths = None if columns is None else [_path(c) for c in columns]
        # A scan of no columns still counts rows.
        scan = self._file.scan(paths, filter=filter, limit=limit, batch_size=batch_size)
        return pa.RecordBatchReader.from_stream(scan)

    def _split(self, filter):
        """The predicate that the file takes, and the rest of the filter as an expression of pyarrow."""
        if filter is None:
            return None, None
        floats = _floats(self._schema)
        pushed, whole = None, True
        try:
            parts = _translate.conjuncts(filter)
        except Unsupported:
            return None, filter
        for part in parts:
            try:
                predicate = _translate.condition(part, floats)
                self._file.scan([], filter=predicate)
            except (Unsupported, InvalidArgument, TypeError):
                whole = False
                continue
            pushed = predicate if pushed is None else pushed & predicate
        # Testing once more what was pushed is cheap, and keeps the filter in one piece.
        return pushed, None if whole else filter

    def to_reader(self, **options):
        return self.scanner(**options).to_reader()

    def to_batches(self, **options):
        return self.scanner(**options).to_batches()

    def to_table(self, **options):
        return self.scanner(**options).to_table()

    def head(self, num_rows, **options):
        return self.scanner(limit=num_rows, **options).to_table()

    def count_rows(self, filter=None, **options):
        filter = _both(self._filter, filter)
        pushed, rest = self._split(filter)
        if rest is None:
            return self._file.count_rows(pushed)
        return self.scanner(columns=[], filter=filter, **options).count_rows()

    def take(self, indices, columns=None, **_):
        if self._filter is not None:
            return self.to_table(columns=columns).take(indices)
        return self._file.take(indices, columns=columns)

    def filter(self, expression):
        """This dataset with a filter that every scan of it has."""
        return Dataset(self._file, _both(self._filter, expression))

    def replace_schema(self, schema):
        if schema.equals(self._schema):
            return self
        raise Unsupported("unsupported: a file keeps its schema")

    def get_fragments(self, filter=None):
        raise Unsupported("unsupported: a file is read as a whole; use scanner() or to_batches()")

    def sort_by(self, sorting, **options):
        return ds.dataset(self.to_table().sort_by(sorting, **options))

    def join(self, *arguments, **options):
        return ds.dataset(self.to_table()).join(*arguments, **options)


def _both(a, b):
    if a is None or b is None:
        return b if a is None else a
    return a & b


def _path(name):
    return name if isinstance(name, str) else ".".join(_translate.quoted(n) for n in name)


def _floats(schema):
    """Paths of floating-point columns, structs walked into."""
    found = []

    def walk(prefix, field):
        path = prefix + _translate.quoted(field.name)
        if pa.types.is_floating(field.type):
            found.append(path)
        elif pa.types.is_struct(field.type):
            for i in range(field.type.num_fields):
                walk(path + ".", field.type.field(i))

    for field in schema:
        walk("", field)
    return found


def _top_level(columns, filter, schema):
    names = set()
    for column in columns.values() if isinstance(columns, dict) else columns:
        if isinstance(column, str):
            names.add(column)
        else:
            names |= _translate.fields(_translate.tree(column))
    if filter is not None:
        names |= _translate.fields(_translate.tree(filter))
    return [name for name in schema.names if name in names]


def _first(batches, limit):
    for batch in batches:
        if limit <= 0:
            return
        yield batch.slice(0, limit)
        limit -= batch.num_rows
