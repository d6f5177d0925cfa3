"""Fork, spawn, pickle, threads and signals: case 2 of the hard cases, and that nothing waits at the end of a process."""

import io
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pennon
import pytest
from conftest import needs_pyarrow, rows


def run(script, *arguments, timeout=60):
    """A script in a process of its own; what it printed, if it ended well and said nothing else."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout


FORK = """
    import os, sys, time, pennon

    f = pennon.open(sys.argv[1])
    folder, used = sys.argv[2], sys.argv[3] == "used"

    def work(child):
        assert [r["x"] for r in f.take([5, 9999]).to_pylist()] == [5, 9999]
        assert f.count_rows("x >= 9000") == 1000
        assert f.to_table(filter="x < 3").to_pylist() == [{"x": i, "s": str(i)} for i in range(3)]
        assert sum(b.num_rows for b in f.to_batches()) == 10000
        assert f[7] == {"x": 7, "s": "7"}
        if child % 2 == 0:
            # Large enough for the writer's threads.
            big = {"a": list(range(300_000)), "b": list(range(300_000))}
            assert pennon.write(big, f"{folder}/{child}.lance") == 300_000
            assert pennon.open(f"{folder}/{child}.lance")[299_999] == {"a": 299_999, "b": 299_999}

    if used:
        f.take([1, 2]); f.to_table()
        work(100)
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                work(child)
                code = 0
            except BaseException:
                import traceback; traceback.print_exc()
                code = 1
            if child < 2:
                os._exit(code)
            sys.exit(code)
        children.append(pid)
    end = time.monotonic() + 30
    while children and time.monotonic() < end:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            assert status == 0, status
            children.remove(pid)
        time.sleep(0.01)
    assert not children, "children hang"
    work(101)
    print("fine", flush=True)
