#!/usr/bin/env python3
"""Shows that pennon's files are never larger than pylance's of the same table.

    python bench/make_data.py --lance 2.1,2.2
    cargo build --release -p pennon
    python bench/never_larger.py                              everything: bench tables, golden tables, 500 random tables
    python bench/never_larger.py --sources golden,random      only these
    python bench/never_larger.py --sources random --random 2000 --first 500 --presets small
    python bench/never_larger.py --only golden:dist_runs      one table, with every column in which pennon takes more

Three laws for each table, format version and preset:

    pages   the buffers of all pages together are at most pylance's
    file    the file is at most 0.15 % + 1 KiB larger than pylance's: room for checksums and statistics
    bare    without checksums and statistics the file is at most pylance's

Golden tables are the `expected` tables of the golden files (`PENNON_SHARED`, ../shared); both sides write them anew, with
default options. Tables that either side refuses are counted and left out. With --check pylance reads pennon's file and the values
are compared, except of tables that it does not read from its own file either, which are counted. Printed are the cases that break a law, by cause, worst first. Exit code 1 if there are any.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys
import tempfile
import traceback

from common import DATA, ENGINE, PRESETS, TABLES, VERSIONS, Make, chosen, lance_name, print_table, read_arrow, run, shared_folder, \
    table_difference, words, write_arrow, write_pylance
from random_tables import random_table

SHARE, ROOM = 0.0015, 1024
BARE = ["--no-stats", "--no-checksums"]

# A table: its name, and a function that gives it for a format version, as the path of an Arrow file.
Case = collections.namedtuple("Case", "name versions arrow")
# A broken law: by how much, and why. `cause` is what alike cases have in common.
Excess = collections.namedtuple("Excess", "law case version preset ours theirs cause detail")


def bench_cases(options, _):
    for name in options.tables:
        path = options.data / f"{name}.arrow"
        if path.exists():
            yield Case(f"bench:{name}", options.versions, lambda version, path=path: path)
        else:
            print(f"{path} is missing: python bench/make_data.py {name}", file=sys.stderr)


def golden_cases(options, _):
    shared = shared_folder()
    if shared is None:
        raise SystemExit("no golden data: set PENNON_SHARED or put it at ../shared")
    versions = collections.defaultdict(list)
    for line in (shared / "golden/lance/manifest.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["version"] in options.versions:
            versions[entry["expected"]].append(entry["version"])
    for expected, those in versions.items():
        path = shared / "golden/lance" / expected
        yield Case(f"golden:{path.stem}", those, lambda version, path=path: path)


def random_cases(options, folder):
    def arrow(version, seed):
        path = folder / f"random{seed}.v{version}.arrow"
        write_arrow(random_table(seed, version), path)
        return path

    for seed in range(options.first, options.first + options.random):
        yield Case(f"random:{seed}", options.versions, lambda version, seed=seed: arrow(version, seed))


SOURCES = {"bench": bench_cases, "golden": golden_cases, "random": random_cases}


class Refused(Exception):
    """One of the two does not write the table."""


def pylance_make(options, case, version, arrow, folder):
    """What pylance's file of a table is made of, and with --check why pylance does not find the values in it."""
    made = options.data / lance_name(arrow.stem, version)
    if case.name.startswith("bench:") and made.exists():
        return Make(options.engine, made), None
    path = folder / f"{case.name}.{version}.pylance.lance"
    try:
        write_pylance(read_arrow(arrow), path, version)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic in there is not an Exception
        raise Refused(f"pylance does not write it: {error}") from None
    make = Make(options.engine, path)
    own = check(arrow, path) if options.check else None
    path.unlink()
    return make, own


def convert(options, arrow, path, version, preset, *more):
    # Without presets in --presets whatever the program takes for its default.
    asked = [] if preset == "default" else ["--preset", preset]
    try:
        run(options.engine, "convert", arrow, path, "--format-version", version, *asked, *more)
    except SystemExit as error:
        raise Refused(f"pennon does not write it: {error}") from None
    return Make(options.engine, path)


