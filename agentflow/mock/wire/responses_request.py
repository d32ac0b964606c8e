"""A request for an OpenAI response.

After https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agentflow.messages.formats.fields import Fields
from agentflow.messages.formats.openai_responses import from_openai_responses
from agentflow.messages.message import Message, system
from agentflow.messages.tool_spec import ToolSpec
from agentflow.mock.wire.asked import Asked, parameters_of
from agentflow.mock.wire.chat_request import schema_of, tool_choice_of

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
        FormatError: It is no request for a response, or for something that the mock cannot give.
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
    before: Sequence[Message] = ()
    if body.has("previous_response_id"):
        id = body.text("previous_response_id")
        kept = earlier(id)
        if kept is None:
            raise body.wrong(f"there is no response {id!r}", "previous_response_id")
        before = kept
    yield from before
    given = body.data.get("input")
    if not isinstance(given, str) and not body.objects("input", required=True):
        raise body.wrong("it is empty; give a text or at least one item", "input")
    yield from from_openai_responses(body.data["input"], after=before, reading="request")
