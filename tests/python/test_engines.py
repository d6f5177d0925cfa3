"""DuckDB, Polars and pandas on our files: that their columns and predicates reach the file, and their answers are right."""

import datetime as dt

import pennon
import pytest
from conftest import ROOT

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")


@pytest.fixture(params=["lance", "parquet"])
def f(tmp_path, request):
    path = tmp_path / f"x.{request.param}"
    n = 50_000
    pennon.write(
        pa.table(
            {
                "x": pa.array(range(n)),
                "s": pa.array([f"text {i % 97}" for i in range(n)]),
                "v": pa.array([i / 7 if i % 5 else float("nan") for i in range(n)]),
                "d": pa.array([dt.date(2026, 1, 1) + dt.timedelta(days=i % 400) for i in range(n)]),
                "o": pa.array([{"a": i % 3, "b": None} for i in range(n)]),
                "maybe": pa.array([None if i % 3 else i for i in range(n)]),
            }
        ),
        path,
    )
    return pennon.open(path)


def test_duckdb_pushes_columns_and_predicate_down(f):
    duckdb = pytest.importorskip("duckdb")
    dataset = f.to_dataset()
    found = duckdb.sql("SELECT s, x FROM dataset WHERE x >= 49990 AND s <> 'text 40' ORDER BY x").fetchall()
    assert found == [(f"text {i % 97}", i) for i in range(49_990, 50_000) if i % 97 != 40]
    last = f.last_scan
    assert set(last["columns"]) == {"s", "x"}
    assert "x >= 49990" in last["filter"] and "text 40" in last["filter"]
    assert last["rows"] < 20
    assert sorted(last["read_columns"]) == ["s", "x"]
    assert last["bytes"] < f.explain()["bytes"]


@pytest.mark.parametrize(
    "where",
    ["x < 10", "x IN (1, 5, 70000)", "s LIKE 'text 9%' AND x < 200", "maybe IS NULL AND x < 100", "maybe IS NOT NULL AND x < 9",
     "d BETWEEN DATE '2026-01-03' AND DATE '2026-01-04'", "v > 7000", "v < 3", "v = 'nan'::DOUBLE AND x < 50", "v <> 1",
     "o.a = 2 AND x < 30", "x < 10 OR x > 49990", "NOT (x > 5)", "x % 1000 = 0", "maybe > 49000 OR maybe IS NULL AND x < 5"],
)
def test_duckdb_answers_as_it_does_over_its_own_table(f, where):
    duckdb = pytest.importorskip("duckdb")
    dataset, own = f.to_dataset(), f.to_table()
    query = "SELECT count(*), sum(x), min(s), max(d) FROM {} WHERE " + where
    assert duckdb.sql(query.format("dataset")).fetchall() == duckdb.sql(query.format("own")).fetchall()
    assert duckdb.sql(f"SELECT x FROM dataset WHERE {where} ORDER BY x LIMIT 3").fetchall() == \
        duckdb.sql(f"SELECT x FROM own WHERE {where} ORDER BY x LIMIT 3").fetchall()


def test_duckdb_reads_files_and_scans_as_streams_too(f):
    duckdb = pytest.importorskip("duckdb")
    scan = f.scan(["x"], filter="x < 5")
    assert duckdb.sql("SELECT sum(x) FROM scan").fetchall() == [(10,)]


def test_a_dataset_of_polars_pushes_columns_and_predicate_down(f):
    pl = pytest.importorskip("polars")
    lazy = pl.scan_pyarrow_dataset(f.to_dataset())
    found = lazy.filter(pl.col("x") > 49_997).select("s").collect()
    assert found.height == 2
    last = f.last_scan
    assert set(last["columns"]) <= {"s", "x"} and "x > 49997" in last["filter"] and last["rows"] == 2


def test_scan_polars_pushes_columns_rows_and_predicate_down(f):
    pl = pytest.importorskip("polars")
    lazy = pennon.scan_polars(f)
    assert lazy.collect_schema().names() == f.columns
    found = lazy.filter((pl.col("x") > 49_990) & pl.col("s").str.starts_with("text 4")).select("x").collect()
    assert found["x"].to_list() == [i for i in range(49_991, 50_000) if str(i % 97).startswith("4")]
    last = f.last_scan
    assert last["filter"] == "x > 49990 AND starts_with(s, 'text 4')" or "starts_with(s, 'text 4')" in last["filter"]
    assert last["rows"] == found.height and "d" not in last["read_columns"]
    assert lazy.select("d").head(7).collect().height == 7
    assert f.last_scan["columns"] == ["d"] and f.last_scan["limit"] == 7
    assert lazy.select(pl.len()).collect().item() == 50_000


