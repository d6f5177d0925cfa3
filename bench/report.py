"""What run.py prints of its results: ratios beside the goals, and every figure by table."""
import statistics

from common import geometric_mean, print_table
from measures import MEASURES, MEMORY

SEVEN = ["lineitem", "flights", "text", "cities", "nested", "embeddings", "wide"]
# Rows of their own: little but copying of big values.
APART = ["images", "blobs"]
VARIANTS = ["pennon_fast", "pennon_balanced", "pennon_small", "pennon_on_pylance"]
PYLANCE = ["lance_file", "lance_dataset"]
# Programs without Python, beside each other.
RUST_VARIANTS = ["rust_pennon_fast", "rust_pennon_balanced", "rust_pennon_on_pylance"]
# How many times less than pylance in CPU and in wall time, than Vortex and Arrow IPC in CPU. None is no goal.
READ = {"scan": (4, 3, 1.5, 0.15), "stream": (5, 4, 2, 0.2), "one": (5, 4, 1.5, None), "two": (5, 4, 1.5, None)}
OPEN_TAKE, OPEN_ONE, WRITE = (8, 6, 4, 0.7), (25, 25, 50, 8), (2, 2, 3, None)
TAKE = {"pennon_fast": (20, 12, 2, 0.5), "pennon_on_pylance": (20, 12, 2, 0.5), "pennon_balanced": (12, 8, 1, 0.3)}
MEMORY_GOAL = (1 / 0.4, None, 1 / 0.3, None)
APART_GOAL = {"scan": (15, 8, None, None), "take": (15, 8, None, None), "open_take": (None, None, 1, 0.7)}
NOTHING = (None,) * 4


def goal(measure, variant, apart=False):
    """The four ratios that are aimed at."""
    if variant == "pennon_small" or variant in RUST_VARIANTS:
        return NOTHING
    family = "open_take" if measure.startswith("open_take") else measure.split("_")[0] if measure[:4] == "take" else measure
    if apart:
        return APART_GOAL.get(family, NOTHING)
    if measure in MEMORY:
        return MEMORY_GOAL if variant == "pennon_balanced" or measure == "stream_memory" else NOTHING
    if measure == "write":
        return WRITE if variant == "pennon_balanced" else NOTHING
    if family == "take":
        return TAKE[variant]
    return {"open_take": OPEN_TAKE, "open_one": OPEN_ONE}.get(family) or READ.get(measure, NOTHING)


class Medians:
    """Over the rounds, by table, engine, measure and clock."""

    def __init__(self, results):
        lists = {}
        for answer in results["answers"]:
            for measure in MEASURES:
                for clock, value in answer.get(measure, {}).items():
                    lists.setdefault((answer["table"], answer["engine"], measure, clock), []).append(value)
        self.values = {key: statistics.median(values) for key, values in lists.items()}

    def get(self, table, engines, measure, clock):
        """The best of some engines."""
        found = [self.values.get((table, engine, measure, clock)) for engine in engines]
        return min((value for value in found if value is not None), default=None)

    def ratio(self, table, others, engine, measure, clock):
        mine, theirs = self.get(table, [engine], measure, clock), self.get(table, others, measure, clock)
        if mine is None or theirs is None:
            return None
        # A peak of no pages at all is as good as one of a page.
        smallest = 4096 if measure in MEMORY else 1e-9
        return max(theirs, smallest) / max(mine, smallest)

    def tables(self):
        return list(dict.fromkeys(table for table, *_ in self.values))

    def engines(self, table):
        return list(dict.fromkeys(engine for other, engine, *_ in self.values if other == table))


def comparisons(measure, variant):
    """The columns of ratios: a name, the engines compared with, and the clock."""
    if variant in RUST_VARIANTS:
        peers = [(name, [f"rust_{name}"]) for name in ("lance_file", "parquet")]
        return [(f"{name} {clock}", others, clock) for name, others in peers for clock in ("cpu", "wall")]
    clock = "bytes" if measure in MEMORY else "cpu"
    wall = "anonymous" if measure in MEMORY else "wall"
    return [("pylance", PYLANCE, clock), (f"pylance {wall}", PYLANCE, wall), ("Vortex", ["vortex"], clock), ("IPC", ["ipc"], clock)]


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def beside(value, wanted, worst=""):
    """A ratio, whether it meets its goal, and the worst table."""
    if value is None:
        return "-"
    met = "" if wanted is None else f" {'≥' if value >= wanted else '< '}{wanted:.3g}"
    return f"{short(value)}{met}{worst}"


