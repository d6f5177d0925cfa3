"""Opening and reading: what a handle knows, rows by range and by number, and errors as Python has them."""

import io
import pathlib

import pennon
import pytest
from conftest import BIRDS, ROOT, needs_numpy, needs_pyarrow, rows


def test_a_handle_says_what_the_file_is(birds):
    assert (birds.format, birds.format_version, birds.num_rows, len(birds)) == ("lance", "2.2", 3, 3)
    assert birds.columns == ["name", "wings"]
    assert birds.metadata == {}
    assert birds.path.endswith("birds.lance")
    assert "birds.lance (lance): 3 rows, 2 columns" in repr(birds)
    assert birds.schema.names == ["name", "wings"]


def test_tables_have_the_columns_and_rows_that_were_asked(birds):
    assert rows(birds.to_table()) == BIRDS
    assert rows(birds.to_table(["wings", "name"], offset=1, limit=1)) == [{"wings": 0, "name": "kiwi"}]
    assert birds.to_table(columns=["wings", "name"]).column_names == ["wings", "name"]
    assert rows(birds.head(2, ["name"])) == [{"name": "auk"}, {"name": "kiwi"}]
    assert birds.to_table(offset=3).num_rows == birds.to_table(limit=0).num_rows == 0
    assert birds.to_table(columns=[]).num_rows == 3


def test_batches_keep_within_the_size_that_was_asked(numbers):
    sizes = [b.num_rows for b in numbers.to_batches(["x"], batch_size=3000, offset=100)]
    assert sum(sizes) == 9900 and max(sizes) <= 3000
    assert max(b.num_rows for b in numbers.to_batches(batch_bytes=10_000)) < 2000
    assert sum(b.num_rows for b in numbers.scan(["s"], limit=70)) == 70


@pytest.mark.parametrize("indices", [[2, 0, 2], (2, 0, 2), iter([2, 0, 2]), memoryview(b"\2\0\2")])
def test_takes_keep_order_and_repeats(birds, indices):
    assert [r["name"] for r in rows(birds.take(indices))] == ["owl", "auk", "owl"]


def test_takes_are_ranges_and_slices_too(numbers):
    def taken(indices):
        return [r["x"] for r in rows(numbers.take(indices, columns=["x"]))]

    assert taken(range(9, 3, -3)) == [9, 6]
    assert taken(slice(-3, None)) == [9997, 9998, 9999]
    assert taken(slice(5, 1, -2)) == [5, 3]
    assert numbers.take([]).num_rows == 0 and numbers.take([]).column_names == ["x", "s"]


@needs_numpy
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_takes_are_numpy_arrays_of_any_integers(numbers, kind):
    np = pytest.importorskip("numpy")
    asked = np.array([3, 1, 100, 1], dtype=kind)
    assert [r["x"] for r in rows(numbers.take(asked))] == [3, 1, 100, 1]
    assert [r["x"] for r in rows(numbers.take(asked[::-2]))] == [1, 1]
    assert numbers[asked[0]]["x"] == 3
    with pytest.raises(TypeError, match="integers?|dimension"):
        numbers.take(np.array([[1]]))
    with pytest.raises(TypeError, match="integer"):
        numbers.take(np.array([1.0]))
    with pytest.raises(TypeError, match="integer"):
        numbers.take(np.array([True]))


@needs_pyarrow
def test_takes_are_arrow_arrays(numbers):
    pa = pytest.importorskip("pyarrow")
    asked = pa.chunked_array([[3], [], [1, 3]], pa.int32())
    assert numbers.take(asked)["x"].to_pylist() == [3, 1, 3]
    assert numbers.take(asked.combine_chunks())["x"].to_pylist() == [3, 1, 3]
    with pytest.raises(pennon.InvalidArgument, match="1 of the row numbers are null"):
        numbers.take(pa.array([1, None]))
    with pytest.raises(IndexError, match="row -1 is out of range"):
        numbers.take(pa.array([-1]))


@pytest.mark.parametrize("bad", [-1, 3, 10**30, -(10**30)])
def test_a_row_that_is_not_there_is_an_index_error_naming_it_and_the_count(birds, bad):
    with pytest.raises(IndexError, match=f"row {bad} is out of range: .*birds.lance has 3 rows") as e:
        birds.take([0, bad])
    assert isinstance(e.value, pennon.InvalidArgument)


