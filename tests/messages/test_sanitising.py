"""Sanitising makes a legal sequence of any history, and leaves alone what is legal, and what is stored."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, strategies as st

from agentflow import Message
from agentflow.messages import (
    MessageList,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    assistant,
    sanitise,
    strip_dangling_reasoning,
    system,
    tool_result,
    user,
)
from agentflow.messages.formats import to_anthropic, to_openai_chat, to_openai_responses
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.legality import is_legal
from agentflow.messages.sanitising import Sanitised, _Sanitising
from agentflow.providers.pydantic_ai_input import pydantic_ai_messages
from tests.messages.histories import any_history, legal_histories
from tests.messages.legality import (
    check_anthropic,
    check_chat,
    check_pydantic_ai,
    check_responses,
)

CALL, OTHER = ToolCall("c1", "look", {"q": 1}), ToolCall("c2", "look", {"q": 2})
INTERNAL = ["update_working_memory"]


def sent_of(*messages: Message) -> list[Message]:
    return list(sanitise(messages).messages)


def told_of(*messages: Message) -> list[str]:
    return [repair.kind for repair in sanitise(messages).repairs]


# Whatever comes.


@pytest.mark.rule("R096", "R097")
@pytest.mark.case("T055", "P134")
@given(any_history, st.sampled_from([(), INTERNAL]))
@example([assistant(tool_calls=[CALL])], ())
@example([tool_result(CALL, "1")], ())
@example([system("Be brief."), assistant("Hi.")], ())
def test_any_history_becomes_a_sequence_that_every_vendor_takes(
    history: list[Message], internal: list[str]
) -> None:
    stored = repr(history)
    sanitised = sanitise(history, internal=internal)
    messages = sanitised.messages
    check_chat(to_openai_chat(messages))
    check_responses(to_openai_responses(messages))
    check_anthropic(*to_anthropic(messages))
    json.dumps([message.text for message in messages], ensure_ascii=False).encode()
    # Again, it is the same; and nothing was done unless it is told.
    assert sanitise(messages, internal=internal) == type(sanitised)(messages, ())
    assert (not sanitised.repairs) == (list(messages) == history)
    assert repr(history) == stored


@given(any_history)
def test_any_history_becomes_a_sequence_that_pydantic_ai_takes(history: list[Message]) -> None:
    messages = sanitise(history).messages
    check_pydantic_ai(pydantic_ai_messages(messages, ToolNames(())))


@given(any_history)
def test_every_call_that_is_sent_has_exactly_one_result_directly_after_it(
    history: list[Message],
) -> None:
    messages = sanitise(history).messages
    for at, message in enumerate(messages):
        assert message.content
        wanted = [call.id for call in message.tool_calls]
        come: list[str] = []
        while len(come) < len(wanted):
            at += 1
            come += [result.call_id for result in messages[at].tool_results]
        assert come == wanted
    ids = [call.id for message in messages for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert len(ids) == sum(len(message.tool_results) for message in messages)


@pytest.mark.rule("R097")
@given(legal_histories())
def test_a_legal_history_stays_what_it_is_to_the_object(history: list[Message]) -> None:
    sanitised = sanitise(history)
    assert not sanitised.repairs
    assert all(after is before for after, before in zip(sanitised.messages, history, strict=True))
    assert MessageList(history).is_legal


@given(any_history)
def test_what_is_legal_is_what_needs_no_repair(history: list[Message]) -> None:
    assert MessageList(history).is_legal == (sanitise(history).messages == tuple(history))


@given(st.one_of(any_history, legal_histories()), st.sampled_from([(), INTERNAL]))
def test_what_is_told_to_be_legal_at_a_glance_stays_when_it_is_gone_through(
    history: list[Message], internal: list[str]
) -> None:
    if is_legal(history, internal=internal):
        gone_through = _Sanitising(tuple(history), frozenset(internal)).done()
        assert gone_through == Sanitised(tuple(history), ())


def test_the_conversation_of_an_agent_is_legal_at_a_glance() -> None:
    asked = [system("Be brief."), user("Look twice.")]
    looked = [assistant(tool_calls=[CALL, OTHER]), tool_result(CALL, "1"), tool_result(OTHER, "2")]
    assert is_legal([*asked, *looked])
    assert not is_legal([*asked, *looked[:2]])
    assert not is_legal([*asked, looked[0], looked[2], looked[1]])


def test_nothing_becomes_nothing() -> None:
    assert sanitise([]).messages == ()
    assert sent_of(user(" "), assistant("")) == []


def test_a_role_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=re.escape("Message(role='x'): give 'system', 'user', ")):
        Message("x", (TextPart("Hi."),))  # type: ignore[arg-type]


# Calls and results.


@pytest.mark.rule("R093")
def test_a_call_without_a_result_is_left_out_and_the_message_with_it_if_nothing_else_is_in_it() -> (
    None
):
    history = [user("Hi."), assistant("Let me see.", tool_calls=[CALL]), user("Well?")]
    assert sent_of(*history) == [user("Hi."), assistant("Let me see."), user("Well?")]
    assert told_of(*history) == ["call_dropped"]
    alone = [user("Hi."), assistant(tool_calls=[CALL]), user("Well?")]
    assert sent_of(*alone) == [user("Hi."), user("Well?")]
    assert told_of(*alone) == ["call_dropped", "message_dropped"]


@pytest.mark.rule("R093")
def test_of_several_calls_those_with_results_stay() -> None:
    history = [user("Hi."), assistant(tool_calls=[CALL, OTHER]), tool_result(OTHER, "2")]
    assert sent_of(*history) == [
        user("Hi."),
        assistant(tool_calls=[OTHER]),
        tool_result(OTHER, "2"),
    ]


@pytest.mark.case("P134")
def test_a_result_without_its_call_is_left_out_and_told_of() -> None:
    history = [user("Hi."), tool_result(CALL, "lost"), assistant("Yes."), user("Well?")]
    sanitised = sanitise(history)
    assert [message.text for message in sanitised.messages] == ["Hi.", "Yes.", "Well?"]
    (repair,) = sanitised.repairs
    assert (repair.kind, repair.at, repair.call_id) == ("result_dropped", 1, "c1")


def test_a_result_goes_to_its_call_wherever_it_is() -> None:
    late = [
        user("Hi."),
        assistant(tool_calls=[CALL, OTHER]),
        tool_result(OTHER, "2"),
        user("Hurry."),
        system("It is late."),
        tool_result(CALL, "1"),
    ]
    assert sent_of(*late) == [late[0], late[1], late[5], late[2], late[3], late[4]]
    assert told_of(*late) == ["result_moved", "result_moved"]


def test_results_in_a_message_of_the_user_become_messages_of_their_own() -> None:
    result = ToolResult("c1", "look", "1")
    mixed = Message("user", (TextPart("Here."), result))
    assert sent_of(user("Hi."), assistant(tool_calls=[CALL]), mixed) == [
        user("Hi."),
        assistant(tool_calls=[CALL]),
        Message("tool", (result,), "input"),
        user("Here."),
    ]


def test_the_last_of_several_results_is_what_came_of_a_call() -> None:
    history = [
        user("Hi."),
        assistant(tool_calls=[CALL]),
        tool_result(CALL, "waits"),
        tool_result(CALL, "1"),
    ]
    assert sent_of(*history) == [history[0], history[1], history[3]]
    assert told_of(*history) == ["result_dropped"]


def test_results_come_in_the_order_of_the_calls() -> None:
    answer = assistant(tool_calls=[CALL, OTHER])
    first, second = tool_result(CALL, "1"), tool_result(OTHER, "2")
    assert sent_of(user("Hi."), answer, second, first)[2:] == [first, second]
    assert told_of(user("Hi."), answer, second, first) == ["result_moved", "result_moved"]
    one = Message("tool", (*second.content, *first.content), "tool")
    assert sent_of(user("Hi."), answer, one)[2].content == (*first.content, *second.content)


def test_a_call_that_an_answer_says_twice_is_sent_once() -> None:
    history = [user("Hi."), assistant(tool_calls=[CALL, CALL]), tool_result(CALL, "1")]
    assert sent_of(*history) == [user("Hi."), assistant(tool_calls=[CALL]), tool_result(CALL, "1")]
    assert told_of(*history) == ["call_repeated"]


def test_repairs_are_told_in_the_order_of_the_history() -> None:
    history = [
        assistant("Hi."),
        user(" "),
        tool_result(CALL, "lost"),
        assistant(tool_calls=[OTHER]),
    ]
    told = [(repair.kind, repair.at) for repair in sanitise(history).repairs]
    assert told == [
        ("opening_added", 0),
        ("message_changed", 1),
        ("message_dropped", 1),
        ("result_dropped", 2),
        ("call_dropped", 3),
        ("message_dropped", 3),
        ("prompt_added", 4),
    ]


def test_a_result_bears_the_name_of_its_call() -> None:
    named = Message("tool", (ToolResult("c1", "other", "1"),), "tool")
    history = [user("Hi."), assistant(tool_calls=[CALL]), named]
    assert sent_of(*history)[2] == tool_result(CALL, "1")
    assert told_of(*history) == ["message_changed"]


def test_calls_of_different_answers_with_one_id_get_different_ones() -> None:
    again = ToolCall("c1", "look", {"q": 3})
    history = [
        user("Hi."),
        assistant(tool_calls=[CALL]),
        tool_result(CALL, "1"),
        assistant(tool_calls=[again]),
        tool_result(again, "3"),
    ]
    sent = sent_of(*history)
    assert sent[:3] == history[:3]
    assert sent[3].tool_calls[0].id == sent[4].tool_results[0].call_id == "c1-2"
    assert (sent[3].tool_calls[0].arguments, sent[4].tool_results[0].content) == ({"q": 3}, "3")
    other = ToolCall("c1-2", "look")
    more = [*history, assistant(tool_calls=[other]), tool_result(other, "4"), *history[3:]]
    ids = [call.id for message in sent_of(*more) for call in message.tool_calls]
    assert ids == ["c1", "c1-2", "c1-2-2", "c1-3"]


@given(st.text(max_size=70), st.text(max_size=70))
def test_ids_that_no_vendor_takes_are_replaced_and_stay_apart(one: str, two: str) -> None:
    first, second = ToolCall(one, "look", {"q": 1}), ToolCall(two, "look", {"q": 2})
    sent = sent_of(
        user("Hi."),
        assistant(tool_calls=[first, second]),
        tool_result(first, "1"),
        tool_result(second, "2"),
    )
    ids = [call.id for call in sent[1].tool_calls]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", id) for id in ids)
    assert len(set(ids)) == 2
    assert [message.tool_results[0].call_id for message in sent[2:]] == ids
    assert [message.tool_results[0].content for message in sent[2:]] == ["1", "2"]


# Arguments.


def unread(raw: str) -> ToolCall:
    return ToolCall("c1", "look", {}, "the arguments cannot be read", raw)


@pytest.mark.rule("R094")
def test_an_object_that_was_written_as_a_text_becomes_the_object() -> None:
    call = unread('"{\\"q\\": 1}"')
    sent = sent_of(user("Hi."), assistant(tool_calls=[call]), tool_result(call, "1"))
    assert sent[1].tool_calls == (ToolCall("c1", "look", {"q": 1}),)
    assert sent[2].tool_results[0].content == "1"


@pytest.mark.rule("R094")
@pytest.mark.parametrize("raw", ["[1]", '"[1]"', "{", '{"q": ', "3", "null", '"{"', '"3"', "NaN"])
def test_a_call_that_cannot_be_read_goes_with_its_result_when_its_turn_is_over(raw: str) -> None:
    call = unread(raw)
    history = [user("Hi."), assistant(tool_calls=[call]), tool_result(call, "No.", is_error=True)]
    over = [*history, user("Well?")]
    assert sent_of(*over) == [user("Hi."), user("Well?")]
    assert told_of(*over) == ["unreadable_dropped", "message_dropped"]


@pytest.mark.rule("R094")
def test_a_model_sees_in_its_own_turn_that_its_call_could_not_be_read() -> None:
    call = unread("[1]")
    notice = user("Two minutes left.", provenance="notice")
    history = [
        user("Hi."),
        assistant(tool_calls=[call]),
        tool_result(call, "The arguments must be an object.", is_error=True),
        notice,
    ]
    assert sent_of(*history) == history
    assert json.loads(to_openai_chat(history)[1]["tool_calls"][0]["function"]["arguments"]) == {}


@pytest.mark.rule("R095")
def test_the_frameworks_own_calls_are_not_replayed_once_their_turn_is_over() -> None:
    own = ToolCall("c9", "update_working_memory", {"name": "Ada"})
    turn = [
        user("I am Ada."),
        assistant(tool_calls=[own, CALL]),
        tool_result(own, "done"),
        tool_result(CALL, "1"),
    ]
    under_way = sanitise(turn, internal=INTERNAL)
    assert under_way.messages == tuple(turn)
    over = sanitise([*turn, assistant("Hello!"), user("Who am I?")], internal=INTERNAL)
    assert over.messages == (
        turn[0],
        assistant(tool_calls=[CALL]),
        turn[3],
        assistant("Hello!"),
        user("Who am I?"),
    )
    assert [repair.kind for repair in over.repairs] == ["internal_dropped"]
    assert sanitise([*turn, user("Who am I?")]).messages[1:3] == tuple(turn[1:3])


# Reasoning, texts, roles.

THOUGHT = ReasoningPart("hm", {"vendor": "anthropic", "signature": "s"})


def answer(*parts: TextPart | ReasoningPart | ToolCall) -> Message:
    return Message("assistant", parts, "model")


@pytest.mark.rule("R035")
def test_reasoning_that_nothing_follows_is_stripped() -> None:
    dangling = answer(TextPart("Yes."), THOUGHT)
    assert sent_of(user("Hi."), dangling, user("Well?")) == [
        user("Hi."),
        assistant("Yes."),
        user("Well?"),
    ]
    assert told_of(user("Hi."), dangling, user("Well?")) == ["reasoning_stripped"]
    assert sent_of(user("Hi."), answer(THOUGHT), user("Well?")) == [user("Hi."), user("Well?")]


@pytest.mark.rule("R035")
def test_reasoning_goes_with_the_call_that_followed_it() -> None:
    history = [user("Hi."), answer(TextPart("Yes."), THOUGHT, CALL), user("Well?")]
    assert sent_of(*history)[1] == assistant("Yes.")
    blank = [user("Hi."), answer(THOUGHT, TextPart(" ")), user("Well?")]
    assert sent_of(*blank) == [user("Hi."), user("Well?")]


@pytest.mark.rule("R035")
def test_reasoning_before_what_is_sent_stays_as_the_vendor_has_signed_it() -> None:
    history = [
        user("Hi."),
        answer(THOUGHT, TextPart("Let me see."), THOUGHT, CALL),
        tool_result(CALL, "1"),
    ]
    assert sent_of(*history) == history
    kinds = [block["type"] for block in to_anthropic(sent_of(*history))[1][1]["content"]]
    assert kinds == ["thinking", "text", "thinking", "tool_use"]


@pytest.mark.rule("R035")
def test_dangling_reasoning_can_be_stripped_alone() -> None:
    talk = [user("Hi."), answer(TextPart("Yes."), THOUGHT), answer(THOUGHT), assistant("No.")]
    assert strip_dangling_reasoning(talk) == (user("Hi."), assistant("Yes."), assistant("No."))
    assert strip_dangling_reasoning(talk[:1])[0] is talk[0]


def test_blank_texts_and_parts_without_a_place_are_left_out() -> None:
    beside = Message("tool", (ToolResult("c1", "look", "1"), TextPart("You may pay.")), "tool")
    sent = sent_of(
        user("Hi."),
        answer(TextPart(" \n"), CALL),
        beside,
        Message("user", (TextPart("Well?"), OTHER, THOUGHT)),
    )
    assert sent == [
        user("Hi."),
        assistant(tool_calls=[CALL]),
        tool_result(CALL, "1"),
        user("Well?"),
    ]


@pytest.mark.case("P136")
def test_halves_of_characters_are_joined_or_replaced() -> None:
    call = ToolCall("c1", "look", {"\ud83d": ["\ud83c\udf78"]})
    history = [user("\ud83c\udf78"), assistant(tool_calls=[call]), tool_result(call, "a\ud83d")]
    sent = sent_of(*history)
    assert (sent[0].text, sent[2].tool_results[0].content) == ("🍸", "a\ufffd")
    assert sent[1].tool_calls[0].arguments == {"\ufffd": ["🍸"]}
    assert "result_dropped" not in told_of(*history)


def test_a_conversation_that_begins_with_an_answer_gets_an_opening() -> None:
    history = [system("Be brief."), assistant("How can I help?"), user("Hi.")]
    sanitised = sanitise(history)
    opening = sanitised.messages[1]
    assert (opening.role, opening.provenance) == ("user", "notice")
    assert sanitised.messages[2:] == tuple(history[1:])
    assert [repair.kind for repair in sanitised.repairs] == ["opening_added"]


@pytest.mark.parametrize("last", [assistant("Hello."), system("Be brief.")])
def test_a_conversation_that_ends_with_no_question_gets_a_prompt(last: Message) -> None:
    history = [last] if last.role == "system" else [user("Hi."), last]
    sanitised = sanitise(history)
    assert sanitised.messages[:-1] == tuple(history)
    assert (sanitised.messages[-1].role, sanitised.messages[-1].provenance) == ("user", "notice")
    assert [repair.kind for repair in sanitised.repairs] == ["prompt_added"]
