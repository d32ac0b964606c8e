"""What a model gets to see of the value of a tool that gives files."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import build_loop, tool
from agentflow.messages import FilePart
from agentflow.mock import MockModel, Rule, call
from agentflow.tools import ToolOutput

PICTURE = FilePart("image/png", b"\x89PNG", name="cat.png")


@pytest.mark.parametrize(
    ("value", "text", "files"),
    [
        (PICTURE, "cat.png", (PICTURE,)),
        (FilePart("image/png", b"\x89"), "image/png", (FilePart("image/png", b"\x89"),)),
        (ToolOutput("A cat.", (PICTURE,), {"cats": 1}), "A cat.", (PICTURE,)),
        (ToolOutput(files=(PICTURE,), data={"cats": 1}), '{"cats":1}', (PICTURE,)),
        (ToolOutput(files=(PICTURE, PICTURE)), "cat.png, cat.png", (PICTURE, PICTURE)),
    ],
)
async def test_a_model_sees_the_files_that_a_tool_gives(
    value: Any, text: str, files: tuple[FilePart, ...]
) -> None:
    @tool
    async def look() -> Any:
        """Look."""
        return value

    model = MockModel([Rule(reply=[call("look"), "Done."])])
    result = await build_loop().run({"messages": "Look."}, model=model, tools=[look])
    (told,) = [part for message in result.messages for part in message.tool_results]
    assert (told.content, told.files, told.is_error) == (text, files, False)
