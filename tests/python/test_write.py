"""Writing: every kind of data, its types, options, and that nothing is left behind where it fails."""

import datetime as dt
import decimal
import itertools
import os

import pennon
import pytest
from conftest import BIRDS, needs_numpy, needs_pyarrow, rows

UTC = dt.timezone.utc

VALUES = {
    "b": [True, None, False],
    "i": [1, -(2**63), None],
    "u": [2**64 - 1, 0, None],
    "f": [1.5, None, float("inf")],
    "m": [1, 2.5, None],
    "s": ["", "ünï", None],
    "y": [b"", b"\0\xff", None],
    "d": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
    "t": [dt.time(23, 59, 59, 999999), dt.time(0), None],
    "n": [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2026, 1, 31), None],
    "z": [dt.datetime(2026, 1, 31, 12, tzinfo=UTC), dt.datetime(1900, 1, 1, tzinfo=UTC), None],
    "p": [dt.timedelta(days=-1, microseconds=1), dt.timedelta(0), None],
    "c": [decimal.Decimal("1.50"), decimal.Decimal("-1000000000000000000000"), None],
    "l": [[1, None], [], None],
    "ll": [[["a"], None], [[]], None],
    "o": [{"x": 1, "y": [{"z": "q"}]}, {"x": None, "y": None}, None],
    "nothing": [None, None, None],
}


def test_every_python_value_comes_back(tmp_path):
    path = tmp_path / "values.lance"
    data = [dict(zip(VALUES, row)) for row in zip(*VALUES.values())]
    assert pennon.write(data, path) == 3
    f = pennon.open(path)
    found = rows(f.to_table())
    for name in VALUES:
        assert [r[name] for r in found] == VALUES[name], name
    types = {"m": "double", "u": "uint64", "c": "decimal128(24, 2)", "z": "timestamp[us, tz=UTC]"}
    ours = {"m": "float64", "u": "uint64", "c": "decimal128(24,2)", "z": "timestamp[us, UTC]"}
    for name in types:
        assert str(f.schema.field(name).type) in (types[name], ours[name])
    assert f[0] == data[0]


def test_columns_of_lists_have_the_same_types_as_rows(tmp_path):
    a, b = tmp_path / "a.lance", tmp_path / "b.lance"
    pennon.write(VALUES, a)
    pennon.write([dict(zip(VALUES, row)) for row in zip(*VALUES.values())], b)
    assert pennon.open(a).schema == pennon.open(b).schema
    assert rows(pennon.open(a).to_table()) == rows(pennon.open(b).to_table())


def test_rows_need_not_have_all_keys(tmp_path):
    path = tmp_path / "x.lance"
    pennon.write([{"a": 1}, {"b": "x"}, {}], path)
    assert rows(pennon.open(path).to_table()) == [{"a": 1, "b": None}, {"a": None, "b": "x"}, {"a": None, "b": None}]


@pytest.mark.parametrize(
    "data, message",
    [
        ([{"a": 1}, {"a": "x"}], 'row 1, column "a": a str where the rows before have int'),
        ([{"a": {"b": 1}}, {"a": {"b": b"x"}}], 'row 1, column "a.b": a bytes where the rows before have int'),
        ([{"a": [1, True]}], 'row 0, column "a.item": a bool where the rows before have int'),
        ([{"a": object()}], 'row 0, column "a": a value of type object has no Arrow type'),
        ([{"a": 2**64}], 'row 0, column "a": 18446744073709551616 does not fit into 64 bits'),
        ([{"a": 2**63}, {"a": -1}], "no 64 bits hold both"),
        ([{"a": 2**60 + 1}, {"a": 0.5}], "1152921504606846977 .int. does not fit into float64"),
        ([{"a": dt.datetime(2026, 1, 1)}, {"a": dt.datetime(2026, 1, 1, tzinfo=UTC)}], "a datetime with zone where"),
        ([{"a": decimal.Decimal("nan")}], "is not a number"),
        ([{1: 1}], "a key that is not a str"),
        ([{"a": 1}, 7], "row 1 is a int, expected a dict"),
        ({"a": [1, 2], "b": [1]}, 'column "b" has 1 rows where column "a" has 2'),
        ({"a": "text"}, 'column "a": expected an array or a list'),
        ([], "an empty list has no columns; give a schema"),
    ],
)
def test_values_that_do_not_go_together_are_named(tmp_path, data, message):
    with pytest.raises(pennon.InvalidArgument, match=message.replace("(", r"\(").replace(")", r"\)")):
        pennon.write(data, tmp_path / "x.lance")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("data", [7, "text", b"bytes", object()])