def conditions():
    pl = pytest.importorskip("polars")
    c = pl.col
    return {
        "compare": c("x") > 49_000,
        "reversed": 10 > c("x"),
        "and_or": ((c("x") < 10) | (c("x") > 49_990)) & (c("s") != "text 3"),
        "not": ~(c("x") < 49_990),
        "in": c("x").is_in([1, 7, 70_000]),
        "not_in": ~c("x").is_in(list(range(49_900))),
        "null": c("maybe").is_null() & (c("x") < 20),
        "not_null": c("maybe").is_not_null() & (c("x") < 20),
        "between": c("x").is_between(5, 10, closed="left"),
        "nan": c("v").is_nan() & (c("x") < 40),
        "nan_is_large": c("v") > 7000,
        "nan_differs": c("v") != 1.0,
        "nan_not": ~(c("v") > 1),
        "nan_equal": (c("v") == float("nan")) & (c("x") < 50),
        "date": c("d") == dt.date(2026, 2, 1),
        "struct": (c("o").struct.field("a") == 2) & (c("x") < 40),
        "text": c("s").str.starts_with("text 9"),
        "two_columns": c("x") == c("maybe"),
        "only_polars": (c("x") % 1000 == 0) & (c("x") > 10_000),
        "only_polars_or": (c("x") % 1000 == 0) | (c("x") == 7),
        "float_of_int": c("x") > 49_990.5,
        "null_literal": c("x") == pl.lit(None),
        "cast": c("x").cast(pl.Int32) == 5,
        "constant": pl.lit(True),
    }


@pytest.mark.parametrize("name", conditions() if pytest.importorskip("polars") else [])
def test_polars_answers_as_it_does_over_its_own_frame(f, name):
    pl = pytest.importorskip("polars")
    condition = conditions()[name]
    frame = pl.DataFrame(f)
    expected = frame.lazy().filter(condition).select("x", "v").collect()
    assert pennon.scan_polars(f).filter(condition).select("x", "v").collect().equals(expected), name
    pushed = f.last_scan["filter"]
    if name not in ("only_polars_or", "float_of_int", "null_literal", "cast", "constant", "nan_equal", "two_columns"):
        assert pushed is not None, name
    assert pennon.scan_polars(f).filter(condition).head(3).collect().equals(frame.lazy().filter(condition).head(3).collect())
    if f.last_scan["limit"] is not None:
        assert f.last_scan["rows"] <= 3


def test_a_dataset_behaves_as_those_of_pyarrow(f):
    dataset, table = f.to_dataset(), f.to_table()
    own = pa.dataset.dataset(table)
    assert isinstance(dataset, pa.dataset.Dataset) and dataset.schema == table.schema
    field = pc.field
    # pyarrow alone can test the second.
    for filter in [field("x") < 5, field("x") + 1 < 5, (field("x") > 49_990) & (field("x") * 2 < 99_990), (field("x") + 1 < 5) | (field("s") == "text 0")]:
        for columns in [None, ["s"], ["d", "x"], {"double": field("x") * 2}, []]:
            expected = own.to_table(columns=columns, filter=filter)
            found = dataset.to_table(columns=columns, filter=filter)
            # As text, in which nan is nan.
            assert found.schema == expected.schema and found.num_rows == expected.num_rows
            assert str(found.to_pylist()) == str(expected.to_pylist()), (filter, columns)
        assert dataset.count_rows(filter=filter) == own.count_rows(filter=filter)
        assert dataset.head(3, columns=["x"], filter=filter) == own.head(3, columns=["x"], filter=filter)
    dataset.to_table(columns=["s"], filter=(field("x") > 49_990) & (field("x") * 2 < 99_990))
    assert f.last_scan["filter"] == "x > 49990"
    assert dataset.count_rows() == 50_000
    assert dataset.take([3, 1], columns=["x"]).to_pylist() == [{"x": 3}, {"x": 1}]
    assert dataset.filter(field("x") < 7).to_table(columns=["x"], filter=field("x") > 4)["x"].to_pylist() == [5, 6]
    assert sum(b.num_rows for b in dataset.to_batches(columns=["x"], batch_size=1000)) == 50_000
    assert dataset.scanner(columns=["x"]).to_reader().schema.names == ["x"]
    with pytest.raises(KeyError):
        dataset.to_table(columns=["nope"])


def test_pandas_takes_a_file_s_table(f):
    pd = pytest.importorskip("pandas")
    frame = f.to_table(["x", "s"], filter="x < 3").to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame["x"].tolist() == [0, 1, 2]


def test_the_flights_of_the_repository_answer_queries():
    duckdb = pytest.importorskip("duckdb")
    path = ROOT / "testdata" / "flights.parquet"
    ours = pennon.open(path).to_dataset()
    name = ours.schema.names[0]
    query = f'SELECT "{name}", count(*) FROM {{}} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5'
    assert duckdb.sql(query.format("ours")).fetchall() == duckdb.sql(query.format(f"'{path}'")).fetchall()
