"""Rows of spans as lines whose columns stand below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentflow.cli.printable import printable
from agentflow.cli.styled import Line, Span

__all__ = ["table_lines"]


def table_lines(rows: Sequence[Sequence[Span]], *, indent: int = 0) -> Iterator[Line]:
    """The rows, each column as wide as its widest text; the last one is as long as it is.

    Args:
        rows: Rows of the same number of cells; one without text stays empty.
        indent: How many spaces stand before each line.
    """
    rows = [[(printable(text), role) for text, role in row] for row in rows]
    widths = [max(len(text) for text, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        spans: list[Span] = [(" " * indent, "plain")] if indent else []
        rest = len("".join(text for text, _ in row).rstrip())
        for at, (text, role) in enumerate(row):
            last = not any(later for later, _ in row[at + 1 :])
            spans.append((text if last else text.ljust(widths[at] + 2), role))
            if last:
                break
        if rest:
            yield tuple(spans)
