"""Tables of our own, which readers return where pyarrow is not installed. In the other environment pyarrow is hidden from a child."""

import subprocess
import sys
import textwrap

import pennon
import pytest
from conftest import ROOT, has

SCRIPT = """
import sys
sys.modules["pyarrow"] = None
sys.modules["numpy"] = None
sys.modules["pandas"] = None
import pennon

data = [{"id": 1, "name": "auk", "tags": ["a", None]}, {"id": 2, "name": None, "tags": None}]
assert pennon.write(data, sys.argv[1] + "/x.lance") == 2
f = pennon.open(sys.argv[1] + "/x.lance")

table = f.to_table()
assert type(table) is pennon.Table and table.to_pylist() == data and len(table) == table.num_rows == 2
assert table.column_names == ["id", "name", "tags"] and table.num_columns == 3
assert table.to_pydict() == {"id": [1, 2], "name": ["auk", None], "tags": [["a", None], None]}
assert type(f.take([1])) is pennon.Table and f.take([1, 0]).column("id").to_pylist() == [2, 1]
assert type(next(f.to_batches())) is pennon.RecordBatch

schema = f.schema
assert type(schema) is pennon.Schema and schema.names == ["id", "name", "tags"] and len(schema) == 3
assert str(schema).splitlines()[2] == "tags: list<utf8>"
assert schema.field("id").type == "int64" and schema.field(-1).name == "tags" and schema.field(0).nullable
assert schema == f.schema and schema.metadata == {}

column = table.column("name")
assert column[0] == "auk" and column[-1] is None and len(column) == 2 and column.null_count == 1
validity, offsets, values = column.buffers()
assert bytes(values) == b"auk" and memoryview(offsets).cast("i").tolist() == [0, 3, 3] and memoryview(validity).readonly
ids = table.column(0)
assert memoryview(ids.buffers()[1]).cast("q").tolist() == [1, 2] and ids.type == "int64"
assert table.column("tags").children()[0].to_pylist() == ["a", None]
for wrong in [lambda: table.column("x"), lambda: schema.field("x")]:
    try:
        wrong()
    except KeyError as e:
        assert "no column" in str(e)
    else:
        raise AssertionError
try:
    table.column(3)
except IndexError:
    pass

assert f[1] == data[1] and f[-2:].to_pylist() == data
assert f.to_table(filter=pennon.col("id") > 1).to_pylist() == data[1:]
assert f.to_table(filter="name IS NULL", columns=["id"]).to_pylist() == [{"id": 2}]
assert list(f.row_numbers("id > 0")) == [0, 1]
pennon.write(table, sys.argv[1] + "/y.parquet")
assert pennon.open(sys.argv[1] + "/y.parquet").to_table().to_pylist() == data
flights = pennon.open(sys.argv[2])
assert flights.format == "parquet" and flights.take([5, 3]).num_rows == 2 and type(flights[0]) is dict
assert flights.count_rows(f"{flights.columns[0]} IS NOT NULL") <= len(flights)
try:
    f.to_dataset()
except ImportError:
    pass
else:
    raise AssertionError
assert not any(m == "numpy" or m.startswith("numpy.") for m in sys.modules if sys.modules[m] is not None)
print("fine")
"""


def test_reading_and_writing_need_no_other_package(tmp_path):
    flights = ROOT / "testdata" / "flights.parquet"
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path), str(flights)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


@pytest.mark.skipif(not has("pyarrow"), reason="pyarrow is not installed")
def test_importing_pennon_imports_no_other_package():
    code = "import sys, pennon; print(sorted({m.split('.')[0] for m in sys.modules} & {'pyarrow', 'numpy', 'pandas', 'polars', 'torch'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert pennon.__version__ == version("pennon")
