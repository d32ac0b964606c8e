"""`agentflow explain`: what a finding's code means."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentflow.cli.styled import Line
    from agentflow.graph.codes import Code

__all__ = ["explain"]


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code, such as AF106; without one, all are listed."),
    ] = None,
) -> None:
    """Explain a code of findings."""
    from agentflow.cli.styled import write_lines
    from agentflow.graph.codes import CODES

    if code is None:
        write_lines((_listed(item) for item in CODES.values()), sys.stdout)
        return
    item = CODES.get(code.upper())
    if item is None:
        close = difflib.get_close_matches(code.upper(), CODES, n=3)
        meant = f"; did you mean {' or '.join(close)}?" if close else "."
        message = f"there is no code {code!r}{meant} `agentflow explain` lists them all"
        raise typer.BadParameter(message, param_hint="CODE")
    write_lines(_explained(item), sys.stdout)


def _listed(item: Code) -> Line:
    return (item.code, item.severity), (f"  {item.severity:<8} {item.title}", "plain")


def _explained(item: Code) -> Iterator[Line]:
    from agentflow.cli.reference import entry_lines, examples, page

    yield (f"{item.severity}[{item.code}]", item.severity), (": ", "strong"), (item.title, "strong")
    yield ()
    yield ((item.reason, "plain"),)
    shown = examples(page() or "", item.code)
    if shown:
        yield ()
        yield from entry_lines(shown)
