#!/usr/bin/env python3
"""The picture of the project's README: how many times less CPU pennon needs than pylance, Parquet and Vortex.

    python bench/plot.py --results bench/data/results.json --out docs/speed.svg

Bars are geometric means over the tables that run.py compares, on a logarithmic scale. The SVG has no background and colours that do on
light and dark pages.
"""
import argparse
import json
import math
import pathlib

import common
import report

PEERS = {"pylance": (report.PYLANCE, "#8250df"), "Parquet": (["parquet"], "#1a7f9c"), "Vortex": (["vortex"], "#d4772c")}
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
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #57606a }
  .title { font-size: 15px; font-weight: 600 } .value, .tick { font-size: 11px }
  line { stroke: #8c959f; stroke-opacity: .35 } .one { stroke-opacity: 1 }
  @media (prefers-color-scheme: dark) { text { fill: #9ea7b3 } }
"""


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


def ticks(low, high):
    """1, 2, 5, 10 and so on, in both directions."""
    steps = [factor * 10.0**power for power in range(-3, 5) for factor in (1, 2, 5)]
    return [step for step in steps if low <= step <= high]


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
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{title}</title><style>{STYLE}</style>",
        f'<text class="title" x="12" y="20">{title}</text>',
    ]
    at = LEFT
    for peer, (_, colour) in PEERS.items():
        parts.append(f'<rect x="{at}" y="33" width="11" height="11" rx="2" fill="{colour}"/><text x="{at + 16}" y="43">{peer}</text>')
        at += 32 + 8 * len(peer)
    for tick in ticks(low, high):
        kind = ' class="one"' if tick == 1 else ""
        parts.append(f'<line{kind} x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:g}×</text>')
    y = TOP
    for measure, name in rows:
        middle = y + BAR * len(PEERS) / 2
        parts.append(f'<text x="{LEFT - 12}" y="{middle + 4.5:.1f}" text-anchor="end">{name}</text>')
        for peer, (_, colour) in PEERS.items():
            if (measure, peer) in found:
                value = found[measure, peer]
                left, right = sorted((x(1), x(value)))
                parts.append(f'<rect x="{left:.1f}" y="{y + 0.5:.1f}" width="{max(right - left, 1):.1f}" height="{BAR - 1}" rx="1.5" fill="{colour}"/>')
                parts.append(f'<text class="value" x="{max(right, x(1)) + 5:.1f}" y="{y + BAR - 1.5:.1f}">{times(value)}</text>')
            y += BAR
        y += GAP
    return "\n".join([*parts, "</svg>", ""])


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