def test_what_is_no_data_is_a_type_error(tmp_path, data):
    with pytest.raises(TypeError, match="cannot write"):
        pennon.write(data, tmp_path / "x.lance")


def test_a_schema_gives_python_values_their_types(tmp_path):
    path = tmp_path / "x.lance"
    schema = pennon.schema(
        {"i": "int16", "f": "float32", "s": "large_utf8", "t": "timestamp[ns, Europe/Berlin]", "l": "fixed_size_list[2]<int8>",
         "m": "map<utf8, int32>", "o": "struct<a: int32, b: list<utf8>>", "d": "decimal128(10,3)"}
    )
    data = [
        {"i": 1, "f": 1, "s": "x", "t": dt.datetime(2026, 1, 1, tzinfo=UTC), "l": [1, 2], "m": {"k": 1}, "o": {"a": 1}, "d": 5},
        {"i": None, "l": None, "m": [("a", None)], "d": decimal.Decimal("-1.234")},
    ]
    pennon.write(data, path, schema=schema)
    f = pennon.open(path)
    first, second = rows(f.to_table())
    assert f.schema.names == list(data[0])
    assert (first["i"], first["l"], first["m"], first["o"]) == (1, [1, 2], [("k", 1)], {"a": 1, "b": None})
    assert first["t"] == data[0]["t"] and first["d"] == 5
    assert second["m"] == [("a", None)] and second["d"] == decimal.Decimal("-1.234") and second["o"] is None
    for bad, message in [
        ({"i": 40_000}, 'row 0, column "i": 40000 .int. does not fit into int16'),
        ({"l": [1]}, 'column "l": .* does not fit into fixed_size_list'),
        ({"d": decimal.Decimal("1.2345")}, 'column "d"'),
        ({"zz": 1}, "there is no column for the key 'zz'"),
    ]:
        with pytest.raises(pennon.InvalidArgument, match=message):
            pennon.write([bad], path, schema=schema)
    pennon.write([], path, schema=schema)
    assert pennon.open(path).num_rows == 0


def test_a_column_without_nulls_refuses_them(tmp_path):
    schema = pennon.schema({"id": "int64!"})
    pennon.write([{"id": 1}], tmp_path / "x.lance", schema=schema)
    assert not pennon.open(tmp_path / "x.lance").schema.field("id").nullable
    with pytest.raises(pennon.Error, match="id"):
        pennon.write([{"id": None}], tmp_path / "y.lance", schema=schema)
    with pytest.raises(pennon.InvalidArgument, match='column "x": no type'):
        pennon.schema({"x": "list<"})


def test_iterables_of_any_data_are_written_one_after_the_other(tmp_path):
    path = tmp_path / "x.lance"
    parts = ([{"n": i}] for i in range(5))
    assert pennon.write(parts, path) == 5
    assert pennon.write(itertools.chain([{"n": [7, 8]}], [pennon.open(path)]), tmp_path / "y.lance") == 7
    assert [r["n"] for r in rows(pennon.open(tmp_path / "y.lance").to_table())] == [7, 8, 0, 1, 2, 3, 4]
    with pytest.raises(pennon.InvalidArgument, match="does not fit into int64"):
        pennon.write(iter([[{"n": 1}], [{"n": "x"}]]), path)
    with pytest.raises(pennon.InvalidArgument, match="no batches"):
        pennon.write(iter([]), path)


