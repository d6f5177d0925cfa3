"""Files as sources of Polars' lazy frames, with columns, rows and predicates pushed down."""

import json
import warnings

from . import _pennon
from ._errors import InvalidArgument, Unsupported
from ._pennon import col, expr
from ._translate import quoted

_COMPARISONS = {
    "Eq": ("__eq__", "__eq__"),
    "NotEq": ("__ne__", "__ne__"),
    "Lt": ("__lt__", "__gt__"),
    "LtEq": ("__le__", "__ge__"),
    "Gt": ("__gt__", "__lt__"),
    "GtEq": ("__ge__", "__le__"),
}
# Polars puts NaN above all numbers, and lets it be equal to itself.
_TRUE_OF_NAN = {"__gt__", "__ge__", "__ne__"}


def scan_polars(source, *, format=None):
    """A ``polars.LazyFrame`` of a file (a path, or an open :class:`pennon.File`).

    The columns that a query needs and the number of rows go down to the file, and of its predicate every part that pennon can
    say; what is left Polars tests itself.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    file = source if isinstance(source, _pennon.File) else _pennon.open(source, format=format)
    schema = pl.DataFrame(_Empty(file)).schema

    def read(with_columns, predicate, n_rows, batch_size):
        pushed, rest = (None, None) if predicate is None else split(file, schema, predicate)
        columns = None if with_columns is None else list(with_columns)
        extra = [] if rest is None or columns is None else [c for c in rest.meta.root_names() if c not in columns]
        paths = None if columns is None else [quoted(c) for c in columns + extra]
        limit = n_rows if rest is None else None
        scan = file.scan(paths, filter=pushed, limit=limit, batch_size=batch_size)
        left = n_rows
        for batch in scan:
            frame = pl.DataFrame(batch)
            if not frame.width:
                # Polars counts rows by columns.
                frame = pl.DataFrame({"": [None] * batch.num_rows}).select([])
            if rest is not None:
                frame = frame.filter(rest)
                if extra:
                    frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left is not None and left <= 0:
                return

    return register_io_source(read, schema=schema, is_pure=True)


class _Empty:
    """The columns of a file without rows."""

    def __init__(self, file):
        self._scan = file.scan(limit=0)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._scan.__arrow_c_stream__(requested_schema)


def split(file, schema, predicate):
    """The parts of ``predicate`` that the file takes as one predicate, and the others as one expression of Polars."""
    pushed, rest = None, None
    parts = [predicate]
    while parts:
        part = parts.pop()
        node = _node(part)
        if node is not None and node[0] == "BinaryExpr" and node[1]["op"] in ("And", "LogicalAnd"):
            parts.extend(part.meta.pop())
            continue
        try:
            condition = translate(part, schema)
            file.scan([], filter=condition)
        except (Unsupported, InvalidArgument, TypeError, NotImplementedError):
            rest = part if rest is None else rest & part
            continue
        pushed = condition if pushed is None else pushed & condition
    return pushed, rest


def _node(expression):
    """Name and content of the outermost node, from the form in which Polars writes expressions down."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = json.loads(expression.meta.serialize(format="json"))
        except Exception:
            return None
    if isinstance(found, dict) and len(found) == 1:
        return next(iter(found.items()))
    return None


def translate(expression, schema):
    """A condition of Polars as one of pennon; ``Unsupported`` if there is none that means the same."""
    node = _node(expression)
    if node is None:
        raise Unsupported("unsupported: an expression of Polars that cannot be read")
    kind, content = node
    inner = expression.meta.pop()[::-1]
    if kind == "Alias":
        return translate(inner[0], schema)
    if kind == "Column":
        return col(_column(expression, schema)[0])
    if kind == "Literal":
        value = _value(expression)
        if isinstance(value, bool):
            return expr("TRUE" if value else "FALSE")
    if kind == "BinaryExpr":
        op = content["op"]
        if op in ("And", "LogicalAnd"):
            return translate(inner[0], schema) & translate(inner[1], schema)
        if op in ("Or", "LogicalOr"):
            return translate(inner[0], schema) | translate(inner[1], schema)
        if op in _COMPARISONS:
            return _comparison(op, inner, schema)
    if kind == "Function":
        found = _function(content["function"], inner, schema)
        if found is not None:
            return found
    raise Unsupported(f"unsupported: {expression}")


def _function(function, inner, schema):
    family, what = next(iter(function.items())) if isinstance(function, dict) else ("", function)
    name, options = (what, {}) if isinstance(what, str) else next(iter(what.items())) if isinstance(what, dict) else ("", {})
    if family == "Boolean":
        if name == "Not":
            return ~translate(inner[0], schema)
        path, dtype = _column(inner[0], schema)
        column = col(path)
        if name == "IsNull":
            return column.is_null()
        if name == "IsNotNull":
            return column.is_valid()
        if name == "IsNan" and dtype.is_float():
            return column.is_nan()
        if name == "IsNotNan" and dtype.is_float():
            return ~column.is_nan()
        if name == "IsIn" and not options.get("nulls_equal"):
            values = _values(inner[1])
            if any(v is None or v != v for v in values):
                return None
            return column.is_in(values) if values else None
        if name == "IsBetween":
            low, high = _value(inner[1]), _value(inner[2])
            if low is None or high is None or low != low or high != high:
                return None
            closed = options.get("closed")
            above = column > low if closed in ("Right", "None") else column >= low
            below = column < high if closed in ("Left", "None") else column <= high
            return above & below
    if family == "StringExpr" and name == "StartsWith":
        prefix = _value(inner[1])
        if isinstance(prefix, str):
            return col(_column(inner[0], schema)[0]).starts_with(prefix)
    return None


def _comparison(op, inner, schema):
    left, right = inner
    method, backward = _COMPARISONS[op]
    if left.meta.root_names() and right.meta.root_names():
        (a, x), (b, y) = _column(left, schema), _column(right, schema)
        if x.is_float() or y.is_float():
            raise Unsupported("unsupported: two columns of floating-point numbers compared as Polars does")
        return getattr(col(a), method)(col(b))
    if not left.meta.root_names():
        left, right, method = right, left, backward
    path, dtype = _column(left, schema)
    value = _value(right)
    if value is None or value != value:
        raise Unsupported("unsupported: a comparison with null or nan")
    column = col(path)
    found = getattr(column, method)(value)
    return found | column.is_nan() if dtype.is_float() and method in _TRUE_OF_NAN else found


def _column(expression, schema):
    """Path and type of what is a column, or a field of one."""
    node = _node(expression)
    if node is not None and node[0] == "Column" and isinstance(node[1], str):
        return quoted(node[1]), schema[node[1]]
    if node is not None and node[0] == "Function":
        function = node[1]["function"]
        if isinstance(function, dict) and isinstance(function.get("StructExpr"), dict):
            name = function["StructExpr"].get("FieldByName")
            if name is not None:
                path, dtype = _column(expression.meta.pop()[0], schema)
                found = [f.dtype for f in dtype.fields if f.name == name]
                if len(found) == 1:
                    return f"{path}.{quoted(name)}", found[0]
    raise Unsupported(f"unsupported: {expression} as a column")


def _values(expression):
    if expression.meta.root_names():
        raise Unsupported("unsupported: values that are a column")
    import polars as pl

    found = pl.select(expression).to_series()
    if isinstance(found.dtype, (pl.List, pl.Array)):
        found = found.explode()
    return found.to_list()


def _value(expression):
    found = _values(expression)
    if len(found) != 1:
        raise Unsupported("unsupported: more than one value")
    return found[0]
