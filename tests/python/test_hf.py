"""Hugging Face datasets: the same rows both ways, pictures and sounds as what they are."""

import struct
import zlib

import pytest

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")

import pennon  # noqa: E402
import pennon.hf  # noqa: E402

datasets.disable_progress_bars()
N = 2500


def png(red):
    """A PNG picture of one pixel."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes([0, red, 0, 0]))) + chunk(b"IEND", b"")


def wav(value):
    """A sound of four samples."""
    data = struct.pack("<4h", *[value] * 4)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I", len(data))
    return b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path):
    return written(
        tmp_path,
        {
            "id": pa.array(range(N), pa.int32()),
            "name": [f"row {i}" for i in range(N)],
            "tags": [["a", "b"][: i % 3] for i in range(N)],
            "color": pa.array([f"c{i % 3}" for i in range(N)]).dictionary_encode(),
            "point": [{"x": i, "y": None if i % 2 else 0.5} for i in range(N)],
        },
    )


def written(tmp_path, data, name="data.lance"):
    path = tmp_path / name
    pennon.write(data if isinstance(data, pa.Table) else pa.table(data), path)
    return path


def test_a_dataset_has_the_rows_and_is_mapped_from_the_cache(path, cache):
    dataset = pennon.hf.dataset(path)
    assert len(dataset) == N
    assert dataset[5] == {"id": 5, "name": "row 5", "tags": ["a", "b"], "color": "c2", "point": {"x": 5, "y": None}}
    assert dataset.features["id"] == datasets.Value("int32") and dataset.features["color"] == datasets.Value("string")
    assert len(dataset.cache_files) == 1 and str(cache) in dataset.cache_files[0]["filename"]
    assert dataset["id"][:] == list(range(N))


def test_a_second_call_finds_the_cache_and_a_changed_file_does_not(path, cache):
    def files():
        return {file: file.stat().st_mtime_ns for file in cache.rglob("*.arrow")}

    pennon.hf.dataset(path)
    before = files()
    pennon.hf.dataset(path)
    assert files() == before and len(before) == 1
    pennon.hf.dataset(path, columns=["id"])
    assert len(files()) == 2
    pennon.write(pa.table({"id": [1]}), path)
    assert len(pennon.hf.dataset(path)) == 1
    assert not list(cache.rglob("*.tmp"))


@pytest.mark.skipif(not hasattr(pennon.File, "row_numbers"), reason="this build has no filters")
def test_columns_and_filters_are_pushed_down(path):
    import pyarrow.compute as pc

    for keep_in_memory in (False, True):
        dataset = pennon.hf.dataset(path, ["id", "name"], filter=pc.field("id") >= N - 3, keep_in_memory=keep_in_memory)
        assert dataset.column_names == ["id", "name"] and dataset["id"][:] == [N - 3, N - 2, N - 1]
    rows = list(pennon.hf.iterable(path, ["id"], filter=pc.field("id") >= N - 3))
    assert rows == [{"id": i} for i in (N - 3, N - 2, N - 1)]


def test_in_memory_nothing_is_written(path, cache):
    dataset = pennon.hf.dataset(path, keep_in_memory=True)
    assert dataset[N - 1]["name"] == f"row {N - 1}" and dataset.cache_files == []
    assert not list(cache.rglob("*.arrow"))


def test_an_iterable_streams_the_rows_and_shards_for_workers(path, cache):
    stream = pennon.hf.iterable(path)
    assert stream.num_shards == 3
    assert [row["id"] for row in stream] == list(range(N))
    assert next(iter(stream))["point"] == {"x": 0, "y": 0.5}
    shares = [[row["id"] for row in stream.shard(3, i)] for i in range(3)]
    assert sorted(sum(shares, [])) == list(range(N)) and all(shares)
    assert [row["id"] for row in stream.skip(2000).take(2)] == [2000, 2001]
    shuffled = [row["id"] for row in stream.shuffle(seed=1, buffer_size=100)]
    assert shuffled != list(range(N)) and sorted(shuffled) == list(range(N))
    assert not list(cache.rglob("*.arrow"))


def test_an_iterable_feeds_torchs_dataloader(path):
    torch = pytest.importorskip("torch")
    stream = pennon.hf.iterable(path, ["id"]).with_format("torch")
    loader = torch.utils.data.DataLoader(stream, batch_size=100, num_workers=2)
    assert sorted(i for batch in loader for i in batch["id"].tolist()) == list(range(N))


PICTURES = [None, png(10), png(20)]
SOUNDS = [wav(1), None, wav(2)]


def test_pictures_and_sounds_are_known_by_their_bytes(tmp_path):
    pytest.importorskip("PIL")
    path = written(
        tmp_path,
        {
            "picture": pa.array(PICTURES, pa.binary()),
            "wide": pa.array(PICTURES, pa.large_binary()),
            "sound": pa.array(SOUNDS, pa.binary()),
            "file": [None if b is None else {"bytes": b, "path": "a.png"} for b in PICTURES],
            "mixed": pa.array([png(1), wav(1), None], pa.binary()),
            "other": pa.array([b"some", b"thing", None], pa.binary()),
            "none": pa.nulls(3, pa.binary()),
        },
    )
    features = pennon.hf.features(path)
    kinds = {name: type(feature).__name__ for name, feature in features.items()}
    assert kinds == dict(picture="Image", wide="Image", sound="Audio", file="Image", mixed="Value", other="Value", none="Value")
    plain = pennon.hf.dataset(path).cast_column("sound", datasets.Audio(decode=False))
    streamed = list(pennon.hf.iterable(path, columns=["picture", "file", "other"]))
    for rows in (list(plain), streamed):
        assert rows[0]["picture"] is None
        assert rows[1]["picture"].getpixel((0, 0)) == (10, 0, 0) and rows[2]["file"].getpixel((0, 0)) == (20, 0, 0)
        assert rows[0]["other"] == b"some"
    assert plain[2]["sound"]["bytes"] == wav(2)


def test_pictures_are_known_by_the_fields_content_type(tmp_path):
    fields = [
        pa.field("declared", pa.binary(), metadata={"Content-Type": "image/x-ours"}),
        pa.field("sound", pa.binary(), metadata={"mime_type": "audio/wav"}),
        pa.field("text", pa.binary(), metadata={"content-type": "text/plain"}),
    ]
    columns = [[b"any"], [b"thing"], [b"text"]]
    path = written(tmp_path, pa.table(columns, schema=pa.schema(fields)))
    assert [type(f).__name__ for f in pennon.hf.features(path).values()] == ["Image", "Audio", "Value"]


def test_first_bytes_tell_pictures_from_sounds():
    from pennon._content import kind_of_bytes

    images = [png(0), b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\1\0\0\0WEBPVP8 ", b"BM\1\0\0\0\0\0\0\0", b"MM\0*", b"\0\0\0\x1cftypavif"]
    audios = [wav(0), b"fLaC", b"OggS", b"ID3\4", b"\xff\xfb\x90", b"FORM\0\0\0\1AIFF"]
    others = [b"", b"B", b"BM is text", b"RIFF", b"RIFF\1\0\0\0AVI ", b"\xff", b"\xff\xff\xff", b"\0\0\0\x1cftypisom", b"%PDF"]
    assert [kind_of_bytes(x) for x in images] == ["image"] * len(images)
    assert [kind_of_bytes(x) for x in audios] == ["audio"] * len(audios)
    assert [kind_of_bytes(x) for x in others] == [None] * len(others)


def test_features_survive_the_way_there_and_back(tmp_path):
    pytest.importorskip("PIL")
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "sound": datasets.Audio(sampling_rate=8000, decode=False),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "matrix": datasets.Array2D((2, 2), "float32"),
            "words": datasets.List(datasets.Value("string")),
        }
    )
    file = tmp_path / "outside.png"
    file.write_bytes(png(77))
    rows = {
        "image": [{"bytes": png(5), "path": None}, {"bytes": None, "path": str(file)}],
        "sound": [wav(3), None],
        "label": [1, 0],
        "matrix": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        "words": [["a"], []],
    }
    # Making sounds of Python values needs torchcodec; of Arrow's binary it does not.
    plain = datasets.Features({**features, "sound": datasets.Value("binary")})
    original = datasets.Dataset.from_dict(rows, features=plain).cast_column("sound", features["sound"])
    path = tmp_path / "written.lance"
    pennon.hf.write(original.select([1, 0]), path)
    file.unlink()
    again = pennon.hf.dataset(path)
    assert again.features == features
    assert again[0]["image"].getpixel((0, 0)) == (77, 0, 0), "the picture came along, not its path"
    assert again[1]["image"].getpixel((0, 0)) == (5, 0, 0)
    assert again["label"][:] == [0, 1] and again[1]["words"] == ["a"] and again[0]["matrix"] == [[5, 6], [7, 8]]
    assert again[1]["sound"]["bytes"] == wav(3)
    assert pennon.hf.features(path, ["label"]) == datasets.Features({"label": features["label"]})


def test_streams_are_written_too_and_splits_are_refused(tmp_path, path):
    stream = pennon.hf.iterable(path).filter(lambda row: row["id"] % 1000 == 0)
    pennon.hf.write(stream, tmp_path / "some.lance")
    assert pennon.hf.dataset(tmp_path / "some.lance")["id"][:] == [0, 1000, 2000]
    dataset = pennon.hf.dataset(path)
    for write in (pennon.hf.write, pennon.write):
        with pytest.raises(TypeError, match="'train', 'test'"):
            write(datasets.DatasetDict(train=dataset, test=dataset), tmp_path / "x.lance")


def test_pennon_write_takes_datasets_as_they_are(tmp_path):
    features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"]), "id": datasets.Value("int8")})
    dataset = datasets.Dataset.from_dict({"label": [1, 0], "id": [7, 8]}, features=features)
    for number, source in enumerate((dataset, dataset.to_iterable_dataset())):
        path = tmp_path / f"{number}.lance"
        assert pennon.write(source, path) == 2
        assert pennon.hf.features(path) == features
        assert pennon.open(path)[1] == {"label": 0, "id": 8}


def test_bytes_are_a_source_too(path):
    dataset = pennon.hf.dataset(pennon.open(path.read_bytes()))
    assert dataset[3]["name"] == "row 3"


def test_a_failed_copy_leaves_no_file(path, cache):
    wrong = datasets.Features({name: datasets.Value("int64") for name in ("id", "name", "tags", "color", "point")})
    with pytest.raises(Exception):
        pennon.hf.dataset(path, features=wrong)
    assert not [file for file in cache.rglob("*") if file.is_file()]