def ratio_rows(medians, measure, variants, tables):
    """A row for every variant: geometric means over the tables, with the worst of them."""
    rows = []
    for variant in variants:
        cells = []
        for (_, others, clock), wanted in zip(comparisons(measure, variant), goal(measure, variant)):
            ratios = {t: medians.ratio(t, others, variant, measure, clock) for t in tables}
            ratios = {table: value for table, value in ratios.items() if value is not None}
            if not ratios:
                cells.append("-")
                continue
            worst = min(ratios, key=ratios.get)
            cells.append(beside(geometric_mean(list(ratios.values())), wanted, f"  ({worst} {short(ratios[worst])})"))
        if set(cells) != {"-"}:
            rows.append([f"{measure}  {variant}", *cells])
    return rows


def apart_rows(medians, measure, variants, table):
    rows = []
    for variant in variants:
        goals = goal(measure, variant, apart=True)
        ratios = [medians.ratio(table, others, variant, measure, clock) for _, others, clock in comparisons(measure, variant)]
        if set(ratios) != {None}:
            rows.append([f"{measure}  {variant}", *map(beside, ratios, goals)])
    return rows


def print_ratios(results):
    """For each measure, how many times less pennon needs; bytes at their peak for measures of memory."""
    medians = Medians(results)
    about = results["about"]
    # Fewer for tables that a broken run has not come to again.
    rounds = max((answer["round"] for answer in results["answers"]), default=-1) + 1
    print(f"{about['when']}, {rounds} rounds of {about['seconds']} s a measure, {about['cores']} cores; "
          + ", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    for answer in results["answers"]:
        for complaint in ("wrong", "error"):
            if complaint in answer:
                print(f"{answer['table']}, {answer['engine']}: {complaint}: {answer[complaint]}")
    seven = [table for table in SEVEN if table in medians.tables()]
    means = f"geometric means over {', '.join(seven)}"
    print_variants(
        medians, VARIANTS, seven, ["", "pylance CPU", "pylance wall", "Vortex CPU", "IPC CPU"],
        f"times less than the better of pylance's file and dataset, Vortex, Arrow IPC: {means}\n"
        "(goal and whether it is met; the worst table); rows of memory: peak bytes, peak bytes of no file, Vortex, IPC",
    )
    print_variants(
        medians, RUST_VARIANTS, seven, ["", "lance-file CPU", "lance-file wall", "parquet CPU", "parquet wall"],
        f"programs in Rust, times less than the crates lance-file and parquet: {means} (the worst table)",
    )


def print_variants(medians, variants, tables, header, title):
    """The tables of ratios of some variants, if anything was measured of them."""
    rows = [row for measure in MEASURES for row in ratio_rows(medians, measure, variants, tables)]
    if rows:
        print(f"\n{title}\n")
        print_table(header, rows)
    for table in APART:
        rows = [row for measure in MEASURES for row in apart_rows(medians, measure, variants, table)]
        if rows:
            print(f"{table}, times less\n")
            print_table(header, rows)


def print_each(results):
    """Every figure: milliseconds of CPU, and of wall time; megabytes for measures of memory."""
    medians = Medians(results)
    for table in medians.tables():
        names = medians.engines(table)
        measures = [m for m in MEASURES if any(medians.get(table, [n], m, c) is not None for n in names for c in ("cpu", "bytes"))]
        for clock, title in (("cpu", "CPU ms"), ("wall", "wall ms")):
            print(f"{table}, {title}; memory in MB\n")
            sizes = [results["bytes"].get(f"{table} {name}") for name in names]
            rows = [["file, MB", *("-" if size is None else f"{size / 1e6:.4g}" for size in sizes)]]
            for measure in measures:
                clocks = clock if measure not in MEMORY else "bytes" if clock == "cpu" else "anonymous"
                scale = 1e-6 if measure in MEMORY else 1e3
                found = [medians.get(table, [name], measure, clocks) for name in names]
                rows.append([measure, *("-" if value is None else f"{value * scale:.4g}" for value in found)])
            print_table(["", *names], rows)
