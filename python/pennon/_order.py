"""The order in which an epoch visits the samples, computed and never stored.

An epoch is a sequence of *positions* 0, 1, … n − 1. Position p shows sample ``Order(n, seed, epoch).row(p)``: the order is a
permutation of ``range(n)`` that can be asked at any place, in any process, without a table::

    position ─┬─ left  half ──⊕──────────●── …      twelve half rounds; ⊕ mixes a keyed hash of one half
              └─ right half ──●── hash ──⊕── …      into the other; the keys come from (seed, epoch)

The network permutes the smallest power of two that holds n; a result outside ``range(n)`` is put through it again, which
stays a permutation and takes less than two passes on average. NumPy computes many positions at once when it is there;
the plain Python version gives the same numbers.

What the numbers are is fixed: a state saved by one version of pennon continues with the next one.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from typing import Literal, Union

try:
    import numpy as np
except ImportError:  # plain Python gives the same order, more slowly
    np = None

_WORD = (1 << 64) - 1
_MULTIPLY_1 = 0xBF58476D1CE4E5B9
_MULTIPLY_2 = 0x94D049BB133111EB
_HALF_ROUNDS = 12  # with eight, orders of fewer than ten rows are visibly uneven
# Below this many positions the loop in Python is faster than some hundred calls into NumPy.
_FEW = 48

DropLast = Union[bool, Literal["even", "pad"]]


class Order:
    """The permutation of ``range(num_rows)`` that belongs to (seed, epoch); with ``shuffle=False`` the identity.

    >>> order = Order(5, seed=7, epoch=0)
    >>> sorted(order.row(p) for p in range(5))
    [0, 1, 2, 3, 4]
    """

    __slots__ = ("num_rows", "shuffle", "_keys", "_left_bits", "_left_mask", "_right_mask")

    def __init__(self, num_rows: int, seed: int = 0, epoch: int = 0, shuffle: bool = True):
        if not 0 <= num_rows <= 1 << 63:
            raise ValueError(f"num_rows is {num_rows}, expected 0 to 2**63")
        self.num_rows = num_rows
        self.shuffle = shuffle
        text = f"pennon order 1: seed {int(seed)}, epoch {int(epoch)}"
        digest = hashlib.shake_256(text.encode()).digest(8 * _HALF_ROUNDS)
        self._keys = [int.from_bytes(digest[i : i + 8], "little") for i in range(0, 8 * _HALF_ROUNDS, 8)]
        bits = max(1, (num_rows - 1).bit_length())
        self._left_bits = bits // 2
        self._left_mask = (1 << self._left_bits) - 1
        self._right_mask = (1 << (bits - self._left_bits)) - 1

    def __len__(self) -> int:
        return self.num_rows

    def row(self, position: int) -> int:
        """The sample at a position; positions past the end wrap around to the epoch's beginning."""
        if position < 0 or self.num_rows == 0:
            raise IndexError(f"position {position} of {self.num_rows} rows")
        x = position % self.num_rows
        if not self.shuffle:
            return x
        while True:
            x = self._pass(x)
            if x < self.num_rows:
                return x

    def rows(self, positions: range):
        """The samples at a range of positions: a NumPy array of uint64, or ``array('Q')`` without NumPy."""
        if np is None:
            return array("Q", map(self.row, positions))
        if len(positions) <= _FEW:
            return np.array([self.row(p) for p in positions], dtype=np.uint64)
        if positions.start < 0 or positions.step < 1 or self.num_rows == 0:
            raise IndexError(f"positions {positions} of {self.num_rows} rows")
        x = np.arange(positions.start, positions.stop, positions.step, dtype=np.uint64)
        if positions[-1] >= self.num_rows:
            x %= np.uint64(self.num_rows)
        if not self.shuffle:
            return x
        x = self._pass_many(x)
        outside = np.flatnonzero(x >= self.num_rows)
        while outside.size:
            again = self._pass_many(x[outside])
            x[outside] = again
            outside = outside[again >= self.num_rows]
        return x

    def _pass(self, x: int) -> int:
        left, right = x & self._left_mask, x >> self._left_bits
        for i in range(0, _HALF_ROUNDS, 2):
            left ^= _hash(right, self._keys[i]) & self._left_mask
            right ^= _hash(left, self._keys[i + 1]) & self._right_mask
        return right << self._left_bits | left

    def _pass_many(self, x):
        left_bits = np.uint64(self._left_bits)
        left_mask, right_mask = np.uint64(self._left_mask), np.uint64(self._right_mask)
        left, right = x & left_mask, x >> left_bits
        for i in range(0, _HALF_ROUNDS, 2):
            left ^= _hash_many(right, self._keys[i]) & left_mask
            right ^= _hash_many(left, self._keys[i + 1]) & right_mask
        right <<= left_bits
        right |= left
        return right


