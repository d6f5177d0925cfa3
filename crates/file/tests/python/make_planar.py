"""Makes the files of the folder tests/planar with the official library: small ones of format version 2.3.

Usage: make_planar.py FOLDER. Each NAME.lance gets a NAME.arrow with what was written.
"""

import os
import sys

import pyarrow as pa
from lance.file import LanceFileWriter

FOLDER = sys.argv[1]
SPARSE = {"lance-encoding:structural-encoding": "sparse"}


def write(name, array, metadata=SPARSE):
    table = pa.table([array], schema=pa.schema([pa.field("x", array.type, metadata=metadata)]))
    path = os.path.join(FOLDER, name + ".lance")
    if os.path.exists(path):
        os.remove(path)
    with LanceFileWriter(path, table.schema, version="2.3") as writer:
        writer.write_batch(table.to_batches()[0])
    with pa.ipc.new_file(os.path.join(FOLDER, name + ".arrow"), table.schema) as out:
        out.write_table(table)


ints = pa.list_(pa.int32())
write("sparse_list", pa.array([[1, 2], None, [], [3, None]], ints))
write("sparse_nulls", pa.array([None] * 9 + [[]] * 3, pa.list_(ints)))
write("sparse_constant", pa.array([7 if i % 3 else None for i in range(40)], pa.int16()))
pair = pa.struct([("a", pa.int32()), ("s", pa.string())])
rows = [None if i % 5 == 2 else {"a": i * i, "s": None if i % 3 else f"{i} " * 80} for i in range(24)]
write("sparse_struct", pa.array(rows, pair))
write("sparse_lists_of_structs", pa.array([None if i % 7 == 3 else rows[i : i + i % 4] for i in range(24)], pa.list_(pair)))
write("sparse_fixed_lists", pa.array([None if i % 3 == 1 else rows[i : i + 2] for i in range(12)], pa.list_(pair, 2)))
deep = [[None if j % 5 == 4 else list(range(j % 3)) for j in range(i % 4)] if i % 6 else None for i in range(30)]
write("sparse_deep", pa.array(deep, pa.list_(ints)))
words = ["red " * 90, None, "green " * 70, "", "blue " * 100]
write("sparse_zipped", pa.array([words[i * i % 5] for i in range(7)], pa.string()))
# Only what is larger than 32 KiB is indexed; its values are made anew by the test.
big = ["red " * 9000, "green " * 7000, "x", "blue " * 9000]
write("sparse_indexed", pa.array([None if i % 3 else big[i % 4] for i in range(100)]))
wide = [{"a": None if i % 4 == 1 else bytes([i]) * 260} if i % 3 else None for i in range(9)]
write("sparse_zipped_struct", pa.array(wide, pa.struct([("a", pa.binary(260))])))
write("sparse_dictionary", pa.array([words[i * i % 5] for i in range(30)]).dictionary_encode())
write("sparse_vectors", pa.array([[i, None, i / 3] if i % 4 else None for i in range(20)], pa.list_(pa.float32(), 3)))
write("dense_runs", pa.array([i // 300 for i in range(1200)], pa.int32()), None)
write("dense_short_texts", pa.array(["a" * (i % 2) for i in range(3000)]), None)
write("dense_texts", pa.array([None if i % 9 == 5 else "abcdefgh" * (i % 3) + str(i) for i in range(90)]), None)
write("dense_even_texts", pa.array([None if i % 9 == 5 else f"text{i:05}" for i in range(60)]), None)
write("dense_list", pa.array([list(range(i % 5)) if i % 7 else None for i in range(60)], pa.list_(pa.int64())), None)
