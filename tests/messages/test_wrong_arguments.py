"""Messages and their parts: an argument of the wrong kind is refused where it is given, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentflow.messages import (
    FilePart,
    Message,
    MessageList,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    sanitise,
    strip_dangling_reasoning,
    tool_result,
    user,
)
from agentflow.messages.trimming import trim

CALL = ToolCall("c", "look")
PNG = FilePart("image/png", b"")
PARTS = (TextPart("Hi."),)
NAN = float("nan")

WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (Message, {"role": "x", "content": PARTS}, "Message(role='x'): give 'system', 'user', "),
    (Message, {"role": ["user"], "content": PARTS}, "Message(role=['user']): give 'system'"),
    (Message, {"role": "user", "content": 3}, "Message(content=3): give a list of parts"),
    (user, {"text": "Hi.", "provenance": "me"}, "Message(provenance='me'): give 'input', "),
    (user, {"text": "Hi.", "id": 3}, "Message(id=3): give a text, or None"),
    (user, {"text": "Hi.", "pinned": "yes"}, "Message(pinned='yes'): give True or False"),
    (user, {"text": "Hi.", "files": PNG}, "user(files=FilePart('image/png', "),
    (user, {"text": "Hi.", "files": None}, "user(files=None): give a list"),
    (assistant, {"text": None}, "a message says a text, and not None"),
    (assistant, {"tool_calls": CALL}, "assistant(tool_calls=ToolCall("),
    (assistant, {"reasoning": 3}, "ReasoningPart(text=3): give a text"),
    (ReasoningPart, {"text": "", "vendor_data": [3]}, "ReasoningPart(vendor_data=[3]): give a map"),
    (tool_result, {"call": "c", "content": "3"}, "tool_result('c'): give the ToolCall that"),
    (tool_result, {"call": CALL, "content": 3}, "ToolResult(content=3): give a text"),
    (tool_result, {"call": CALL, "content": "", "files": 3}, "tool_result(files=3): give a list"),
    (ToolResult, {"call_id": None, "name": "", "content": ""}, "ToolResult(call_id=None): give"),
    (
        ToolResult,
        {"call_id": "c", "name": "look", "content": "", "files": ["a.png"]},
        "ToolResult(files=('a.png',)): give a list of FileParts",
    ),
    (ToolCall, {"id": 3, "name": "look"}, "ToolCall(id=3): give a text"),
    (ToolCall, {"id": "c", "name": None}, "ToolCall(name=None): give a text"),
    (ToolCall, {"id": "c", "name": "look", "arguments": "{}"}, "ToolCall(arguments='{}'): give a"),
    (ToolSpec, {"name": "look", "description": 3, "parameters": {}}, "ToolSpec(description=3):"),
    (
        ToolSpec,
        {"name": "look", "description": "", "parameters": None},
        "ToolSpec(parameters=None)",
    ),
    (FilePart, {"media_type": None, "data": b""}, "FilePart(media_type=None): give a text"),
    (FilePart, {"media_type": "image/png", "data": "x"}, "FilePart(data='x'): give bytes, or None"),
    (FilePart, {"media_type": "image/png", "url": 3}, "FilePart(url=3): give a text, or None"),
    (trim, {"messages": "abc", "max_chars": 3}, "trim(messages='abc'): give a list"),
    (trim, {"messages": ["abc"], "max_chars": 3}, "trim: messages[0]='abc' is no Message"),
    (trim, {"messages": [], "max_chars": NAN}, "trim(max_chars=nan): give a whole number of at"),
    (trim, {"messages": [], "max_chars": -1}, "trim(max_chars=-1): give a whole number of at"),
    (trim, {"messages": [], "max_chars": 3, "keep_recent": None}, "trim(keep_recent=None): give a"),
    (sanitise, {"messages": "abc"}, "sanitise(messages='abc'): give a list"),
    (sanitise, {"messages": [3]}, "sanitise: messages[0]=3 is no Message; as_messages("),
    (sanitise, {"messages": [], "internal": "look"}, "sanitise(internal='look'): give a list"),
    (
        strip_dangling_reasoning,
        {"messages": ["abc"]},
        "strip_dangling_reasoning: messages[0]='abc'",
    ),
]


@pytest.mark.parametrize(("made", "given", "told"), WRONG)
def test_an_argument_of_the_wrong_kind_is_refused_by_its_name(
    made: Callable[..., Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(told)}"):
        made(**given)


def test_messages_are_not_looked_for_by_a_role_or_a_provenance_that_there_is_not() -> None:
    wrong: Any = "model"
    with pytest.raises(ValueError, match=r"by_role\(role='model'\): give 'system', 'user', "):
        MessageList("Hi.").by_role(wrong)
    wrong = "user"
    with pytest.raises(ValueError, match=r"by_provenance\(provenance='user'\): give 'input', "):
        MessageList("Hi.").by_provenance(wrong)
