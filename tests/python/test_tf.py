"""Training with TensorFlow: every row once, with a signature that says what comes."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

tf = pytest.importorskip("tensorflow")
pa = pytest.importorskip("pyarrow")

import pennon  # noqa: E402
import pennon.tf  # noqa: E402
from pennon._order import Order  # noqa: E402

N = 600


def nested_row(i):
    return {
        "id": i,
        "x": i / 2,
        "flag": i % 2 == 0,
        "name": f"row {i}",
        "data": bytes([i % 256]) * (i % 3),
        "vector": [i, i + 1],
        "items": list(range(i % 4)),
        "deep": [[j] * j for j in range(i % 3)],
        "pairs": [str(i), "b"],
        "s": {"a": i, "tags": ["t"] * (i % 2)},
        "boxes": [{"score": j / 2, "label": f"l{j}"} for j in range(i % 3)],
    }


SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("x", pa.float32()), ("flag", pa.bool_()), ("name", pa.string()), ("data", pa.binary()),
        ("vector", pa.list_(pa.float16(), 2)), ("items", pa.list_(pa.int32())), ("deep", pa.list_(pa.list_(pa.int16()))),
        ("pairs", pa.list_(pa.string(), 2)), ("s", pa.struct([("a", pa.uint8()), ("tags", pa.list_(pa.string()))])),
        ("boxes", pa.list_(pa.struct([("score", pa.float64()), ("label", pa.string())]))),
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("tf") / "nested.lance"
    rows = [{**nested_row(i), "s": {"a": i % 256, "tags": ["t"] * (i % 2)}} for i in range(N)]
    pennon.write(pa.Table.from_pylist(rows, SCHEMA), path)
    return path


def ids(dataset):
    return [element["id"].numpy().tolist() for element in dataset]


def test_the_signature_says_what_comes(path):
    spec = pennon.tf.dataset(path, batch_size=10).element_spec
    assert spec["id"] == tf.TensorSpec([10], tf.int64) and spec["x"].dtype == tf.float32 and spec["flag"].dtype == tf.bool
    assert spec["name"].dtype == tf.string and spec["data"].dtype == tf.string
    assert spec["vector"] == tf.TensorSpec([10, 2], tf.float16)
    assert spec["items"] == tf.RaggedTensorSpec([10, None], tf.int32, ragged_rank=1)
    assert spec["deep"] == tf.RaggedTensorSpec([10, None, None], tf.int16, ragged_rank=2)
    assert spec["pairs"] == tf.TensorSpec([10, 2], tf.string)
    assert set(spec["s"]) == {"a", "tags"} and spec["s"]["a"].dtype == tf.uint8
    assert spec["boxes"]["label"] == tf.RaggedTensorSpec([10, None], tf.string, ragged_rank=1)
    assert pennon.tf.dataset(path, batch_size=7).element_spec["id"].shape == [None], "the last batch is shorter"


def test_batches_have_the_values(path):
    dataset = pennon.tf.dataset(path, batch_size=100)
    assert dataset.cardinality() == 6
    batches = list(dataset)
    for first, batch in zip(range(0, N, 100), batches):
        rows = [nested_row(i) for i in range(first, first + 100)]
        assert batch["id"].numpy().tolist() == [r["id"] for r in rows]
        assert batch["x"].numpy().tolist() == [r["x"] for r in rows]
        assert batch["flag"].numpy().tolist() == [r["flag"] for r in rows]
        assert batch["name"].numpy().tolist() == [r["name"].encode() for r in rows]
        assert batch["data"].numpy().tolist() == [r["data"] for r in rows]
        assert batch["vector"].numpy().tolist() == [r["vector"] for r in rows]
        assert batch["items"].to_list() == [r["items"] for r in rows]
        assert batch["deep"].to_list() == [r["deep"] for r in rows]
        assert batch["pairs"].numpy().tolist() == [[p.encode() for p in r["pairs"]] for r in rows]
        assert batch["s"]["a"].numpy().tolist() == [r["s"]["a"] % 256 for r in rows]
        assert batch["s"]["tags"].to_list() == [[t.encode() for t in r["s"]["tags"]] for r in rows]
        assert batch["boxes"]["score"].to_list() == [[b["score"] for b in r["boxes"]] for r in rows]


def test_single_rows_are_unbatched(path):
    dataset = pennon.tf.dataset(path, columns=["id", "items", "vector", "s"])
    assert dataset.cardinality() == N
    elements = list(dataset)
    assert [e["id"].numpy() for e in elements] == list(range(N))
    assert elements[7]["items"].numpy().tolist() == [0, 1, 2] and elements[7]["vector"].shape == (2,)
    assert dataset.element_spec["id"] == tf.TensorSpec([], tf.int64)


def test_shuffled_rows_come_once_per_epoch_in_the_order_of_all_loaders(path):
    dataset = pennon.tf.dataset(path, columns=["id"], batch_size=50, shuffle=True, seed=4)
    epochs = [sum(ids(dataset), []) for _ in range(2)]
    for number, epoch in enumerate(epochs):
        assert epoch == Order(N, 4, number).rows(range(N)).tolist()
    fixed = pennon.tf.dataset(path, ["id"], 50, shuffle=True, seed=4, epoch=1, reshuffle_each_iteration=False)
    assert sum(ids(fixed), []) == sum(ids(fixed), []) == epochs[1]
    repeated = pennon.tf.dataset(path, ["id"], 50, shuffle=True, seed=4).repeat(2)
    assert sum(ids(repeated), []) == epochs[0] + epochs[1]


@pytest.mark.parametrize("batch_size", [None, 7, 300])
def test_ranks_share_the_rows_evenly(path, batch_size):
    parts = [
        ids(pennon.tf.dataset(path, ["id"], batch_size, shuffle=True, rank=rank, world_size=3)) for rank in range(3)
    ]
    assert len({len(part) for part in parts}) == 1
    rows = sum(parts, []) if batch_size is None else sum(sum(parts, []), [])
    assert sorted(rows) == list(range(N))


@pytest.mark.skipif(not hasattr(pennon.File, "row_numbers"), reason="this build has no filters")
def test_a_filter_leaves_the_rows_that_pass(path):
    import pyarrow.compute as pc

    assert sum(ids(pennon.tf.dataset(path, ["id"], 4, filter=pc.field("id") < 10)), []) == list(range(10))


def test_a_null_needs_a_value(tmp_path):
    path = tmp_path / "nulls.lance"
    columns = {
        "x": pa.array([1, None, 3], pa.int64()),
        "s": ["a", None, "c"],
        "l": pa.array([[1], None, [None]], pa.list_(pa.int64())),
        "v": pa.array([[1, None], None, [5, 6]], pa.list_(pa.float32(), 2)),
        "t": pa.array([1, 2, 3], pa.timestamp("us")),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
    pennon.write(pa.table(columns), path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="column 'x' has 1 nulls.*fill_null"):
        list(pennon.tf.dataset(path, columns=["x"], batch_size=3))
    filled = pennon.tf.dataset(path, batch_size=3, fill_null={"x": -1, "s": "", "l": 0, "l.item": 9, "v": 0})
    batch = next(iter(filled))
    assert batch["x"].numpy().tolist() == [1, -1, 3] and batch["s"].numpy().tolist() == [b"a", b"", b"c"]
    assert batch["l"].to_list() == [[1], [], [9]] and batch["v"].numpy().tolist() == [[1, 0], [0, 0], [5, 6]]
    assert batch["t"].numpy().tolist() == [1, 2, 3] and batch["d"].numpy().tolist() == [b"x", b"y", b"x"]


def test_a_type_without_a_counterpart_is_named(tmp_path):
    path = tmp_path / "null.lance"
    pennon.write(pa.table({"x": [1], "nothing": pa.nulls(1)}), path)
    with pytest.raises(TypeError, match="'nothing' is null"):
        pennon.tf.dataset(path)


def test_a_model_trains_on_it(path):
    dataset = pennon.tf.dataset(path, ["id", "x"], 20, shuffle=True).map(lambda b: (tf.cast(b["id"], tf.float32)[:, None] / N, b["x"]))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(dataset, epochs=2, verbose=0).history["loss"]) == 2