def test_single_rows_and_slices_are_those_of_a_list(birds):
    assert birds[0] == BIRDS[0] and birds[-1] == BIRDS[-1] and birds[True] == BIRDS[1]
    for s in [slice(0, 2), slice(-2, None), slice(5, 9), slice(None, None, 2), slice(None, None, -1), slice(2, 0)]:
        assert rows(birds[s]) == BIRDS[s], s
    for bad in [3, -4]:
        with pytest.raises(IndexError, match=f"row {bad} is out of range"):
            birds[bad]
    for bad in ["name", 1.5, None]:
        with pytest.raises(TypeError):
            birds[bad]
    with pytest.raises(TypeError, match="to_batches"):
        iter(birds)


@pytest.mark.parametrize("columns", [["nope"], ["name.x"], [""]])
def test_a_wrong_column_is_a_key_error_and_says_what_there_is(birds, columns):
    for ask in [birds.to_table, birds.to_batches, birds.scan, lambda c: birds.take([0], c), birds.explain]:
        with pytest.raises(KeyError) as e:
            ask(columns)
        assert isinstance(e.value, pennon.InvalidArgument)
        assert str(e.value).startswith(e.value.args[0]) and "no column" in str(e.value)


def test_missing_files_and_folders_are_the_errors_of_python(tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        pennon.open(tmp_path / "nothing.lance")
    assert isinstance(e.value, pennon.Error)
    assert e.value.filename.endswith("nothing.lance") and e.value.errno == 2
    with pytest.raises(IsADirectoryError):
        pennon.open(tmp_path)
    with pytest.raises(TypeError, match="expected a path, bytes, or a file-like object"):
        pennon.open(42)


def test_damage_is_a_corrupt_file_error_with_its_place(birds):
    data = bytearray(pathlib.Path(birds.path).read_bytes())
    made_of = birds.inspect()
    page = made_of["columns"][0]["pages"][0]["buffers"]
    at = next(b["offset"] for b in page if b["bytes"])
    data[at] ^= 0x55
    with pytest.raises(pennon.CorruptFile) as e:
        pennon.open(bytes(data)).to_table()
    assert e.value.column == "name" and e.value.page == 0 and e.value.offset is not None
    with pytest.raises(pennon.Error):
        pennon.open(bytes(data[:50]))


class ReadAt:
    """The least that a file-like object can be."""

    def __init__(self, data):
        self.data, self.reads = data, []

    def __len__(self):
        return len(self.data)

    def read_at(self, offset, length):
        self.reads.append((offset, length))
        return self.data[offset : offset + length]


class Short(io.RawIOBase):
    """Gives half of what it is asked for, as sockets do."""

    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def seek(self, *a):
        return self.inner.seek(*a)

    def read(self, n):
        return self.inner.read(max(1, n // 2))


class IntoOnly:
    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def seek(self, *a):
        return self.inner.seek(*a)

    def readinto(self, space):
        return self.inner.readinto(space)


@pytest.mark.parametrize("to", ["lance", "parquet", "arrow", "arrows", "jsonl", "csv"])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO, ReadAt, Short, IntoOnly, "path", "file"])
def test_every_format_is_read_from_every_kind_of_source(tmp_path, to, kind):
    path = tmp_path / f"birds.{to}"
    pennon.write(BIRDS, path)
    if kind == "path":
        f = pennon.open(str(path))
    elif kind == "file":
        f = pennon.open(open(path, "rb"))
    else:
        f = pennon.open(kind(path.read_bytes()), format=to if to in ("csv", "jsonl") else None)
    assert f.format == to and (f.path is None) == (kind != "path")
    assert f.num_rows == 3
    assert rows(f.to_table()) == BIRDS
    assert rows(f.take([2, 1, 2], ["name"])) == [{"name": n} for n in ("owl", "kiwi", "owl")]
    assert f[-2] == BIRDS[1] and rows(f[1:]) == BIRDS[1:]


def test_file_like_objects_are_read_in_pieces(tmp_path):
    path = tmp_path / "big.lance"
    pennon.write({"a": list(range(200_000)), "b": [f"{i:050}" for i in range(200_000)]}, path)
    source = ReadAt(path.read_bytes())
    f = pennon.open(source)
    assert f[150_000]["a"] == 150_000
    assert sum(n for _, n in source.reads) < len(source.data) / 4


def test_an_exception_of_a_file_like_object_comes_through(tmp_path):
    class Breaks(ReadAt):
        def read_at(self, offset, length):
            if self.reads:
                raise ZeroDivisionError("the disk is on fire")
            return super().read_at(offset, length)

    path = tmp_path / "x.lance"
    pennon.write({"a": [f"{i:0100}" for i in range(20_000)]}, path)
    with pytest.raises(ZeroDivisionError, match="on fire"):
        pennon.open(Breaks(path.read_bytes()), format="lance").to_table()


def test_the_flights_of_the_repository_are_read_as_parquet_by_our_own_reader():
    f = pennon.open(ROOT / "testdata" / "flights.parquet")
    assert f.format == "parquet" and f.format_version is None
    assert f.num_rows == f.to_table(columns=[f.columns[0]]).num_rows > 1000
    first = f[0]
    assert list(first) == f.columns
    assert f.explain([f.columns[0]])["bytes"] < f.explain()["bytes"]
    with pytest.raises(pennon.Unsupported, match="Parquet"):
        f.inspect()
    assert "parquet" in f._repr_html_()


def test_inspect_has_the_shape_of_the_command_line(numbers):
    made_of = numbers.inspect()
    assert set(made_of) >= {"format", "format_version", "file_bytes", "num_rows", "metadata_bytes", "global_buffers", "columns"}
    assert [c["path"] for c in made_of["columns"]] == ["x", "s"]
    page = made_of["columns"][0]["pages"][0]
    assert set(page) >= {"first_row", "num_rows", "layout", "encoding", "levels", "buffers"}
    html = numbers._repr_html_()
    assert "<svg" in html and "10,000 rows" in html and "<script" not in html
    assert html.count("<") == html.count(">")


def test_explain_counts_the_pages_of_the_columns_and_rows_asked(numbers):
    everything, one = numbers.explain(), numbers.explain(["x"])
    assert everything["columns"] == ["s", "x"] and one["columns"] == ["x"]
    assert 0 < one["bytes"] < everything["bytes"] <= numbers.inspect()["file_bytes"]
    assert numbers.explain(offset=5, limit=0)["pages"] == 0
    filtered = numbers.explain(["s"], "x < 10")
    assert filtered["filter_columns"] == ["x"] and filtered["filter_bytes"] == one["bytes"]
    assert filtered["columns"] == ["s", "x"]


def test_last_scan_says_what_was_asked_of_the_file(numbers):
    assert numbers.last_scan is None
    numbers.to_table(["x"], "x < 10", limit=5)
    last = numbers.last_scan
    assert (last["kind"], last["columns"], last["filter"], last["rows"]) == ("scan", ["x"], "x < 10", 5)
    assert last["bytes"] == numbers.explain(["x"], "x < 10")["bytes"]
    numbers.take([1, 2, 1], ["s"])
    last = numbers.last_scan
    assert (last["kind"], last["columns"], last["rows"], last["read_columns"]) == ("take", ["s"], 3, ["s"])


def test_nested_columns_are_found_by_path(tmp_path):
    path = tmp_path / "nested.lance"
    data = [{"a": {"b": 1, "c d": "x"}, "l": [{"k": True}]}, {"a": {"b": 2, "c d": None}, "l": []}]
    pennon.write(data, path)
    f = pennon.open(path)
    assert rows(f.to_table(["a.b"])) == [{"a": {"b": 1}}, {"a": {"b": 2}}]
    assert rows(f.to_table(["a.`c d`"])) == [{"a": {"c d": "x"}}, {"a": {"c d": None}}]
    assert rows(f.to_table(["l.item.k"])) == [{"l": [{"k": True}]}, {"l": []}]


def test_text_where_bytes_are_due_is_a_type_error():
    with pytest.raises(TypeError, match="open it in binary mode"):
        pennon.open(io.StringIO("a,b\n1,2\n"))


def test_strings_that_are_views_are_the_same_strings(birds):
    for table in (birds.to_table(string_views=True), birds.scan(string_views=True).to_table(), birds.take([0, 1, 2], string_views=True)):
        assert rows(table) == BIRDS
    assert [row for batch in birds.to_batches(batch_size=2, string_views=True) for row in rows(batch)] == BIRDS