"""


@pytest.mark.parametrize("used", ["used", "fresh"])
def test_a_handle_opened_before_a_fork_works_in_the_children(numbers, tmp_path, used):
    started = time.monotonic()
    assert run(FORK, numbers.path, tmp_path, used) == "fine\n"
    assert time.monotonic() - started < 30


def test_iterators_and_writers_of_the_parent_do_no_harm_in_a_child(numbers, tmp_path):
    script = """
        import os, sys, pennon
        f = pennon.open(sys.argv[1])
        batches = f.to_batches(batch_size=100, threads=2)
        next(batches)
        writer = pennon.Writer(sys.argv[2] + "/x.lance")
        writer.write([{"a": 1}])
        pid = os.fork()
        if pid == 0:
            try:
                next(batches)
            except pennon.InvalidArgument as e:
                assert "another process" in str(e)
            else:
                os._exit(3)
            del batches, writer
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        writer.close()
        assert pennon.open(sys.argv[2] + "/x.lance").num_rows == 1
        print(sum(b.num_rows for b in batches))
    """
    assert run(script, numbers.path, tmp_path) == "9900\n"


def child_work(f, out):
    if isinstance(f, bytes):
        f = pickle.loads(f)
    out.put((f.count_rows("x < 10"), [r["x"] for r in rows(f.take([5, 9999]))], f.last_scan["rows"]))


def test_a_handle_goes_to_spawned_children_by_pickle(numbers, tmp_path):
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    children = [context.Process(target=child_work, args=(numbers, out)) for _ in range(2)]
    for child in children:
        child.start()
    assert [out.get(timeout=60) for _ in children] == [(10, [5, 9999], 2)] * 2
    for child in children:
        child.join(timeout=10)
        assert child.exitcode == 0


def test_handles_of_paths_pickle_small_and_read_no_data_when_they_open(numbers, tmp_path, monkeypatch):
    data = pickle.dumps(numbers)
    assert len(data) < 1024
    again = pickle.loads(data)
    assert again.path == os.path.abspath(numbers.path) and again.last_scan is None and len(again) == 10_000
    # A relative path means the same file from everywhere.
    monkeypatch.chdir(tmp_path)
    relative = pickle.dumps(pennon.open("numbers.lance", format="lance", mapping=False))
    monkeypatch.chdir("/")
    assert pickle.loads(relative)[3]["x"] == 3
    # Pages may be damaged, as long as nobody reads them.
    content = bytearray(pathlib.Path(numbers.path).read_bytes())
    pages = [b for c in numbers.inspect()["columns"] for p in c["pages"] for b in p["buffers"]]
    for buffer in pages:
        content[buffer["offset"] : buffer["offset"] + buffer["bytes"]] = b"\xaa" * buffer["bytes"]
    (tmp_path / "damaged.lance").write_bytes(content)
    f = pickle.loads(pickle.dumps(pennon.open(tmp_path / "damaged.lance")))
    assert f.num_rows == 10_000 and f.columns == ["x", "s"]
    with pytest.raises(pennon.CorruptFile):
        f[0]


def test_handles_of_memory_do_not_pickle(numbers):
    content = pathlib.Path(numbers.path).read_bytes()
    for source in [content, io.BytesIO(content), open(numbers.path, "rb")]:
        with pytest.raises(TypeError, match="cannot be pickled: only that of a path"):
            pickle.dumps(pennon.open(source))


def test_many_threads_share_a_handle(numbers):
    wrong = []

    def work(seed):
        for i in range(50):
            row = (seed * 997 + i * 31) % 10_000
            if numbers[row] != {"x": row, "s": str(row)}:
                wrong.append(row)
        if sum(b.num_rows for b in numbers.to_batches(batch_size=999)) != 10_000:
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not wrong


def test_threads_share_a_file_like_object(numbers):
    f = pennon.open(open(numbers.path, "rb"))
    wrong = []

    def work(seed):
        for i in range(30):
            row = (seed * 997 + i * 31) % 10_000
            if f[row]["x"] != row:
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
        assert not t.is_alive()
    assert not wrong


def test_other_threads_run_while_a_file_is_read_and_written(tmp_path):
    path = tmp_path / "big.lance"
    data = {"a": list(range(1_000_000))}
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    pennon.write(data, path)
    f = pennon.open(path)
    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    for _ in range(5):
        pennon.write(f, tmp_path / "copy.lance", compression="zstd")
    end = time.monotonic()
    stop.set()
    thread.join()
    during = [t for t in ticks if start < t < end]
    assert len(during) > (end - start) / 0.05


def test_nothing_runs_before_it_is_asked_for_and_nothing_after(numbers):
    script = """
        import os, sys, pennon
        def threads():
            return len(os.listdir("/proc/self/task"))
        before = threads()
        f = pennon.open(sys.argv[1])
        f.schema, f.num_rows
        stream, batches = f.__arrow_c_stream__(), f.to_batches(batch_size=10)
        assert threads() == before == 1, threads()
        next(batches)
        f.to_table()
        del batches
        print(threads())
    """
    # Readers' threads end with the scan.
    if os.path.isdir("/proc/self/task"):
        assert int(run("import sys; sys.modules['pyarrow'] = None\n" + textwrap.dedent(script), numbers.path)) == 1


def test_a_process_ends_with_an_iterator_half_read(numbers):
    script = """
        import sys, pennon
        f = pennon.open(sys.argv[1])
        batches = f.to_batches(batch_size=10, threads=4)
        next(batches)
        inner = pennon.open(open(sys.argv[1], "rb")).to_batches(batch_size=10)
        next(inner)
        print("end")
    """
    start = time.monotonic()
    assert run(script, numbers.path, timeout=20) == "end\n"
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("call", ["f.to_table()", "f.count_rows('x >= 0')", "pennon.write(f, sys.argv[2])", "list(f.row_numbers('x >= 0'))"])
def test_ctrl_c_stops_a_long_call(tmp_path, call):
    path = tmp_path / "part.lance"
    pennon.write({"x": list(range(100_000)), "s": [f"{i:0200}" for i in range(100_000)]}, path, compression="zstd")
    # Started from the background of a shell, a process ignores Ctrl-C unless it asks for it.
    script = """
        import signal, sys, pennon

        signal.signal(signal.SIGINT, signal.default_int_handler)
        f = pennon.open(sys.argv[1])
        print("start", flush=True)
        try:
            while True:
                CALL
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """.replace("CALL", call)
    command = [sys.executable, "-c", textwrap.dedent(script), str(path), str(tmp_path / "out.lance")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "start\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    finally:
        child.kill()
    assert (out, err, child.returncode) == ("stopped\n", "", 0)
    assert [p for p in os.listdir(tmp_path) if p.endswith(".tmp")] == []


@needs_pyarrow
def test_a_fork_after_pyarrow_was_used_works_too(numbers):
    script = """
        import os, sys, pennon
        f = pennon.open(sys.argv[1])
        f.to_table()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if f.to_table(["x"]).num_rows == 10000 and f[3]["x"] == 3 else 1)
        print(os.waitpid(pid, 0)[1])
    """
    assert run(script, numbers.path) == "0\n"
