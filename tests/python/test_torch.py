"""Training with PyTorch: every row exactly once per epoch, the same order whatever reads it, and batches that are right.

A loader that shows rows twice or not at all, or that starts over after a stop, trains a worse model and says nothing.
"""

import gc
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import pytest

torch = pytest.importorskip("torch")
pa = pytest.importorskip("pyarrow")

import loader_parts as parts  # noqa: E402

import pennon  # noqa: E402
import pennon.torch  # noqa: E402
from pennon.torch import Dataset, SampleError, collate  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

N = parts.NUM_ROWS


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("torch") / "numbered.lance"
    pennon.write(parts.numbered(), path)
    return path


def written(tmp_path, data, name="data.lance"):
    path = tmp_path / name
    pennon.write(data if isinstance(data, pa.Table) else pa.table(data), path)
    return path


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


def flat(lists):
    return list(itertools.chain.from_iterable(lists))


def same(a, b):
    """Whether two batches are equal, types and all."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


# Order, ranks, workers


def all_ranks(path, world_size, num_workers, batch_size=4, epoch=0, state=None, stop=None, context=None, **options):
    """Batches of ids by rank, and the state behind the last of them."""
    by_rank, states = [], []
    for rank in range(world_size):
        loader = Dataset(path, columns=["id"]).loader(
            batch_size, seed=11, epoch=epoch, rank=rank, world_size=world_size, num_workers=num_workers,
            multiprocessing_context=context if num_workers else None, **options,
        )  # fmt: skip
        if state is not None:
            loader.load_state_dict(state)
        iterator = iter(loader)
        by_rank.append(ids(itertools.islice(iterator, stop)))
        states.append(loader.state_dict())
    assert all(state == states[0] for state in states), "one state serves all ranks"
    return by_rank, states[0]


def in_step_order(by_rank):
    """Ids in the order of the epoch: step by step, rank by rank."""
    return flat(flat(step) for step in itertools.zip_longest(*by_rank, fillvalue=[]))


CONTEXTS = [(0, None), (1, "fork"), (4, "fork"), (1, "spawn"), (4, "spawn")]


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("num_workers, context", CONTEXTS)
def test_every_row_once_per_epoch_and_equal_batches_for_any_ranks_and_workers(path, world_size, num_workers, context):
    reference = in_step_order(all_ranks(path, 1, 0, batch_size=4, drop_last=False)[0])
    assert sorted(reference) == list(range(N))
    by_rank, _ = all_ranks(path, world_size, num_workers, batch_size=4, context=context)
    shown = in_step_order(by_rank)
    assert shown == reference[: N - N % world_size], "the order has nothing to do with ranks and workers"
    assert len({tuple(map(len, batches)) for batches in by_rank}) == 1, "every rank has batches of the same lengths"


@pytest.mark.parametrize(
    "world_size, num_workers, other_size, other_workers, context",
    [
        (1, 0, 1, 0, None), (1, 0, 1, 4, "fork"), (1, 4, 3, 1, "fork"), (2, 0, 3, 1, "fork"), (2, 1, 1, 0, "fork"), (2, 4, 2, 1, "fork"),
        (3, 0, 3, 0, None), (3, 1, 2, 4, "fork"), (3, 4, 1, 0, "fork"), (2, 1, 3, 1, "spawn"),
    ],
)  # fmt: skip
def test_a_stopped_epoch_goes_on_at_the_next_sample_with_other_ranks_and_workers(
    path, world_size, num_workers, other_size, other_workers, context
):
    reference = in_step_order(all_ranks(path, 1, 0, drop_last=False)[0])
    steps = -(-N // (4 * world_size))
    # A process that is spawned imports PyTorch, which takes seconds: one stop is enough there.
    for stop in sorted({steps // 2} if context == "spawn" else {1, steps // 2, steps - 1}):
        before, state = all_ranks(path, world_size, num_workers, stop=stop, context=context)
        assert len(json.dumps(state)) < 4096 and len(pickle.dumps(state)) < 4096
        saved = json.loads(json.dumps(state))
        after, _ = all_ranks(path, other_size, other_workers, batch_size=5, state=saved, context=context, drop_last=False)
        assert in_step_order(before) + in_step_order(after) == reference


def test_the_next_epoch_has_another_order_and_each_epoch_always_the_same(path):
    loader = Dataset(path).loader(4, seed=11)
    epochs = [flat(ids(loader)) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert all(sorted(epoch) == list(range(N)) for epoch in epochs)
    assert loader.epoch == 3
    loader.set_epoch(1)
    assert flat(ids(loader)) == epochs[1]
    assert flat(ids(Dataset(path).loader(4, seed=11, epoch=2))) == epochs[2]
    assert flat(ids(Dataset(path).loader(4, seed=12))) != epochs[0]


def test_without_shuffle_batches_are_in_file_order(path):
    assert ids(Dataset(path).loader(10, shuffle=False)) == [list(range(i, min(i + 10, N))) for i in range(0, N, 10)]


def test_the_length_is_the_number_of_batches_that_come(path):
    for drop_last, world_size in itertools.product(["even", "pad", True, False], [1, 2, 3]):
        for rank in range(world_size):
            loader = Dataset(path).loader(5, rank=rank, world_size=world_size, drop_last=drop_last)
            for _ in range(2):
                assert len(loader) == len(list(loader))
    next_one = iter(loader)
    next(next_one)
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert len(loader) == len(list(loader)) == N // 15 - 1 + (N % 15 > 2)


def test_peeking_at_a_batch_takes_nothing_from_the_epoch(path):
    loader = Dataset(path).loader(4)
    next(iter(loader))
    assert sorted(flat(ids(loader))) == list(range(N))
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    rest = flat(ids(iterator))
    loader.load_state_dict(state)
    peeked = next(iter(loader))["id"].tolist()
    assert flat(ids(loader)) == rest and rest[:4] == peeked


def test_the_usual_loop_with_set_epoch_resumes_in_the_midst(path):
    def train(loader, seen, stop=None):
        for epoch in range(loader.epoch, 3):
            loader.set_epoch(epoch)
            for batch in loader:
                seen.append((epoch, batch["id"].tolist()))
                if len(seen) == stop:
                    return loader.state_dict()

    whole = []
    train(Dataset(path).loader(6, seed=2), whole)
    for stop in (1, 7, 8, 9, 16, 23):
        seen = []
        state = train(Dataset(path).loader(6, seed=2), seen, stop)
        resumed = Dataset(path).loader(6, num_workers=2)
        resumed.load_state_dict(state)
        train(resumed, seen)
        assert seen == whole, f"stopped behind batch {stop}"


def test_states_between_epochs_lose_and_repeat_nothing(path):
    loader = Dataset(path).loader(6)
    batches = list(loader)
    between = loader.state_dict()
    assert (between["epoch"], between["position"]) == (1, 0)
    iterator = iter(loader)
    for _ in batches:
        next(iterator)
    behind_the_last = loader.state_dict()
    other = Dataset(path).loader(6)
    other.load_state_dict(behind_the_last)
    assert list(other) == [] and other.epoch == 2
    assert sorted(flat(ids(other))) == list(range(N))


def test_a_state_of_other_samples_is_refused(path, tmp_path):
    state = Dataset(path).loader(4).state_dict()
    fewer = written(tmp_path, parts.numbered(10))
    with pytest.raises(ValueError, match="47 samples.* 10"):
        Dataset(fewer).loader(4).load_state_dict(state)
    with pytest.raises(ValueError, match="version"):
        Dataset(path).loader(4).load_state_dict({**state, "version": 9})


def test_an_old_iterator_does_not_move_the_loader(path):
    loader = Dataset(path).loader(4)
    old, new = iter(loader), None
    next(old)
    new = iter(loader)
    next(new)
    next(old), next(old)
    assert loader.state_dict()["position"] == 4
    list(old)
    assert loader.epoch == 0
    list(new)
    assert loader.epoch == 1
    one, two = iter(loader), iter(loader)
    assert ids(two) == ids(one)


def test_persistent_workers_serve_all_epochs(path):
    loader = Dataset(path, transform=parts.ids_and_worker).loader(4, num_workers=2, persistent_workers=True)
    reference = Dataset(path).loader(4)
    for _ in range(3):
        batches = list(loader)
        assert ids(batches) == ids(reference)
        assert {w for batch in batches for w in batch["worker"].tolist()} == {0, 1}
    next(iter(loader))
    assert ids(loader) == ids(reference)


def test_the_loader_is_an_iterable_dataset_for_the_dataloader_too(path):
    reference = ids(Dataset(path).loader(4, drop_last=False))
    for num_workers in (0, 1, 3):
        loader = Dataset(path).loader(4, drop_last=False)
        outer = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=num_workers)
        assert ids(outer) == reference


def test_the_dataset_is_a_map_for_the_dataloader_too(path):
    dataset = Dataset(path)
    for num_workers in (0, 2):
        outer = torch.utils.data.DataLoader(dataset, batch_size=10, shuffle=True, collate_fn=collate, num_workers=num_workers)
        assert sorted(flat(ids(outer))) == list(range(N))
    columns = Dataset(path, columns=["id", "vector", "name"])
    for batch in torch.utils.data.DataLoader(columns, batch_size=10):
        assert batch["vector"].shape == (len(batch["id"]), 3), "PyTorch's own collate works on flat columns"


def test_ranks_come_from_torch_distributed(path, tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        loader = Dataset(path).loader(4)
        assert (loader.rank, loader.world_size) == (0, 1)
    finally:
        torch.distributed.destroy_process_group()
    with pytest.raises(ValueError, match="both or none"):
        Dataset(path).loader(4, rank=0)


def test_global_random_numbers_are_left_alone(path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    list(Dataset(path).loader(4, num_workers=1))
    assert torch.equal(torch.rand(1), expected)


# Samples and batches


def test_a_batch_is_the_collation_of_its_samples(path):
    dataset = Dataset(path)
    for batch in dataset.loader(8, seed=3, drop_last=False):
        assert same(batch, collate([dataset[int(i)] for i in batch["id"]]))
    for batch in dataset.loader(8, num_workers=2):
        assert same(batch, collate(dataset.__getitems__(batch["id"].tolist())))


def test_rows_of_a_batch_are_read_with_one_take(path, monkeypatch):
    dataset = Dataset(path)
    takes = []
    rows = type(dataset._rows)
    take = rows.take
    monkeypatch.setattr(rows, "take", lambda self, numbers: takes.append(len(numbers)) or take(self, numbers))
    list(dataset.loader(10))
    dataset.__getitems__([5, 6, 7])
    assert takes == [10, 10, 10, 10, 7, 3]


def test_samples_are_found_as_in_a_list(path):
    dataset = Dataset(path)
    assert len(dataset) == N
    assert dataset[0]["name"] == "row 0" and dataset[-1]["name"] == f"row {N - 1}"
    assert [s["name"] for s in dataset.__getitems__([5, 5, -N])] == ["row 5", "row 5", "row 0"]
    assert dataset.__getitems__([]) == []
    for index in (N, -N - 1):
        with pytest.raises(IndexError, match=f"{index} .*{N}"):
            dataset[index]
    assert len(list(dataset)) == N, "the IndexError ends a plain for"


NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("x", pa.float32()), ("tags", pa.list_(pa.string()))])),
        ("boxes", pa.list_(pa.struct([("score", pa.float64()), ("label", pa.string())]))),
        ("deep", pa.list_(pa.list_(pa.int16()))),
        ("grid", pa.list_(pa.list_(pa.uint8(), 2), 3)),
        ("pairs", pa.list_(pa.string(), 2)),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)


def nested_row(i):
    return {
        "id": i,
        "s": {"x": i / 4, "tags": [f"t{j}" for j in range(i % 3)]},
        "boxes": [{"score": j + i / 2, "label": None if j == 1 else f"l{j}"} for j in range(i % 4)],
        "deep": [[i + k for k in range(j)] for j in range(i % 3)],
        "grid": [[i, j] for j in range(3)],
        "pairs": [str(i), None],
        "m": [(f"k{j}", j) for j in range(i % 2)],
    }


def test_nested_columns_keep_their_shape(tmp_path):
    path = written(tmp_path, pa.Table.from_pylist([nested_row(i) for i in range(12)], NESTED))
    dataset = Dataset(path)
    batch = next(iter(dataset.loader(4, shuffle=False)))
    assert batch["s"]["x"].tolist() == [0, 0.25, 0.5, 0.75] and batch["s"]["x"].dtype == torch.float32
    assert batch["s"]["tags"] == [[], ["t0"], ["t0", "t1"], []]
    assert [t.tolist() for t in batch["boxes"]["score"]] == [[], [0.5], [1, 2], [1.5, 2.5, 3.5]]
    assert batch["boxes"]["label"] == [[], ["l0"], ["l0", None], ["l0", None, "l2"]]
    assert [[t.tolist() for t in row] for row in batch["deep"]] == [[], [[]], [[], [2]], []]
    assert batch["deep"][2][1].dtype == torch.int16
    assert batch["grid"].shape == (4, 3, 2) and batch["grid"].dtype == torch.uint8 and batch["grid"][3, 2].tolist() == [3, 2]
    assert batch["pairs"] == [[str(i), None] for i in range(4)]
    assert batch["m"]["key"] == [[], ["k0"], [], ["k0"]] and batch["m"]["value"][1].tolist() == [0]
    for num_workers in (0, 2):
        for got in dataset.loader(5, num_workers=num_workers):
            assert same(got, collate([dataset[int(i)] for i in got["id"]]))


def test_numbers_keep_their_type(tmp_path):
    types = {
        pa.int8(): torch.int8, pa.int16(): torch.int16, pa.int32(): torch.int32, pa.int64(): torch.int64,
        pa.uint8(): torch.uint8, pa.uint16(): torch.uint16, pa.uint32(): torch.uint32, pa.uint64(): torch.uint64,
        pa.float16(): torch.float16, pa.float32(): torch.float32, pa.float64(): torch.float64, pa.bool_(): torch.bool,
        pa.timestamp("us"): torch.int64, pa.timestamp("ns", "UTC"): torch.int64, pa.duration("ms"): torch.int64,
        pa.time64("us"): torch.int64, pa.date32(): torch.int32,
    }  # fmt: skip
    bits = [0, 1, 1, 0, 1]
    columns = {}
    for type_ in types:
        if pa.types.is_temporal(type_):
            columns[str(type_)] = pa.array(bits, pa.int32() if type_.bit_width == 32 else pa.int64()).view(type_)
        else:
            columns[str(type_)] = pa.array(bits, pa.int64()).cast(type_)
    batch = next(iter(Dataset(written(tmp_path, columns)).loader(5, shuffle=False)))
    for type_, expected in types.items():
        assert batch[str(type_)].dtype == expected, type_
        assert [int(x) for x in batch[str(type_)]] == bits, type_


def test_dictionaries_are_decoded_and_other_values_listed(tmp_path):
    import decimal

    columns = {
        "d": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "b": [b"\0", None, b"", b"xyz"],
        "dec": pa.array([decimal.Decimal("1.50"), None, None, decimal.Decimal("-2.25")], pa.decimal128(9, 2)),
    }
    batch = next(iter(Dataset(written(tmp_path, columns)).loader(4, shuffle=False)))
    assert batch["d"] == ["a", "b", None, "a"]
    assert batch["b"] == [b"\0", None, b"", b"xyz"]
    assert batch["dec"] == [decimal.Decimal("1.50"), None, None, decimal.Decimal("-2.25")]


def test_fixed_size_lists_become_tensors_without_copying(path, monkeypatch):
    tables = []
    dataset = Dataset(path, columns=["vector", "id"])
    rows = type(dataset._rows)
    take = rows.take

    def keep(self, numbers):
        tables.append(take(self, numbers))
        return tables[-1]

    monkeypatch.setattr(rows, "take", keep)
    batch = next(iter(dataset.loader(8, seed=1)))
    vectors = tables[0].column("vector").chunk(0)
    numbers = tables[0].column("id").chunk(0)
    assert batch["vector"].shape == (8, 3) and batch["vector"].is_contiguous()
    assert batch["vector"].data_ptr() == vectors.values.buffers()[1].address + vectors.offset * 12
    assert batch["id"].data_ptr() == numbers.buffers()[1].address + numbers.offset * 8


def test_batches_can_be_written_to_and_the_file_stays_as_it_is(path):
    dataset = Dataset(path)
    for shuffle, batch_size in itertools.product((True, False), (1, 10, N)):
        for batch in dataset.loader(batch_size, shuffle=shuffle):
            batch["vector"].zero_()
            batch["id"].add_(1)
    dataset[3]["vector"].zero_()
    batch = next(iter(dataset.loader(N, shuffle=False)))
    assert batch["id"].tolist() == list(range(N)) and batch["vector"][3].tolist() == [3, 3.5, -3]


def test_many_lists_cross_processes_without_a_descriptor_each(tmp_path):
    path = written(tmp_path, {"id": range(6000), "x": pa.array([[i] * (i % 3) for i in range(6000)], pa.list_(pa.int32()))})
    loader = Dataset(path).loader(3000, num_workers=2)
    kept = list(loader)
    assert [len(t) for t in kept[0]["x"]] == [i % 3 for i in kept[0]["id"].tolist()]
    assert len(os.listdir("/proc/self/fd")) < 200 if os.path.isdir("/proc/self/fd") else True


def test_a_null_number_is_an_error_unless_filled(tmp_path):
    columns = {
        "id": range(6),
        "x": pa.array([1, None, 3, 4, 5, 6], pa.int32()),
        "u": pa.array([None, 1, 2, 3, 4, 2**64 - 1], pa.uint64()),
        "v": pa.array([[1, 2], None, [3, None], [4, 5], [6, 7], [8, 9]], pa.list_(pa.float32(), 2)),
        "l": pa.array([[1], None, [2, None], [], [3], [4]], pa.list_(pa.int64())),
        "b": pa.array([True, None, False, True, True, True]),
    }
    path = written(tmp_path, columns)
    with pytest.raises(SampleError, match=r"row 1 .*column 'x'.*fill_null"):
        list(Dataset(path, columns=["x"]).loader(6, shuffle=False))
    sample = Dataset(path)[1]
    assert sample["x"] is None and sample["v"] is None and sample["l"] is None and sample["b"] is None
    assert [v if v is None else v.item() for v in Dataset(path)[2]["l"]] == [2, None]
    fill = {"x": -1, "u": 2**63, "v": 0.5, "l.item": 7, "b": False}
    batch = next(iter(Dataset(path, fill_null=fill).loader(6, shuffle=False)))
    assert batch["x"].tolist() == [1, -1, 3, 4, 5, 6]
    assert batch["u"].tolist() == [2**63, 1, 2, 3, 4, 2**64 - 1]
    assert batch["v"].tolist() == [[1, 2], [0.5, 0.5], [3, 0.5], [4, 5], [6, 7], [8, 9]]
    assert [None if t is None else t.tolist() for t in batch["l"]] == [[1], None, [2, 7], [], [3], [4]]
    assert batch["b"].tolist() == [True, False, False, True, True, True]
    assert Dataset(path, fill_null=-1, columns=["x"])[1]["x"].item() == -1
    with pytest.raises(ValueError, match="fill_null for column 'x' is 0.5"):
        list(Dataset(path, columns=["x"], fill_null=0.5).loader(6))
    skipping = Dataset(path, columns=["id", "x", "v"], on_error="skip").loader(6, shuffle=False)
    assert ids(skipping) == [[0, 3, 4, 5]]
    assert skipping.skipped == 2 and [row for row, _ in skipping.skipped_rows] == [1, 2]


def test_lists_are_padded_when_asked(tmp_path):
    columns = {"t": pa.array([[1, 2, 3], [], [4]], pa.list_(pa.int64())), "o": pa.array([[1], [2, 2], []], pa.list_(pa.int8()))}
    path = written(tmp_path, columns)
    for transform in (None, lambda sample: sample):
        batch = next(iter(Dataset(path, pad={"t": -1}, transform=transform).loader(3, shuffle=False)))
        assert batch["t"].tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]] and batch["t"].dtype == torch.int64
        assert [t.tolist() for t in batch["o"]] == [[1], [2, 2], []]


def test_lists_stay_lists_where_their_lengths_happen_to_be_equal(tmp_path):
    path = written(tmp_path, {"t": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int64()))})
    for transform in (None, lambda sample: sample):
        dataset = Dataset(path, transform=transform)
        for batch_size in (1, 2, 3):
            batch = next(iter(dataset.loader(batch_size, shuffle=False)))
            assert [None if t is None else t.tolist() for t in batch["t"]] == [[1, 2], [3, 4], None][:batch_size]
            assert isinstance(batch["t"], list)
    doubled = Dataset(path, transform=lambda sample: sample["t"] * 2).loader(2, shuffle=False)
    assert next(iter(doubled)).tolist() == [[2, 4], [6, 8]], "what a transform made is stacked"


def test_transform_and_decode_see_one_sample(tmp_path):
    path = written(tmp_path, {"id": range(5), "image": [bytes([i]) * 4 for i in range(4)] + [None]})
    dataset = Dataset(path, decode={"image": parts.picture})
    assert dataset[3]["image"].tolist() == [[3] * 3] * 2
    assert dataset[4]["image"] is None
    batch = next(iter(dataset.loader(4, shuffle=False)))
    assert batch["image"].shape == (4, 2, 3)
    lengths = Dataset(path, decode={"image": parts.length_of}, transform=lambda s: (s["id"], s["image"] or 0, {"n": 1.5}))
    number, length, more = next(iter(lengths.loader(5, shuffle=False)))
    assert number.tolist() == list(range(5)) and length.tolist() == [4, 4, 4, 4, 0] and more["n"].dtype == torch.float64
    with pytest.raises(KeyError, match="photo"):
        Dataset(path, decode={"photo": parts.picture})


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_batch_can_be_made_by_the_callers_function(path, num_workers):
    loader = Dataset(path).loader(5, collate_fn=parts.id_list, num_workers=num_workers)
    assert flat(loader) == flat(ids(Dataset(path).loader(5)))


@pytest.mark.skipif(not hasattr(pennon.File, "row_numbers"), reason="this build has no filters")
def test_a_filter_leaves_the_rows_that_pass(path):
    for condition in filters():
        dataset = Dataset(path, filter=condition)
        assert len(dataset) == 20 and dataset[0]["id"].item() == 0 and dataset[-1]["id"].item() == 19
        for num_workers, context in ((0, None), (2, "fork"), (1, "spawn")):
            loader = dataset.loader(6, num_workers=num_workers, multiprocessing_context=context)
            assert sorted(flat(ids(loader))) == list(range(20))
        again = pickle.loads(pickle.dumps(dataset))
        assert len(again) == 20 and again[7]["id"].item() == 7


def filters():
    import pyarrow.compute as pc

    yield pc.field("id") < 20
    if hasattr(pennon, "col"):
        yield pennon.col("id") < 20
        yield "id < 20"


def test_an_empty_file_has_no_batches(tmp_path):
    path = written(tmp_path, parts.numbered(0))
    for drop_last in ("even", "pad", True, False):
        assert list(Dataset(path).loader(4, drop_last=drop_last)) == []
    assert len(Dataset(path)) == 0


# Errors


@pytest.mark.parametrize("num_workers, context", [(0, None), (2, "fork"), (2, "spawn")])
def test_a_failing_sample_is_raised_here_with_its_row(path, num_workers, context):
    loader = Dataset(path, transform=parts.FailsFor(13)).loader(
        4, num_workers=num_workers, multiprocessing_context=context, shuffle=False
    )
    seen = []
    with pytest.raises(SampleError, match="row 13 of .*numbered.lance: ValueError: no sample for id 13") as caught:
        for batch in loader:
            seen.append(batch["id"].tolist())
    assert seen == [list(range(i, i + 4)) for i in (0, 4, 8)]
    assert caught.value.row == 13 and isinstance(caught.value.__cause__, ValueError)
    assert "in __call__" in "".join(caught.value.__notes__), "the worker's traceback comes along"
    assert isinstance(caught.value, pennon.Error)


def test_an_error_that_cannot_be_pickled_still_arrives(path):
    loader = Dataset(path, transform=parts.fails_unpicklably).loader(4, num_workers=1)
    with pytest.raises(SampleError, match="Unpicklable: deep inside"):
        list(loader)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_skipped_samples_are_counted_and_steps_stay_equal(path, num_workers):
    bad = (3, 7, 20, 21, 22, 23)
    by_rank, skipped = [], 0
    for rank in range(2):
        loader = Dataset(path, transform=parts.FailsFor(*bad), on_error="skip").loader(
            2, rank=rank, world_size=2, num_workers=num_workers, shuffle=False
        )
        by_rank.append(list(loader))
        skipped += loader.skipped
        assert {row for row, _ in loader.skipped_rows} <= set(bad) and len(loader.skipped_rows) == loader.skipped
        assert all("no sample for id" in reason for _, reason in loader.skipped_rows)
    assert skipped == len(bad)
    assert len(by_rank[0]) == len(by_rank[1])
    assert by_rank[0][5] is None and by_rank[1][5] is None, "a batch of which nothing is left is None"
    shown = flat(flat(ids(b for b in batches if b is not None)) for batches in by_rank)
    assert sorted(shown) == [i for i in range(N - 1) if i not in bad]
    assert Dataset(path, transform=parts.FailsFor(1), on_error="skip").__getitems__([0, 1, 2])[1]["id"].item() == 2


def test_damaged_pages_cost_their_rows_only(tmp_path):
    rng = __import__("random").Random(1)
    path = written(tmp_path, {"id": range(4000), "noise": [rng.randbytes(64) for _ in range(4000)]})
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(size // 2)
        damaged = bytes(b ^ 0xFF for b in file.read(16))
        file.seek(size // 2)
        file.write(damaged)
    with pennon_open(path) as file:
        bad = [row for row in range(4000) if fails(lambda row=row: file.take([row]))]
    assert 0 < len(bad) < 4000
    with pytest.raises(SampleError) as caught:
        list(Dataset(path).loader(64))
    assert caught.value.row in bad and isinstance(caught.value.__cause__, pennon.CorruptFile)
    for num_workers in (0, 2):
        loader = Dataset(path, on_error="skip").loader(64, num_workers=num_workers)
        good = flat(ids(batch for batch in loader if batch is not None))
        assert sorted(good) == sorted(set(range(4000)) - set(bad)) and loader.skipped == len(bad)


def pennon_open(path):
    import contextlib

    return contextlib.nullcontext(pennon.open(path))


def fails(call):
    try:
        call()
    except pennon.CorruptFile:
        return True
    return False


def test_a_wrong_column_is_raised_and_never_skipped(path):
    with pytest.raises((KeyError, pennon.InvalidArgument)):
        list(Dataset(path, columns=["nothing"], on_error="skip").loader(4))


def test_a_file_that_changed_under_the_dataset_is_refused(path, tmp_path):
    changing = written(tmp_path, parts.numbered(9), "changing.lance")
    dataset = Dataset(changing)
    assert len(dataset) == 9
    sent = pickle.dumps(dataset)
    pennon.write(parts.numbered(5), changing)
    with pytest.raises(pennon.InvalidArgument, match="has 5 rows, and had 9"):
        pickle.loads(sent)[0]


def test_options_that_mean_nothing_are_refused(path):
    for wrong in (dict(sampler=1), dict(batch_sampler=1), dict(prefetch=2)):
        with pytest.raises(TypeError, match="no option"):
            Dataset(path).loader(4, **wrong)
    for wrong in (dict(drop_last="odd"), dict(rank=3, world_size=2)):
        with pytest.raises(ValueError):
            Dataset(path).loader(4, **wrong)
    with pytest.raises(ValueError, match="on_error"):
        Dataset(path, on_error="ignore")
    with pytest.raises(TypeError, match="columns"):
        Dataset(path, columns="id")


# Processes


def test_datasets_and_loaders_are_small_when_pickled_and_open_for_themselves(path):
    dataset = Dataset(path, columns=["id"])
    dataset[0]
    assert len(pickle.dumps(dataset)) < 2048
    assert pickle.loads(pickle.dumps(dataset))[5]["id"].item() == 5
    loader = dataset.loader(4)
    next(iter(loader))
    again = pickle.loads(pickle.dumps(loader))
    assert ids(again) == ids(loader)


def test_a_file_handle_and_bytes_are_sources_too(path):
    assert Dataset(pennon.open(path))[2]["name"] == "row 2"
    memory = Dataset(pennon.open(path.read_bytes()))
    assert ids(memory.loader(4)) == ids(Dataset(path).loader(4))
    assert ids(memory.loader(4, num_workers=2, multiprocessing_context="fork")) == ids(Dataset(path).loader(4))
    with pytest.raises(TypeError):
        pickle.dumps(memory)


def children():
    """Processes of which this one is the parent, that still run."""
    out = subprocess.run(["ps", "-o", "pid=,stat=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout
    return [line for line in out.splitlines() if " ps " not in line and "resource_tracker" not in line and " Z" not in line]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_end_when_a_loop_is_left_early_and_when_it_fails(path, context):
    before = children()
    for batch in Dataset(path).loader(4, num_workers=2, multiprocessing_context=context):
        break
    with pytest.raises(SampleError):
        list(Dataset(path, transform=parts.FailsFor(5)).loader(4, num_workers=2, multiprocessing_context=context))
    gc.collect()
    deadline = time.monotonic() + 10
    while len(children()) > len(before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(children()) <= len(before)


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what they start in the background
sys.path[:0] = {path!r}
import loader_parts as parts
from pennon.torch import Dataset

if __name__ == "__main__":
    loader = Dataset({file!r}, transform={transform}).loader(4, num_workers=2, multiprocessing_context={context!r}, **{options})
    iterator = iter(loader)
    print("started", flush=True)
    {then}
"""


