"""The JSON Schema of cassettes: what `schemas/cassette.schema.json` holds."""

from __future__ import annotations

from typing import get_args

from agentflow.graph.json_schema import DIALECT, Data, list_of, object_of, one_of, text
from agentflow.messages.chunk import USAGE_FIGURES, FinishReason
from agentflow.mock.cassette.tape import VERSION

__all__ = ["cassette_schema"]


def cassette_schema() -> Data:
    """The JSON Schema (draft 2020-12) of a cassette."""
    properties = {
        "$schema": text("The address of this schema, for editors; it has no other use."),
        "version": {"description": "The version of the form.", "const": VERSION},
        "provider": _anything(
            "What is to be known of the provider besides its answers: its name, the figures that it reports, and by digests of "
            "schemas how it is asked for objects."
        ),
        "exchanges": list_of(_exchange(), "In the order in which they began."),
    }
    return {
        "$schema": DIALECT,
        **object_of(
            "cassette",
            "What a model was asked and answered, as `RecordingModel` writes it. A text of several lines is a list of lines.",
            properties,
            required=("version", "exchanges"),
        ),
    }


def _exchange() -> Data:
    properties = {
        "request": {"description": "What was asked.", **_request()},
        "answer": {"description": "What came of it.", **_answer()},
    }
    return object_of("exchange", "One call of a model.", properties, required=("request", "answer"))


def _request() -> Data:
    message = {
        "role": {"description": "Who speaks.", "enum": ["system", "user", "assistant", "tool"]},
        "content": {
            "description": "A text, or the parts that it is made of.",
            "anyOf": [
                {"title": "a text", "type": "string"},
                {"title": "lines or parts", "type": "array"},
            ],
        },
    }
    tool = {
        "name": text("Its name."),
        "description": _text("What it does."),
        "parameters": _anything("The JSON Schema of its arguments."),
    }
    properties = {
        "messages": list_of(
            object_of("message", "One message.", message, required=("role", "content")),
            "The conversation; ids of tool calls are numbered in it.",
        ),
        "tools": list_of(object_of("tool", "One tool.", tool, required=("name",)), "On offer."),
        "tool_choice": text("Whether and which tool must be called."),
        "max_output_tokens": {"description": "The longest answer.", "type": "integer"},
        "output_schema": _anything("The JSON Schema of the answer."),
        "parameters": _anything("What else was set."),
    }
    return object_of("request", "What was asked.", properties, required=("messages",))


def _answer() -> Data:
    properties = {
        "parts": list_of(_part(), "What was said, in order."),
        "usage": object_of(
            "usage",
            "What it used.",
            {
                name: {"description": f"{name.replace('_', ' ')}.", "type": "number"}
                for name in USAGE_FIGURES
            },
        ),
        "finish": {
            "description": "Why the model stopped; without it, and without an error, nobody waited for the end.",
            "enum": list(get_args(FinishReason)),
        },
        "error": _error(),
    }
    return object_of("answer", "What came of it.", properties, required=("parts",))


def _part() -> Data:
    call = {
        "id": text("The id of the call."),
        "name": text("The tool."),
        "vendor_data": _anything("What the vendor wants back with it."),
        "arguments": {
            "description": "What it is given; a text, or lines of one, when the model wrote no object.",
            "type": ["object", "string", "array"],
        },
    }
    properties = {
        "text": _text("What was said."),
        "reasoning": _text("What the model said to itself."),
        "vendor_data": _anything("What the vendor wants back with the reasoning."),
        "call": object_of("call", "A tool call.", call, required=("id", "name", "arguments")),
    }
    return object_of("part", "One part.", properties, **one_of("text", "reasoning", "call"))


def _error() -> Data:
    properties = {
        "type": text("The class of the error."),
        "message": text("What it said."),
        "code": text("Its code, if it is an error of agentflow."),
        "status": {"description": "The HTTP status.", "type": "number"},
        "retry_after": {"description": "Seconds after which to ask again.", "type": "number"},
    }
    return object_of(
        "error", "How it ended, in place of `finish`.", properties, required=("type", "message")
    )


def _text(description: str) -> Data:
    return {
        "description": description,
        "anyOf": [
            {"title": "a text", "type": "string"},
            {"title": "lines", "type": "array", "items": {"type": "string"}},
        ],
    }


def _anything(description: str) -> Data:
    return {"description": description, "type": "object"}
