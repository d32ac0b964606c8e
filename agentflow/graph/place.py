"""Where in the author's files a thing was declared."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Place", "calling_place"]

_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, or a JSON pointer into a declarative workflow."""

    file: str | None = None
    line: int | None = None
    pointer: str | None = None

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f":{self.line}"
        if self.pointer is not None:
            where += f"#{self.pointer}"
        return where

    def as_json(self) -> dict[str, str | int | None]:
        """The place as JSON data."""
        return {"file": self.file, "line": self.line, "pointer": self.pointer}


def calling_place() -> Place:
    """The nearest line outside of this package that is being executed."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)
