"""Training with PyTorch: batches of a file in a shuffled order that can be stopped, resumed and split over processes.

>>> import pennon.torch                                                          # doctest: +SKIP
>>> dataset = pennon.torch.Dataset("train.lance", columns=["image", "label"])    # doctest: +SKIP
>>> loader = dataset.loader(batch_size=64, seed=1, num_workers=4)                # doctest: +SKIP
>>> for batch in loader:                                                         # doctest: +SKIP
...     step(batch["image"], batch["label"])

The guide is docs/training.md. Needs PyTorch and pyarrow (``pip install pennon[torch]``).
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Literal, Mapping, Optional, Sequence, Union

try:
    import pyarrow  # noqa: F401
    import torch.utils.data
except ImportError as error:
    raise ImportError(f"pennon.torch needs PyTorch and pyarrow: pip install pennon[torch] ({error})") from error

from ._collate import Rules, collate_samples, unpack
from ._fetch import Fetch, SampleError
from ._loader import Loader
from ._order import DropLast
from ._rows import Rows

__all__ = ["Dataset", "Loader", "SampleError", "collate"]


class Dataset(torch.utils.data.Dataset):
    """The rows of a file as samples: dicts of tensors, strings, bytes, lists and dicts.

    A map-style dataset for ``torch.utils.data.DataLoader`` (``len``, ``[i]``, and ``__getitems__``, which reads the rows of a
    batch with one take), and the source of `loader`, which shuffles, shards and resumes.

    It can be pickled and used after fork: each process opens the file for itself at first use.

    Parameters
    ----------
    path
        A path, or a `pennon.File`.
    columns
        Names of the columns to read; all by default.
    filter
        A string or an expression. The numbers of the rows that pass are read once and kept, 8 bytes each.
    transform
        Called with each sample; what it returns is the sample.
    on_error
        What a sample that cannot be read, decoded or transformed does: ``"raise"`` a `SampleError` that names its row, or
        ``"skip"``: it is left out and counted.
    decode
        Functions by column, called with each value that is not null: ``decode={"image": decode_jpeg}``.
    fill_null
        What stands for a null number: one value, or values by column (``a``, ``a.b`` in a struct, ``a.item`` in a list). By
        default a null in a column of numbers is an error of its sample in a batch, and None for ``transform``.
    pad
        What lists of numbers are filled up with to make one tensor of a batch: one value, or values by column. By default
        a batch has a list of tensors.
    """

    def __init__(
        self,
        path: Any,
        columns: Optional[Sequence[str]] = None,
        filter: Any = None,
        transform: Optional[Callable[[Any], Any]] = None,
        on_error: Literal["raise", "skip"] = "raise",
        *,
        decode: Optional[Mapping[str, Callable[[Any], Any]]] = None,
        fill_null: Any = None,
        pad: Any = None,
    ):
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error is {on_error!r}, expected "raise" or "skip"')
        self._rows = Rows(path, columns, filter)
        _ = self._rows.file  # opened now: a wrong path is told here, not in a worker
        self._skip = on_error == "skip"
        self._rules = Rules(fill=fill_null, pad=pad)
        self._decode = dict(decode or {})
        self._transform = transform
        self._fetch = Fetch(self._rows.without_numbers(), self._rules, self._decode, transform, skip=self._skip)
        self._check_columns()
        #: Samples that `__getitems__` left out in this process.
        self.skipped = 0

    def _check_columns(self):
        names = set(self._rows.file.schema.names) if self._rows.columns is None else set(self._rows.columns)
        missing = [name for name in self._decode if name not in names]
        if missing:
            raise KeyError(f"decode names the column {missing[0]!r}, which is not read from {self._rows.name}")

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        """One sample; negative indices count from the end. Raises `SampleError` whatever ``on_error`` is."""
        samples, failures = self._fetch.samples(self._numbers([index]))
        if failures:
            raise failures[0].error(self._rows.name)
        return samples[0]

    def __getitems__(self, indices: Sequence[int]) -> list:
        """Samples in the order asked, read with one take. With ``on_error="skip"`` there may be fewer."""
        if len(indices) == 0:
            return []
        samples, failures = self._fetch.samples(self._numbers(indices))
        if failures and not self._skip:
            raise failures[0].error(self._rows.name)
        self.skipped += len(failures)
        return samples

    def _numbers(self, indices):
        num_samples, checked = len(self), []
        for given in indices:
            index = operator.index(given)
            if not -num_samples <= index < num_samples:
                raise IndexError(f"sample {index} is out of range: the dataset has {num_samples} samples")
            checked.append(index % num_samples)
        return self._rows.numbers(checked)

    def loader(
        self,
        batch_size: int,
        seed: int = 0,
        epoch: int = 0,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        num_workers: int = 0,
        drop_last: DropLast = "even",
        shuffle: bool = True,
        *,
        collate_fn: Optional[Callable[[list], Any]] = None,
        **options: Any,
    ) -> Loader:
        """Batches of all samples in an order that depends on (seed, epoch) only. See `Loader`.

        Parameters
        ----------
        batch_size
            Samples of a batch on each rank.
        seed, epoch
            What the order is computed from; `Loader.set_epoch` changes the epoch.
        rank, world_size
            Which part of each step is this process's; taken from ``torch.distributed`` where it is initialised, else 0 of 1.
        num_workers
            Processes that make batches ahead; 0 makes them in this process when they are asked for.
        drop_last
            What becomes of the last samples, fewer than ``batch_size × world_size``: ``"even"`` makes a shorter batch of the
            same length on all ranks and drops fewer than ``world_size`` samples; ``True`` drops them all; ``False`` drops
            none, and some ranks may have one sample, even one batch, more; ``"pad"`` drops none and repeats the epoch's
            first samples, fewer than ``world_size``.
        shuffle
            False visits the samples in file order.
        collate_fn
            Makes a batch of a list of samples instead of `collate`.
        options
            Further options of ``torch.utils.data.DataLoader``: ``prefetch_factor``, ``persistent_workers``, ``pin_memory``,
            ``multiprocessing_context``, ``worker_init_fn``, ``timeout``, ``in_order``, ``pin_memory_device``.
        """
        return Loader(
            self._rows,
            Fetch(self._rows.without_numbers(), self._rules, self._decode, self._transform, collate_fn, self._skip),
            batch_size=batch_size, seed=seed, epoch=epoch, rank=rank, world_size=world_size, num_workers=num_workers,
            drop_last=drop_last, shuffle=shuffle, options=options,
        )  # fmt: skip


def collate(samples: Sequence[Any]) -> Any:
    """Makes a batch of samples and keeps what is nested; a ``collate_fn`` for ``torch.utils.data.DataLoader``.

    >>> collate([{"a": 1, "s": "x"}, {"a": 2, "s": "y"}])
    {'a': tensor([1, 2]), 's': ['x', 'y']}
    """
    return unpack(collate_samples(samples))
