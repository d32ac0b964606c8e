"""Compression is an ordinary node: entered where it stands, counted and told like any other, and checked for what must stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import pytest
import structlog
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Message,
    ModelError,
    ModelRequestRefused,
    Uses,
    Workflow,
    define_workflow,
    node,
    route,
)
from agentflow.agents.compression import Summarise, Trim, compress_node
from agentflow.messages import ToolCall, assistant, system, tool_result, user
from agentflow.messages.shortening import check_shortened, exchanges, split_recent
from agentflow.mock import MockModel, Rule
from agentflow.testing import FactRecorder, fake_context

CALL, OTHER = ToolCall("c1", "look"), ToolCall("c2", "look")
TALK = [
    system("Be brief."),
    user("Condition: only with a receipt.", pinned=True),
    user("Hello."),
    assistant("Hi! " * 50),
    user("Look."),
    assistant(tool_calls=[CALL, OTHER]),
    tool_result(CALL, "source: page 3"),
    tool_result(OTHER, "nothing"),
    user("What is it?"),
]
SHORT = MockModel(
    [Rule(when="Hello", reply="They greeted."), Rule(reply="An answer.")], name="mock"
)


class State(TypedDict, total=False):
    messages: list[Message]
    context: list[Message]
    answer: str


@node(requires=["context"], provides=["answer"], routes=[route.deliver("answer")])
async def answer(state: Any, ctx: Any) -> dict[str, Any]:
    """Answer from the shorter conversation."""
    return {"answer": (await ctx.model.invoke(state["context"])).value}


def talking(**options: Any) -> Workflow[Any]:
    compress = compress_node(
        "compress", **{"above_chars": 100, "routes": [route.to("answer")], **options}
    )
    return define_workflow("talk", nodes=[compress, answer], state=State, inputs=["messages"])


@pytest.mark.rule("R302", "R304", "R308")
async def test_a_compressor_is_a_node_that_facts_tell_of_and_nothing_else_is_entered() -> None:
    recorder, workflow = FactRecorder(), talking()
    assert await workflow.run({"messages": TALK}, model=SHORT, observers=[recorder]) == "An answer."
    assert [item.id for item in workflow.nodes] == ["compress", "answer"]
    told = [(fact.kind, fact.node_id) for fact in recorder.of("node.")]
    assert told == [
        ("node.started", "compress"),
        ("node.committed", "compress"),
        ("node.started", "answer"),
        ("node.committed", "answer"),
    ]
    assert [data.get("stage") for data in recorder.data("model.started")] == ["compress", None]


async def shortened(talk: Sequence[Message], **options: Any) -> list[Message]:
    ctx = fake_context(model=SHORT)
    compress: Any = compress_node("compress", above_chars=10, **options)
    found: list[Message] = (await compress({"messages": list(talk)}, ctx))["context"]
    return found


@pytest.mark.rule("R302")
async def test_older_exchanges_become_a_summary_and_pinned_and_recent_ones_stay() -> None:
    after = await shortened(TALK, compressor=Summarise(keep_recent=2))
    assert [message.role for message in after] == [
        *("system", "system", "user", "assistant", "tool", "tool", "user"),
    ]
    assert after[1].text == "What was said before, in short:\nThey greeted."
    assert after[2:] == [TALK[1], *TALK[5:]]


@pytest.mark.case("P130")
@pytest.mark.parametrize("keep", range(1, 10))
async def test_calls_and_their_results_are_never_torn_apart(keep: int) -> None:
    after = await shortened(TALK, compressor=Summarise(keep_recent=keep))
    calls = {call.id for message in after for call in message.tool_calls}
    results = {result.call_id for message in after for result in message.tool_results}
    assert calls == results


@pytest.mark.case("P128")
async def test_calls_that_went_into_a_summary_are_not_told_beside_it() -> None:
    later = [user("Thanks. " * 20), assistant("Welcome."), user("Bye.")]
    after = await shortened([*TALK, *later], compressor=Summarise(keep_recent=2))
    (summary,) = [message for message in after if "What was said before" in message.text]
    assert not any(message.tool_calls or message.tool_results for message in after)
    assert after == [TALK[0], summary, TALK[1], *later[1:]]


@pytest.mark.case("P074")
@pytest.mark.parametrize("keep", range(1, 5))
async def test_a_call_that_waits_for_an_approval_is_never_summarised_away(keep: int) -> None:
    waiting = [user("Pay."), assistant(tool_calls=[CALL, OTHER]), tool_result(OTHER, "done")]
    talk = [*waiting, *(assistant(f"Meanwhile {n}. " * 9) for n in range(5)), user("And now?")]
    after = await shortened(talk, compressor=Summarise(keep_recent=keep))
    assert waiting[1:] == [message for message in after if message in waiting]
    assert len(after) < len(talk)
    with pytest.raises(ContractError, match="the tool call 'c1', which waits for its result"):
        await shortened(talk, compressor=dropping(*waiting[1:]))


@pytest.mark.rule("R043")
async def test_a_short_conversation_stays_as_it_is_and_asks_nobody() -> None:
    provider = MockModel([Rule(reply="no")])
    ctx = fake_context(model=provider)
    compress: Any = compress_node("compress", above_chars=10_000)
    assert (await compress({"messages": TALK}, ctx))["context"] == TALK
    # Nothing is old enough either.
    recent: Any = compress_node("compress", above_chars=1, compressor=Summarise(keep_recent=99))
    assert (await recent({"messages": TALK}, ctx))["context"] == TALK
    assert not provider.requests


async def test_a_question_that_was_asked_long_ago_stays() -> None:
    talk = [user("The question."), *(assistant(f"Step {n}. " * 9) for n in range(5))]
    after = await shortened(talk, compressor=Summarise(keep_recent=1))
    assert talk[0] in after
    assert len(after) == 3


@pytest.mark.parametrize(
    "reply", [ModelError("broken"), ModelRequestRefused("too long"), " \n"], ids=type
)
async def test_a_conversation_stays_what_it_was_when_there_is_no_summary(reply: Any) -> None:
    provider = MockModel([Rule(reply=reply)])
    compress: Any = compress_node("compress", above_chars=10)
    with structlog.testing.capture_logs() as logs:
        after = (await compress({"messages": TALK * 2}, fake_context(model=provider)))["context"]
    assert after == TALK * 2
    assert len(provider.requests) == 1
    (warning,) = [line for line in logs if line["log_level"] == "warning"]
    assert warning["event"].startswith("the conversation is not summarised: the ")


async def test_a_cancel_and_a_limit_are_no_failed_summary() -> None:
    provider = MockModel([Rule(reply="Short.")])
    ctx = fake_context(model=provider, budget=Budget(model_calls=0))
    compress: Any = compress_node("compress", above_chars=10)
    with pytest.raises(BudgetExceeded):
        await compress({"messages": TALK}, ctx)


@pytest.mark.case("P131")
async def test_a_conversation_without_a_user_is_summarised_like_any_other() -> None:
    talk = [assistant(f"Step {number}. " * 9) for number in range(9)]
    provider = MockModel([Rule(reply="Nine steps.")])
    compress: Any = compress_node("compress", above_chars=10)
    after = (await compress({"messages": talk}, fake_context(model=provider)))["context"]
    assert after[0].text.endswith("Nine steps.")
    assert after[1:] == talk[-6:]
    assert "Step 2." in provider.requests[0].text
    broken = fake_context(model=MockModel([Rule(reply=ModelError("broken"))]))
    assert (await compress({"messages": talk}, broken))["context"] == talk


@pytest.mark.case("P133")
async def test_results_of_what_stays_are_cut_when_they_are_too_long_alone() -> None:
    calls = [ToolCall(f"c{number}", "look") for number in range(9)]
    results = [tool_result(call, "x" * 5_000) for call in calls]
    talk = [*TALK, assistant(tool_calls=calls), *results]
    compress: Any = compress_node("compress", above_chars=4_000)
    after = (await compress({"messages": talk}, fake_context(model=SHORT)))["context"]
    assert sum(message.chars for message in after) <= 4_000
    assert [message.role for message in after[-9:]] == ["tool"] * 9
    # Also where nothing is old enough for a summary.
    recent = talk[-10:]
    provider = MockModel([Rule(reply="no")])
    after = (await compress({"messages": recent}, fake_context(model=provider)))["context"]
    assert sum(message.chars for message in after) <= 4_000
    assert not provider.requests


async def test_a_call_that_waits_for_its_result_stays() -> None:
    waiting = assistant(tool_calls=[ToolCall("c9", "pay")])
    after = await shortened([waiting, *TALK], compressor=Summarise(keep_recent=1))
    assert waiting in after


@pytest.mark.rule("R303")
async def test_a_conversation_is_trimmed_without_a_model() -> None:
    provider = MockModel([Rule(reply="An answer.")])
    workflow = talking(compressor=Trim(max_chars=100), uses=Uses())
    assert await workflow.run({"messages": TALK}, model=provider) == "An answer."
    (request,) = provider.requests
    assert [message.text for message in request.messages if message.text] == [
        *("Be brief.", "Condition: only with a receipt.", "Look.", "What is it?")
    ]


@pytest.mark.rule("R303")
async def test_another_algorithm_or_another_node_takes_its_place() -> None:
    async def last_two(messages: Sequence[Message], ctx: Any) -> list[Message]:
        return [message for message in messages if message.pinned] + [messages[-1]]

    @node(id="compress", requires=["messages"], provides=["context"], routes=[route.to("answer")])
    async def mine(state: Any) -> dict[str, Any]:
        return {"context": state["messages"][-1:]}

    assert await talking(compressor=last_two).run({"messages": TALK}, model=SHORT) == "An answer."
    swapped = define_workflow("talk", nodes=[mine, answer], state=State, inputs=["messages"])
    assert await swapped.run({"messages": TALK}, model=SHORT) == "An answer."


def dropping(*lost: Message) -> Any:
    gone = {message.digest for message in lost}

    async def drop(messages: Sequence[Message], ctx: Any) -> list[Message]:
        return [message for message in messages if message.digest not in gone]

    return drop


SOURCE = system("Source: the contract, page 3.", pinned=True)


@pytest.mark.rule("R305")
@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (TALK[8], "the current question 'What is it?'"),
        (TALK[1], "the pinned message 'Condition: only with a receipt.'"),
        (SOURCE, "the pinned message 'Source: the contract, page 3.'"),
    ],
    ids=["question", "condition", "source"],
)
async def test_what_must_stay_cannot_be_lost_under_the_name_of_success(
    lost: Message, said: str
) -> None:
    provider = MockModel([Rule(reply="An answer.")])
    recorder = FactRecorder()
    with pytest.raises(ContractError, match=re.escape(f"has lost {said}")):
        await talking(compressor=dropping(lost)).run(
            {"messages": [SOURCE, *TALK]}, model=provider, observers=[recorder]
        )
    assert not provider.requests
    assert recorder.only("node.failed").node_id == "compress"


@pytest.mark.rule("R305")
@pytest.mark.parametrize(
    ("lost", "said"), [(TALK[6], "result of the tool call"), (TALK[5], "call")]
)
async def test_a_call_cannot_lose_its_result_nor_a_result_its_call(
    lost: Message, said: str
) -> None:
    with pytest.raises(ContractError, match=said):
        await shortened(TALK, compressor=dropping(lost))


@pytest.mark.rule("R305")
def test_a_pinned_message_that_is_pinned_no_more_is_lost() -> None:
    loose = [user(TALK[1].text), TALK[8]]
    with pytest.raises(ContractError, match="pinned message"):
        check_shortened(TALK, loose)


@pytest.mark.rule("R306")
async def test_a_compressor_draws_on_the_same_budget() -> None:
    provider = MockModel([Rule(reply="Short.")])
    recorder = FactRecorder()
    with pytest.raises(BudgetExceeded) as caught:
        await talking().run(
            {"messages": TALK}, model=provider, budget=Budget(model_calls=1), observers=[recorder]
        )
    assert (caught.value.limit, len(provider.requests)) == ("model_calls", 1)
    assert recorder.only("limit.reached").node_id == "answer"


@pytest.mark.rule("R307")
async def test_what_was_compressed_is_checked_like_any_other_input() -> None:
    async def nothing(messages: Sequence[Message], ctx: Any) -> Sequence[Message]:
        return messages

    provider = MockModel([Rule(reply="An answer.")])
    with pytest.raises(BudgetExceeded, match="input_chars"):
        await talking(compressor=nothing).run(
            {"messages": TALK}, model=provider, budget=Budget(input_chars=50)
        )
    assert not provider.requests


turns = st.lists(
    st.sampled_from([user("u"), assistant("a"), "exchange", user("p", pinned=True)]), max_size=9
)


@given(turns, st.integers(0, 9))
def test_any_conversation_is_split_without_loss_between_exchanges(
    kinds: list[Any], keep: int
) -> None:
    talk: list[Message] = []
    for number, kind in enumerate(kinds):
        call = ToolCall(f"c{number}", "look")
        one = [assistant(tool_calls=[call]), tool_result(call, "1")]
        talk += one if kind == "exchange" else [kind]
    older, recent = split_recent(talk, keep)
    assert [message for group in (*older, *recent) for message in group] == talk
    assert exchanges(talk) == [*older, *recent]
    kept = sum(map(len, recent))
    assert kept >= min(keep, len(talk))
    # No more than it takes.
    assert not recent or kept - len(recent[0]) < keep
