"""Crossing to and from other libraries through the Arrow PyCapsule interface, and values as pyarrow has them."""

import datetime as dt
import gc

import pennon
import pytest
from conftest import BIRDS, rows

pa = pytest.importorskip("pyarrow")


def test_results_are_those_of_pyarrow(birds):
    assert isinstance(birds.to_table(), pa.Table)
    assert isinstance(birds.take([0]), pa.Table)
    assert isinstance(next(birds.to_batches()), pa.RecordBatch)
    assert isinstance(birds.schema, pa.Schema)
    birds.to_table().validate(full=True)


def test_files_and_scans_are_streams_again_and_again(birds):
    scan = birds.scan(["wings"], filter="wings > 0")
    for _ in range(2):
        assert pa.table(birds).to_pylist() == BIRDS
        assert pa.table(scan).to_pylist() == [{"wings": 2}, {"wings": 2}]
        assert pa.schema(birds).names == ["name", "wings"]
        assert pa.RecordBatchReader.from_stream(scan).schema.names == ["wings"]


def test_a_stream_reads_nothing_before_it_is_asked(birds):
    stream = birds.__arrow_c_stream__()
    assert birds.last_scan is None
    reader = pa.RecordBatchReader.from_stream(birds)
    assert birds.last_scan is None
    reader.read_next_batch()
    assert birds.last_scan["rows"] == 3
    del stream, reader


def test_a_stream_outlives_its_file(birds):
    reader = pa.RecordBatchReader.from_stream(birds.scan())
    batches = birds.to_batches()
    del birds
    gc.collect()
    assert reader.read_all().num_rows == 3 and next(batches).num_rows == 3


def test_errors_in_a_stream_reach_its_reader(tmp_path):
    path = tmp_path / "x.lance"
    pennon.write({"s": ["x" * 100] * 1000}, path)
    f = pennon.open(path)
    data = bytearray(path.read_bytes())
    at = max((b["offset"] for b in f.inspect()["columns"][0]["pages"][0]["buffers"] if b["bytes"]))
    data[at + 3] ^= 1
    with pytest.raises(Exception, match="corrupt"):
        pa.table(pennon.open(bytes(data)))


def test_tables_of_our_own_cross_too(birds):
    import pennon._pennon as native

    # What is returned where pyarrow is not installed.
    table = pa.table({"a": [1, 2], "l": [[1], None]})
    pennon.write(table, birds.path)
    stream = pennon.open(birds.path).scan()
    assert pa.table(stream) == table
    assert native.Table.__module__ == "pennon"




def test_columns_without_rows_and_rows_without_columns_cross(tmp_path):
    path = tmp_path / "x.lance"
    empty = pa.table({"a": pa.array([], pa.list_(pa.int32())), "d": pa.array([], pa.dictionary(pa.int8(), pa.utf8()))})
    pennon.write(empty, path)
    assert pennon.open(path).to_table() == empty
    assert pennon.open(path).schema == empty.schema


MANY = {
    "ts_s": pa.array([0, None, -1], pa.timestamp("s")),
    "ts_ns": pa.array([0, None, 1_000], pa.timestamp("ns")),
    "ts_ns_fine": pa.array([1, None, -1], pa.timestamp("ns")),
    "ts_berlin": pa.array([0, None, 1_700_000_000_000], pa.timestamp("ms", "Europe/Berlin")),
    "ts_offset": pa.array([0, None, 1], pa.timestamp("us", "+05:30")),
    "ts_fine_zone": pa.array([1, None, 5], pa.timestamp("ns", "America/New_York")),
    "d32": pa.array([0, None, -719162], pa.date32()),
    "d64": pa.array([0, None, 86400000], pa.date64()),
    "t32": pa.array([0, None, 86399], pa.time32("s")),
    "t64": pa.array([0, None, 1_001], pa.time64("ns")),
    "dur": pa.array([0, None, -5], pa.duration("ms")),
    "dur_ns": pa.array([1, None, -5], pa.duration("ns")),
    "dec": pa.array([None, 1, 2], pa.decimal128(20, 3)),
    "dec256": pa.array([None, 1, 2], pa.decimal256(60, 5)),
    "f16": pa.array([None, 1.5, 2], pa.float16()),
    "dict": pa.array(["a", None, "a"]).dictionary_encode(),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.utf8(), pa.int64())),
    "fsl": pa.array([[1, 2], None, [None, 3]], pa.list_(pa.int8(), 2)),
    "fsb": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "struct": pa.array([{"a": [1]}, None, {"a": None}]),
    "large": pa.array([["a"], None, []], pa.large_list(pa.large_utf8())),
    "bool": pa.array([True, None, False]),
}


