"""Random nested Arrow tables of the types that pylance's file writer takes: one table for a seed and format version.

Types nest up to three deep. Values come in the shapes that encodings are chosen by: constant, few distinct, runs, counting,
narrow, decimals in disguise, words, sentences, noise; nulls come scattered, in stretches, everywhere or almost.
"""
import decimal

import numpy as np
import pyarrow as pa

WORDS = "data file page column value level chunk table row read write scan take null list über naïve 数据 🙂".split()
MOST_ROWS = 5_000
# Children of lists of lists stay below this.
MOST_ITEMS = 40_000


def random_table(seed, version):
    rng = np.random.default_rng(seed)
    rows = int(np.exp(rng.uniform(0, np.log(MOST_ROWS + 1))))
    columns = [random_array(rng, rows, 3, version) for _ in range(rng.integers(1, 7))]
    return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])


def random_array(rng, count, depth, version):
    """An array of any type that has at most `depth` levels of nesting."""
    if depth > 1 and count <= MOST_ITEMS and rng.random() < 0.4:
        makers = [list_array, list_array, struct_array, struct_array, fixed_size_list_array]
        return pick(rng, makers + [map_array] * (version >= "2.2"))(rng, count, depth - 1, version)
    return scalar_array(rng, count)


def pick(rng, items):
    return items[rng.integers(len(items))]


def null_mask(rng, count):
    """Which values are null; None is none."""
    kind = rng.integers(10)
    if kind < 5:
        return None
    if kind < 7:
        return rng.random(count) < pick(rng, [0.001, 0.03, 0.3, 0.9])
    if kind == 7:
        first, last = np.sort(rng.integers(0, count + 1, 2))
        return (np.arange(count) >= first) & (np.arange(count) < last)
    mask = np.ones(count, bool)
    if kind == 8 and count:
        mask[-1] = False
    return mask


# ---- nested

def offsets_of(rng, count, mask):
    """Where lists begin and end; null lists hold nothing."""
    kind = rng.integers(6)
    lengths = [
        lambda: np.zeros(count, int), lambda: np.ones(count, int), lambda: np.full(count, rng.integers(2, 5)),
        lambda: rng.integers(0, 5, count), lambda: rng.geometric(0.3, count) - 1,
        lambda: (rng.random(count) < 0.02) * rng.integers(0, 60, count),
    ][kind]()
    if mask is not None:
        lengths[mask] = 0
    return np.concatenate([[0], np.cumsum(lengths)])


def list_array(rng, count, depth, version):
    mask = null_mask(rng, count)
    offsets = offsets_of(rng, count, mask)
    values = random_array(rng, int(offsets[-1]), depth, version)
    kind, integer = pick(rng, [(pa.ListArray, np.int32), (pa.ListArray, np.int32), (pa.LargeListArray, np.int64)])
    return kind.from_arrays(pa.array(offsets.astype(integer)), values, mask=None if mask is None else pa.array(mask))


def map_array(rng, count, depth, version):
    mask = null_mask(rng, count)
    offsets = offsets_of(rng, count, mask)
    keys = pick(rng, [string_values, integer_values])(rng, int(offsets[-1]))
    keys = pa.array(keys, pa.string() if isinstance(keys, list) else pa.int64())
    values = random_array(rng, len(keys), depth, version)
    nulls = None if mask is None else np.append(mask, False)
    return pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32), mask=nulls), keys, values)


def struct_array(rng, count, depth, version):
    children = [random_array(rng, count, depth, version) for _ in range(rng.integers(1, 4))]
    mask = null_mask(rng, count)
    return pa.StructArray.from_arrays(children, [f"f{i}" for i in range(len(children))],
                                      mask=None if mask is None else pa.array(mask))


def fixed_size_list_array(rng, count, depth, version):
    """Items are numbers, or from 2.2 also structs of numbers: strings cannot be written, structs not in 2.1."""
    size = pick(rng, [1, 2, 3, 8, 16])
    make = pick(rng, [float_array, float_array, integer_array, decimal_array, fixed_bytes_array])
    values = make(rng, count * size)
    if version >= "2.2" and rng.random() < 0.2:
        values = pa.StructArray.from_arrays([values, integer_array(rng, count * size)], ["x", "y"])
    mask = null_mask(rng, count)
    return pa.FixedSizeListArray.from_arrays(values, size, mask=None if mask is None else pa.array(mask))


# ---- scalars

def scalar_array(rng, count):
    makers = [integer_array] * 4 + [string_array] * 4 + [float_array] * 3 + [time_array] * 2 + [bool_array, decimal_array, fixed_bytes_array,
              binary_array, dictionary_array, null_array]
    return pick(rng, makers)(rng, count)


