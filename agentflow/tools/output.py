"""What a tool gives besides a plain value: a text for the model, files, and data for the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.messages.file_part import FilePart

__all__ = ["ToolOutput"]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The value of a tool that has more to give than a text or data.

    Args:
        text: What a model gets to read.
        files: What it gets to see besides, such as images; what it can do with them depends on the model.
        data: The same as data, for the node that called; `None` where there is only the text.
    """

    text: str = ""
    files: tuple[FilePart, ...] = ()
    data: Any = None
