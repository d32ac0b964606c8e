"""TARGETs: how a shell user names what is to be checked, drawn or run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FileTarget", "FolderTarget", "ModuleTarget", "SpecTarget", "Target", "parse_target"]

SPEC_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class ModuleTarget:
    """`module` or `module:attribute`, found as Python finds modules, the working folder included."""

    text: str
    module: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class FileTarget:
    """`file.py` or `file.py:attribute`."""

    text: str
    path: Path
    attribute: str | None


@dataclass(frozen=True, slots=True)
class SpecTarget:
    """A workflow in its declarative form, in a JSON or YAML file."""

    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """Every Python file and every declarative workflow below a folder."""

    text: str
    path: Path


Target = ModuleTarget | FileTarget | SpecTarget | FolderTarget


def parse_target(text: str) -> Target:
    """What `text` names, by its form; whether it exists is seen when it is loaded."""
    path = Path(text)
    if path.is_dir():
        return FolderTarget(text, path)
    if path.suffix in SPEC_SUFFIXES:
        return SpecTarget(text, path)
    if path.suffix == ".py" or path.exists():
        return FileTarget(text, path, None)
    left, colon, attribute = text.rpartition(":")
    if not colon:
        left, attribute = text, ""
    if left.endswith(".py") or _has_separator(left):
        return FileTarget(text, Path(left), attribute or None)
    return ModuleTarget(text, left, attribute or None)


def _has_separator(text: str) -> bool:
    return any(separator in text for separator in (os.sep, os.altsep) if separator)
