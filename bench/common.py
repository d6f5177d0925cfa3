"""What the benchmarks share: the tables, running pennon, pylance's file writer, comparing values, printing."""
import json
import math
import os
import pathlib
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
ENGINE = HERE.parent / "target/release/pennon"
STRUCTURED = ["lineitem", "flights", "text", "cities", "nested"]
TABLES = [*STRUCTURED, "embeddings", "images", "blobs", "wide"]
PRESETS = ["balanced", "fast", "small"]
VERSIONS = ["2.1", "2.2"]
# pylance warns of options in golden tables that it leaves aside.
os.environ.setdefault("LANCE_LOG", "error")


def words(text):
    """An argument of names separated by commas."""
    return [word for word in text.split(",") if word]


def chosen(names):
    """The type of an argument that picks some of `names`, separated by commas."""

    def parse(text):
        unknown = [word for word in words(text) if word not in names]
        if unknown:
            raise argparse_error(f"{', '.join(unknown)}: expected some of {', '.join(names)}")
        return words(text)

    return parse


def argparse_error(text):
    import argparse

    return argparse.ArgumentTypeError(text)


def run(*command):
    """What a command prints; the end of the program if it fails."""
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace")
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\nexit code {answer.returncode}\n{answer.stderr}")
    return answer.stdout


def lance_name(table, version):
    """The name that make_data.py gives pylance's file of a table."""
    return f"{table}.v{version.replace('.', '_')}.lance"


def read_arrow(path):
    """The table in an Arrow IPC file, as slices of the mapped file."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def write_arrow(table, path, batch_rows=65_536):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)


def write_pylance(table, path, version):
    """pylance's file with its default options, batch by batch as the table comes."""
    from lance.file import LanceFileWriter

    pathlib.Path(path).unlink(missing_ok=True)
    with LanceFileWriter(str(path), table.schema, version=version) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


class Make:
    """Where the bytes of a Lance file are, by `pennon inspect --json`."""

    def __init__(self, engine, path):
        answer = json.loads(run(engine, "inspect", path, "--json"))
        self.file = answer["file_bytes"]
        self.metadata = answer["metadata_bytes"]
        self.globals = {f"{b['kind']} buffer": b["bytes"] for b in answer["global_buffers"]}
        # Bytes of blobs lie outside of the pages that point at them.
        self.columns = [
            {"path": c["path"], "type": c["type"], "num_values": c["num_values"], "num_pages": c["num_pages"],
             "encodings": c["encodings"], "bytes": c["bytes"] + c.get("blob_bytes", 0)}
            for c in answer["columns"]
        ]
        self.pages = sum(c["bytes"] for c in self.columns)

    def parts(self):
        """Bytes by part; what is in none of them is padding."""
        parts = {"pages": self.pages, "metadata": self.metadata, **self.globals}
        return parts | {"padding": self.file - sum(parts.values())}


def one(column):
    """A column of a table as one array."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def plain(array):
    """Without extension types and dictionaries."""
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    return plain(array.dictionary_decode()) if pa.types.is_dictionary(array.type) else array


def entries(array):
    """What an array of maps without nulls maps, and the lengths of the maps."""
    offsets = array.offsets.to_numpy()
    pairs = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    return pairs[offsets[0] : offsets[-1]], pa.array(np.diff(offsets))


def items(array):
    """What an array of lists without nulls lists, and the lengths of the lists."""
    if pa.types.is_map(array.type):
        return entries(array)
    return pc.list_flatten(array), pc.list_value_length(array).cast(pa.int32())


def difference(a, b, path):
    """Where two arrays hold other values, or None. What lies under a null does not count, NaN equals NaN, −0.0 differs from 0.0."""
    a, b = plain(a), plain(b)
    if len(a) != len(b) or not a.is_null().equals(b.is_null()):
        return f"{path}: {len(a)} values of which {a.null_count} null, and {len(b)} with {b.null_count}"
    if a.null_count:
        a, b = a.drop_null(), b.drop_null()
    if pa.types.is_struct(a.type):
        names = [field.name for field in a.type]
        if names != [field.name for field in b.type]:
            return f"{path}: {a.type} and {b.type}"
        pairs = zip(names, a.flatten(), b.flatten())
        return next(filter(None, (difference(x, y, f"{path}.{name}") for name, x, y in pairs)), None)
    if pa.types.is_nested(a.type) and pa.types.is_nested(b.type):
        (x, lengths), (y, other) = items(a), items(b)
        return difference(x, y, f"{path}[]") if lengths.equals(other) else f"{path}: lists of other lengths"
    if a.type != b.type:
        return f"{path}: {a.type} and {b.type}"
    if a.equals(b) and not pa.types.is_floating(a.type):
        return None
    if pa.types.is_floating(a.type):
        x, y = a.to_numpy(zero_copy_only=False), b.to_numpy(zero_copy_only=False)
        bits = f"u{x.itemsize}"
        if np.all((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))):
            return None
    return f"{path}: other values"


def table_difference(a, b):
    """As `difference`, of two tables."""
    if a.schema.names != b.schema.names:
        return f"columns {a.schema.names[:5]} and {b.schema.names[:5]}"
    pairs = zip(a.schema.names, a.columns, b.columns)
    return next(filter(None, (difference(one(x), one(y), name) for name, x, y in pairs)), None)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(header, rows):
    """Aligned columns, the first to the left."""
    rows = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = (cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths)))
        print("  ".join(cells).rstrip())
    print(flush=True)


def shared_folder():
    """The folder with golden data, as the tests find it: `PENNON_SHARED`, else beside the repository or its parent."""
    root = HERE.parent
    named = [pathlib.Path(os.environ["PENNON_SHARED"])] if "PENNON_SHARED" in os.environ else []
    folders = [*named, root.parent / "shared", root.parent.parent / "shared"]
    return next((f for f in folders if (f / "golden/lance/manifest.jsonl").is_file()), None)
