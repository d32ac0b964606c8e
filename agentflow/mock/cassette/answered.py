"""An answer as a cassette holds it: made of chunks, and turned into chunks again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentflow.errors import AgentflowError, ModelError
from agentflow.graph.frozen import thaw
from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.mock.cassette.text import Scrub, lined, unlined
from agentflow.mock.chunking import Chunking
from agentflow.mock.wire.gathering import Gathering, Item

__all__ = ["answer_of", "chunks_of", "failure_of"]

_Data = Mapping[str, Any]


def answer_of(gathered: Gathering, error: BaseException | None, scrub: Scrub) -> dict[str, Any]:
    """What came of a call, as data.

    Args:
        gathered: What came until the end.
        error: What the provider raised then.
        scrub: Takes out of texts what is not to be kept.
    """
    answer: dict[str, Any] = {"parts": [_part(item, scrub) for item in gathered.items]}
    if gathered.usage:
        answer["usage"] = dict(gathered.usage)
    if error is not None:
        answer["error"] = _error(error, scrub)
    elif gathered.finish is not None:
        answer["finish"] = gathered.finish
    return answer


def _part(item: Item, scrub: Scrub) -> dict[str, Any]:
    item = replace(item, text=scrub(item.text))
    data = {} if item.vendor_data is None else {"vendor_data": thaw(item.vendor_data)}
    if item.kind != "call":
        return {item.kind: lined(item.text), **data}
    arguments = item.arguments
    # What is no object is kept as the text that it is, to be said to the letter again.
    told = arguments if isinstance(arguments, dict) and item.text.strip() else lined(item.text)
    return {"call": {"id": item.id, "name": item.name, "arguments": told, **data}}


def _error(error: BaseException, scrub: Scrub) -> dict[str, Any]:
    told: dict[str, Any] = {"type": type(error).__name__, "message": scrub(str(error))}
    if isinstance(error, AgentflowError):
        told["code"] = error.code
    for name in ("status", "retry_after"):
        if isinstance(value := getattr(error, name, None), int | float):
            told[name] = value
    return told


def chunks_of(answer: _Data, chunking: Chunking) -> Iterator[Chunk]:
    """The answer in chunks, up to its end or to where it broke off."""
    calls = 0
    for part in answer["parts"]:
        match part:
            case {"text": text}:
                yield from map(TextChunk, chunking.cut(unlined(text)))
            case {"reasoning": text}:
                yield from map(ReasoningChunk, chunking.cut(unlined(text)))
                if data := part.get("vendor_data"):
                    yield ReasoningChunk("", vendor_data=data)
            case {"call": call}:
                yield from _call(calls, call, chunking)
                calls += 1
    if usage := answer.get("usage"):
        yield UsageChunk(**usage)
    if finish := answer.get("finish"):
        yield FinishChunk(finish)


def _call(index: int, call: _Data, chunking: Chunking) -> Iterable[Chunk]:
    arguments = call["arguments"]
    text = (
        json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, dict)
        else unlined(arguments)
    )
    yield ToolCallChunk(index, call["id"], call["name"], vendor_data=call.get("vendor_data"))
    for piece in chunking.cut(text):
        yield ToolCallChunk(index, arguments=piece)


def failure_of(error: _Data) -> ModelError:
    """The error that ended a recorded answer: of the class that it had if that is one of ours, else one that names it."""
    kinds: dict[str, type[ModelError]] = {kind.code: kind for kind in _all(ModelError)}
    kind = kinds.get(error.get("code", ""), ModelError)
    told = str(error["message"])
    raised = kind(told if "code" in error else f"{error['type']}: {told}")
    for name in ("status", "retry_after"):
        if name in error:
            setattr(raised, name, error[name])
    return raised


def _all(kind: type[ModelError]) -> Iterator[type[ModelError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)
