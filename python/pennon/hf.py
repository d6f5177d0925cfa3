"""Files as Hugging Face datasets, and back.

>>> import pennon.hf                                                             # doctest: +SKIP
>>> dataset = pennon.hf.dataset("pictures.lance")                                # doctest: +SKIP
>>> dataset[0]["image"]                                                          # doctest: +SKIP
<PIL.PngImagePlugin.PngImageFile ...>
>>> pennon.hf.write(dataset.filter(lambda row: row["label"] == 3), "threes.lance")   # doctest: +SKIP

The guide is docs/training.md. Needs datasets and pyarrow (``pip install pennon[hf]``).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import uuid
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence, Union

try:
    import datasets
    import pyarrow as pa
    from datasets.table import InMemoryTable, embed_table_storage, table_cast
except ImportError as error:
    raise ImportError(f"pennon.hf needs datasets and pyarrow: pip install pennon[hf] ({error})") from error

import pennon

from ._content import kind_of_type, kind_of_values
from ._rows import Rows

__all__ = ["dataset", "features", "iterable", "reader", "write"]

_BATCH_ROWS = 1000
# Values that are looked at for what they are: the first of them that are not null, in the first rows.
_SNIFFED_ROWS, _SNIFFED_VALUES = 100, 5
_CONTENT_TYPE_KEYS = ("content-type", "mime-type")


def features(source: Any, columns: Optional[Sequence[str]] = None) -> datasets.Features:
    """The features of a file's columns.

    Those that a dataset was written with, where the file has them. Otherwise they follow from the Arrow types, and a column
    of binary values, or of structs of ``bytes`` and ``path``, is an `Image` or `Audio` when

    - its field metadata has a ``content-type`` (or ``mime-type``) as ``image/png`` or ``audio/wav``, or else
    - the first of its values that are not null all begin as pictures, or all as sounds, do (PNG, JPEG, GIF, WebP, BMP, TIFF,
      AVIF, HEIC; WAV, FLAC, Ogg, MP3, AIFF).
    """
    return _features(Rows(source, columns))


def _features(rows: Rows) -> datasets.Features:
    head = rows.take(range(min(_SNIFFED_ROWS, rows.file.num_rows)))
    schema = _without_dictionaries(head).schema
    known = datasets.Features.from_arrow_schema(schema)
    if b"huggingface" in (schema.metadata or {}):
        return known
    kinds = {"image": datasets.Image, "audio": datasets.Audio}
    for field, column in zip(schema, head.columns):
        values = _binary_part(column)
        if values is None:
            continue
        kind = _declared_kind(field) or kind_of_values(v for v in values.drop_null()[:_SNIFFED_VALUES].to_pylist())
        if kind is not None:
            known[field.name] = kinds[kind]()
    return known


def _declared_kind(field: pa.Field):
    for key, value in (field.metadata or {}).items():
        if key.decode(errors="replace").lower().replace("_", "-") in _CONTENT_TYPE_KEYS:
            return kind_of_type(value.decode(errors="replace"))
    return None


def _binary_part(column: pa.ChunkedArray) -> Optional[pa.ChunkedArray]:
    """The values that may be pictures; None where the type says that there are none."""
    type_ = column.type
    if pa.types.is_struct(type_) and {field.name for field in type_} == {"bytes", "path"}:
        column = column.combine_chunks().field("bytes") if column.num_chunks != 1 else column.chunk(0).field("bytes")
        column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        type_ = column.type
    return column if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) else None


def dataset(
    source: Any,
    columns: Optional[Sequence[str]] = None,
    filter: Any = None,
    *,
    features: Optional[datasets.Features] = None,
    keep_in_memory: bool = False,
    cache_dir: Optional[Union[str, os.PathLike]] = None,
    split: Optional[Any] = None,
) -> datasets.Dataset:
    """A file as a ``datasets.Dataset``.

    The rows are written once as Arrow into the cache folder of ``datasets`` (or ``cache_dir``), where the dataset maps them: it
    needs no memory, and a second call for the same file, columns and filter finds them there. With ``keep_in_memory`` they
    are read into memory instead, and nothing is written. For neither, see `iterable`.
    """
    rows = Rows(source, columns)
    wanted = _features(rows) if features is None else features
    info = datasets.DatasetInfo(features=wanted)
    if keep_in_memory:
        table = pa.Table.from_batches(_cast_batches(rows, filter, wanted), wanted.arrow_schema)
        return datasets.Dataset(InMemoryTable(table), info=info, split=split)
    fingerprint = _fingerprint(rows, filter, wanted)
    folder = Path(cache_dir or datasets.config.HF_DATASETS_CACHE) / "pennon"
    cached = folder / f"{fingerprint}.arrow"
    if not cached.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_arrow(_cast_batches(rows, filter, wanted), wanted.arrow_schema, cached)
    return datasets.Dataset.from_file(str(cached), info=info, split=split)


def _fingerprint(rows: Rows, filter: Any, wanted: datasets.Features) -> str:
    what = [repr(filter), repr(rows.columns), repr(wanted)]
    if rows.path is None or " at 0x" in what[0]:
        what.append(uuid.uuid4().hex)  # bytes, or a filter that does not say what it is: never found again
    else:
        status = os.stat(rows.path)
        what += [os.path.realpath(rows.path), str(status.st_size), str(status.st_mtime_ns)]
    return hashlib.sha256("\0".join(what).encode()).hexdigest()[:32]


def _write_arrow(batches: Iterator[pa.RecordBatch], schema: pa.Schema, target: Path) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _cast_batches(rows: Rows, filter: Any, wanted: datasets.Features) -> Iterator[pa.RecordBatch]:
    schema = wanted.arrow_schema
    for batch in rows.file.to_batches(columns=rows.columns, filter=filter, batch_size=_BATCH_ROWS):
        table = _without_dictionaries(pa.table(batch) if not isinstance(batch, pa.RecordBatch) else pa.Table.from_batches([batch]))
        yield from table_cast(table, schema).to_batches()


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """``datasets`` has no feature for dictionary columns: their values take their place."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = field.with_type(field.type.value_type)
            table = table.set_column(i, plain, table.column(i).cast(plain.type))
    return table


