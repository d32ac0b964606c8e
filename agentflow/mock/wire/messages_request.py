"""A request for an Anthropic message.

After https://docs.anthropic.com/en/api/messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentflow.messages.message import Message, system, user
from agentflow.messages.part import ToolResult
from agentflow.messages.tool_spec import ToolSpec
from agentflow.mock.wire.asked import (
    Asked,
    Said,
    assistant_of,
    names_of_calls,
    parameters_of,
)
from agentflow.mock.wire.content import blocks_of, files_of, text_of
from agentflow.mock.wire.fields import Fields

__all__ = ["asked_of", "conversation_of"]

_READ = ("messages", "system", "tools", "tool_choice", "max_tokens", "stream", "output_format")

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def asked_of(body: Fields) -> Asked:
    """What a body asks for.

    Raises:
        BadRequest: It is no request for a message, or for something that the mock cannot give.
    """
    most = body.number("max_tokens")
    if most is None or most < 1:
        raise body.wrong("it is missing or less than 1; every request says it", "max_tokens")
    tools = tuple(_tool(each) for each in body.objects("tools"))
    return Asked(
        model=body.text("model"),
        messages=conversation_of(body),
        tools=tools,
        tool_choice=_choice(body, {tool.name for tool in tools}),
        max_output_tokens=most,
        output_schema=_schema(body),
        parameters=parameters_of(body, *_READ),
        stream=body.flag("stream"),
    )


def conversation_of(body: Fields) -> tuple[Message, ...]:
    """The system prompt and the messages of a body."""
    given = body.objects("messages", required=True)
    if not given:
        raise body.wrong("it is empty; give at least one message", "messages")
    messages: list[Message] = []
    if body.has("system"):
        messages.append(system(text_of(body, "system")))
    for each in given:
        messages.extend(_messages(each, names_of_calls(messages)))
    return tuple(messages)


def _schema(body: Fields) -> Mapping[str, Any] | None:
    config = body.object("output_config") if body.has("output_config") else Fields({})
    # `output_format` is what it was called while it was a beta.
    for holder, name in ((config, "format"), (body, "output_format")):
        if holder.has(name):
            form = holder.object(name)
            if form.text("type") != "json_schema":
                raise form.wrong(f"{form.text('type')!r} is not 'json_schema'", "type")
            return form.object("schema").data
    return None


def _tool(given: Fields) -> ToolSpec:
    if given.text("type", "custom") != "custom":
        raise given.wrong("the mock server knows tools of the type 'custom'", "type")
    return ToolSpec(
        given.text("name"), given.text("description", ""), given.object("input_schema").data
    )


def _choice(body: Fields, offered: set[str]) -> str | None:
    if not body.has("tool_choice"):
        return None
    choice = body.object("tool_choice")
    type = choice.text("type")
    if type == "tool":
        name = choice.text("name")
        if name not in offered:
            raise choice.wrong(f"no tool {name!r} is offered", "name")
        return name
    if type not in _CHOICES:
        raise choice.wrong(f"{type!r} is none of 'auto', 'any', 'tool' and 'none'", "type")
    return _CHOICES[type]


def _messages(given: Fields, names: Mapping[str, str]) -> Iterator[Message]:
    match given.text("role"):
        case "user":
            yield from _of_user(given, names)
        case "assistant":
            yield assistant_of(_said(given))
        case "system":
            yield system(text_of(given, "content"))
        case other:
            raise given.wrong(f"{other!r} is none of 'user', 'assistant' and 'system'", "role")


def _of_user(given: Fields, names: Mapping[str, str]) -> Iterator[Message]:
    """Results of tools come in a message of the user here; they are messages of their own to a model."""
    blocks = blocks_of(given, "content")
    results = [block for block in blocks if block.text("type") == "tool_result"]
    for block in results:
        id = block.text("tool_use_id")
        if id not in names:
            raise block.wrong(f"no tool call before it has the id {id!r}", "tool_use_id")
        there = block.has("content")
        text = text_of(block, "content") if there else ""
        files = tuple(files_of(block, "content")) if there else ()
        result = ToolResult(id, names[id], text, block.flag("is_error"), files)
        yield Message("tool", (result,), "tool")
    if len(results) < len(blocks) or not blocks:
        yield user(text_of(given, "content"), files=files_of(given, "content"))


def _said(given: Fields) -> Iterator[Said]:
    for block in blocks_of(given, "content"):
        match block.text("type"):
            case "text":
                yield Said(text=block.text("text"))
            case "thinking":
                data = {"vendor": "anthropic", "signature": block.text("signature", "")}
                yield Said(reasoning=block.text("thinking"), vendor_data=data)
            case "redacted_thinking":
                yield Said(vendor_data={"vendor": "anthropic", "data": block.text("data")})
            case "tool_use":
                arguments = json.dumps(block.object("input").data, ensure_ascii=False)
                yield Said(call=(block.text("id"), block.text("name"), arguments))
            case _:
                pass
