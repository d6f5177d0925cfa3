"""Filters: conditions built in Python, as text, and as pyarrow's expressions."""

import datetime as dt
import decimal

import pickle

import pennon
import pytest
from conftest import needs_pyarrow, rows
from pennon import col

DATA = [
    {"i": 1, "f": 1.5, "s": "auk", "b": True, "d": dt.date(2026, 1, 31), "o": {"x": 1}, "y": b"ab"},
    {"i": 2, "f": float("nan"), "s": "o%l", "b": False, "d": dt.date(1969, 1, 1), "o": {"x": None}, "y": b"b"},
    {"i": None, "f": None, "s": None, "b": None, "d": None, "o": None, "y": None},
    {"i": -3, "f": -0.0, "s": "it's", "b": True, "d": dt.date(2026, 2, 1), "o": {"x": 5}, "y": b""},
]


@pytest.fixture(params=["lance", "parquet"])
def f(tmp_path, request):
    path = tmp_path / f"x.{request.param}"
    pennon.write(DATA, path)
    return pennon.open(path)


CONDITIONS = [
    (col("i") > 1, "i > 1", [1]),
    (1 < col("i"), "i > 1", [1]),
    (col("i") != 1, "i != 1", [1, 3]),
    (col("f") == 0, "f = 0", [3]),
    ((col("i") >= 1) & (col("s") == "auk"), "i >= 1 AND s = 'auk'", [0]),
    ((col("i") <= -3) | col("o").is_null(), "i <= -3 OR o IS NULL", [2, 3]),
    (~(col("i") == 1), "NOT i = 1", [1, 3]),
    (col("i").is_in([1, -3, 7]), "i IN (1, -3, 7)", [0, 3]),
    (col("i").is_not_in([1]), "i NOT IN (1)", [1, 3]),
    (col("s").is_valid(), "s IS NOT NULL", [0, 1, 3]),
    (col("s").starts_with("it"), "starts_with(s, 'it')", [3]),
    (col("s").like("%u_"), "s LIKE '%u_'", [0]),
    (col("i").between(1, 2), "i BETWEEN 1 AND 2", [0, 1]),
    (col("f").is_nan(), "is_nan(f)", [1]),
    (col("b") & True, "b AND TRUE", [0, 3]),
    (col("d") >= dt.date(2026, 2, 1), "d >= DATE '2026-02-01'", [3]),
    (col("o")["x"] > 1, "o.x > 1", [3]),
    (col("o.x") == 1, "o.x = 1", [0]),
    (col("y") == b"ab", "y = X'6162'", [0]),
    (col("i") == decimal.Decimal("1.0"), "i = 1", [0]),
    (col("s") == "it's", "s = 'it''s'", [3]),
]


@pytest.mark.parametrize("condition, text, passing", CONDITIONS, ids=[t for _, t, _ in CONDITIONS])
def test_a_condition_is_its_text_and_keeps_the_rows_it_is_true_for(f, condition, text, passing):
    assert repr(condition).lower() == text.lower() or repr(condition) == text.replace("!=", "<>")
    for filter in [condition, text, pennon.expr(text), pickle.loads(pickle.dumps(condition))]:
        assert [r["s"] for r in rows(f.to_table(["s"], filter=filter))] == [DATA[i]["s"] for i in passing]
    assert f.count_rows(condition) == len(passing)
    assert list(f.row_numbers(text)) == passing
    assert rows(f.to_table(["d"], text, offset=1, limit=1)) == [{"d": DATA[i]["d"]} for i in passing[1:2]]
    assert sum(b.num_rows for b in f.to_batches(filter=condition)) == len(passing)


def test_a_boolean_column_is_a_condition(f):
    assert f.count_rows(col("b")) == 2 and f.count_rows(~col("b")) == 1


def test_conditions_that_do_not_fit_are_told_before_anything_is_read(f):
    for wrong, message in [("nope = 1", "no column"), (col("nope").is_null(), "no column")]:
        with pytest.raises(KeyError, match=message):
            f.scan(filter=wrong)
    for wrong, message in [("i = 'x'", "i"), (col("s") > 1, "s"), ("i >", "expected"), ("i = 1.5", "1.5"), ("f LIKE 'x'", "f")]:
        with pytest.raises(pennon.InvalidArgument, match=message):
            f.scan(filter=wrong)
    for wrong in [7, b"i = 1", [("i", "=", 1)]]:
        with pytest.raises(TypeError, match="filter: expected"):
            f.scan(filter=wrong)
    assert f.last_scan is None


