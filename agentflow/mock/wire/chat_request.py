"""A request for an OpenAI chat completion.

After https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

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
from agentflow.mock.wire.content import files_of, text_of
from agentflow.mock.wire.fields import BadRequest, Fields

__all__ = ["asked_of", "schema_of", "tool_choice_of"]

_READ = (
    *("messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens"),
    *("response_format", "stream", "stream_options"),
)


def asked_of(body: Fields) -> Asked:
    """What a body asks for.

    Raises:
        BadRequest: It is no request for a chat completion, or for something that the mock cannot give.
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
    messages: list[Message] = []
    for each in given:
        messages.append(_message(each, names_of_calls(messages)))
    return tuple(messages)


def _message(given: Fields, names: Mapping[str, str]) -> Message:
    match given.text("role"):
        case "system" | "developer":
            return system(text_of(given, "content"))
        case "user":
            return user(text_of(given, "content"), files=files_of(given, "content"))
        case "assistant":
            return assistant_of(_said(given))
        case "tool":
            id = given.text("tool_call_id")
            if id not in names:
                raise given.wrong(f"no tool call before it has the id {id!r}", "tool_call_id")
            text, files = text_of(given, "content"), tuple(files_of(given, "content"))
            return Message("tool", (ToolResult(id, names[id], text, files=files),), "tool")
        case other:
            raise given.wrong(
                f"{other!r} is none of 'system', 'developer', 'user', 'assistant' and 'tool'",
                "role",
            )


def _said(given: Fields) -> Iterator[Said]:
    if given.has("reasoning_content"):
        yield Said(reasoning=given.text("reasoning_content"))
    calls = given.objects("tool_calls")
    if given.has("content") or not calls:
        text = text_of(given, "content") if given.has("content") else given.text("refusal", "")
        yield Said(text=text)
    for each in calls:
        if each.text("type", "function") != "function":
            raise BadRequest(f"{each.at('type')}: the mock server knows calls of functions")
        function = each.object("function")
        yield Said(call=(each.text("id"), function.text("name"), function.text("arguments", "")))
