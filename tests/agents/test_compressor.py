"""A long conversation is made shorter for the model, at a node of the loop; nothing of it is lost to anybody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from agentflow import Agent, ContractError, RunSuspended, tool
from agentflow.agents import Hooks
from agentflow.agents.compression import Summarise, Trim
from agentflow.agents.loop import build_loop
from agentflow.agents.memory import InMemoryHistory, Memory, Thread
from agentflow.messages import Message, assistant, user
from agentflow.messages.part import ToolCall
from agentflow.mock import MockModel, Rule, call
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import roles, scripted

LONG = [user("one"), assistant("a" * 300), user("two"), assistant("b" * 300), user("three")]


class Shorten:
    """A compressor that keeps the last message, and notes what it is given."""

    def __init__(self) -> None:
        self.given: list[list[Message]] = []

    async def __call__(self, messages: Sequence[Message], _ctx: Any) -> Sequence[Message]:
        self.given.append(list(messages))
        return [messages[-1]]


def summing_up(*replies: Any) -> MockModel:
    """A model that sums up with `SUMMARY` when it is asked to, and else says these."""

    def is_to_sum_up(request: Any) -> bool:
        return bool(request.messages[0].text.startswith("Summarise"))

    return MockModel([Rule(when=is_to_sum_up, reply="SUMMARY"), Rule(reply=list(replies))])


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    given = {"compressor": Summarise(keep_recent=1), "compress_above_chars": 300, **options}
    return Agent("helper", "Be brief.", model, tools, **given)


def texts(model: MockModel, at: int) -> list[str]:
    return [message.text for message in model.requests[at].messages]


@pytest.mark.rule("R041")
async def test_what_is_shortened_is_legal_already_and_the_hooks_see_what_came_of_it() -> None:
    shorten, seen = Shorten(), list[list[str]]()
    hooks = Hooks(
        on_prepare_messages=lambda messages, _view: seen.append([m.text for m in messages])
    )
    model = scripted("done")
    orphan = assistant("", tool_calls=[ToolCall("lost", "look", {})])
    asked = [*LONG[:4], orphan, user("three")]
    await agent(model, compressor=shorten, hooks=hooks).generate_text(asked)
    (given,) = shorten.given
    # The call that was lost is gone by then.
    assert roles(given) == ["user", "assistant", "user", "assistant", "user"]
    assert seen == [["three"]]
    assert texts(model, 0) == ["Be brief.", "three"]


@pytest.mark.rule("R043")
async def test_a_conversation_that_is_short_enough_stays_what_it_is() -> None:
    shorten, model = Shorten(), scripted("done")
    await agent(model, compressor=shorten, compress_above_chars=612).generate_text(LONG)
    assert shorten.given == []
    assert len(texts(model, 0)) == 6
    await agent(scripted("done"), compressor=shorten, compress_above_chars=610).generate_text(LONG)
    assert len(shorten.given) == 1


@pytest.mark.rule("R041")
async def test_results_and_memory_hold_the_whole_conversation() -> None:
    model, history = summing_up("done"), InMemoryHistory()
    made = agent(model, memory=Memory(history=history))
    result = await made.generate_text(LONG, resource_id="ada", thread_id="t")
    assert texts(model, 1) == [
        "Be brief.",
        "What was said before, in short:\nSUMMARY",
        "three",
    ]
    assert [message.text for message in result.messages[:5]] == [m.text for m in LONG]
    (turn,) = await history.load(Thread("ada", "t"), last=5)
    assert "a" * 300 in [message.text for message in turn.messages]


@pytest.mark.rule("R041")
async def test_it_is_shortened_again_only_when_it_has_grown_too_long_again() -> None:
    @tool
    def look(size: int) -> str:
        """Look."""
        return "x" * size

    shorten = Shorten()

    async def keep_the_last_call(messages: Sequence[Message], ctx: Any) -> Sequence[Message]:
        await shorten(messages, ctx)
        question = [message for message in messages if message.text == "three"]
        return [*question, *(messages[-2:] if messages[-1].role == "tool" else [])]

    model = scripted(*(call("look", size=size) for size in (10, 10, 400, 10)), "done")
    # A function that does not say what it uses asks no model.
    made = agent(model, look, compressor=keep_the_last_call)
    assert made.workflow.bounds().model_calls.value == 10
    result = await made.generate_text(LONG)
    assert result.text == "done"
    assert [len(given) for given in shorten.given] == [5, 7, 5]
    # Each step is told what stands for the beginning, and all that came since.
    assert [len(texts(model, at)) for at in range(5)] == [2, 4, 6, 4, 4]


@pytest.mark.rule("R041")
async def test_when_there_is_no_summary_the_model_is_told_everything() -> None:
    model = MockModel(
        [
            Rule(when=lambda request: request.messages[0].text.startswith("Summarise"), reply=""),
            Rule(reply="done"),
        ]
    )
    result = await agent(model).generate_text(LONG)
    assert result.text == "done"
    assert len(texts(model, -1)) == 6


def test_what_it_may_ask_a_model_counts_in_the_bounds() -> None:
    assert agent(scripted("done"), max_steps=4).workflow.bounds().model_calls.value == 8
    trimmed = agent(scripted("done"), max_steps=4, compressor=Trim())
    assert trimmed.workflow.bounds().model_calls.value == 4
    assert [node.id for node in trimmed.workflow.nodes][:3] == ["admit", "compress", "assemble"]
    loop = build_loop(compressor=Summarise(), max_steps=3)
    assert loop.bounds().model_calls.value == 6
    assert "compress" not in {node.id for node in Agent("plain").workflow.nodes}
    assert loop.report.findings == ()


async def test_a_summary_is_no_part_of_what_is_streamed_and_counts_in_what_was_used() -> None:
    events: list[Any] = []
    made = agent(summing_up("done"))
    async with made.stream_text(LONG) as stream:
        pieces = [piece async for piece in stream.text]
        events = [event async for event in stream.events]
        usage = await stream.usage
        total = await stream.total_usage
    assert "".join(pieces) == "done"
    assert not any("SUMMARY" in str(event) for event in events[:-2])
    assert (usage.calls, total.calls) == (1, 2)


async def test_a_chat_is_told_the_shorter_conversation_too() -> None:
    model = summing_up("done")
    async with agent(model).chat(LONG) as run:
        assert (await run.result()).text == "done"
    assert texts(model, 1)[1:] == ["What was said before, in short:\nSUMMARY", "three"]


async def test_a_call_says_anew_who_shortens() -> None:
    model = scripted("done")
    await agent(model).generate_text(LONG, compressor=Trim(max_chars=20))
    assert len(model.requests) == 1
    assert texts(model, 0) == ["Be brief.", "three"]


async def test_a_run_that_goes_on_in_another_process_has_its_summary() -> None:
    store = MemoryStore()

    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = summing_up(call("pay"), "done")
    async with agent(model, pay, store=store) as made:
        with pytest.raises(RunSuspended):
            await made.generate_text(LONG, run_id="r")
    async with agent(model, pay, store=store) as made:
        result = await made.resume("r", True)
    assert result.text == "done"
    assert len([at for at in range(3) if texts(model, at)[0].startswith("Summarise")]) == 1
    assert texts(model, 2)[1:3] == ["What was said before, in short:\nSUMMARY", "three"]


async def test_whoever_loses_the_question_is_refused() -> None:
    async def lose(messages: Sequence[Message], _ctx: Any) -> Sequence[Message]:
        return messages[:1]

    with pytest.raises(ContractError, match="has lost the current question"):
        await agent(scripted("done"), compressor=lose).generate_text(LONG)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"compressor": 3}, "compressor=3"),
        ({"compress_above_chars": -1}, "compress_above_chars=-1"),
    ],
)
def test_what_is_no_compressor_is_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        agent(scripted("done"), **options)


async def test_agents_shorten_each_for_themselves() -> None:
    model = summing_up("done", "done", "done")
    made = agent(model)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(made.generate_text, LONG)
    assert (
        sum(text.startswith("Summarise") for text in (texts(model, at)[0] for at in range(6))) == 3
    )