def test_a_file_and_a_scan_are_data_themselves(birds, tmp_path):
    pennon.write(birds, tmp_path / "copy.parquet")
    pennon.write(birds.scan(["name"], filter="wings > 0"), tmp_path / "some.arrow")
    assert rows(pennon.open(tmp_path / "copy.parquet").to_table()) == BIRDS
    assert rows(pennon.open(tmp_path / "some.arrow").to_table()) == [{"name": "auk"}, {"name": "owl"}]


def test_a_file_may_be_replaced_by_what_is_read_from_it(birds):
    pennon.write(birds.scan(limit=2), birds.path)
    assert pennon.open(birds.path).num_rows == 2


@pytest.mark.parametrize(
    "options",
    [{"format_version": "2.1"}, {"format_version": "2.0"}, {"compression": "zstd:9"}, {"compression": "none"},
     {"align": 4096}, {"max_page_bytes": 1000}, {"memory": 1 << 20}, {"no_checksums": True}],
)
def test_options_are_those_of_the_command_line(tmp_path, options):
    path = tmp_path / "x.lance"
    pennon.write({"a": list(range(1000)), "s": ["text"] * 1000}, path, **options)
    f = pennon.open(path)
    assert f.num_rows == 1000 and f[999] == {"a": 999, "s": "text"}
    assert f.format_version == options.get("format_version", "2.2")
    if "max_page_bytes" in options:
        assert f.inspect()["columns"][0]["num_pages"] > 2
    has_checksums = any(b["kind"] == "checksums" for b in f.inspect()["global_buffers"])
    assert has_checksums == ("no_checksums" not in options)


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("x.parquet", {"align": 64}, "align is about Lance files"),
        ("x.csv", {"compression": "zstd"}, "plain text"),
        ("x.lance", {"compression": "zstd:99"}, "expected auto, none, lz4, zstd or zstd:LEVEL"),
        ("x.lance", {"format_version": "9.9"}, "9.9"),
        ("x.unknown", {}, "names no format"),
        ("x", {"to": "gif"}, "gif"),
        ("none/x.lance", {}, "no directory"),
    ],
)
def test_options_that_cannot_be_are_named(tmp_path, name, options, message):
    with pytest.raises(pennon.Error, match=message):
        pennon.write([{"a": 1}], tmp_path / name, **options)
    with pytest.raises(TypeError):
        pennon.write([{"a": 1}], tmp_path / "x.lance", unknown_option=1)
    assert os.listdir(tmp_path) == []


def test_an_existing_file_is_kept_on_request(birds):
    with pytest.raises(pennon.InvalidArgument, match="exists"):
        pennon.write([{"a": 1}], birds.path, no_clobber=True)
    assert rows(pennon.open(birds.path).to_table()) == BIRDS


def test_a_writer_finishes_at_the_end_of_its_block(tmp_path):
    path = tmp_path / "x.lance"
    with pennon.Writer(path) as w:
        assert w.write([{"a": 1}]) == 1
        w.write({"a": [2, 3]})
        assert not path.exists() and w.num_rows == 3
    assert [r["a"] for r in rows(pennon.open(path).to_table())] == [1, 2, 3]
    with pytest.raises(pennon.InvalidArgument, match="closed"):
        w.write([{"a": 1}])
    w.close()


def test_an_exception_in_the_block_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError):
        with pennon.Writer(tmp_path / "x.lance") as w:
            w.write([{"a": 1}])
            raise RuntimeError
    assert os.listdir(tmp_path) == []

    def breaks():
        yield [{"a": 1}]
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        pennon.write(breaks(), tmp_path / "x.lance")
    assert os.listdir(tmp_path) == []
    with pytest.raises(pennon.InvalidArgument, match="nothing was written"):
        with pennon.Writer(tmp_path / "x.lance"):
            pass
    w = pennon.Writer(tmp_path / "x.lance")
    w.write([{"a": 1}])
    assert len(os.listdir(tmp_path)) == 1
    del w
    assert os.listdir(tmp_path) == []


