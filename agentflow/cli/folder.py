"""The files of a folder that may hold workflows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from agentflow.cli.target import SPEC_SUFFIXES

__all__ = ["files_below"]

_SUFFIXES = SPEC_SUFFIXES | {".py"}
# Importing these does something to the project, or asks for a tool to be there.
_PROGRAMS = frozenset({"__main__.py", "conftest.py", "noxfile.py", "setup.py"})
_FOREIGN = frozenset({"__pycache__", "node_modules", "site-packages"})


def files_below(folder: Path) -> Iterator[Path]:
    """Python, JSON and YAML files below a folder, in a fixed order; no hidden folders, no environments, no links to folders."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(here, name)))
        for name in sorted(files):
            if Path(name).suffix in _SUFFIXES and name not in _PROGRAMS:
                yield Path(here, name)


def _is_foreign(folder: Path) -> bool:
    return (
        folder.name.startswith(".") or folder.name in _FOREIGN or (folder / "pyvenv.cfg").exists()
    )
