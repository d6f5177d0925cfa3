"""From Arrow to TensorFlow: numbers as tensors, lists as ragged tensors, text and bytes as strings, structs as dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tensorflow as tf


def spec(field: pa.Field, num_rows, counts: tuple = (), path: str = ""):
    """The signature of a column's batches of ``num_rows`` rows (None: of any number); ``counts`` are the lists around it."""
    path = path or field.name
    type_ = _plain_type(field.type)
    if pa.types.is_struct(type_):
        return {child.name: spec(child, num_rows, counts, f"{path}.{child.name}") for child in type_}
    if _is_list(type_):
        return spec(type_.value_field, num_rows, (*counts, None), f"{path}.item")
    shape = [num_rows, *counts]
    while pa.types.is_fixed_size_list(type_):
        shape.append(type_.list_size)
        type_ = _plain_type(type_.value_type)
    dtype = _dtype(type_, path)
    if counts:
        return tf.RaggedTensorSpec(shape, dtype, ragged_rank=len(counts), row_splits_dtype=tf.int64)
    return tf.TensorSpec(shape, dtype)


def batch_of(table: pa.Table, fill: Any) -> dict:
    """A table as tensors that fit `spec`."""
    out = {}
    for field, column in zip(table.schema, table.columns):
        array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        out[field.name] = _convert(array, field.name, (), fill)
    return out


def _convert(array: pa.Array, path: str, splits: tuple, fill: Any):
    array = _plain_array(array)
    type_ = array.type
    if pa.types.is_struct(type_):
        children = zip(type_, array.flatten())
        return {field.name: _convert(child, f"{path}.{field.name}", splits, fill) for field, child in children}
    if _is_list(type_):
        if array.null_count:
            _value_for_null(fill, path, array, "null lists: give fill_null, which makes them empty")
        counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        return _convert(array.flatten(), f"{path}.item", (*splits, starts), fill)
    values = tf.constant(_numpy(array, path, fill), dtype=_dtype(_leaf(type_), path))
    for starts in reversed(splits):
        values = tf.RaggedTensor.from_row_splits(values, starts, validate=False)
    return values


def _numpy(array: pa.Array, path: str, fill: Any):
    num_rows, dims, nulls = len(array), [], []
    while True:
        if array.null_count:
            nulls.append((1 + len(dims), array.is_null().to_numpy(zero_copy_only=False)))
        if not pa.types.is_fixed_size_list(array.type):
            break
        width = array.type.list_size
        array = _plain_array(array.values.slice(array.offset * width, len(array) * width))
        dims.append(width)
    shape = (num_rows, *dims)
    type_ = array.type
    if pa.types.is_decimal(type_):
        array = array.cast(pa.string())
    elif pa.types.is_temporal(type_):
        array = array.view(pa.int32() if type_.bit_width == 32 else pa.int64())
    if _is_numeric(array.type):
        if array.null_count:
            zero = pa.scalar(False) if pa.types.is_boolean(array.type) else pa.scalar(0, pa.int8()).cast(array.type)
            values = array.fill_null(zero).to_numpy(zero_copy_only=False)
        else:
            values = array.to_numpy(zero_copy_only=False)
        values = values.reshape(shape)
    else:
        values = np.array([b"" if v is None else v for v in array.to_pylist()], dtype=object).reshape(shape)
    if nulls:
        value = _value_for_null(fill, path, array, "nulls, and a tensor has none: give fill_null, or leave the rows out by a filter")
        values = values.copy()
        for rank, null in nulls:
            values[null.reshape(shape[:rank])] = value
    return values


def _value_for_null(fill: Any, path: str, array: pa.Array, what: str):
    value = fill.get(path) if isinstance(fill, Mapping) else fill
    if value is None:
        raise ValueError(f"column {path!r} has {array.null_count or 'some'} {what}")
    return value


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """Without extension, dictionary and run ends; a map as a list of structs."""
    if isinstance(type_, pa.BaseExtensionType):
        return _plain_type(type_.storage_type)
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return _plain_type(type_.value_type)
    if pa.types.is_map(type_):
        return pa.list_(pa.struct([type_.key_field, type_.item_field]))
    if pa.types.is_fixed_size_list(type_) and not _is_tensor(_leaf(type_)):
        return pa.list_(type_.value_field)
    return type_


def _plain_array(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return _plain_array(array.storage)
    if pa.types.is_dictionary(array.type):
        return _plain_array(array.dictionary_decode())
    if pa.types.is_run_end_encoded(array.type):
        return _plain_array(pc.run_end_decode(array))
    if pa.types.is_map(array.type):
        return array.cast(_plain_type(array.type))
    if pa.types.is_fixed_size_list(array.type) and not _is_tensor(_leaf(array.type)):
        return array.cast(_plain_type(array.type))
    return array


def _leaf(type_: pa.DataType) -> pa.DataType:
    while pa.types.is_fixed_size_list(type_):
        type_ = _plain_type(type_.value_type)
    return type_


def _is_list(type_: pa.DataType) -> bool:
    t = pa.types
    return t.is_list(type_) or t.is_large_list(type_) or t.is_list_view(type_) or t.is_large_list_view(type_)


def _is_tensor(type_: pa.DataType) -> bool:
    return not (pa.types.is_struct(type_) or _is_list(type_))


def _is_numeric(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)


def _dtype(type_: pa.DataType, path: str) -> tf.DType:
    t = pa.types
    if t.is_boolean(type_):
        return tf.bool
    if t.is_temporal(type_) and not t.is_interval(type_):
        return tf.int32 if type_.bit_width == 32 else tf.int64
    if _is_numeric(type_):
        return tf.as_dtype(type_.to_pandas_dtype())
    texts = (t.is_string, t.is_large_string, t.is_binary, t.is_large_binary, t.is_fixed_size_binary, t.is_decimal)
    if any(is_text(type_) for is_text in texts) or type_ in (pa.string_view(), pa.binary_view()):
        return tf.string
    raise TypeError(f"column {path!r} is {type_}, which TensorFlow has no type for: leave it out by columns=")
