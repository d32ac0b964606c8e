"""The content of a message in a body: a text, or a list of blocks, of which the texts are what rules look at."""

from __future__ import annotations

from agentflow.mock.wire.fields import Fields

__all__ = ["blocks_of", "text_of"]

_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Where blocks hold their text, by their types."""


def text_of(given: Fields, name: str) -> str:
    """The text of a field that holds a text or blocks, those that are not text left out."""
    return "".join(
        block.text(_TEXTS[block.text("type")])
        for block in blocks_of(given, name)
        if block.text("type") in _TEXTS
    )


def blocks_of(given: Fields, name: str) -> list[Fields]:
    """The blocks of a field; a text is one block."""
    value = given.data.get(name)
    if isinstance(value, str):
        return [Fields({"type": "text", "text": value}, given.at(name))]
    if isinstance(value, list):
        return given.objects(name)
    raise given.wrong("it is neither a text nor a list of blocks", name)
