"""The tools for files: list, read, search and, if that is asked for, write, below one folder."""

from __future__ import annotations

import os
from typing import Literal

from agentflow.tools.context import ToolContext
from agentflow.tools.files.folder import FileText, Folder, Listing, Written
from agentflow.tools.files.search import Found
from agentflow.tools.tool import Tool, tool
from agentflow.tools.workspace import Workspace

__all__ = ["file_tools"]


def file_tools(
    folder: Folder | str | os.PathLike[str],
    *,
    access: Literal["read", "write"] = "read",
    prefix: str = "",
) -> Workspace:
    """Tools for the files of one folder, which no path leads out of: `list_files`, `read_file`, `search_files`, `write_file`.

    Args:
        folder: The folder, or its path; a `Folder` has limits of its own.
        access: `write` adds the tool that writes.
        prefix: What the ids begin with, where an engine has tools for several folders.

    Raises:
        NotADirectoryError: There is no such folder.
        NotImplementedError: This system cannot confine files to a folder, as on Windows.
        ValueError: `access` is neither.
    """
    if access not in ("read", "write"):
        raise ValueError(f"file_tools(access={access!r}): it is 'read' or 'write'")
    place = folder if isinstance(folder, Folder) else Folder(folder)
    made = _reading(place, prefix)
    if access == "write":
        made.append(_writing(place, prefix))
    return Workspace(
        made,
        "Paths of files are relative to one folder, with '/', and nothing outside of it can be reached.",
        name=f"{prefix}files",
    )


def _reading(folder: Folder, prefix: str) -> list[Tool]:
    def list_files(path: str = ".") -> Listing:
        """List what is in a folder.

        Args:
            path: The folder; "." is the outermost.
        """
        return folder.list(path)

    def read_file(path: str, first_line: int = 1, lines: int | None = None) -> FileText:
        """Read a text file, or lines of it.

        Args:
            path: The file.
            first_line: The first line, from 1.
            lines: How many lines; as many as fit if it is not given.
        """
        return folder.read(path, first_line=first_line, lines=lines)

    def search_files(text: str, path: str = ".", names: str = "*", *, ctx: ToolContext) -> Found:
        """Find the lines in which a text stands, in all text files below a folder.

        Args:
            text: What to look for, letter by letter, within one line.
            path: The folder.
            names: Which files, such as "*.py", or "docs/*.md" for paths.
        """
        return folder.search(text, path, names=names, stop=lambda: ctx.signal.cancelled)

    return [
        tool(function, id=f"{prefix}{function.__name__}", kind="read")
        for function in (list_files, read_file, search_files)
    ]


def _writing(folder: Folder, prefix: str) -> Tool:
    def write_file(path: str, text: str) -> Written:
        """Write a text file; one that is there is replaced, and missing folders are made.

        Args:
            path: The file.
            text: All that it is to hold.
        """
        return folder.write(path, text)

    return tool(write_file, id=f"{prefix}write_file", kind="write", parallel=False)
