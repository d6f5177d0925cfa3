"""Parquet by pyarrow, with page indexes and row groups that leave a take something to pass over."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engines import Engine

GROUP_ROWS = 131_072


class Parquet(Engine):
    largest_take = 1_000

    def __init__(self, compression):
        self.options = {"compression": compression, "write_page_index": True}

    def write(self, table, path):
        pq.write_table(table, path, row_group_size=GROUP_ROWS, **self.options)

    def write_stream(self, schema, batches, path):
        # pyarrow makes a row group of whatever it is given at once.
        with pq.ParquetWriter(path, schema, **self.options) as writer:
            group = []
            for batch in batches:
                group.append(batch)
                if sum(len(b) for b in group) >= GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(group), row_group_size=GROUP_ROWS)
                    group = []
            if group:
                writer.write_table(pa.Table.from_batches(group), row_group_size=GROUP_ROWS)

    def open(self, path, columns=None):
        return pq.ParquetFile(path)

    def describe(self, handle):
        handle.schema_arrow
        return handle.metadata.num_rows

    def scan(self, handle, columns=None):
        return handle.read(columns=columns)

    def stream(self, handle, columns=None):
        return handle.iter_batches(self.batch_rows, columns=columns)

    def take(self, handle, rows, columns=None):
        """pyarrow takes no rows: the row groups that hold some are read, and their rows taken in memory."""
        metadata = handle.metadata
        lengths = np.array([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        ends = np.cumsum(lengths)
        group_of = np.searchsorted(ends, rows, side="right")
        groups, position = np.unique(group_of, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(lengths[groups])[:-1]])
        inside = rows - (ends - lengths)[group_of] + starts[position]
        return handle.read_row_groups(groups.tolist(), columns=columns).take(pa.array(inside))


def make(compression):
    return Parquet(compression)
