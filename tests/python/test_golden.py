"""Files of the official library through Python: values, types, rows as dicts, any slice."""

import importlib.util
import json
import math
import os

import pennon
import pytest
from conftest import ROOT, golden_folder

pa = pytest.importorskip("pyarrow")
FOLDER = golden_folder()
FILES = [json.loads(line) for line in (FOLDER / "manifest.jsonl").read_text().splitlines()]


def comparison():
    """``table_diff`` of the larger collection, which compares by its rules; else equality of all rows."""
    path = FOLDER.parent / "compare.py"
    if not path.exists():
        return rows_differ
    spec = importlib.util.spec_from_file_location("golden_compare", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.table_diff


def plain_type(t):
    """A type by what counts when golden files are compared: not by names of items, nullability or metadata."""
    if isinstance(t, pa.BaseExtensionType):
        return plain_type(t.storage_type)
    if pa.types.is_struct(t):
        return ("struct", [(t.field(i).name, plain_type(t.field(i).type)) for i in range(t.num_fields)])
    if pa.types.is_map(t):
        return ("map", plain_type(t.key_type), plain_type(t.item_type))
    if pa.types.is_fixed_size_list(t):
        return ("fsl", t.list_size, plain_type(t.value_type))
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return (type(t).__name__, plain_type(t.value_type))
    if pa.types.is_dictionary(t):
        return ("dictionary", t.index_type, plain_type(t.value_type))
    return t


def same(a, b):
    """Equal, and NaN equal to NaN."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or math.isnan(a) and math.isnan(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def rows_of_pyarrow(table):
    try:
        return table.to_pylist()
    except Exception:
        return None


def rows_differ(a, b):
    rows = rows_of_pyarrow(a), rows_of_pyarrow(b)
    equal = a.equals(b) if None in rows else same(*rows)
    return None if equal else "tables differ"


table_diff = comparison()


@pytest.mark.parametrize("entry", FILES, ids=[e["file"] for e in FILES])
def test_a_golden_file_is_what_it_should_be(entry):
    if entry["version"] == "2.3":
        with pytest.raises(pennon.Unsupported, match="unstable"):
            pennon.open(FOLDER / entry["file"])
    f = pennon.open(FOLDER / entry["file"], unstable=entry["version"] == "2.3")
    with pa.OSFile(str(FOLDER / entry["expected"])) as source:
        expected = pa.ipc.open_file(source).read_all()
    assert (f.format, f.format_version, f.num_rows) == ("lance", entry["version"], entry["rows"])
    table = f.to_table()
    table.validate(full=True)
    assert table_diff(table, expected) is None
    assert table.schema == f.schema
    for ours, theirs in zip(table.schema, expected.schema):
        assert ours.name == theirs.name
        assert plain_type(ours.type) == plain_type(theirs.type), ours.name
        assert (ours.metadata or {}) == (theirs.metadata or {}) or isinstance(ours.type, pa.BaseExtensionType)
    assert (table.schema.metadata or {}) == (expected.schema.metadata or {})
    count = table.num_rows
    picks = [i for i in (count - 1, 0, count // 2, 0) if 0 <= i < count]
    wanted = pa.array(picks, pa.int64())
    assert table_diff(f.take(wanted), table.take(wanted)) is None
    assert table_diff(f.to_table(offset=count // 3, limit=50), table.slice(count // 3, 50)) is None
    if count and len(table.schema.names) == len(set(table.schema.names)):
        theirs = rows_of_pyarrow(table.take(wanted))
        ours = [f[i] for i in picks]
        assert theirs is None or same(ours, theirs)


def test_the_larger_collection_is_there_when_it_should_be():
    if os.environ.get("PENNON_SHARED"):
        assert FOLDER != ROOT / "testdata" / "golden"
    assert len(FILES) > 50
