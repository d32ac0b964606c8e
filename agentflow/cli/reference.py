"""The reference of findings: the pages that `make docs` writes, where they were installed or lie in a checkout."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import agentflow
from agentflow.cli.styled import Line

__all__ = ["entry", "entry_lines", "examples", "page"]

_PAGE = "findings.md"


def page() -> str | None:
    """The reference page; `None` where it was not installed."""
    checkout = Path(agentflow.__file__).parent.parent / "docs" / _PAGE
    try:
        if checkout.exists():
            return checkout.read_text(encoding="utf-8")
        installed = metadata.files("agentflow") or ()
        found = next((file for file in installed if file.name == _PAGE), None)
        return None if found is None else Path(str(found.locate())).read_text(encoding="utf-8")
    except (OSError, metadata.PackageNotFoundError):
        return None


def entry(page: str, code: str) -> str | None:
    """What the page has to say of a code, below its heading; `None` if it does not know it."""
    found = re.search(
        rf"^### {code}\n(.*?)(?=^#|\Z)", _without_programs(page), re.MULTILINE | re.DOTALL
    )
    return None if found is None else page[found.start(1) : found.end(1)].strip("\n")


def examples(page: str, code: str) -> str:
    """The programs of a code's entry, without the sentence before them, which the table has too; `""` if it has none."""
    return (entry(page, code) or "").partition("\n\n")[2]


@functools.lru_cache(maxsize=1)
def _without_programs(page: str) -> str:
    """The page with blanks for its programs, whose comments look like headings; as long as it was."""
    return re.sub(
        r"^```.*?^```$",
        lambda program: re.sub(r"[^\n]", " ", program[0]),
        page,
        flags=re.MULTILINE | re.DOTALL,
    )


def entry_lines(text: str) -> Iterator[Line]:
    """An entry for a terminal: programs and what they print are set in, and Markdown's marks are left out."""
    program = False
    for line in text.split("\n"):
        if line.startswith("```"):
            program = not program
        elif program:
            yield ((f"    {line}".rstrip(), "plain"),)
        else:
            yield ((re.sub(r"\*\*(.+?)\*\*|`(.+?)`", r"\1\2", line), "quiet"),)
