"""The samples of a file for a loader: opened once per process, filtered to row numbers, taken by number."""

from __future__ import annotations

import os
from array import array
from typing import Any, Optional, Sequence

import pyarrow as pa

import pennon

try:
    import numpy as np
except ImportError:
    np = None


class Rows:
    """The rows of a file that pass a filter, as samples 0, 1, … ``len(rows) - 1``.

    Copies in other processes, by fork or by pickle, open the file for themselves at first use.
    """

    def __init__(self, source: Any, columns: Optional[Sequence[str]] = None, filter: Any = None):
        if isinstance(source, pennon.File):
            # A file of a path is opened again where it is needed; one of bytes goes along as it is, or cannot.
            self._handle, self.path = (None, source.path) if source.path else (source, None)
        else:
            self._handle, self.path = None, os.fspath(source)
        if isinstance(columns, str):
            raise TypeError(f"columns is the string {columns!r}, expected a list of names")
        self.columns = None if columns is None else list(columns)
        self._filter = filter
        self._has_filter = filter is not None
        self._passing = None
        self._num_rows: Optional[int] = None
        self._opened: Optional[tuple[int, Any]] = None

    @property
    def name(self) -> str:
        """What messages call the file."""
        return str(self.path) if self.path is not None else "the file"

    @property
    def file(self):
        """This process's handle."""
        if self._handle is not None:
            return self._handle
        pid = os.getpid()
        if self._opened is None or self._opened[0] != pid:
            file = pennon.open(self.path)
            if self._num_rows is not None and file.num_rows != self._num_rows:
                raise pennon.InvalidArgument(
                    f"{self.name} has {file.num_rows} rows, and had {self._num_rows} when the dataset was made"
                )
            self._num_rows = file.num_rows
            self._opened = (pid, file)
        return self._opened[1]

    def __len__(self) -> int:
        if self._has_filter:
            return len(self._numbers_passing())
        if self._num_rows is None:
            self._num_rows = self.file.num_rows
        return self._num_rows

    def _numbers_passing(self):
        if self._passing is None:
            numbers = self.file.row_numbers(self._filter)
            self._passing = np.asarray(numbers, dtype=np.uint64) if np else array("Q", memoryview(numbers).cast("B").cast("Q"))
        return self._passing

    def numbers(self, samples):
        """The row numbers in the file of samples (an array of uint64, as ``Order.rows`` gives it)."""
        if not self._has_filter:
            return samples
        passing = self._numbers_passing()
        return passing[samples] if np else array("Q", (passing[s] for s in samples))

    def take(self, numbers) -> pa.Table:
        """One take: rows by their numbers in the file, in this order."""
        table = self.file.take(numbers, columns=self.columns)
        return table if isinstance(table, pa.Table) else pa.table(table)

    def take_samples(self, samples: range) -> pa.Table:
        """One take of a run of samples."""
        if not self._has_filter:
            return self.take(samples)
        return self.take(self._numbers_passing()[samples.start : samples.stop])

    def without_numbers(self) -> Rows:
        """The same file and columns without the filter, for a process that is told row numbers."""
        other = Rows.__new__(Rows)
        other.__dict__.update(self.__dict__, _filter=None, _has_filter=False, _passing=None)
        return other

    def __getstate__(self):
        if self._has_filter:
            self._numbers_passing()  # one scan for all processes; filters need not be picklable
        return {**self.__dict__, "_opened": None, "_filter": None}
