"""The loader of `pennon.torch`: positions of an epoch, dealt to ranks, fetched by PyTorch's workers, resumed by number."""

from __future__ import annotations

import hashlib
from typing import Any, Iterator, Optional

import torch
import torch.utils.data

from ._collate import unpack
from ._fetch import Fetch, Fetched
from ._order import DropLast, Order, Steps
from ._rows import Rows

_OPTIONS = (
    "prefetch_factor", "persistent_workers", "pin_memory", "pin_memory_device", "multiprocessing_context", "worker_init_fn",
    "timeout", "in_order",
)  # fmt: skip
_STATE_VERSION = 1
_MAX_SKIPPED_ROWS = 1000


class Loader(torch.utils.data.IterableDataset):
    """Batches of a dataset in an order that depends on (seed, epoch, position) only.

    Step s of an epoch takes the next ``batch_size × world_size`` positions of the order, and every rank its run of them. How
    many workers there are changes nothing. Iterating goes through one epoch; the next ``for`` goes through the next one,
    in another order, unless `set_epoch` says otherwise.

    `state_dict` is a position, a few numbers: loaded into any loader of the same samples, with whatever rank, world size,
    batch size and workers, it goes on at the next sample.

    Made by `Dataset.loader`. Also an iterable dataset: ``torch.utils.data.DataLoader(loader, batch_size=None, num_workers=n)``
    gives the same batches (count positions yourself then, `state_dict` does not see what others' workers read).
    """

    def __init__(
        self, rows: Rows, fetch: Fetch, *, batch_size: int, seed: int, epoch: int, rank: Optional[int],
        world_size: Optional[int], num_workers: int, drop_last: DropLast, shuffle: bool, options: dict,
    ):  # fmt: skip
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise TypeError(f"loader() has no option {unknown[0]!r}; those of DataLoader that it takes are {', '.join(_OPTIONS)}")
        if (rank is None) != (world_size is None):
            raise ValueError(f"rank is {rank} and world_size is {world_size}: give both or none")
        if rank is None or world_size is None:
            rank, world_size = _ranks()
        self._rows, self._fetch = rows, fetch
        self.batch_size, self.rank, self.world_size = batch_size, rank, world_size
        self.num_workers, self.drop_last, self.shuffle = num_workers, drop_last, shuffle
        self.seed, self.epoch = seed, epoch
        self._options = options
        #: Samples left out so far by this rank, with ``on_error="skip"``.
        self.skipped = 0
        #: The first thousand of them: (row number, what was wrong).
        self.skipped_rows: list[tuple[int, str]] = []
        self._start = 0  # where an iteration of this epoch begins
        self._position = 0  # where the last one is
        self._latest: Optional[object] = None
        self._sampler = _Sampler()
        self._workers: Optional[torch.utils.data.DataLoader] = None
        self._steps()  # refuses what does not fit together

    def set_epoch(self, epoch: int) -> None:
        """Begins with this epoch at the next ``for``. The epoch that `load_state_dict` is in the midst of goes on there."""
        if epoch != self.epoch:
            self.epoch, self._start, self._position = epoch, 0, 0
            self._latest = None

    def state_dict(self) -> dict[str, Any]:
        """Where the last iteration is: behind the batch that it handed out last. The same on all ranks, and JSON can hold it."""
        return {
            "version": _STATE_VERSION,
            "seed": self.seed,
            "epoch": self.epoch,
            "position": self._position,
            "num_samples": len(self._rows),
            "shuffle": self.shuffle,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on, at the next ``for``, behind what `state_dict` had seen; seed, epoch and shuffle are the state's."""
        if state.get("version") != _STATE_VERSION:
            raise ValueError(f"the state has version {state.get('version')!r}, expected {_STATE_VERSION}")
        if state["num_samples"] != len(self._rows):
            raise ValueError(
                f"the state is of {state['num_samples']} samples, and {self._rows.name} has {len(self._rows)} that pass"
            )
        self.seed, self.epoch, self.shuffle = state["seed"], state["epoch"], state["shuffle"]
        self._start = self._position = state["position"]
        self._latest = None

    def _steps(self) -> Steps:
        return Steps(len(self._rows), self.batch_size, self.rank, self.world_size, self.drop_last, self._start)

    def __len__(self) -> int:
        """Batches that the next ``for`` has: those of an epoch, or of what is left of the one that was resumed."""
        return len(self._steps())

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        if info is not None:
            return self._share(info.id, info.num_workers)
        self._position = self._start
        self._latest = token = object()
        steps = self._steps()
        return self._epoch(steps, self._fetched(steps), token)

    def _epoch(self, steps: Steps, fetched: Optional[Iterator[Fetched]], token: object) -> Iterator[Any]:
        try:
            for step, result in enumerate(fetched or ()):
                if self._latest is token:
                    self._position = steps.end(step)
                yield self._received(result)
        finally:
            # Drops the workers' iterator now, not when a traceback that holds this frame goes: it ends the workers.
            fetched = None
        if self._latest is token:
            self.set_epoch(self.epoch + 1)

    def _received(self, result) -> Any:
        """Counts and raises in this process what went wrong in another."""
        batch, failures = result
        if failures and not self._fetch.skip:
            raise failures[0].error(self._rows.name)
        self.skipped += len(failures)
        room = _MAX_SKIPPED_ROWS - len(self.skipped_rows)
        self.skipped_rows += [(failure.row, failure.message) for failure in failures[:room]]
        return unpack(batch)

    def _fetched(self, steps: Steps) -> Iterator[Fetched]:
        """Starts the workers, if there are any."""
        self._sampler.set(steps, self._order(), self._rows)
        if self._workers is None:
            self._workers = torch.utils.data.DataLoader(
                self._fetch, batch_sampler=self._sampler, collate_fn=_as_it_is, num_workers=self.num_workers,
                generator=torch.Generator(), **self._options,
            )  # fmt: skip
        # The seeds of the workers' random numbers: from here too, and not from the global generator, whose state they would change.
        text = f"pennon workers 1: seed {self.seed}, epoch {self.epoch}, rank {self.rank}, position {steps.start}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        self._workers.generator.manual_seed(seed)
        return iter(self._workers)

    def _order(self) -> Order:
        return Order(len(self._rows), self.seed, self.epoch, self.shuffle)

    def _share(self, worker: int, num_workers: int) -> Iterator[Any]:
        """Every so-manieth batch, in a worker of somebody else's DataLoader, which deals them out in turn."""
        steps, order = self._steps(), self._order()
        for step in range(worker, len(steps), num_workers):
            yield self._received(self._fetch.__getitems__(self._rows.numbers(order.rows(steps[step]))))

    def __getstate__(self):
        return {**self.__dict__, "_workers": None, "_latest": None, "_sampler": _Sampler()}


class _Sampler:
    """The row numbers of one rank's batches, for the DataLoader: what it iterates is what `set` said last."""

    def __init__(self):
        self._plan: Optional[tuple[Steps, Order, Rows]] = None

    def set(self, steps: Steps, order: Order, rows: Rows):
        self._plan = (steps, order, rows)

    def __len__(self) -> int:
        return len(self._plan[0]) if self._plan else 0

    def __iter__(self):
        return _numbers(*self._plan) if self._plan else iter(())


def _numbers(steps: Steps, order: Order, rows: Rows):
    for step in range(len(steps)):
        yield rows.numbers(order.rows(steps[step]))


def _as_it_is(fetched: Fetched) -> Fetched:
    return fetched


def _ranks() -> tuple[int, int]:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1
