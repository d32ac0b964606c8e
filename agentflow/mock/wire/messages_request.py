"""A request for an Anthropic message.

After https://docs.anthropic.com/en/api/messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentflow.messages.formats.anthropic import from_anthropic
from agentflow.messages.formats.fields import Fields
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.mock.wire.asked import Asked, parameters_of

__all__ = ["asked_of", "conversation_of"]

_READ = ("messages", "system", "tools", "tool_choice", "max_tokens", "stream", "output_format")

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def asked_of(body: Fields) -> Asked:
    """What a body asks for.

    Raises:
        FormatError: It is no request for a message, or for something that the mock cannot give.
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
    system = body.data["system"] if body.has("system") else ""
    if not isinstance(system, str | list):
        raise body.wrong("it is neither a text nor a list of blocks", "system")
    return from_anthropic(body.data["messages"], system=system, reading="request")


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
