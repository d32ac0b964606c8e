"""Where things lie in the repository, for the tests that look at its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "agentflow"

_NOT_OURS = {"__pycache__", "build", "dist", "node_modules"}


def modules(folder: Path = PACKAGE) -> list[Path]:
    """Return the Python files below ``folder``, sorted by path."""
    return sorted(folder.rglob("*.py"))


def text_files() -> Iterator[tuple[Path, str]]:
    """Give every text file of the repository: its path from the root, and its text."""
    waiting = [ROOT]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.is_dir():
                if not _is_foreign(path):
                    waiting.append(path)
                continue
            try:
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def _is_foreign(folder: Path) -> bool:
    hidden_but_ours = folder.name in {".ci", ".github"}
    hidden = folder.name.startswith(".") and not hidden_but_ours
    return hidden or folder.name in _NOT_OURS or folder.name.endswith(".egg-info")
