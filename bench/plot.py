#!/usr/bin/env python3
"""The picture of the project's README: how many times less CPU pennon needs than pylance, Parquet and Vortex.

    python bench/plot.py --results bench/data/results.json --out docs/speed.svg

Bars are geometric means over the tables that run.py compares, on a logarithmic scale.
"""
import argparse
import json
import math
import pathlib

import common
import report
import svg

PEERS = {"pylance": (report.PYLANCE, svg.PYLANCE), "Parquet": (["parquet"], svg.PARQUET), "Vortex": (["vortex"], svg.VORTEX)}
ROWS = [
    ("scan", "Scan into a table"),
    ("stream", "Stream of batches"),
    ("one", "Scan of one column"),
    ("take_100_one", "Take of 100 rows, one column"),
    ("take_1000_all", "Take of 1,000 rows, all columns"),
    ("open_take_all", "Open, take 100 rows, all columns"),
    ("open_one", "Open 10,000 columns, read one"),
    ("write", "Write"),
]
WIDTH, LEFT, RIGHT, TOP = 760, 236, 56, 58
BAR, GAP = 11, 15


def means(results, variant):
    """By measure and peer, the geometric mean of the ratios of CPU."""
    medians = report.Medians(results)
    found = {}
    for measure, _ in ROWS:
        for peer, (engines, _) in PEERS.items():
            ratios = [medians.ratio(table, engines, variant, measure, "cpu") for table in report.SEVEN]
            ratios = [ratio for ratio in ratios if ratio is not None]
            if ratios:
                found[measure, peer] = common.geometric_mean(ratios)
    return found


def times(value):
    return f"{value:.0f}×" if value >= 9.95 else f"{value:.1f}×" if value >= 0.95 else f"{value:.2f}×"


def drawing(found, title):
    low, high = min(0.9, *found.values()) / 1.05, max(2.0, *found.values()) * 1.1
    span = WIDTH - LEFT - RIGHT

    def x(value):
        return LEFT + span * math.log(value / low) / math.log(high / low)

    rows = [(measure, name) for measure, name in ROWS if any((measure, peer) in found for peer in PEERS)]
    height = TOP + len(rows) * (BAR * len(PEERS) + GAP) + 22
    bottom = height - 24
    parts = list(svg.legend(LEFT, 33, {peer: colour for peer, (_, colour) in PEERS.items()}))
    for tick in svg.ticks(low, high):
        kind = ' class="one"' if tick == 1 else ""
        parts.append(f'<line{kind} x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        parts.append(svg.text(x(tick), height - 8, f"{tick:g}×", "middle", "tick"))
    y = TOP
    for measure, name in rows:
        middle = y + BAR * len(PEERS) / 2
        parts.append(svg.text(LEFT - 12, middle + 4.5, name, "end"))
        for peer, (_, colour) in PEERS.items():
            if (measure, peer) in found:
                value = found[measure, peer]
                left, right = sorted((x(1), x(value)))
                parts.append(f'<rect x="{left:.1f}" y="{y + 0.5:.1f}" width="{max(right - left, 1):.1f}" height="{BAR - 1}" rx="1.5" fill="{colour}"/>')
                parts.append(svg.text(max(right, x(1)) + 5, y + BAR - 1.5, times(value), kind="value"))
            y += BAR
        y += GAP
    return svg.picture(WIDTH, height, title, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=common.DATA / "results.json")
    parser.add_argument("--out", type=pathlib.Path, default=common.DATA / "speed.svg")
    parser.add_argument("--variant", choices=report.VARIANTS, default="pennon_balanced")
    options = parser.parse_args()
    preset = {"pennon_on_pylance": "on pylance's files"}.get(options.variant, f"preset {options.variant.removeprefix('pennon_')}")
    found = means(json.loads(options.results.read_text()), options.variant)
    options.out.write_text(drawing(found, f"Times less CPU with pennon, {preset}"))


if __name__ == "__main__":
    main()
