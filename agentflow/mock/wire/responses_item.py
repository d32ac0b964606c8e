"""The items of an OpenAI response: as they begin, grow and end, and as they are told at last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentflow.mock.wire.gathering import Item

__all__ = ["closing", "finished", "growing", "opening", "started"]

Told = Iterator[tuple[str, dict[str, Any]]]
"""Types of events, and their fields besides those that say which item it is."""


def started(item: Item, response: int) -> dict[str, Any]:
    """An item that has no content yet; its id is made of the number of the response."""
    match item.kind:
        case "text":
            message = {"type": "message", "role": "assistant", "content": []}
            return {"id": f"msg_mock_{response}_{item.index}", "status": "in_progress", **message}
        case "reasoning":
            return {"id": f"rs_mock_{response}_{item.index}", "type": "reasoning", "summary": []}
        case "call":
            return {
                "id": f"fc_mock_{response}_{item.index}",
                "type": "function_call",
                "status": "in_progress",
                "call_id": item.id,
                "name": item.name,
                "arguments": "",
            }


def finished(item: Item, response: int) -> dict[str, Any]:
    """An item that is whole."""
    made = started(item, response)
    match item.kind:
        case "text":
            return made | {"status": "completed", "content": [_text(item.text)]}
        case "reasoning":
            return made | {"summary": [_summary(item.text)]}
        case "call":
            return made | {"status": "completed", "arguments": item.text}


def opening(item: Item) -> Told:
    """What follows the beginning of an item."""
    match item.kind:
        case "text":
            yield "response.content_part.added", {"content_index": 0, "part": _text("")}
        case "reasoning":
            part = {"summary_index": 0, "part": _summary("")}
            yield "response.reasoning_summary_part.added", part
        case "call":
            pass


def growing(item: Item, piece: str) -> Told:
    """A piece of it."""
    match item.kind:
        case "text":
            delta = {"content_index": 0, "delta": piece, "logprobs": []}
            yield "response.output_text.delta", delta
        case "reasoning":
            delta = {"summary_index": 0, "delta": piece}
            yield "response.reasoning_summary_text.delta", delta
        case "call":
            yield "response.function_call_arguments.delta", {"delta": piece}


def closing(item: Item) -> Told:
    """What precedes the end of an item."""
    match item.kind:
        case "text":
            done = {"content_index": 0, "text": item.text, "logprobs": []}
            yield "response.output_text.done", done
            yield "response.content_part.done", {"content_index": 0, "part": _text(item.text)}
        case "reasoning":
            yield "response.reasoning_summary_text.done", {"summary_index": 0, "text": item.text}
            part = {"summary_index": 0, "part": _summary(item.text)}
            yield "response.reasoning_summary_part.done", part
        case "call":
            done = {"name": item.name, "arguments": item.text}
            yield "response.function_call_arguments.done", done


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}