@pytest.mark.parametrize("name", MANY)
def test_values_are_those_of_pyarrow(tmp_path, name):
    path = tmp_path / "x.arrow"
    pennon.write(pa.table({name: MANY[name]}), path)
    f = pennon.open(path)
    ours = [f[i][name] for i in range(3)]
    theirs = MANY[name].to_pylist()
    assert ours == theirs
    for a, b in zip(ours, theirs):
        assert type(a) is type(b) or isinstance(b, type(a)), (type(a), type(b))
        if isinstance(a, dt.datetime):
            assert a.isoformat() == b.isoformat() and a.utcoffset() == b.utcoffset()


def test_values_that_python_cannot_hold_come_as_stored(tmp_path):
    path = tmp_path / "x.arrow"
    far = pa.table({"t": pa.array([2**62], pa.timestamp("us")), "d": pa.array([2**30], pa.date32())})
    pennon.write(far, path)
    assert pennon.open(path)[0] == {"t": 2**62, "d": 2**30}


def test_intervals_uuids_and_twin_names_are_values_too(tmp_path):
    path = tmp_path / "x.arrow"
    import uuid

    interval = pa.array([pa.MonthDayNano([1, 2, 3])])
    key = pa.array([uuid.UUID(int=7).bytes], pa.uuid())
    table = pa.Table.from_arrays([interval, key, pa.array([1]), pa.array([2])], names=["i", "u", "x", "x"])
    pennon.write(table, path)
    row = pennon.open(path)[0]
    assert row == {"i": (1, 2, 3), "u": uuid.UUID(int=7), "x": 1, "x#2": 2}
    assert row["i"].months == 1


@pytest.mark.parametrize("extension", ["lance", "parquet", "arrow"])
def test_strings_are_views_where_that_is_asked(tmp_path, extension):
    words = ["short", None, "one that is longer than twelve bytes"]
    whole = pa.table({"s": words, "b": pa.array([b"x", b"", None]), "l": pa.array([[words[2]], None, [None, "y"]]), "n": [1, 2, 3]})
    path = tmp_path / f"views.{extension}"
    pennon.write(whole, path)
    f = pennon.open(path)
    wanted = pa.schema({"s": pa.string_view(), "b": pa.binary_view(), "l": pa.list_(pa.string_view()), "n": pa.int64()})
    scan = f.scan(string_views=True)
    filtered = f.to_table(["n", "s"], filter="n > 1", string_views=True)
    assert scan.schema == wanted and pa.schema(scan) == wanted and f.schema.field("s").type == pa.string()
    found = [scan.to_table(), pa.table(scan), f.to_table(string_views=True), f.take([0, 1, 2], string_views=True)]
    found.append(pa.Table.from_batches(f.to_batches(batch_size=2, string_views=True)))
    for table in found:
        table.validate(full=True)
        assert table.schema == wanted and table.to_pylist() == whole.to_pylist()
    assert filtered.schema.types == [pa.int64(), pa.string_view()] and filtered.to_pylist() == [{"n": n, "s": words[n - 1]} for n in (2, 3)]