def script(path, context, then, transform="None", options="{}", signal_after=None):
    code = SCRIPT.format(
        path=[p for p in sys.path if p], file=str(path), context=context, then=then, transform=transform, options=options
    )
    file = path.parent / f"script-{context}.py"
    file.write_text(code)
    process = subprocess.Popen([sys.executable, "-W", "ignore", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "started\n", process.stderr.read()
        if signal_after is not None:
            time.sleep(signal_after)
            os.killpg(process.pid, signal.SIGINT)  # what a terminal does at Ctrl-C
        begin = time.monotonic()
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors, time.monotonic() - begin
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        process.stdout.close()
        process.stderr.close()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_ctrl_c_ends_a_waiting_loader_and_its_workers(path, context):
    code, errors, seconds = script(path, context, "next(iterator)", transform="parts.slow", signal_after=6 if context == "spawn" else 2)
    assert code != 0 and "KeyboardInterrupt" in errors
    assert seconds < 20


@pytest.mark.parametrize("options", ["{}", "{'persistent_workers': True}"])
def test_a_script_that_ends_in_the_midst_of_an_epoch_ends(path, options):
    code, errors, seconds = script(path, "fork", "next(iterator)", options=options)
    assert (code, errors) == (0, "") and seconds < 20


def test_importing_pennon_does_not_import_torch():
    code = "import sys, pennon; print([m for m in ('torch', 'tensorflow', 'datasets') if m in sys.modules])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout == "[]\n"
