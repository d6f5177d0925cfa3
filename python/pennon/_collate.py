"""From Arrow to tensors: what a batch looks like.

The same rule holds at every depth:

====================================  =================================================================
Arrow                                 batch of n rows
====================================  =================================================================
integers, floats                      tensor (n), the same type
fixed-size list of them, w wide       tensor (n, w); nested ones (n, w, v)
boolean                               tensor of bool
date, time, timestamp, duration       tensor of int64, or of int32 where Arrow stores 32 bits; the unit is the column's
string, binary, decimal, others       list of n
list of them                          list of n, each what a batch of its items is: tensor (items), list, …
struct, list of struct, map           dict of the children's batches
dictionary, run-end encoded           as its values
====================================  =================================================================

A tensor is a view of the Arrow buffer, or one copy of it (`copy`: where the buffer may be the mapped file, which nobody may
write to). Numbers have no null: they are filled where the caller says with what, else a null is an error. All else has None
in its list.

Batches travel between processes in a packed form, where a list column is its items and their counts (`Nested`): a thousand
small tensors would be a thousand descriptors of shared memory. `unpack` gives the form that users see.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import torch

_BFLOAT16 = ("lance.bfloat16", "arrow.bfloat16")


class NullValue(ValueError):
    """A null where a tensor has to hold a number."""


class Nested:
    """Lists in packed form: all items, and per level, outermost first, the items' counts (−1: a null list)."""

    __slots__ = ("values", "levels")

    def __init__(self, values, levels):
        self.values, self.levels = values, levels

    def pin_memory(self):
        values = self.values.pin_memory() if isinstance(self.values, torch.Tensor) else self.values
        return Nested(values, self.levels)

    def unpack(self):
        values = self.values
        for counts in reversed(self.levels):
            lengths = [max(0, c) for c in counts]
            if isinstance(values, torch.Tensor):
                parts: list = [_as_list(part) for part in values.split(lengths)]
            else:
                parts, start = [], 0
                for length in lengths:
                    parts.append(values[start : start + length])
                    start += length
            if -1 in counts:
                parts = [None if count < 0 else part for part, count in zip(parts, counts)]
            values = parts
        return values


def _as_list(tensor: torch.Tensor) -> torch.Tensor:
    """Marks a tensor as the value of a list column: batches list these, even when they happen to have one length.

    What a transform computes of it is a new tensor without the mark, and is stacked where the shapes are equal.
    """
    tensor.pennon_list = True  # type: ignore[attr-defined]
    return tensor


class Rules(NamedTuple):
    """How to collate. ``fill`` and ``pad``: one value for all, or values by column path (`a`, `a.b`); None for none."""

    fill: Any = None
    pad: Any = None
    copy: bool = False
    nulls_as_none: bool = False

    def value(self, rule, path: str):
        return rule.get(path) if isinstance(rule, Mapping) else rule


def collate_table(table: pa.Table, rules: Rules) -> dict:
    """A table as a packed batch."""
    out = {}
    for field, column in zip(table.schema, table.columns):
        if field.name in out:
            raise ValueError(f"two columns are called {field.name!r}: name the one to read in columns=")
        out[field.name] = _collate(_one_array(column), field, field.name, (), rules)
    return out


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.array([], type=column.type)
    return pa.concat_arrays(column.chunks)


def _collate(array: pa.Array, field: Optional[pa.Field], path: str, levels: tuple, rules: Rules):
    """One array; ``levels`` are the lists around it, as in `Nested`."""
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        storage = array.storage
        if isinstance(type_, pa.FixedShapeTensorType) and type_.permutation in (None, list(range(len(type_.shape)))):
            return _finish(_numbers(storage, path, rules, tuple(type_.shape)), path, levels, rules)
        return _collate(storage, field, path, levels, rules)
    if pa.types.is_dictionary(type_):
        return _collate(array.dictionary_decode(), field, path, levels, rules)
    if pa.types.is_run_end_encoded(type_):
        return _collate(pc.run_end_decode(array), field, path, levels, rules)
    if pa.types.is_struct(type_):
        return _struct(array, path, levels, rules)
    if pa.types.is_map(type_):
        array = array.cast(pa.list_(pa.struct([type_.key_field, type_.item_field])))
        type_ = array.type
    if _is_list(type_) or (pa.types.is_fixed_size_list(type_) and not _is_numbers(type_)):
        item = type_.value_field
        name = path if pa.types.is_struct(item.type) else f"{path}.item"
        if rules.nulls_as_none and not levels and _has_nulls(array):
            return _one_by_one(array, item, name, rules)
        counts = pc.list_value_length(array)
        if array.null_count:
            counts = counts.fill_null(-1)
        return _collate(array.flatten(), item, name, (*levels, counts.to_pylist()), rules)
    if field is not None and pa.types.is_fixed_size_binary(type_) and type_.byte_width == 2:
        if (field.metadata or {}).get(b"ARROW:extension:name", b"").decode() in _BFLOAT16:
            bits = _numbers(array.view(pa.int16()), path, rules._replace(fill=None))
            as_floats = lambda t: None if t is None else t.view(torch.bfloat16)  # noqa: E731
            return _finish(as_floats(bits) if isinstance(bits, torch.Tensor) else [*map(as_floats, bits)], path, levels, rules)
    if _is_numbers(type_):
        return _finish(_numbers(array, path, rules), path, levels, rules)
    return _finish(array.to_pylist(), path, levels, rules)


