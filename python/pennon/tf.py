"""Training with TensorFlow: a file as a ``tf.data.Dataset`` with a full signature.

>>> import pennon.tf                                                             # doctest: +SKIP
>>> dataset = pennon.tf.dataset("train.lance", batch_size=64, shuffle=True)      # doctest: +SKIP
>>> model.fit(dataset.map(lambda batch: (batch["x"], batch["y"])))               # doctest: +SKIP

The guide is docs/training.md. Needs TensorFlow, pyarrow and NumPy (``pip install pennon[tf]``).
"""

from __future__ import annotations

import itertools
from typing import Any, Optional, Sequence

try:
    import pyarrow  # noqa: F401
    import tensorflow as tf
except ImportError as error:
    raise ImportError(f"pennon.tf needs TensorFlow and pyarrow: pip install pennon[tf] ({error})") from error

from ._order import DropLast, Order, Steps
from ._ragged import batch_of, spec
from ._rows import Rows

__all__ = ["dataset"]

# Rows that are read with one take where the caller wants them one by one.
_ROWS_AT_ONCE = 256


def dataset(
    path: Any,
    columns: Optional[Sequence[str]] = None,
    batch_size: Optional[int] = None,
    shuffle: bool = False,
    seed: int = 0,
    epoch: int = 0,
    *,
    filter: Any = None,
    rank: int = 0,
    world_size: int = 1,
    drop_last: DropLast = "even",
    reshuffle_each_iteration: bool = True,
    fill_null: Any = None,
) -> tf.data.Dataset:
    """The rows of a file, or batches of them, as dicts of tensors.

    Numbers are tensors of their type, fixed-size lists have a further dimension, lists are ragged, strings and bytes are
    ``tf.string``, structs are dicts, lists of structs are dicts of ragged tensors, dates and times are integers, decimals text.
    A null needs a ``fill_null``: one value, or values by column (``a``, ``a.b`` in a struct, ``a.item`` in a list).

    Parameters
    ----------
    path
        A path, or a `pennon.File`.
    columns, filter
        What to read: names, and a string or an expression.
    batch_size
        Rows of an element, read with one take; None for single rows.
    shuffle, seed, epoch
        Shuffled, rows come in the order that `pennon.torch` has for (seed, epoch), computed in constant memory: no shuffle
        buffer is needed. Each iteration over the dataset is the next epoch, unless ``reshuffle_each_iteration`` is False.
    rank, world_size, drop_last
        The part of every step that is this process's, and what becomes of the last rows: as in `pennon.torch`.
    """
    rows = Rows(path, columns, filter)
    num_rows = len(rows)
    step = batch_size or _ROWS_AT_ONCE
    schema = rows.take([]).schema
    if batch_size is None:
        # Single rows have no batches to keep full: only the ranks' counts matter.
        drop_last = "even" if drop_last is True else drop_last
    steps = Steps(num_rows, step, rank, world_size, drop_last)
    epochs = itertools.count(epoch)

    def batches():
        order = Order(num_rows, seed, next(epochs) if reshuffle_each_iteration else epoch, shuffle)
        for i in range(len(steps)):
            yield batch_of(rows.take(rows.numbers(order.rows(steps[i]))), fill_null)

    full = batch_size is not None and all(len(steps[i]) == step for i in ((len(steps) - 1,) if len(steps) else ()))
    signature = {field.name: spec(field, batch_size if full else None) for field in schema}
    out = tf.data.Dataset.from_generator(batches, output_signature=signature)
    if batch_size is None:
        count = sum(len(steps[i]) for i in ((0, len(steps) - 1) if len(steps) > 1 else range(len(steps))))
        count += max(0, len(steps) - 2) * step
        return out.unbatch().apply(tf.data.experimental.assert_cardinality(count)).prefetch(tf.data.AUTOTUNE)
    return out.apply(tf.data.experimental.assert_cardinality(len(steps))).prefetch(tf.data.AUTOTUNE)
