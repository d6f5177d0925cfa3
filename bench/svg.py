"""What the pictures share: colours, the frame of an SVG, ticks of logarithmic axes. No background, and colours that do on light and dark pages."""
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #57606a }
  .title { font-size: 15px; font-weight: 600 } .value, .tick { font-size: 11px }
  line { stroke: #8c959f; stroke-opacity: .35 } .one { stroke-opacity: 1 }
  polyline { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) { text { fill: #9ea7b3 } }
"""
PYLANCE, PARQUET, VORTEX, FAST, BALANCED, IPC = "#8250df", "#1a7f9c", "#d4772c", "#2da44e", "#0969da", "#8c959f"


def text(x, y, words, anchor="start", kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def legend(x, y, names):
    """Squares of the colours of `names`, side by side."""
    for name, colour in names.items():
        yield f'<rect x="{x}" y="{y}" width="11" height="11" rx="2" fill="{colour}"/>'
        yield text(x + 16, y + 10, name)
        x += 32 + 8 * len(name)


def picture(width, height, title, parts):
    """The whole file."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{title}</title><style>{STYLE}</style>",
        text(12, 20, title, kind="title"),
        *parts,
        "</svg>",
        "",
    ])


def ticks(low, high, factors=(1, 2, 5)):
    """1, 2, 5, 10 and so on, in both directions."""
    steps = [factor * 10.0**power for power in range(-3, 10) for factor in factors]
    return [step for step in steps if low <= step <= high]
