"""pyarrow's compute expressions as predicates of pennon.

An expression is read from the form in which pyarrow pickles it: an Arrow IPC file whose schema metadata lists the parts of the
tree in order, with literals and options as columns::

    call: and_kleene | call: greater | field_ref: x | literal: 0 | end: greater | call: … | end: and_kleene

Where pyarrow and pennon disagree the predicate says what pyarrow means: in pyarrow ``nan != 3`` is true, and ``is_in`` of a null
is false.
"""

import struct

from ._errors import Unsupported
from ._pennon import col, expr

_COMPARISONS = {
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}


def from_pyarrow(expression, floats=()):
    """The predicate that a ``pyarrow.compute.Expression`` is. ``floats`` are the paths of floating-point columns."""
    return _condition(tree(expression), frozenset(floats), expression)


def conjuncts(expression):
    """The trees that ``expression`` joins with AND."""
    parts, found = [tree(expression)], []
    while parts:
        part = parts.pop()
        if part[0] == "call" and part[1] == "and_kleene":
            parts.extend(reversed(part[2]))
        else:
            found.append(part)
    return found


def condition(part, floats=()):
    """The predicate that one tree is."""
    return _condition(part, frozenset(floats), part)


def fields(part):
    """Names of the top-level columns that a tree looks at."""
    if part[0] == "field":
        return {part[1][0]}
    if part[0] == "call":
        return set().union(*(fields(p) for p in part[2]))
    return set()


def quoted(name):
    """A name as it stands in a path."""
    plain = name.isascii() and name.replace("_", "a").isalnum()
    return name if plain else "`" + name.replace("`", "``") + "`"


def _refuse(what, whole):
    return Unsupported(f"unsupported: a filter with {what}: {whole}")


def _condition(part, floats, whole):
    kind = part[0]
    if kind == "field":
        return _column(part)
    if kind == "literal":
        value = part[1].as_py()
        if not isinstance(value, bool):
            raise _refuse(f"the literal {value!r} as a condition", whole)
        return expr("TRUE" if value else "FALSE")
    name, arguments, options = part[1:]
    if name == "and_kleene":
        return _condition(arguments[0], floats, whole) & _condition(arguments[1], floats, whole)
    if name == "or_kleene":
        return _condition(arguments[0], floats, whole) | _condition(arguments[1], floats, whole)
    if name == "invert":
        return ~_condition(arguments[0], floats, whole)
    if name in _COMPARISONS:
        return _comparison(name, arguments, floats, whole)
    if not arguments or arguments[0][0] != "field":
        raise _refuse(f"{name}() of something that is not a column", whole)
    column, path = _column(arguments[0]), _path(arguments[0])
    if name == "is_null":
        if options and options.get("nan_is_null") and path in floats:
            return column.is_null() | column.is_nan()
        return column.is_null()
    if name == "is_valid":
        return column.is_valid()
    if name == "is_nan":
        return column.is_nan()
    if name == "is_in" and options:
        return _is_in(column, path, options, floats)
    if options and not options.get("ignore_case") and options.get("pattern") is not None:
        pattern = options["pattern"]
        if name == "starts_with":
            return column.starts_with(pattern)
        if name == "ends_with":
            return _like(column, "%" + _escaped(pattern))
        if name == "match_substring":
            return _like(column, "%" + _escaped(pattern) + "%")
        if name == "match_like":
            return _like(column, pattern)
    raise _refuse(f"{name}()", whole)


def _comparison(name, arguments, floats, whole):
    left, right = arguments
    forward, backward = _COMPARISONS[name]
    if left[0] == "field" and right[0] in ("field", "literal"):
        column, other, method = left, right, forward
    elif right[0] == "field" and left[0] == "literal":
        column, other, method = right, left, backward
    else:
        raise _refuse(f"{name}() of something that is not a column and a value", whole)
    if other[0] == "literal":
        value = other[1].as_py()
        if value is None:
            raise _refuse("a comparison with null", whole)
        if value != value:
            raise _refuse("a comparison with nan", whole)
        other = value
        maybe_nan = [column] if _path(column) in floats else []
    else:
        maybe_nan = [c for c in (column, other) if _path(c) in floats]
        other = _column(other)
    result = getattr(_column(column), method)(other)
    if name == "not_equal":
        for part in maybe_nan:
            result = result | _column(part).is_nan()
    return result


