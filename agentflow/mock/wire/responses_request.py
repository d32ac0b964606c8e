"""A request for an OpenAI response.

After https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

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
from agentflow.mock.wire.chat_request import schema_of, tool_choice_of
from agentflow.mock.wire.content import files_of, text_of
from agentflow.mock.wire.fields import Fields

__all__ = ["asked_of"]

_READ = (
    *("input", "instructions", "tools", "tool_choice", "max_output_tokens", "text", "stream"),
    "previous_response_id",
)


def asked_of(body: Fields, earlier: Callable[[str], Sequence[Message] | None]) -> Asked:
    """What a body asks for.

    Args:
        body: The body.
        earlier: The conversation up to a response, by the id of the response; `None` for one that is not kept.

    Raises:
        BadRequest: It is no request for a response, or for something that the mock cannot give.
    """
    for name in ("conversation", "prompt", "background"):
        if body.data.get(name):
            raise body.wrong("the mock server does not know it; leave it out", name)
    choice, tools = tool_choice_of(body, [_tool(each) for each in body.objects("tools")], "")
    text = body.object("text") if body.has("text") else Fields({})
    return Asked(
        model=body.text("model"),
        messages=(*_instructions(body), *_conversation(body, earlier)),
        tools=tools,
        tool_choice=choice,
        max_output_tokens=body.number("max_output_tokens"),
        output_schema=schema_of(text.object("format")) if text.has("format") else None,
        parameters=parameters_of(body, *_READ),
        stream=body.flag("stream"),
        has_instructions=body.has("instructions"),
        body=body.data,
    )


def _tool(given: Fields) -> ToolSpec:
    if given.text("type") != "function":
        raise given.wrong("the mock server knows tools of the type 'function'", "type")
    parameters = given.object("parameters").data if given.has("parameters") else {}
    return ToolSpec(given.text("name"), given.text("description", ""), parameters)


def _instructions(body: Fields) -> Iterator[Message]:
    if body.has("instructions"):
        yield system(body.text("instructions"))


def _conversation(
    body: Fields, earlier: Callable[[str], Sequence[Message] | None]
) -> Iterator[Message]:
    before: list[Message] = []
    if body.has("previous_response_id"):
        id = body.text("previous_response_id")
        kept = earlier(id)
        if kept is None:
            raise body.wrong(f"there is no response {id!r}", "previous_response_id")
        before += kept
    yield from before
    if isinstance(body.data.get("input"), str):
        yield user(body.text("input"))
        return
    items = body.objects("input", required=True)
    if not items:
        raise body.wrong("it is empty; give a text or at least one item", "input")
    # What an assistant said, thought and called are items of their own here; they are one message to a model.
    for is_assistant, group in groupby(items, _is_assistant):
        if is_assistant:
            message = assistant_of(said for item in group for said in _said(item))
            before.append(message)
            yield message
        else:
            names = names_of_calls(before)
            yield from (_message(item, names) for item in group)


def _kind(item: Fields) -> str:
    return item.text("type", "message")


def _is_assistant(item: Fields) -> bool:
    if _kind(item) == "message":
        return item.text("role") == "assistant"
    return _kind(item) in ("reasoning", "function_call")


def _said(item: Fields) -> Iterator[Said]:
    match _kind(item):
        case "reasoning":
            summary = "".join(part.text("text") for part in item.objects("summary"))
            if summary:
                yield Said(reasoning=summary)
        case "function_call":
            yield Said(call=(item.text("call_id"), item.text("name"), item.text("arguments", "")))
        case _:
            yield Said(text=text_of(item, "content"))


def _message(item: Fields, names: dict[str, str]) -> Message:
    match _kind(item):
        case "function_call_output":
            id = item.text("call_id")
            if id not in names:
                raise item.wrong(f"no tool call before it has the id {id!r}", "call_id")
            text, files = text_of(item, "output"), tuple(files_of(item, "output"))
            return Message("tool", (ToolResult(id, names[id], text, files=files),), "tool")
        case "message":
            match item.text("role"):
                case "system" | "developer":
                    return system(text_of(item, "content"))
                case "user":
                    return user(text_of(item, "content"), files=files_of(item, "content"))
                case other:
                    raise item.wrong(
                        f"{other!r} is none of 'system', 'developer', 'user' and 'assistant'",
                        "role",
                    )
        case other:
            raise item.wrong(f"the mock server does not know items of the type {other!r}", "type")