def test_a_writer_with_a_schema_writes_a_file_without_rows(tmp_path):
    with pennon.Writer(tmp_path / "x.lance", pennon.schema({"a": "int8"})):
        pass
    assert pennon.open(tmp_path / "x.lance").num_rows == 0


def test_a_wrong_batch_does_not_spoil_the_file(tmp_path):
    path = tmp_path / "x.lance"
    with pennon.Writer(path) as w:
        w.write([{"a": 1}])
        with pytest.raises(pennon.InvalidArgument):
            w.write([{"a": "x"}])
        with pytest.raises(pennon.InvalidArgument, match="key 'b'"):
            w.write([{"b": 1}])
        w.write([{"a": 2}])
    assert [r["a"] for r in rows(pennon.open(path).to_table())] == [1, 2]


@needs_numpy
def test_numpy_arrays_are_columns(tmp_path):
    np = pytest.importorskip("numpy")
    path = tmp_path / "x.lance"
    vectors = np.arange(24, dtype="float32").reshape(4, 6)
    columns = {kind: np.array([0, 1, 100, 7], dtype=kind) for kind in "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()}
    columns |= {
        "bool": np.array([True, False, True, True]),
        "vectors": vectors,
        "cube": vectors.reshape(4, 2, 3),
        "backwards": np.arange(4)[::-1],
        "columns_first": np.asfortranarray(vectors),
        "big": np.arange(4, dtype=">i4"),
        "text": np.array(["a", "bc", "", "d"]),
        "objects": np.array([1, None, 2, 3], dtype=object),
        "time": np.array(["2026-01-01T00:00:01", "NaT", "1969-12-31", "2000-01-01"], dtype="M8[ms]"),
        "day": np.array(["2026-01-01", "NaT", "1969-12-31", "2000-01-01"], dtype="M8[D]"),
        "span": np.array([1, 2, 3, 4], dtype="m8[ns]") * 1000,
        "masked": np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]),
    }
    pennon.write(columns, path)
    f = pennon.open(path)
    found = rows(f.to_table())
    for kind in list(columns)[:11]:
        assert [r[kind] for r in found] == [0, 1, 100, 7], kind
    assert [r["bool"] for r in found] == [True, False, True, True]
    assert [r["vectors"] for r in found] == [r["columns_first"] for r in found] == vectors.tolist()
    assert [r["cube"] for r in found] == vectors.reshape(4, 2, 3).tolist()
    assert [r["backwards"] for r in found] == [3, 2, 1, 0] and [r["big"] for r in found] == [0, 1, 2, 3]
    assert [r["text"] for r in found] == ["a", "bc", "", "d"] and [r["objects"] for r in found] == [1, None, 2, 3]
    assert found[0]["time"] == dt.datetime(2026, 1, 1, 0, 0, 1) and found[1]["time"] is None
    assert [r["day"] for r in found] == [dt.date(2026, 1, 1), None, dt.date(1969, 12, 31), dt.date(2000, 1, 1)]
    assert found[3]["span"] == dt.timedelta(microseconds=4)
    assert [r["masked"] for r in found] == [1, None, 3, 4]
    names = {"int8": "int8", "float16": "halffloat", "vectors": "fixed_size_list"}
    for name, kind in names.items():
        assert kind in str(f.schema.field(name).type)


@needs_numpy
def test_arrays_are_taken_without_a_copy_and_stay_alive(tmp_path):
    np = pytest.importorskip("numpy")
    # The array is gone before the writer comes to it.
    data = ({"x": np.full(100_000, i)} for i in range(5))
    pennon.write(data, tmp_path / "x.lance")
    found = pennon.open(tmp_path / "x.lance")
    assert [found[i * 100_000 + 99_999]["x"] for i in range(5)] == [0, 1, 2, 3, 4]
    assert pennon.write({"x": np.zeros((0, 3)), "y": np.zeros(0, bool)}, tmp_path / "x.lance") == 0
    with pytest.raises(pennon.InvalidArgument, match='column "x"'):
        pennon.write({"x": np.array(3)}, tmp_path / "y.lance")