def check(arrow, path):
    """Why pylance does not find the values of an Arrow file in a Lance file."""
    from lance.file import LanceFileReader

    try:
        read = LanceFileReader(str(path)).read_all().to_table()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"not read: {error}"
    return table_difference(read_arrow(arrow), read)


def larger_columns(ours, theirs):
    """(bytes more, path, ours, theirs) of each column that takes more than pylance's, worst first."""
    pairs = zip(ours.columns, theirs.columns)
    return sorted(((a["bytes"] - b["bytes"], a["path"], a, b) for a, b in pairs if a["bytes"] > b["bytes"]), key=lambda c: -c[0])


def column_cause(ours, theirs):
    return f"{'; '.join(ours['encodings'])}  instead of  {'; '.join(theirs['encodings'])}"


def column_detail(ours, theirs):
    pages = f"{ours['num_pages']} and {theirs['num_pages']} pages, " if (ours["num_pages"], theirs["num_pages"]) != (1, 1) else ""
    return f"{ours['path']} {ours['type']}, {ours['num_values']} values, {pages}{ours['bytes']} and {theirs['bytes']} bytes"


def file_cause(ours, theirs):
    """The parts of a file that grew."""
    a, b = ours.parts(), theirs.parts()
    more = {part: a.get(part, 0) - b.get(part, 0) for part in {**a, **b}}
    grown = sorted((part for part in more if more[part] > 0), key=lambda part: -more[part])
    less = -sum(n for n in more.values() if n < 0)
    return "larger: " + ", ".join(grown), ", ".join(f"{part} +{more[part]}" for part in grown) + (f", the rest -{less}" if less else "")


def laws_broken(options, case, version, arrow, folder, theirs, checked):
    """Writes a table in every preset; gives the laws that it breaks, the columns that take more and the wrong values."""
    broken, columns, wrong = [], [], []
    for preset in options.presets:
        path = folder / f"{case.name}.{version}.{preset}.lance"
        here = case.name, version, preset
        ours = convert(options, arrow, path, version, preset)
        if checked and (why := check(arrow, path)):
            wrong.append(f"{' '.join(here)}: {why}")
        if len(ours.columns) != len(theirs.columns):
            raise SystemExit(f"{' '.join(here)}: {len(ours.columns)} stored columns, pylance has {len(theirs.columns)}")
        for more, _, a, b in larger_columns(ours, theirs):
            columns.append(Excess("column", *here, a["bytes"], b["bytes"], column_cause(a, b), column_detail(a, b)))
        if ours.pages > theirs.pages:
            _, _, a, b = larger_columns(ours, theirs)[0]
            broken.append(Excess("pages", *here, ours.pages, theirs.pages, column_cause(a, b), column_detail(a, b)))
        if ours.file > theirs.file * (1 + SHARE) + ROOM:
            broken.append(Excess("file", *here, ours.file, theirs.file, *file_cause(ours, theirs)))
        bare = convert(options, arrow, path, version, preset, *options.bare)
        if bare.file > theirs.file:
            broken.append(Excess("bare", *here, bare.file, theirs.file, *file_cause(bare, theirs)))
        path.unlink()
    return broken, columns, wrong


def measure(options, case, version, folder):
    arrow = case.arrow(version)
    try:
        theirs, own = pylance_make(options, case, version, arrow, folder)
        return *laws_broken(options, case, version, arrow, folder, theirs, options.check and own is None), own
    finally:
        if folder in arrow.parents:
            arrow.unlink()