def _one_by_one(array: pa.Array, item: pa.Field, path: str, rules: Rules) -> list:
    """List rows each for itself, so that a null in one row does not change what its neighbours are."""
    rows: list = []
    for i, is_null in enumerate(array.is_null().to_pylist()):
        row = None if is_null else unpack(_collate(array.slice(i, 1).flatten(), item, path, (), rules))
        rows.append(_as_list(row) if isinstance(row, torch.Tensor) else row)
    return rows


def _struct(array: pa.StructArray, path: str, levels: tuple, rules: Rules) -> dict:
    children = {}
    for field, child in zip(array.type, array.flatten()):
        children[field.name] = _collate(child, field, f"{path}.{field.name}", levels, rules)
    if rules.nulls_as_none and array.null_count and not levels:
        return _NullableStruct(children, array.is_valid().to_pylist())
    return children


class _NullableStruct(dict):
    """Children of structs of which some are null; only on the way to samples."""

    def __init__(self, children, valid):
        super().__init__(children)
        self.valid = valid


def _finish(values, path: str, levels: tuple, rules: Rules):
    if not levels:
        return values
    if len(levels) == 1 and isinstance(values, torch.Tensor) and not rules.nulls_as_none:
        pad = rules.value(rules.pad, path.removesuffix(".item"))
        if pad is not None:
            return _padded(values, levels[0], pad, path)
    return Nested(values, levels)


def _padded(values: torch.Tensor, counts: list, pad, path: str) -> torch.Tensor:
    """Lists as one tensor (n, longest list), filled up with ``pad``."""
    if -1 in counts:
        raise NullValue(f"column {path.removesuffix('.item')!r} has a null list, which cannot be padded")
    lengths = torch.tensor(counts, dtype=torch.int64)
    longest = max(counts, default=0)
    out = torch.full((len(counts), longest, *values.shape[1:]), pad, dtype=values.dtype)
    out[torch.arange(longest) < lengths[:, None]] = values
    return out


def _is_list(type_) -> bool:
    t = pa.types
    return t.is_list(type_) or t.is_large_list(type_) or t.is_list_view(type_) or t.is_large_list_view(type_)


def _is_numbers(type_) -> bool:
    """Whether arrays of the type become tensors."""
    t = pa.types
    if t.is_fixed_size_list(type_):
        return _is_numbers(type_.value_type)
    return (
        t.is_integer(type_)
        or t.is_floating(type_)
        or t.is_boolean(type_)
        or (t.is_temporal(type_) and not t.is_interval(type_))
    )


def _numbers(array: pa.Array, path: str, rules: Rules, shape: Optional[tuple] = None):
    """A tensor of numbers or of fixed-size lists of them; with ``nulls_as_none`` and nulls a list of tensors and None."""
    rows, dims, nulls = array, [len(array)], []
    while True:
        if array.null_count:
            nulls.append((list(dims), array.is_null()))
        if not pa.types.is_fixed_size_list(array.type):
            break
        width = array.type.list_size
        # All slots, those of null lists too: flatten() leaves them out.
        array = array.values.slice(array.offset * width, len(array) * width)
        dims.append(width)
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if shape is not None:
        dims[1:] = shape
    if not nulls:
        return _plain(array, rules.copy).reshape(dims)
    fill = rules.value(rules.fill, path)
    if fill is not None:
        values = _plain(array, True).reshape(dims)
        for prefix, null in nulls:
            _put(values, _plain(null, False).reshape(prefix if len(prefix) < len(dims) else dims), fill, array.type, path)
        return values
    if not rules.nulls_as_none:
        inside = "" if rows.null_count else " inside its vectors"
        raise NullValue(f"column {path!r} has nulls{inside}, and a tensor has none: give fill_null, or leave the rows out by a filter")
    out: list = []
    for i, is_null in enumerate(rows.is_null().to_pylist()):
        row = rows.slice(i, 1)
        if is_null:
            out.append(None)
        elif _has_nulls(row):
            out.append(row.to_pylist()[0])
        else:
            out.append(_numbers(row, path, rules, shape)[0])
    return out


def _put(values: torch.Tensor, where: torch.Tensor, fill, type_: pa.DataType, path: str):
    """Writes the fill value, which has to fit the type exactly."""
    if pa.types.is_integer(type_):
        try:
            fill = pa.scalar(operator.index(fill), type_).as_py()
        except (TypeError, OverflowError, pa.ArrowInvalid) as error:
            raise ValueError(f"fill_null for column {path!r} is {fill!r}, which is not of its type {type_}") from error
    if pa.types.is_unsigned_integer(type_) and type_.bit_width > 8:
        # PyTorch stores wide unsigned numbers and computes little with them.
        values = values.view(getattr(torch, f"int{type_.bit_width}"))
        fill = fill - (1 << type_.bit_width) if fill >> (type_.bit_width - 1) else fill
    values[where] = fill


