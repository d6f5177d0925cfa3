"""The examples of docstrings and of the guide run, and the stubs name what there is."""

import ast
import doctest
import inspect
import os

import pennon
import pytest
from conftest import BIRDS, ROOT, has


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pennon.write(BIRDS, "birds.lance")
    return tmp_path


def documented():
    yield "pennon", pennon.__doc__
    for name in pennon.__all__:
        thing = getattr(pennon, name)
        yield name, thing.__doc__
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", value.__doc__


WITH_EXAMPLES = [(name, doc) for name, doc in documented() if doc and ">>>" in doc]


@pytest.mark.parametrize("name, doc", WITH_EXAMPLES, ids=[n for n, _ in WITH_EXAMPLES])
def test_the_examples_of_a_docstring_run(place, name, doc):
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("guide", ["python.md"])
def test_the_examples_of_the_guide_run(place, guide):
    if not (has("pyarrow") and has("duckdb") and has("polars") and has("pandas")):
        pytest.skip("the guide shows other libraries")
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(ROOT / "docs" / guide), module_relative=False, optionflags=options)
    assert found.attempted > 20 and not found.failed


def test_everything_public_is_documented():
    missing = [name for name, doc in documented() if not doc and not name.endswith(("__",))]
    assert not [n for n in missing if not n.startswith(("Field.", "Table.", "RecordBatch.", "MonthDayNano"))]


def test_the_stubs_name_what_there_is():
    folder = os.path.dirname(pennon.__file__)
    with open(os.path.join(folder, "_pennon.pyi")) as stub:
        tree = ast.parse(stub.read())
    import pennon._pennon as native

    defined = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            members = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
            defined[node.name] = set(members)
    there = {n for n in vars(native) if not n.startswith("_")}
    assert set(defined) >= there, there - set(defined)
    for name, members in defined.items():
        thing = getattr(native, name, None)
        if thing is None or not inspect.isclass(thing):
            continue
        own = {m for m in vars(thing) if not m.startswith("_")}
        assert own <= members, (name, own - members)
        assert {m for m in members if not m.startswith("_")} <= own, name


def test_the_stubs_check(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    script = tmp_path / "use.py"
    script.write_text(
        "import pennon\n"
        "f = pennon.open('x')\n"
        "n: int = f.num_rows\n"
        "f.to_table(['a'], filter=(pennon.col('a') > 1) & ~pennon.col('b').is_null(), limit=3)\n"
        "for batch in f.to_batches(batch_size=10): batch.num_rows\n"
        "with pennon.Writer('y', compression='zstd') as w: w.write([{'a': 1}])\n"
    )
    out, err, code = mypy.run(["--strict-optional", "--cache-dir", str(tmp_path / "cache"), str(script)])
    assert code == 0, out + err
