"""Programs that measure without Python: of bench/measure, bench/peers-lance and bench/peers-rust. They are given a job as JSON,
much as measures.py is, and print the same answer."""
import json
import pathlib
import subprocess

import measures as known

BENCH = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {
    "pennon": BENCH.parent / "target/release/pennon-measure",
    "lance": BENCH / "peers-lance/target/release/measure-lance",
    "parquet": BENCH / "peers-rust/target/release/measure-parquet",
}
# Measured through Python alone.
LEFT_OUT = {"write", "stream_touched", "write_memory", "stream_memory"}


def job_of(job, measures):
    """A job of measures.py in the form that programs read."""
    one, two = known.COLUMNS[job["table"]]
    sizes = {100 if name.startswith("open") else int(name.split("_")[1]) for name in measures if "take" in name}
    sets = {size: [numbers.tolist() for numbers in known.row_sets(job["num_rows"], size)] for size in sizes}
    return {"file": job["path"], "measures": measures, "seconds": job["seconds"], "threads": 0, "one": [one], "two": two, "sets": sets}


def measure(variant, job, folder):
    """What a program answers; `folder` is where it finds its job."""
    measures = [name for name in job["measures"] if name not in LEFT_OUT and known.applies(name, job["table"], job["num_rows"])]
    path = pathlib.Path(folder, f"{job['table']}.{job['engine']}.json")
    path.write_text(json.dumps(job_of(job, measures)))
    answer = subprocess.run([str(PROGRAMS[variant]), str(path)], capture_output=True, text=True, timeout=900)
    if answer.returncode:
        return {"error": answer.stderr.strip()[-300:] or f"exit code {answer.returncode}"}
    return json.loads(answer.stdout)
