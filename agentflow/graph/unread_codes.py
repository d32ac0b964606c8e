"""The codes of what cannot be read: the part of the table where nothing could be checked."""

from __future__ import annotations

from typing import Final

from agentflow.graph.finding_code import Code

__all__ = ["UNREAD"]

UNREAD: Final[tuple[Code, ...]] = (
    # AF0xx: what the shell was pointed at cannot be read.
    Code(
        "AF001",
        "error",
        "target not found",
        "There is no such file, folder, module or attribute, so nothing was checked.",
    ),
    Code(
        "AF002",
        "error",
        "import failed",
        "The module raised while it was imported, so its workflows do not come to be.",
    ),
    Code(
        "AF003",
        "error",
        "file cannot be parsed",
        "Its text is no Python, JSON or YAML, so nothing in it could be read.",
    ),
    Code(
        "AF004",
        "error",
        "missing module",
        "The module imports another that cannot be found, so its workflows do not come to be.",
    ),
    Code(
        "AF005",
        "error",
        "cyclic import",
        "Modules wait for each other, so neither can be imported to its end.",
    ),
    Code(
        "AF006",
        "error",
        "not a workflow",
        "Only a workflow, an engine, or a function that makes one of them can be checked and run.",
    ),
    Code("AF007", "error", "no workflow", "Nothing was checked, which must not look like success."),
    Code(
        "AF008",
        "error",
        "import needed",
        "Python files say what they define only when they are imported, and that was forbidden.",
    ),
    Code(
        "AF009",
        "error",
        "policy file cannot be used",
        "What it demands is not known, so nothing may pass for checked against it.",
    ),
)
