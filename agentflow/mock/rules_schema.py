"""The JSON Schema of rules files: what `schemas/mock-rules.schema.json` holds."""

from __future__ import annotations

from typing import get_args

from agentflow.graph.json_schema import DIALECT, Data, list_of, names, object_of, one_of, text
from agentflow.messages.chunk import FinishReason
from agentflow.mock.fault import Fault
from agentflow.mock.generator import GENERATORS
from agentflow.mock.wire.quirk import Quirk

__all__ = ["rules_schema"]

_FIGURES = (
    *("input_tokens", "output_tokens", "total_tokens"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens"),
)


def rules_schema() -> Data:
    """The JSON Schema (draft 2020-12) of a rules file."""
    properties = {
        "$schema": text("The address of this schema, for editors; it has no other use."),
        "name": text("What the model is called; default: mock.", minLength=1),
        "models": names("Under which names a server lists it; default: its name."),
        "usage": {
            "description": "What it reports: `words` counts words, which is the default, `none` reports nothing.",
            "anyOf": [
                {"title": "words or none", "enum": ["words", "none"]},
                _usage("The figures of every answer."),
            ],
        },
        "chunking": _chunking("Into which chunks answers are cut; default: words.", "words"),
        "blocks": _chunking(
            "How a server cuts the bytes of answers; default: not at all.", "bytes"
        ),
        "quirks": list_of(
            {"title": "quirk", "enum": list(get_args(Quirk))},
            "What a server does that the formats do not say.",
        ),
        "rules": list_of(_rule(), "Tried in order; the first that matches answers.", minItems=1),
    }
    return {
        "$schema": DIALECT,
        **object_of(
            "rules file",
            "The rules of a mock model, as `agentflow mock-server --rules` takes them.",
            properties,
            required=("rules",),
        ),
    }


def _rule() -> Data:
    pattern = text("A regular expression that is found in what was said since the last answer.")
    properties = {
        "name": text("What errors call it."),
        "when": {
            "description": "What was said since the model's last answer; default: anything.",
            "anyOf": [
                {"title": "a text that it contains", "type": "string"},
                object_of("pattern", "A pattern.", {"pattern": pattern}, required=("pattern",)),
            ],
        },
        "turn": _whole("Which answer of the conversation it gives, from 1; default: any.", 1),
        "tools": names("Tools that must all be on offer."),
        "reply": {"description": "What it answers.", **_reply()},
        "replies": list_of(_reply(), "What it answers, one for each use.", minItems=1),
        "generator": {
            "description": "What makes the answer: `echo` says what was said, `schema` an object that is asked for, `summary` the main sentences of what was said.",
            "enum": list(GENERATORS),
        },
    }
    return object_of(
        "rule",
        "One rule; it matches when all that it asks for is so.",
        properties,
        **one_of("reply", "replies", "generator"),
    )


def _reply() -> Data:
    call = {
        "name": text("The tool.", minLength=1),
        "arguments": {
            "description": "What it is given; a text is sent as it is, broken perhaps.",
            "type": ["object", "string"],
        },
        "id": text("The id of the call; default: call_1, call_2 …"),
    }
    properties = {
        "text": text("What it says."),
        "reasoning": text("What it says to itself first."),
        "calls": list_of(
            object_of("tool call", "One call.", call, required=("name",)),
            "The tool calls that it proposes, after the text.",
        ),
        "object": {
            "description": "Any value, said as JSON, or as the arguments of a tool that the request forces."
        },
        "usage": _usage("What it reports."),
        "finish": {"description": "Why it stops.", "enum": list(get_args(FinishReason))},
        "delay": _seconds("Seconds before its first chunk."),
        "pace": _seconds("Seconds between its chunks."),
        "fault": {
            "description": "How it breaks off after all this.",
            "enum": list(get_args(Fault)),
        },
        "refuse": _refusal(),
    }
    told = object_of("reply", "What it answers, and how.", properties)
    return {"anyOf": [{"title": "a text", "type": "string"}, told]}


def _refusal() -> Data:
    properties = {
        "status": {**_whole("The HTTP status, 400 to 599.", 400), "maximum": 599},
        "message": text("What the body says."),
        "retry_after": _seconds("Seconds after which to ask again."),
        "kind": text("The type of the error; default: what the format calls the status."),
    }
    return object_of("refusal", "An HTTP error, after all this.", properties, required=("status",))


def _usage(description: str) -> Data:
    figures: Data = {name: _whole(f"{name.replace('_', ' ')}.", 0) for name in _FIGURES}
    return object_of("usage", description, figures)


def _chunking(description: str, default: str) -> Data:
    properties = {
        "by": {
            "description": f"What is counted; default: {default}.",
            "enum": ["words", "chars", "bytes", "whole"],
        },
        "size": _whole("How many a piece holds; with a seed, at most. Default: 1.", 1),
        "seed": {
            "description": "Sizes vary from 1 to `size`, the same way each time.",
            "type": "integer",
        },
    }
    return object_of("chunking", description, properties)


def _whole(description: str, least: int) -> Data:
    return {"description": description, "type": "integer", "minimum": least}


def _seconds(description: str) -> Data:
    return {"description": description, "type": "number", "minimum": 0}