@needs_numpy
def test_numpy_values_inside_rows_are_python_values(tmp_path):
    np = pytest.importorskip("numpy")
    data = [{"a": np.int32(1), "b": np.float32(0.5), "c": np.array([1, 2]), "d": np.bool_(True), "e": np.str_("x")}]
    pennon.write(data, tmp_path / "x.lance")
    assert pennon.open(tmp_path / "x.lance")[0] == {"a": 1, "b": 0.5, "c": [1, 2], "d": True, "e": "x"}


@needs_pyarrow
def test_pandas_frames_are_written_with_and_without_an_index(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "s": ["x", None], "t": pd.to_datetime(["2026-01-01", None])})
    pennon.write(frame, tmp_path / "x.lance")
    back = pennon.open(tmp_path / "x.lance").to_table().to_pandas()
    pd.testing.assert_frame_equal(back, frame)
    pennon.write(frame.set_index("s"), tmp_path / "y.lance")
    pd.testing.assert_frame_equal(pennon.open(tmp_path / "y.lance").to_table().to_pandas(), frame.set_index("s"))


@needs_pyarrow
def test_arrow_data_of_every_shape_is_written(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "x.lance"
    table = pa.table({"a": pa.chunked_array([[1], [2, None]]), "s": ["x", "y", "z"]}, metadata={"k": "v"})
    for data in [table, table.to_reader(), table.to_batches(), iter(table.to_batches()), pa.RecordBatchReader.from_stream(table)]:
        assert pennon.write(data, path) == 3
        assert pennon.open(path).to_table() == table
    assert pennon.open(path).metadata == {"k": "v"}
    batch = pa.record_batch({"x": [1, 2]})
    pennon.write(batch, path)
    assert pennon.open(path).to_table().to_batches()[0] == batch
    pennon.write({"a": pa.array([1, 2], pa.int8()), "b": pa.chunked_array([["x"], ["y"]])}, path)
    assert pennon.open(path).schema.field("a").type == pa.int8()
    with pytest.raises(pennon.InvalidArgument, match="a column of int64 where a table is due"):
        pennon.write(pa.array([1, 2]), path)
    with pytest.raises(pennon.InvalidArgument, match='column "x" is utf8 in a batch, and int64 in the file'):
        pennon.write([batch, pa.record_batch({"x": ["a"]})], path)
    pennon.write(pa.table({"x": pa.array([1, 2], pa.int64())}), path, schema=pa.schema([("x", pa.int16())]))
    assert pennon.open(path).schema.field("x").type == pa.int16()


@needs_pyarrow
def test_polars_frames_are_written(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, 2], "s": ["x", None], "l": [[1.5], []]})
    pennon.write(frame, tmp_path / "x.parquet")
    assert pl.DataFrame(pennon.open(tmp_path / "x.parquet")).equals(frame)


def test_a_list_that_holds_itself_is_an_error(tmp_path):
    loop = [1]
    loop.append(loop)
    with pytest.raises(pennon.InvalidArgument):
        pennon.write({"x": [loop]}, tmp_path / "x.lance")
    deep = []
    deep.append(deep)
    with pytest.raises(pennon.InvalidArgument, match="nested more than 60 deep"):
        pennon.write({"x": deep}, tmp_path / "x.lance")
    loop = []
    loop.append(loop)
    with pytest.raises(pennon.InvalidArgument, match="more than 8 deep"):
        pennon.write(loop, tmp_path / "x.lance")
    with pytest.raises(TypeError, match="expected a schema"):
        pennon.Writer(tmp_path / "x.lance", {"a": "int8"})