def print_causes(title, found, most):
    """Groups what has one cause, the one with the largest excess first, each with its worst case."""
    groups = collections.defaultdict(list)
    for excess in found:
        groups[excess.version, excess.cause].append(excess)
    print(f"{title}: {len(found)} in {len({(e.case, e.version) for e in found})} tables, {len(groups)} causes\n")
    size = lambda e: e.ours - e.theirs
    order = sorted(groups.items(), key=lambda group: -max(map(size, group[1])))
    for (version, cause), those in order[:most]:
        worst = max(those, key=size)
        presets = collections.Counter(e.preset for e in those)
        print(f"{version}  {cause}")
        print(f"     {len(those)} times ({', '.join(f'{p} {n}' for p, n in presets.items())}), {sum(map(size, those)):,} bytes in all; "
              f"worst +{size(worst):,} ({worst.ours:,} / {worst.theirs:,}) in {worst.case} {worst.preset}: {worst.detail}")
    if len(order) > most:
        print(f"     and {len(order) - most} causes more: --most")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=chosen(SOURCES), default=list(SOURCES), help=f"of {','.join(SOURCES)}")
    parser.add_argument("--tables", type=chosen(TABLES), default=TABLES, help="of the source bench")
    parser.add_argument("--random", type=int, default=500, metavar="N", help="how many random tables for each version")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the random tables")
    parser.add_argument("--only", type=words, metavar="CASES", help="cases by name, as golden:dist_runs,random:17")
    parser.add_argument("--versions", type=words, default=VERSIONS)
    parser.add_argument("--presets", type=words, default=PRESETS, help="`default` asks for none")
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--engine", type=pathlib.Path, default=ENGINE)
    parser.add_argument("--check", action="store_true", help="let pylance read everything back")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, default=40, help="causes printed of each law")
    options = parser.parse_args()

    usage = run(options.engine, "convert", "--help")
    options.bare = [option for option in BARE if option in usage]
    if options.bare != BARE:
        print(f"{options.engine} does not know {' '.join(set(BARE) - set(options.bare))}: left out", file=sys.stderr)
    broken, columns, wrong = [], [], []
    # Why tables were left out, or not checked, and which.
    refused, unread = collections.defaultdict(list), collections.defaultdict(list)
    tables = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(folder)
        cases = [case for source in options.sources for case in SOURCES[source](options, folder)
                 if not options.only or case.name in options.only]
        jobs = {pool.submit(measure, options, case, version, folder): (case, version) for case in cases for version in case.versions}
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            case, version = jobs[job]
            try:
                *found, own = job.result()
            except Refused as error:
                refused[str(error).split("\n")[-1 if "pennon" in str(error) else 0][:150]].append(f"{case.name} {version}")
                continue
            except Exception:
                traceback.print_exc()
                raise SystemExit(f"{case.name} {version}")
            for total, more in zip((broken, columns, wrong), found):
                total += more
            if own is not None:
                unread[own.split("\n")[0].split("(")[0].strip()].append(f"{case.name} {version}")
            tables[case.name.split(":")[0], version] += 1
            if number % 100 == 0:
                print(f"{number} of {len(jobs)}", file=sys.stderr)

    for what, reasons in (("left out", refused), ("not checked, as pylance fails on its own file:", unread)):
        for why, those in reasons.items():
            print(f"{what} {len(those)} ({', '.join(those[:3])}{' …' * (len(those) > 3)}): {why}")
    print()
    for line in wrong:
        print(f"WRONG VALUES {line}")
    laws = ["pages", "file", "bare"]
    count = lambda law, source, version, preset: sum(
        (e.law, e.case.split(":")[0], e.version, e.preset) == (law, source, version, preset) for e in broken)
    print_table(["source", "version", "preset", "tables", *(f"larger: {law}" for law in laws)], [
        [source, version, preset, total, *(count(law, source, version, preset) for law in laws)]
        for (source, version), total in sorted(tables.items()) for preset in options.presets
    ])
    for law in laws:
        found = [e for e in broken if e.law == law]
        if found:
            print_causes(law, found, options.most)
    if options.only:
        print_causes("columns", columns, options.most)
    elif columns:
        print(f"({len(columns)} single columns are larger, {len({(e.case, e.version, e.preset) for e in columns})} files have one)")
    return bool(broken or wrong)


if __name__ == "__main__":
    sys.exit(main())