def iterable(
    source: Any,
    columns: Optional[Sequence[str]] = None,
    filter: Any = None,
    *,
    features: Optional[datasets.Features] = None,
    num_shards: int = 64,
) -> datasets.IterableDataset:
    """A file as a ``datasets.IterableDataset``, read as it goes: no cache, and memory for a batch.

    The rows are cut into ``num_shards`` runs (fewer where there are few rows), which is what workers and nodes share and what
    ``shuffle`` shuffles besides its buffer.
    """
    rows = Rows(source, columns, filter)
    wanted = _features(rows.without_numbers()) if features is None else features
    num_rows = len(rows)
    num_shards = max(1, min(num_shards, -(-num_rows // _BATCH_ROWS)))
    runs = [(num_rows * i // num_shards, num_rows * (i + 1) // num_shards) for i in range(num_shards)]
    return datasets.IterableDataset.from_generator(_examples, features=wanted, gen_kwargs={"rows": rows, "runs": runs})


def _examples(rows: Rows, runs: list) -> Iterator[dict]:
    for start, stop in runs:
        for first in range(start, stop, _BATCH_ROWS):
            yield from rows.take_samples(range(first, min(stop, first + _BATCH_ROWS))).to_pylist()


def reader(dataset: Union[datasets.Dataset, datasets.IterableDataset], *, embed_files: bool = True) -> pa.RecordBatchReader:
    """A dataset as a stream of Arrow batches, in its order, with its features in the schema's metadata.

    With ``embed_files``, pictures and sounds that the dataset knows by their paths are read, so that the result stands alone.
    """
    if isinstance(dataset, (datasets.DatasetDict, datasets.IterableDatasetDict)):
        raise TypeError(f"a dict of splits is not a table: choose one of {', '.join(map(repr, dataset))}")
    tables = _tables(dataset, embed_files)
    if dataset.features is not None:
        schema = dataset.features.arrow_schema
    else:
        first = next(tables, None)
        if first is None:
            raise ValueError("the dataset has no features and no rows, so there is no schema")
        schema = datasets.Features.from_arrow_schema(first.schema).arrow_schema
        tables = _chain(first, tables)
    batches = (batch for table in tables for batch in table_cast(table, schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _tables(dataset, embed_files: bool) -> Iterator[pa.Table]:
    if isinstance(dataset, datasets.Dataset):
        tables = dataset.with_format("arrow").iter(_BATCH_ROWS)
    else:
        # The Arrow tables of a stream have whatever types its first rows suggest.
        tables = (_table_of(batch, dataset.features) for batch in dataset.decode(False).iter(_BATCH_ROWS))
    for table in tables:
        yield embed_table_storage(table) if embed_files and dataset.features is not None else table


def _table_of(batch: dict, wanted: Optional[datasets.Features]) -> pa.Table:
    if wanted is None:
        return pa.table(batch)
    columns = []
    for name, field in zip(wanted, wanted.arrow_schema):
        storage = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        values = pa.array(batch[name], storage)
        columns.append(pa.ExtensionArray.from_storage(field.type, values) if storage != field.type else values)
    return pa.table(columns, wanted.arrow_schema)


def _chain(first, rest):
    yield first
    yield from rest


def write(
    dataset: Union[datasets.Dataset, datasets.IterableDataset], path: Any, *, embed_files: bool = True, **options: Any
) -> None:
    """Writes a dataset as a file. Options are those of `pennon.write`; the features come back with `dataset`."""
    pennon.write(reader(dataset, embed_files=embed_files), path, **options)