def test_presets_choose_between_size_and_speed(tmp_path):
    data = {"n": [i * 3 for i in range(50_000)], "s": [{"t": f"row {i % 5000}"} for i in range(50_000)]}

    def sizes(**options):
        path = tmp_path / "presets.lance"
        assert pennon.write(data, path, **options) == 50_000
        assert pennon.open(path)[49_999] == {"n": 149_997, "s": {"t": "row 4999"}}
        return {c["path"]: c["bytes"] for c in pennon.open(path).inspect()["columns"]}

    fast, small = sizes(preset="fast"), sizes(preset="small", thorough=True)
    assert sizes(preset="balanced") == sizes()
    assert small["n"] * 3 < fast["n"] and small["s.t"] <= fast["s.t"]
    mixed = sizes(preset="fast", column_presets={"n": "small"}, thorough=True)
    assert mixed["n"] == small["n"] and mixed["s.t"] == fast["s.t"]
    assert sizes(preset="fast", column_presets={"s": "small"}, thorough=True)["s.t"] == small["s.t"]
    with pennon.Writer(tmp_path / "w.lance", preset="fast", column_presets={"n": "small"}, thorough=True) as w:
        w.write(data)
    assert {c["path"]: c["bytes"] for c in pennon.open(tmp_path / "w.lance").inspect()["columns"]} == mixed


@pytest.mark.parametrize(
    "options, kind, says",
    [
        ({"preset": "tiny"}, pennon.InvalidArgument, 'preset: expected balanced, fast or small, found "tiny"'),
        ({"column_presets": {"n": "tiny"}}, pennon.InvalidArgument, 'column_presets["n"]: expected balanced, fast or small'),
        ({"column_presets": {"m": "fast"}}, pennon.InvalidArgument, "expected one of n"),
        ({"column_presets": ["n"]}, TypeError, "expected a dict of columns and presets"),
        ({"column_presets": {"n": 1}}, TypeError, "expected a dict of columns and presets"),
        ({"preset": "fast", "to": "parquet"}, pennon.InvalidArgument, "preset is about Lance files"),
        ({"column_presets": {}, "to": "csv"}, pennon.InvalidArgument, "column_presets is about Lance files"),
        ({"thorough": True, "to": "jsonl"}, pennon.InvalidArgument, "thorough is about Lance files"),
    ],
)
def test_a_wrong_preset_is_answered_with_what_is_expected(tmp_path, options, kind, says):
    with pytest.raises(kind) as error:
        pennon.write([{"n": 1}], tmp_path / "x.lance", **options)
    assert says in str(error.value)
    assert not os.listdir(tmp_path)


def test_a_file_tells_why_it_is_stored_as_it_is(tmp_path):
    path = tmp_path / "why.lance"
    pennon.write({"n": list(range(50_000)), "l": [[i, i + 1] for i in range(50_000)]}, path, compression="none")
    f = pennon.open(path)
    n, items = f.explain_encodings()
    assert (n["path"], items["path"], n["type"]) == ("n", "l.item", "int64")
    assert n["file"]["encodings"] == ["mini-block flat(64)"] and n["bytes"] < n["file"]["bytes"] / 2
    assert n["reasons"] == [{"reason": "costs least", "pages": n["pages"]}]
    chosen = n["candidates"][0]
    assert chosen["chosen_bytes"] == n["bytes"] and chosen["encoding"] == n["encodings"][0]["encoding"]
    assert all(c["cost"] >= chosen["cost"] for c in n["candidates"])
    pennon.write(f, path, preset="small")
    small = pennon.open(path).explain_encodings(["n"], preset="small", format_version="2.2")
    assert [c["bytes"] for c in small] == [small[0]["file"]["bytes"]]
    with pytest.raises(pennon.ColumnNotFound):
        f.explain_encodings(["m"])
    with pytest.raises(pennon.InvalidArgument, match="expected balanced, fast or small"):
        f.explain_encodings(preset="tiny")
    with pytest.raises(pennon.InvalidArgument, match="format_version: expected 2.1 or 2.2"):
        f.explain_encodings(format_version="2.0")
    pennon.write(f, tmp_path / "old.lance", format_version="2.0")
    with pytest.raises(pennon.Unsupported, match="no choice to explain"):
        pennon.open(tmp_path / "old.lance").explain_encodings()
    pennon.write(f, tmp_path / "x.parquet")
    with pytest.raises(pennon.Unsupported, match="Lance files, this is Parquet"):
        pennon.open(tmp_path / "x.parquet").explain_encodings()
