"""What the tests of the package share. They run twice: with pyarrow, NumPy, pandas, DuckDB and Polars, and without any of them."""

import importlib.util
import os
import pathlib

import pytest

import pennon

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has(module):
    return importlib.util.find_spec(module) is not None


needs_pyarrow = pytest.mark.skipif(not has("pyarrow"), reason="pyarrow is not installed")
needs_numpy = pytest.mark.skipif(not has("numpy"), reason="NumPy is not installed")


def golden_folder():
    """The larger collection of golden files where there is one, else that of the repository."""
    shared = pathlib.Path(os.environ.get("PENNON_SHARED", ROOT.parent / "shared")) / "golden" / "lance"
    return shared if shared.is_dir() else ROOT / "testdata" / "golden"


BIRDS = [
    {"name": "auk", "wings": 2},
    {"name": "kiwi", "wings": 0},
    {"name": "owl", "wings": 2},
]


@pytest.fixture
def birds(tmp_path):
    path = tmp_path / "birds.lance"
    pennon.write(BIRDS, path)
    return pennon.open(path)


@pytest.fixture
def numbers(tmp_path):
    """10,000 rows: x is the row's number, s its text."""
    path = tmp_path / "numbers.lance"
    pennon.write({"x": list(range(10_000)), "s": [str(i) for i in range(10_000)]}, path)
    return pennon.open(path)


def rows(table):
    return table.to_pylist()
