"""Lines of text whose parts have a meaning; on a terminal the meaning becomes a colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TextIO

from agentflow.cli.output import takes_colour

__all__ = ["Line", "Role", "Span", "write_lines"]

Role = Literal["plain", "strong", "error", "warning", "info", "ok", "hint", "quiet"]
Span = tuple[str, Role]
Line = tuple[Span, ...]

_STYLES: dict[Role, str] = {
    "plain": "",
    "strong": "bold",
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "ok": "green",
    "hint": "cyan",
    "quiet": "dim",
}


def write_lines(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines, coloured where somebody can see it; nothing is wrapped, so that paths stay whole."""
    if not takes_colour(stream):
        stream.writelines("".join(text for text, _ in line) + "\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True, force_terminal=True)
    for line in lines:
        console.print(Text.assemble(*((text, _STYLES[role]) for text, role in line)))
