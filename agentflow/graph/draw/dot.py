"""Pictures in the DOT language of Graphviz.

A line to a sub-workflow ends at the border of its cluster: DOT wants a figure inside as its end, and is told where to clip it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentflow.graph.draw.picture import Figure, FigureKind, Group, Line, LineKind, Picture
from agentflow.graph.findings import Severity

__all__ = ["text_of"]

_SHAPES: dict[FigureKind, str] = {
    "start": "shape=circle",
    "node": "shape=box",
    "round": "shape=box, peripheries=2",
    "end": 'shape=box, style="rounded,bold"',
    "missing": "shape=octagon, style=dashed",
    "failure": "shape=cds",
    "turn": "shape=circle",
    "note": "shape=note, fontsize=10",
}
_STYLES: dict[LineKind, tuple[str, ...]] = {
    "route": (),
    "error": ("style=dashed",),
    "limit": ("style=dotted",),
    "note": ("style=dotted", "arrowhead=none", "constraint=false"),
}
_COLOURS: dict[Severity, str] = {"error": "#c62828", "warning": "#ef6c00", "info": "#1565c0"}


def text_of(picture: Picture) -> str:
    """The picture as a digraph, its last line ended."""
    groups = picture.groups()
    lines = [
        f"digraph {_quoted((picture.title,))} {{",
        "    compound=true;",
        # Without it Graphviz may fail on cycles between clusters.
        "    newrank=true;",
        '    fontname="Helvetica";',
        '    node [fontname="Helvetica"];',
        '    edge [fontname="Helvetica", fontsize=10];',
        *_items(picture.items, "    "),
        *(f"    {_line(line, groups)}" for line in picture.lines),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _items(items: Iterable[Figure | Group], indent: str) -> Iterator[str]:
    for item in items:
        colour = "" if item.mark is None else f'color="{_COLOURS[item.mark]}", penwidth=3'
        if isinstance(item, Group):
            inner = f"{indent}    "
            yield f"{indent}subgraph cluster_{item.name} {{"
            yield f"{inner}label={_quoted(item.lines)};"
            if colour:
                yield f"{inner}{colour.replace(', ', '; ')};"
            yield from _items(item.items, inner)
            yield f"{indent}}}"
        else:
            options = [
                f"label={_quoted(item.lines)}",
                _SHAPES[item.kind],
                *([colour] if colour else []),
            ]
            yield f"{indent}{item.name} [{', '.join(options)}];"


def _line(line: Line, groups: dict[str, Group]) -> str:
    options = [f"label={_quoted((line.label,))}"] if line.label else []
    options += _STYLES[line.kind]
    source, target = line.source, line.target
    if source in groups:
        options.append(f"ltail=cluster_{source}")
        source = groups[source].last
    if target in groups:
        options.append(f"lhead=cluster_{target}")
        target = groups[target].first
    told = f" [{', '.join(options)}]" if options else ""
    return f"{source} -> {target}{told};"


def _quoted(lines: Iterable[str]) -> str:
    return '"' + "\\n".join(map(_escaped, lines)) + '"'


def _escaped(text: str) -> str:
    """Text for a label: backslashes would be escapes of DOT, and ampersands start entities of HTML."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
