"""How a file shows itself in a notebook: its columns, and a map of where their bytes lie."""

from html import escape

_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")
_MOST_COLUMNS = 60
_WIDTH = 720


def render(file):
    """The HTML of a file: no script, no style sheet."""
    head = f"<b>{escape(_name(file))}</b>: {file.format}"
    if file.format_version:
        head += f" {file.format_version}"
    if file.format != "lance":
        rows = [(escape(name),) for name in file.columns]
        return f"<div>{head}, {len(rows)} columns</div>{_table(('column',), rows)}"
    made_of = file.inspect()
    head += f", {made_of['num_rows']:,} rows, {_size(made_of['file_bytes'])}"
    columns = made_of["columns"]
    rows = []
    for index, column in enumerate(columns[:_MOST_COLUMNS]):
        mark = f'<span style="color:{_COLOURS[index % len(_COLOURS)]}">&#9632;</span>'
        rows.append(
            (
                f"{mark} {escape(column['path'])}",
                escape(column["type"]),
                f"{column['num_pages']:,}",
                _size(column["bytes"]),
                f"{100 * column['share']:.1f} %",
                escape("; ".join(column["encodings"])),
            )
        )
    left = len(columns) - _MOST_COLUMNS
    more = f"<div>and {left:,} more columns</div>" if left > 0 else ""
    titles = ("column", "type", "pages", "bytes", "share", "layout and encoding")
    return f"<div>{head}</div>{_map(made_of)}{_table(titles, rows)}{more}"


def _name(file):
    return file.path or repr(file).split()[1]


def _map(made_of):
    """The file from its first byte to its last: pages in the colours of their columns, metadata in grey."""
    total = max(made_of["file_bytes"], 1)
    marks = []
    for buffer in made_of["global_buffers"]:
        title = f"{buffer['kind']}: {_size(buffer['bytes'])} at {buffer['offset']:,}"
        marks.append((buffer["offset"], buffer["bytes"], "#bbbbbb", title))
    for index, column in enumerate(made_of["columns"]):
        colour = _COLOURS[index % len(_COLOURS)]
        for number, page in enumerate(column.get("pages", ())):
            title = f"{column['path']}, page {number}: {page['num_rows']:,} rows, {page['layout']} {page['encoding']}"
            for buffer in page["buffers"]:
                marks.append((buffer["offset"], buffer["bytes"], colour, title))
    # What is narrower than half a pixel is not drawn, so that a file of any size has a small map.
    drawn = [m for m in marks if m[1] / total * _WIDTH >= 0.5][:2000]
    bars = "".join(
        f'<rect x="{offset / total * _WIDTH:.1f}" width="{size / total * _WIDTH:.1f}" y="0" height="24" fill="{colour}">'
        f"<title>{escape(title)}</title></rect>"
        for offset, size, colour, title in drawn
    )
    return (
        f'<svg width="{_WIDTH}" height="24" viewBox="0 0 {_WIDTH} 24" role="img" aria-label="layout of the file">'
        f'<rect width="{_WIDTH}" height="24" fill="#eeeeee"/>{bars}</svg>'
    )


def _table(titles, rows):
    head = "".join(f"<th>{t}</th>" for t in titles)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _size(number):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:,} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return ""
