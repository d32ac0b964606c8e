"""Messages are values: they do not change, are shared without copies, and survive JSON."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from pydantic import TypeAdapter

from agentflow import Message
from agentflow.graph.frozen import shared
from agentflow.messages import (
    TextPart,
    ToolCall,
    ToolSpec,
    as_messages,
    assistant,
    system,
    tool_result,
    user,
)

CALL = ToolCall("c1", "look", {"deep": [1, {"x": 2}]})
CONVERSATION = [
    system("Be brief."),
    user("Hi."),
    assistant("Let me see.", tool_calls=[CALL], reasoning="hm"),
    tool_result(CALL, "42"),
    tool_result(CALL, "Error: no", is_error=True),
]


def test_a_message_says_who_made_it() -> None:
    assert [(message.role, message.provenance) for message in CONVERSATION] == [
        ("system", "contributed"),
        ("user", "input"),
        ("assistant", "model"),
        ("tool", "tool"),
        ("tool", "tool"),
    ]
    assert user("Boo.", provenance="notice", id="m-1").provenance == "notice"


def test_a_message_offers_its_parts_by_kind() -> None:
    answer, result = CONVERSATION[2], CONVERSATION[4]
    assert (answer.text, answer.reasoning, answer.tool_calls) == ("Let me see.", "hm", (CALL,))
    assert (result.tool_results[0].call_id, result.tool_results[0].is_error) == ("c1", True)


def test_nothing_of_a_message_can_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CONVERSATION[0].role = "user"  # type: ignore[misc]
    arguments: Any = CALL.arguments
    with pytest.raises(TypeError, match="read-only"):
        arguments["deep"][1]["x"] = 3
    given = {"a": [1]}
    call = ToolCall("c", "t", given)
    given["a"].append(2)
    assert call.arguments == {"a": [1]}


def test_the_parts_of_a_message_are_its_own() -> None:
    parts: Any = [TextPart("a")]
    message = Message("user", parts)
    parts.append(TextPart("b"))
    assert message.content == (TextPart("a"),)


@pytest.mark.parametrize("text", [3, None, b"bytes", ["a"]])
@pytest.mark.parametrize("said_by", [user, system])
def test_what_is_no_text_is_not_said(said_by: Any, text: Any) -> None:
    with pytest.raises(TypeError, match="a message says a text, and not "):
        said_by(text)


def test_content_that_is_no_part_is_refused_with_what_to_use() -> None:
    with pytest.raises(TypeError, match=r"for a plain text use user\(text\)"):
        Message("user", "Hi.")  # type: ignore[arg-type]


def test_what_is_remembered_of_a_message_is_no_part_of_it() -> None:
    used, fresh = user("Hi."), user("Hi.")
    assert (used.chars, used.digest) == (3, user("Hi.", id="m-1").digest)
    assert used == fresh
    assert repr(used) == repr(fresh)
    for copied in (copy.deepcopy(used), pickle.loads(pickle.dumps(used))):
        assert (copied, copied.digest) == (used, used.digest)
    assert used.digest != system("Hi.").digest


def test_a_state_shares_messages_instead_of_copying_them() -> None:
    assert all(map(shared, CONVERSATION))


def test_messages_survive_json() -> None:
    adapter = TypeAdapter(list[Message])
    back = adapter.validate_json(adapter.dump_json(CONVERSATION))
    assert back == CONVERSATION
    assert all(map(shared, back))


def test_the_size_of_a_message_is_that_of_what_it_says() -> None:
    assert user("12345").chars == 5
    assert tool_result(CALL, "123").chars == 3
    assert assistant("12", reasoning="34", tool_calls=[ToolCall("c", "t")]).chars == 5
    assert assistant(tool_calls=[ToolCall("c", "t", {"a": 1})]).chars == len('t{"a": 1}')


def test_input_is_a_text_a_message_or_a_list_of_either() -> None:
    hi = user("Hi.")
    assert as_messages("Hi.") == as_messages(hi) == as_messages(["Hi."]) == as_messages([hi])


@pytest.mark.parametrize("wrong", [3, None, {"role": "user"}, [{"role": "user"}], [3]])
def test_other_input_is_refused_with_what_to_give(wrong: object) -> None:
    with pytest.raises(TypeError, match="give a text, a Message"):
        as_messages(wrong)


def test_a_tool_spec_cannot_be_changed() -> None:
    schema: Any = ToolSpec("t", "", {"type": "object"}).parameters
    with pytest.raises(TypeError, match="read-only"):
        schema["type"] = "string"