def _plain(array: pa.Array, copy: bool) -> torch.Tensor:
    """A tensor over the values of an array: a view of its buffer, or a copy. What is under nulls is any value."""
    if pa.types.is_boolean(array.type):
        return _plain(array.cast(pa.uint8()), False).view(torch.bool)
    if array.null_count:
        array = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    tensor = torch.from_dlpack(array)
    return tensor.clone() if copy else tensor


def _has_nulls(array: pa.Array) -> bool:
    """Whether there is a null at any depth."""
    if array.null_count:
        return True
    if isinstance(array, pa.ExtensionArray):
        return _has_nulls(array.storage)
    if isinstance(array, pa.StructArray):
        return any(map(_has_nulls, array.flatten()))
    if _is_list(array.type) or isinstance(array, (pa.FixedSizeListArray, pa.MapArray)):
        return _has_nulls(array.flatten())
    return False


def unpack(batch):
    """The batch as users see it."""
    if isinstance(batch, Nested):
        return batch.unpack()
    if isinstance(batch, dict):
        return {key: unpack(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return _same_tuple(batch, [unpack(value) for value in batch])
    return batch


def samples_of(batch, num_rows: int) -> list:
    """The rows of an unpacked batch."""
    if isinstance(batch, dict):
        children = {key: samples_of(value, num_rows) for key, value in batch.items()}
        rows = [{key: child[i] for key, child in children.items()} for i in range(num_rows)]
        if isinstance(batch, _NullableStruct):
            rows = [row if ok else None for row, ok in zip(rows, batch.valid)]
        return rows
    return list(batch.unbind(0)) if isinstance(batch, torch.Tensor) else batch


def collate_samples(samples: Sequence, rules: Rules = Rules()) -> Any:
    """Samples as a packed batch, by the rule above; for what a transform returns.

    Tensors of one shape are stacked, others listed, and so are values of list columns that come as they were read; numbers
    become tensors; the members of dicts and tuples are collated each; NumPy arrays are as tensors; all else is listed.
    """
    return _collate_samples(samples, "", rules)


def _collate_samples(samples: Sequence, path: str, rules: Rules):
    first = samples[0]
    if all(s is None or hasattr(s, "pennon_list") for s in samples):
        return _collate_lists(samples, path, rules)
    if all(isinstance(s, torch.Tensor) for s in samples):
        if any(s.dtype != first.dtype or s.shape[1:] != first.shape[1:] or s.dim() != first.dim() for s in samples):
            return list(samples)
        if all(s.shape == first.shape for s in samples):
            return torch.stack(list(samples))
        return Nested(torch.cat(list(samples)), ([len(s) for s in samples],))
    if all(isinstance(s, Mapping) for s in samples):
        if any(s.keys() != first.keys() for s in samples):
            odd = next(s for s in samples if s.keys() != first.keys())
            where = f" of {path!r}" if path else ""
            raise ValueError(f"keys {list(first)}{where} in one sample, {list(odd)} in another of the same batch")
        return {key: _collate_samples([s[key] for s in samples], _below(path, key), rules) for key in first}
    if all(isinstance(s, tuple) and len(s) == len(first) for s in samples):
        parts = [_collate_samples(part, _below(path, i), rules) for i, part in enumerate(zip(*samples))]
        return _same_tuple(first, parts)
    if all(isinstance(s, bool) for s in samples):
        return torch.tensor(samples)
    if all(isinstance(s, int) and not isinstance(s, bool) for s in samples):
        return torch.tensor(samples, dtype=torch.int64)
    if all(isinstance(s, (int, float)) and not isinstance(s, bool) for s in samples):
        return torch.tensor(samples, dtype=torch.float64)
    if all(type(s).__module__ == "numpy" and hasattr(s, "dtype") and s.dtype.kind in "biufc" for s in samples):
        return _collate_samples([torch.as_tensor(s) for s in samples], path, rules)
    if any(s is None for s in samples) and any(isinstance(s, (torch.Tensor, int, float)) for s in samples):
        raise NullValue(f"{path!r} is None in one sample and a number in another of the same batch: give fill_null, or let transform replace it")
    return list(samples)


def _below(path: str, key) -> str:
    return f"{path}.{key}" if path else str(key)


def _collate_lists(samples: Sequence, path: str, rules: Rules):
    tensors = [s for s in samples if s is not None]
    if not tensors or any(t.dtype != tensors[0].dtype or t.shape[1:] != tensors[0].shape[1:] for t in tensors):
        return list(samples)
    counts = [-1 if s is None else len(s) for s in samples]
    return _finish(torch.cat(tensors), path, (counts,), rules)


def _same_tuple(like: tuple, parts: list) -> tuple:
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