def test_python_s_own_words_for_joining_are_refused():
    with pytest.raises(TypeError, match="& | ~"):
        col("a") and col("b")
    with pytest.raises(TypeError, match="& | ~"):
        1 < col("a") < 3
    with pytest.raises(TypeError, match="asked of a column"):
        (col("a") > 1).is_null()
    with pytest.raises(TypeError):
        col("a").is_in("abc")
    with pytest.raises(pennon.InvalidArgument, match="is_null"):
        col("a") == None  # noqa: E711
    with pytest.raises(TypeError):
        {col("a")}


@needs_pyarrow
def test_expressions_of_pyarrow_mean_what_they_mean_there(f):
    pa = pytest.importorskip("pyarrow")
    pc = pytest.importorskip("pyarrow.compute")
    field = pc.field
    table = f.to_table()
    for expression in [
        field("i") > 1,
        (field("i") >= 1) & (field("s") == "auk"),
        (field("i") < 0) | field("o").is_null(),
        ~(field("i") == 1),
        pc.scalar(1) < field("i"),
        field("f") != 1.5,
        ~(field("f") != 1.5),
        field("f") > -1,
        field("f").is_nan(),
        field("f").is_null(nan_is_null=True),
        field("i").isin([1, -3]),
        field("i").isin([1, None]),
        ~field("i").isin([1]),
        field("s").is_valid(),
        pc.starts_with(field("s"), "it"),
        pc.ends_with(field("s"), "l"),
        pc.match_substring(field("s"), "o%"),
        pc.match_like(field("s"), "o\\%_"),
        field("o", "x") == 5,
        field("d") == dt.date(2026, 1, 31),
        field("y") == b"ab",
        field("b"),
        ~field("b"),
        pc.scalar(True),
        field("d") > pa.scalar(dt.date(2000, 1, 1)),
    ]:
        assert f.to_table(filter=expression).select(["i", "s"]) == table.filter(expression).select(["i", "s"]), expression
    for wrong in [field("i") + 1 > 2, pc.starts_with(field("s"), "a", ignore_case=True), field("i").cast("int8") == 1, pc.utf8_upper(field("s")) == "X"]:
        with pytest.raises(pennon.Unsupported, match="a filter with"):
            f.to_table(filter=wrong)
    with pytest.raises(KeyError):
        f.to_table(filter=field("nope") == 1)


@needs_pyarrow
def test_values_of_other_libraries_are_literals(tmp_path):
    pa, np, pd = pytest.importorskip("pyarrow"), pytest.importorskip("numpy"), pytest.importorskip("pandas")
    path = tmp_path / "x.lance"
    pennon.write(pa.table({"t": pa.array([1_700_000_000_000_000_001], pa.timestamp("ns")), "z": pa.array([0], pa.timestamp("us", "Europe/Berlin")), "n": [5]}), path)
    f = pennon.open(path)
    for condition in [
        col("t") == pd.Timestamp(1_700_000_000_000_000_001),
        col("t") > np.datetime64("2023-11-14"),
        col("z") == dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        col("n") == np.int8(5),
        col("n") <= np.float64(5),
        col("n").is_in(np.array([4, 5])),
        col("n").is_in(pa.array([4, 5])),
        col("n") == pa.scalar(5),
    ]:
        assert f.count_rows(condition) == 1, condition


def test_what_statistics_rule_out_is_not_read(tmp_path):
    n = list(range(200_000))
    with_them, without = tmp_path / "with.lance", tmp_path / "without.lance"
    pennon.write({"n": n, "text": [f"row {i}" for i in n]}, with_them)
    pennon.write({"n": n, "text": [f"row {i}" for i in n]}, without, stats=False)
    one, other = pennon.open(with_them), pennon.open(without)
    assert [c["path"] for c in one.statistics()] == ["n", "text"] and other.statistics() == []
    for condition, rows in [("n < 100", 100), ("n >= 150000", 50_000), ("n = 12345", 1), ("n IS NULL", 0)]:
        assert one.count_rows(condition) == other.count_rows(condition) == rows
        narrow, wide = one.explain(["text"], condition), other.explain(["text"], condition)
        assert narrow["rows"] <= rows + 2 * 8192 < wide["rows"] == 200_000
        assert narrow["statistics_bytes"] > 0 == wide["statistics_bytes"]
