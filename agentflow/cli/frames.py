"""Whose code a traceback goes through: the author's, what they installed, or the engine's."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

import agentflow

__all__ = ["authors_frames", "is_authors", "is_engine"]

_PACKAGE = Path(agentflow.__file__).parent
_STANDARD = Path(sysconfig.get_path("stdlib"))
_SCHEDULERS = frozenset({"anyio", "asyncio", "concurrent", "contextlib.py", "threading.py", "trio"})
"""What stands between the engine and a node's body: loops and threads."""


def is_engine(file: str) -> bool:
    """Whether a file belongs to agentflow, or to what it runs nodes with."""
    if file.startswith("<frozen importlib"):
        return True
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return True
    return _is_installed(path) and not _SCHEDULERS.isdisjoint(path.parts)


def authors_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """The frames in files that are neither the engine's nor installed, outermost first."""
    return [frame for frame in traceback.extract_tb(trace) if is_authors(frame.filename)]


def is_authors(file: str) -> bool:
    """Whether a file is neither the engine's nor installed."""
    return not (is_engine(file) or _is_installed(Path(file)) or file.startswith("<"))


def _is_installed(path: Path) -> bool:
    return "site-packages" in path.parts or path.is_relative_to(_STANDARD)