def _is_in(column, path, options, floats):
    values = options["value_set"]
    matches_null = options.get("null_matching_behavior", 0) == 0
    has_null = any(v is None for v in values)
    has_nan = any(v != v for v in values if v is not None)
    values = [v for v in values if v is not None and v == v]
    result = column.is_valid() & (column.is_in(values) if values else expr("FALSE"))
    if has_nan and path in floats:
        result = result | (column.is_valid() & column.is_nan())
    if has_null and matches_null:
        result = result | column.is_null()
    return result


def _escaped(text):
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _like(column, pattern):
    if "\\" not in pattern:
        return column.like(pattern)
    text = pattern.replace("'", "''")
    return expr(f"{column!r} LIKE '{text}' ESCAPE '\\'")


def _path(part):
    return ".".join(quoted(name) for name in part[1])


def _column(part):
    return col(_path(part))


# ------------------------------------------------------------------ the pickled form
def tree(expression):
    """An expression as ``("field", names)``, ``("literal", scalar)`` or ``("call", name, arguments, options)``."""
    import pyarrow as pa

    _, (data, *_) = expression.__reduce__()[:2]
    data = memoryview(data)
    batch = pa.ipc.open_file(pa.py_buffer(data)).get_batch(0)
    pairs = iter(_schema_metadata(data))
    found = _part(next(pairs), pairs, batch)
    if next(pairs, None) is not None:
        raise Unsupported(f"unsupported: a form of pyarrow's expressions that is not known: {expression}")
    return found


def _part(pair, pairs, batch):
    key, value = pair
    if key == "literal":
        return ("literal", batch.column(int(value))[0])
    if key == "field_ref":
        return ("field", (value,))
    if key == "nested_field_ref":
        names = [next(pairs) for _ in range(int(value))]
        if any(k != "field_ref" for k, _ in names):
            raise Unsupported("unsupported: a filter on a column that is not named")
        return ("field", tuple(n for _, n in names))
    if key != "call":
        raise Unsupported(f"unsupported: a part {key!r} of one of pyarrow's expressions")
    arguments, options = [], None
    for key, inner in pairs:
        if key == "end":
            return ("call", value, arguments, options)
        if key == "options":
            options = _options(batch.column(int(inner))[0])
        else:
            arguments.append(_part((key, inner), pairs, batch))
    raise Unsupported(f"unsupported: one of pyarrow's expressions, of which a part {value!r} does not end")


def _options(scalar):
    return {name: scalar[name].as_py() for name in scalar}


def _schema_metadata(data):
    """Keys and values of a schema's metadata in order, twins kept; pyarrow gives them as a dict.

    ::

        "ARROW1" 0 0 | FF FF FF FF | i32 length | Message { …, header: Schema { …, 2: [KeyValue { 0: key, 1: value }] } }
    """
    base = 16

    def int32(at):
        return struct.unpack_from("<i", data, at)[0]

    def field(table, number):
        vtable = table - int32(table)
        (size,) = struct.unpack_from("<H", data, vtable)
        if 4 + 2 * number >= size:
            return None
        (offset,) = struct.unpack_from("<H", data, vtable + 4 + 2 * number)
        return table + offset if offset else None

    def follow(at):
        return at + struct.unpack_from("<I", data, at)[0]

    def text(at):
        at = follow(at)
        return bytes(data[at + 4 : at + 4 + int32(at)]).decode()

    message = follow(base)
    schema = follow(field(message, 2))
    vector = field(schema, 2)
    if vector is None:
        return
    vector = follow(vector)
    for i in range(int32(vector)):
        pair = follow(vector + 4 + 4 * i)
        yield text(field(pair, 0)), text(field(pair, 1))
