"""One batch: its rows read with one take, decoded, transformed and collated, in whatever process that happens.

What goes wrong with a sample is pinned to its row number here, and crosses processes as data: a worker that raised would
reach its parent as text without the number.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, Callable, NamedTuple, Optional

import pennon

from ._collate import NullValue, Rules, collate_samples, collate_table, samples_of, unpack
from ._rows import Rows


class SampleError(pennon.Error):
    """A sample could not be read, decoded or transformed; ``row`` is its number in the file, and the cause is attached."""

    row: Optional[int] = None


class Failure(NamedTuple):
    """What went wrong with one row, in a form that can be sent."""

    row: int
    message: str
    trace: str
    cause: Optional[bytes]

    @classmethod
    def of(cls, row: int, error: Exception) -> Failure:
        try:
            cause = pickle.dumps(error)
            pickle.loads(cause)
        except Exception:
            cause = None
        return cls(row, f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), cause)

    def error(self, name: str) -> SampleError:
        """The exception for users."""
        error = SampleError(f"row {self.row} of {name}: {self.message}")
        error.row = self.row
        error.__cause__ = pickle.loads(self.cause) if self.cause is not None else None
        error.add_note(f"\nWhere row {self.row} failed:\n{self.trace.rstrip()}")
        return error


class Fetched(NamedTuple):
    """A packed batch (None: no sample is left), and the rows that failed."""

    batch: Any
    failures: list


class Fetch:
    """What a process needs for making batches of row numbers."""

    def __init__(
        self,
        rows: Rows,
        rules: Rules,
        decode: dict[str, Callable],
        transform: Optional[Callable],
        collate_fn: Optional[Callable] = None,
        skip: bool = False,
    ):
        self.rows, self.rules, self.decode, self.transform, self.collate_fn, self.skip = (
            rows, rules, decode, transform, collate_fn, skip,
        )  # fmt: skip

    def __getitems__(self, numbers) -> Fetched:
        """A batch; with a failure in it when one failed and failures are not skipped."""
        failures: list[Failure] = []
        if self.decode or self.transform or self.collate_fn:
            samples = self._samples(numbers, failures)
            if not self._goes_on(samples, failures):
                return Fetched(None, failures)
            batch = self.collate_fn(samples) if self.collate_fn else collate_samples(samples, self.rules)
            return Fetched(batch, failures)
        pieces = self._pieces(numbers, self._columns, failures)
        if not self._goes_on(pieces, failures):
            return Fetched(None, failures)
        if len(pieces) > 1:
            failed = {failure.row for failure in failures}
            return Fetched(self._columns([n for n in numbers if int(n) not in failed]), failures)
        return Fetched(pieces[0], failures)

    def samples(self, numbers) -> tuple[list, list[Failure]]:
        """The samples of rows one by one, and the failures."""
        failures: list[Failure] = []
        return self._samples(numbers, failures), failures

    def _goes_on(self, made: list, failures: list) -> bool:
        return bool(made) and (self.skip or not failures)

    def _columns(self, numbers) -> dict:
        return collate_table(self.rows.take(numbers), self.rules._replace(copy=_is_ascending(numbers)))

    def _read(self, numbers) -> list:
        rules = self.rules._replace(copy=_is_ascending(numbers), nulls_as_none=True)
        return samples_of(unpack(collate_table(self.rows.take(numbers), rules)), len(numbers))

    def _samples(self, numbers, failures: list) -> list:
        read: list[Failure] = []
        samples = [sample for piece in self._pieces(numbers, self._read, read) for sample in piece]
        failed = {failure.row for failure in read}
        failures.extend(read)
        if failures and not self.skip:
            return []
        done = []
        for number, sample in zip((n for n in numbers if int(n) not in failed), samples):
            try:
                for column, function in self.decode.items():
                    if sample[column] is not None:
                        sample[column] = function(sample[column])
                done.append(self.transform(sample) if self.transform else sample)
            except Exception as error:
                failures.append(Failure.of(int(number), error))
                if not self.skip:
                    return []
        return done

    def _pieces(self, numbers, read: Callable, failures: list) -> list:
        """What ``read`` gives for all rows, or for the runs of them between those that fail."""
        try:
            return [read(numbers)]
        except (pennon.CorruptFile, pennon.LimitExceeded, NullValue) as error:
            if len(numbers) == 1:
                failures.append(Failure.of(int(numbers[0]), error))
                return []
        middle = len(numbers) // 2
        first = self._pieces(numbers[:middle], read, failures)
        if failures and not self.skip:
            return []
        return first + self._pieces(numbers[middle:], read, failures)


def _is_ascending(numbers) -> bool:
    """Whether a take of the rows may be handed out as a slice of the mapped file instead of being gathered."""
    if hasattr(numbers, "dtype"):
        return bool((numbers[1:] > numbers[:-1]).all())
    return all(a < b for a, b in zip(numbers, numbers[1:]))
