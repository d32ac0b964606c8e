"""A request for an OpenAI chat completion.

After https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentflow.messages.formats.fields import Fields
from agentflow.messages.formats.openai_chat import from_openai_chat
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.mock.wire.asked import Asked, parameters_of

__all__ = ["asked_of", "schema_of", "tool_choice_of"]

_READ = (
    *("messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens"),
    *("response_format", "stream", "stream_options"),
)


def asked_of(body: Fields) -> Asked:
    """What a body asks for.

    Raises:
        FormatError: It is no request for a chat completion, or for something that the mock cannot give.
    """
    model = body.text("model")
    if body.data.get("n") not in (None, 1):
        raise body.wrong("the mock server gives one choice; leave it out", "n")
    for old, new in (("functions", "tools"), ("function_call", "tool_choice")):
        if body.has(old):
            raise body.wrong(f"it is an older form of {new!r}, which the mock server reads", old)
    choice, tools = tool_choice_of(body, [_tool(each) for each in body.objects("tools")])
    streamed = body.flag("stream")
    options = body.object("stream_options") if body.has("stream_options") else Fields({})
    return Asked(
        model=model,
        messages=_messages(body),
        tools=tools,
        tool_choice=choice,
        max_output_tokens=body.number("max_completion_tokens") or body.number("max_tokens"),
        output_schema=(
            schema_of(body.object("response_format"), "json_schema")
            if body.has("response_format")
            else None
        ),
        parameters=parameters_of(body, *_READ),
        stream=streamed,
        stream_usage=options.flag("include_usage"),
    )


def schema_of(form: Fields, inside: str = "") -> Mapping[str, Any] | None:
    """The JSON schema that a format of the answer demands.

    Args:
        form: The format.
        inside: The field that holds the schema's own fields; empty when they stand in the format itself.
    """
    match form.text("type"):
        case "json_schema":
            holder = form.object(inside) if inside else form
            return holder.object("schema").data
        case "json_object":
            return {"type": "object"}
        case "text":
            return None
        case other:
            raise form.wrong(
                f"{other!r} is none of 'text', 'json_object' and 'json_schema'", "type"
            )


def tool_choice_of(
    body: Fields, tools: list[ToolSpec], inside: str = "function"
) -> tuple[str | None, tuple[ToolSpec, ...]]:
    """The choice of tools in both of OpenAI's formats, and the tools that it leaves.

    Args:
        body: The body.
        tools: All that are offered.
        inside: The field that holds the name of a tool; empty when it stands in the choice itself.
    """
    given = body.data.get("tool_choice")
    if given is None or given in ("auto", "none", "required"):
        return given, tuple(tools)
    if not isinstance(given, dict):
        raise body.wrong("it is none of 'auto', 'none', 'required' and an object", "tool_choice")
    choice = body.object("tool_choice")
    if choice.data.get("type") == "allowed_tools":
        allowed = choice.object("allowed_tools") if choice.has("allowed_tools") else choice
        names = {_named(each, inside) for each in allowed.objects("tools", required=True)}
        return allowed.text("mode"), tuple(tool for tool in tools if tool.name in names)
    name = _named(choice, inside)
    if name not in {tool.name for tool in tools}:
        raise body.wrong(f"no tool {name!r} is offered", "tool_choice")
    return name, tuple(tools)


def _named(choice: Fields, inside: str) -> str:
    return (choice.object(inside) if inside and choice.has(inside) else choice).text("name")


def _tool(given: Fields) -> ToolSpec:
    if given.text("type") != "function":
        raise given.wrong("the mock server knows tools of the type 'function'", "type")
    function = given.object("function")
    parameters = function.object("parameters").data if function.has("parameters") else {}
    return ToolSpec(function.text("name"), function.text("description", ""), parameters)


def _messages(body: Fields) -> tuple[Message, ...]:
    given = body.objects("messages", required=True)
    if not given:
        raise body.wrong("it is empty; give at least one message", "messages")
    return from_openai_chat(body.data["messages"], reading="request")