def _hash(x: int, key: int) -> int:
    """32 well mixed bits of a half and a key."""
    h = (x ^ key) * _MULTIPLY_1 & _WORD
    h ^= h >> 29
    return (h * _MULTIPLY_2 & _WORD) >> 32


def _hash_many(x, key: int):
    h = x ^ np.uint64(key)
    h *= np.uint64(_MULTIPLY_1)
    h ^= h >> np.uint64(29)
    h *= np.uint64(_MULTIPLY_2)
    h >>= np.uint64(32)
    return h


@dataclass(frozen=True)
class Steps:
    """How one rank walks from position ``start`` to the end of an epoch of ``num_rows`` positions.

    A step takes the next ``batch_size × world_size`` positions, and each rank a run of ``batch_size`` of them::

        start         + step                + 2 steps          num_rows
          ├ rank 0 ┼ rank 1 ┼ rank 0 ┼ rank 1 ┼ r 0 ┼ r 1 ┼ drop ┤

    Everything is arithmetic on positions, so that a walk can go on at ``end(k)`` with other ranks or sizes.
    What remains at the end is fewer than a step:

    - ``"even"``: a shorter step, divided evenly; fewer than ``world_size`` positions are dropped
    - ``True``: dropped, all batches are full
    - ``False``: a shorter step, nothing dropped; the first ranks may have one position more, so even one batch more
    - ``"pad"``: a shorter step, filled up with positions from the epoch's beginning; nothing dropped
    """

    num_rows: int
    batch_size: int
    rank: int = 0
    world_size: int = 1
    drop_last: DropLast = "even"
    start: int = 0

    def __post_init__(self):
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size}, expected at least 1")
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank is {self.rank}, expected 0 to {self.world_size - 1}: world_size is {self.world_size}")
        # 0 and 1 equal False and True, which is what they mean here.
        if self.drop_last not in (True, False, "even", "pad"):
            raise ValueError(f'drop_last is {self.drop_last!r}, expected "even", "pad", True or False')
        if self.start < 0:
            raise ValueError(f"start is {self.start}, expected at least 0")

    @property
    def _step(self) -> int:
        return self.batch_size * self.world_size

    @property
    def _full(self) -> int:
        return max(0, self.num_rows - self.start) // self._step

    def _last(self) -> range:
        """This rank's positions of the shorter last step; empty when there is none."""
        begin = self.start + self._full * self._step
        left = max(0, self.num_rows - begin)
        each, more = divmod(left, self.world_size)
        if self.drop_last == "even":
            begin += self.rank * each
        elif self.drop_last == "pad":
            each += more > 0
            begin += self.rank * each
        elif self.drop_last:
            each = 0
        else:
            begin += self.rank * each + min(self.rank, more)
            each += self.rank < more
        return range(begin, begin + each)

    def __len__(self) -> int:
        return self._full + (len(self._last()) > 0)

    def __getitem__(self, step: int) -> range:
        """The positions of this rank in a step, counted from ``start``."""
        if not 0 <= step < len(self):
            raise IndexError(f"step {step} of {len(self)}")
        if step == self._full:
            return self._last()
        begin = self.start + step * self._step + self.rank * self.batch_size
        return range(begin, begin + self.batch_size)

    def end(self, step: int) -> int:
        """The position at which all ranks are after a step. After the last one it is ``num_rows``: what was dropped is over."""
        return self.num_rows if step >= len(self) - 1 else self.start + (step + 1) * self._step
