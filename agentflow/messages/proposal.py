"""The proposal: a tool call, read from what a model has written for its arguments."""

from __future__ import annotations

import json
from typing import Any, Final

from agentflow.messages.part import ToolCall, VendorData
from agentflow.messages.surrogates import whole_text

__all__ = ["read_call", "reread_call", "whole_value"]


def read_call(id: str, name: str, text: str, vendor_data: VendorData | None = None) -> ToolCall:
    """The call whose arguments are written as JSON; no text is no arguments.

    What is no JSON object is kept as it was written, with what is wrong with it.
    """
    text = whole_text(text)
    if not text.strip():
        return ToolCall(id, name, vendor_data=vendor_data)
    try:
        arguments = _parsed(text)
    except (ValueError, RecursionError) as error:
        reason = f"the arguments are no valid JSON ({error})"
        return ToolCall(id, name, {}, reason, text, vendor_data)
    if not isinstance(arguments, dict):
        reason = f"the arguments must be a JSON object, not {_json_kind(arguments)}"
        return ToolCall(id, name, {}, reason, text, vendor_data)
    if "\\ud" in text.lower():
        # Escapes of halves are read like those of any other character.
        arguments = whole_value(arguments)
    return ToolCall(id, name, arguments, vendor_data=vendor_data)


def reread_call(call: ToolCall) -> ToolCall:
    """The same call, readable if it can be: some models write the object once more as a text."""
    if call.error is None or call.raw is None:
        return call
    try:
        inner = _parsed(call.raw)
    except (ValueError, RecursionError):
        return call
    read = (
        read_call(call.id, call.name, inner, call.vendor_data) if isinstance(inner, str) else call
    )
    return read if read.error is None else call


def whole_value(value: Any) -> Any:
    """A JSON value whose texts have no halves of characters."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): whole_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_value(item) for item in value]
    return value


def _parsed(text: str) -> Any:
    return _DECODER.decode(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _json_kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"
