"""The end of a command that cannot do what it was asked: one line that says why, and an exit code."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

__all__ = ["refuse"]


def refuse(message: str, code: int = 2) -> NoReturn:
    """Tell on stderr why the command ends here, and end it.

    Args:
        message: What, where, and what to do.
        code: The exit code; 2 for what the user has to put right, 1 for what stands in the way as things are.

    Raises:
        Exit: Always.
    """
    from agentflow.cli.styled import write_lines

    write_lines([((f"error: {message}", "error"),)], sys.stderr)
    raise typer.Exit(code)
