"""The pages that users read, taken apart into their fenced blocks.

What a block's info string means here:

``python``
    is run as a program of its own.
``python continued``
    is run after the text of the block before it, as if both were one program.
``python file=NAME``
    is run too, and lies under NAME in the working folder of the page's later console blocks.
``python no-run`` and ``pycon``
    are only shown.
``console check``
    each ``$ command`` is run in the page's folder and must print what stands below it. A line ``...`` stands
    for any lines. Other console blocks are only shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.house.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=ticks) *$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: where it stands, what its info string says, and its text."""

    page: str
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name under which the page's console blocks find this block, if it has one."""
        return next((w.removeprefix("file=") for w in self.info if w.startswith("file=")), None)

    def is_program(self) -> bool:
        return self.info[:1] == ("python",) and "no-run" not in self.info

    def is_checked_console(self) -> bool:
        return self.info[:2] == ("console", "check")


@dataclass(frozen=True, slots=True)
class Command:
    """One command line of a console block and the lines that it must print."""

    line: str
    expected: tuple[str, ...]


def pages() -> list[Path]:
    """Return the README and every page of docs/, in reading order."""
    found = [path for path in [ROOT / "README.md"] if path.exists()]
    return found + sorted((ROOT / "docs").rglob("*.md"))


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of ``page`` in their order."""
    return list(parse_blocks(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))))


def parse_blocks(text: str, page: str) -> Iterator[Block]:
    """Give the fenced blocks of a page's ``text``; an indented fence loses its indent."""
    for match in _FENCE.finditer(text):
        indent = re.compile(rf"^{match['indent']}", re.MULTILINE)
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 1,
            info=tuple(match["info"].split()),
            text=indent.sub("", match["text"]),
        )


def programs_of(blocks: list[Block]) -> list[tuple[Block, str]]:
    """Return each block that is run, with the whole text to run."""
    programs: list[tuple[Block, str]] = []
    for block in blocks:
        if not block.is_program():
            continue
        if "continued" in block.info:
            if not programs:
                raise ValueError(f"{block.place}: there is no program before it to continue")
            programs.append((block, f"{programs[-1][1]}\n{block.text}"))
        else:
            programs.append((block, block.text))
    return programs


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a console block; text before the first one is an error."""
    commands: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ()))
        elif not commands:
            raise ValueError(f"{block.place}: a console block starts with `$ command`")
        else:
            last = commands[-1]
            commands[-1] = Command(last.line, (*last.expected, line))
    return commands


def prints_as_shown(printed: str, expected: tuple[str, ...]) -> bool:
    """Tell whether ``printed`` is what the page shows; a line ``...`` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(f"{line.rstrip()}\n") for line in expected
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None
