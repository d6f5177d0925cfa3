"""Data and functions of the loader tests: in a module of its own, so that spawned processes can import them."""

import pyarrow as pa

NUM_ROWS = 47


def numbered(num_rows=NUM_ROWS):
    """Rows that name themselves, in a few types."""
    return pa.table(
        {
            "id": pa.array(range(num_rows), pa.int64()),
            "name": [f"row {i}" for i in range(num_rows)],
            "vector": pa.array([[i, i + 0.5, -i] for i in range(num_rows)], pa.list_(pa.float32(), 3)),
            "items": pa.array([list(range(i % 4)) for i in range(num_rows)], pa.list_(pa.int32())),
        }
    )


def ids_and_worker(sample):
    import torch.utils.data

    info = torch.utils.data.get_worker_info()
    return {"id": sample["id"], "worker": -1 if info is None else info.id}


class FailsFor:
    """A transform that fails for some ids."""

    def __init__(self, *ids):
        self.ids = set(ids)

    def __call__(self, sample):
        if int(sample["id"]) in self.ids:
            raise ValueError(f"no sample for id {int(sample['id'])}")
        return sample


class Unpicklable(Exception):
    """Cannot be made again from what pickle keeps of it."""

    def __init__(self, a, b):
        super().__init__(a)
        self.b = b


def fails_unpicklably(sample):
    raise Unpicklable("deep inside", lambda: None)


def length_of(data):
    return len(data)


def picture(data):
    """Stands for the decoder of an image: 2 × 3 pixels of the first byte; an empty one is broken."""
    import torch

    return torch.full((2, 3), data[0], dtype=torch.uint8)


def id_list(samples):
    return [int(sample["id"]) for sample in samples]


def slow(sample):
    import time

    time.sleep(30)
    return sample
