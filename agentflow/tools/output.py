"""What a tool gives besides a plain value: a text for the model, files, and data for the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.graph.argument import LIST, TEXT, check_fields
from agentflow.messages.file_part import FILES, FilePart

__all__ = ["ToolOutput"]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The value of a tool that has more to give than a text or data.

    Args:
        text: What a model gets to read.
        files: What it gets to see besides, such as images; what it can do with them depends on the model.
        data: The same as data, for the node that called; `None` where there is only the text.

    Raises:
        TypeError: `text` is none, or something in `files` is no file part.
    """

    text: str = ""
    files: tuple[FilePart, ...] = ()
    data: Any = None

    def __post_init__(self) -> None:
        if LIST.accepts(self.files):
            object.__setattr__(self, "files", tuple(self.files))
        check_fields(self, {"text": TEXT, "files": FILES})