def integer_values(rng, count):
    """int64 that fit 32 bits and a sign, in one of the usual shapes."""
    base = int(rng.integers(-1_000, 1_000))
    return [
        lambda: np.full(count, base),
        lambda: np.repeat(rng.integers(-2**31, 2**31, count // 300 + 1), 300)[:count],
        lambda: rng.integers(0, 2**31, 50)[rng.integers(0, 50, count)],
        lambda: np.repeat(rng.integers(0, 100, count // 20 + 1), 20)[:count],
        lambda: np.arange(count) + base,
        lambda: np.sort(rng.integers(0, 2**20, count)),
        lambda: rng.integers(0, 2 ** rng.integers(1, 20), count) + base,
        lambda: rng.integers(-2**31, 2**31, count),
        lambda: np.round(rng.normal(0, 30, count)).astype(np.int64),
        lambda: (rng.random(count) < 0.02) * rng.integers(0, 1_000_000, count),
        lambda: np.minimum(rng.zipf(1.5, count), 2**20),
    ][rng.integers(11)]().astype(np.int64)


def integer_array(rng, count):
    values = integer_values(rng, count)
    dtype = pick(rng, [np.int8, np.int16, np.int32, np.int64, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
    if dtype in (np.int64, np.uint64) and rng.random() < 0.2:
        values = rng.integers(0, 2**63, count)
    return pa.array(values.astype(dtype), mask=null_mask(rng, count))


def time_array(rng, count):
    values = pa.array(np.abs(integer_values(rng, count)) % 86_400, mask=null_mask(rng, count))
    if rng.random() < 0.4:
        start = int(rng.integers(10**8, 2 * 10**9))
        values = pa.array(start + np.cumsum(rng.integers(0, 2_000, count)), pa.int64(), mask=null_mask(rng, count))
        return values.cast(pick(rng, [pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin"), pa.duration("ns")]))
    narrow = pick(rng, [pa.date32(), pa.time32("s"), pa.time32("ms")])
    if narrow in (pa.date32(), pa.time32("s"), pa.time32("ms")) and rng.random() < 0.5:
        return values.cast(pa.int32()).cast(narrow)
    if rng.random() < 0.3:
        days = values.to_numpy(zero_copy_only=False)
        return pa.array([None if d is None or d != d else int(d) * 86_400_000 for d in days], pa.date64())
    return values.cast(pick(rng, [pa.time64("us"), pa.time64("ns"), pa.duration("s"), pa.timestamp("ns")]))


def float_array(rng, count):
    odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-320, 1.5])
    values = [
        lambda: np.full(count, rng.normal()),
        lambda: rng.normal(size=count),
        lambda: np.round(rng.uniform(0, 1_000, count), 2),
        lambda: rng.normal(size=20)[rng.integers(0, 20, count)],
        lambda: rng.integers(0, 1_000, count).astype(float),
        lambda: odd[rng.integers(0, len(odd), count)],
        lambda: np.where(rng.random(count) < 0.95, 0.0, rng.random(count)),
        lambda: np.cumsum(rng.normal(size=count)),
    ][rng.integers(8)]()
    with np.errstate(over="ignore"):
        values = values.astype(pick(rng, [np.float16, np.float32, np.float32, np.float64, np.float64]))
    return pa.array(values, mask=null_mask(rng, count))


def bool_array(rng, count):
    share = pick(rng, [0.0, 0.01, 0.5, 0.97, 1.0])
    values = rng.random(count) < share
    return pa.array(np.sort(values) if rng.random() < 0.3 else values, mask=null_mask(rng, count))


def decimal_array(rng, count):
    mask = null_mask(rng, count)
    values = [decimal.Decimal(int(v)).scaleb(-2) for v in integer_values(rng, count)]
    if mask is not None:
        values = [None if null else v for v, null in zip(values, mask)]
    return pa.array(values, pick(rng, [pa.decimal128(15, 2), pa.decimal128(38, 4), pa.decimal256(60, 2)]))


def fixed_bytes_array(rng, count):
    size = pick(rng, [1, 2, 3, 4, 8, 16, 20])
    some = [rng.bytes(size) for _ in range(pick(rng, [1, 5, 100, max(1, count)]))]
    return masked(rng, [pick(rng, some) for _ in range(count)], pa.binary(size))


def string_values(rng, count):
    start = int(rng.integers(0, 10**6))
    some = [" ".join(pick(rng, WORDS) for _ in range(rng.integers(1, 4))) for _ in range(max(1, int(rng.integers(1, 200))))]
    long = "".join(pick(rng, WORDS) for _ in range(300))
    return [
        lambda: [some[0]] * count,
        lambda: [pick(rng, some) for _ in range(count)],
        lambda: [pick(rng, some[:3]) for _ in range(count)],
        lambda: [some[i // 50 % len(some)] for i in range(count)],
        lambda: [f"https://example.com/item/{start + i:08}.jpg" for i in range(count)],
        lambda: [str(start + i) for i in range(count)],
        lambda: [rng.bytes(16).hex() for _ in range(count)],
        lambda: [" ".join(pick(rng, WORDS) for _ in range(rng.integers(3, 20))) for _ in range(count)],
        lambda: ["" if rng.random() < 0.9 else pick(rng, some) for _ in range(count)],
        lambda: [""] * count,
        lambda: [long[: rng.integers(0, 600)] for _ in range(count)],
        lambda: [chr(97 + rng.integers(26)) for _ in range(count)],
    ][rng.integers(12)]()


def masked(rng, values, data_type):
    mask = null_mask(rng, len(values))
    if mask is not None:
        values = [None if null else v for v, null in zip(values, mask)]
    return pa.array(values, data_type)


def string_array(rng, count):
    return masked(rng, string_values(rng, count), pick(rng, [pa.string(), pa.string(), pa.large_string()]))


def binary_array(rng, count):
    if rng.random() < 0.5:
        values = [text.encode() for text in string_values(rng, count)]
    else:
        most = pick(rng, [8, 60, 300, 3_000]) if count < 1_000 else 60
        values = [rng.bytes(int(rng.integers(0, most))) for _ in range(count)]
    return masked(rng, values, pick(rng, [pa.binary(), pa.large_binary()]))


def dictionary_array(rng, count):
    size = int(rng.integers(1, 100))
    items = pick(rng, [lambda: pa.array([f"{pick(rng, WORDS)} {i}" for i in range(size)]), lambda: pa.array(rng.integers(0, 10**9, size))])()
    keys = rng.integers(0, size, count).astype(pick(rng, [np.int8, np.int16, np.int32, np.uint8, np.uint32]))
    return pa.DictionaryArray.from_arrays(pa.array(keys, mask=null_mask(rng, count)), items)


def null_array(rng, count):
    return pa.nulls(count)
