"""A model that makes the same call again and again is warned in the result, then stopped with a reason that has a name."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from hypothesis import given, strategies as st

from agentflow import (
    BudgetExceeded,
    Message,
    Uses,
    append,
    define_workflow,
    field,
    node,
    route,
    tool,
)
from agentflow.messages import ToolCall, assistant, system, tool_result, user
from agentflow.mock import MockModel, Rule, call
from agentflow.testing import FactRecorder, fake_context
from agentflow.tools.execution import run_calls
from agentflow.tools.repeats import RepeatLimit, repeats


def asked(*proposed: ToolCall) -> list[Message]:
    """What a conversation holds of calls that were made."""
    return [Message("assistant", proposed, "model"), *(tool_result(each, "x") for each in proposed)]


def look(number: int, **given: Any) -> ToolCall:
    return ToolCall(f"c{number}", "look", given or {"at": "a"})


class State(TypedDict):
    messages: Annotated[list[Message], append]
    proposed: NotRequired[int]


LIMIT = RepeatLimit(warn=3, stop=5)


@node(
    requires=["messages"],
    provides=["messages", "proposed"],
    starts_round=True,
    routes=[route.deliver("messages", when=field("proposed") == 0), route.to("act")],
    uses=Uses(model_calls=1),
)
async def think(state: State, ctx: Any) -> dict[str, Any]:
    reply = await ctx.model.invoke(
        list(state["messages"]), transport="message", tools=ctx.tools.specs()
    )
    return {"messages": [reply.value], "proposed": len(reply.value.tool_calls)}


@node(
    requires=["messages"],
    provides=["messages"],
    routes=[route.to("think")],
    uses=Uses(tool_calls=None),
)
async def act(state: State, ctx: Any) -> dict[str, Any]:
    *history, answer = state["messages"]
    made = await run_calls(ctx, answer.tool_calls, repeat_limit=LIMIT, history=history)
    return {"messages": made}


LOOP = define_workflow("loop", nodes=[think, act], state=State, inputs=["messages"], max_rounds=50)


class Watched:
    """A tool that counts its calls."""

    def __init__(self) -> None:
        self.made = 0

        @tool
        async def look(at: str) -> str:
            """Look at something."""
            self.made += 1
            return f"saw {at}"

        self.tool = look


@pytest.mark.case("P094")
async def test_a_model_that_repeats_itself_is_warned_and_then_stopped_by_name() -> None:
    watched, model = Watched(), MockModel([Rule(reply=call("look", at="a"))])
    recorder = FactRecorder()
    with pytest.raises(BudgetExceeded) as caught:
        await LOOP.run(
            {"messages": [user("Go.")]}, model=model, tools=[watched.tool], observers=[recorder]
        )
    error = caught.value
    assert (error.limit, error.allowed, error.used) == ("repeats", 4, 5)
    assert "equal calls of tool 'look'" in str(error)
    assert (watched.made, len(model.requests)) == (4, 5)
    results = [part.content for each in model.requests[-1].messages for part in each.tool_results]
    assert results[:2] == ["saw a", "saw a"]
    assert results[2] == (
        "saw a\n\nWarning: this is call 3 of 'look' with the same arguments. Go on with what it gave, or try something "
        "else; call 5 ends the run."
    )
    told = [fact.data for fact in recorder.facts if fact.kind == "tool.repeated"]
    assert [(each["times"], each["stop"]) for each in told] == [(3, 5), (4, 5)]
    (reached,) = [fact for fact in recorder.facts if fact.kind == "limit.reached"]
    assert reached.data["limit"] == "repeats"


async def test_a_model_that_heeds_the_warning_goes_on() -> None:
    watched = Watched()
    heeds = Rule(when="Warning", reply="I have seen it.")
    model = MockModel([heeds, Rule(reply=call("look", at="a"))])
    messages = await LOOP.run({"messages": [user("Go.")]}, model=model, tools=[watched.tool])
    assert (watched.made, messages[-1].text) == (3, "I have seen it.")


async def test_the_call_that_is_too_many_starts_none_of_its_answer() -> None:
    watched = Watched()
    ctx = fake_context(tools=[watched.tool])
    history = [user("Go."), *(each for n in range(4) for each in asked(look(n)))]
    with pytest.raises(BudgetExceeded):
        await run_calls(ctx, [look(8, at="new"), look(9)], repeat_limit=LIMIT, history=history)
    assert watched.made == 0


async def test_a_failure_is_told_with_the_warning_too() -> None:
    @tool
    async def look(at: str) -> None:
        raise ValueError("dark")

    proposed = [ToolCall(f"c{n}", "look", {"at": "a"}) for n in range(3)]
    made = await run_calls(fake_context(tools=[look]), proposed, repeat_limit=LIMIT)
    texts = [part.content for message in made for part in message.tool_results]
    assert texts[1] == "Error: tool 'look' failed: ValueError: dark"
    assert texts[2].startswith(f"{texts[1]}\n\nWarning: this is call 3")


async def test_tools_that_are_meant_to_be_asked_again_are_free() -> None:
    watched = Watched()
    free = RepeatLimit(warn=2, stop=3, free=["look"])
    made = await run_calls(
        fake_context(tools=[watched.tool]), [look(n) for n in range(5)], repeat_limit=free
    )
    assert (watched.made, {part.content for m in made for part in m.tool_results}) == (5, {"saw a"})


def test_equal_are_calls_of_one_tool_with_the_same_arguments_in_any_order() -> None:
    history = asked(
        ToolCall("1", "look", {"a": 1, "b": [2]}), ToolCall("2", "find", {"a": 1, "b": [2]})
    )
    same, other = (
        ToolCall("3", "look", {"b": [2], "a": 1}),
        ToolCall("4", "look", {"b": [2, 2], "a": 1}),
    )
    assert repeats(history, [same, other, same]) == [2, 1, 3]


def test_calls_that_could_not_be_read_are_equal_if_their_text_is() -> None:
    cut = ToolCall("1", "look", error="no JSON", raw='{"at')
    other = ToolCall("2", "look", error="no JSON", raw='{"a')
    assert repeats(asked(cut), [cut, other, look(3)]) == [2, 1, 1]


def test_a_new_input_begins_anew_and_a_word_of_the_host_does_not() -> None:
    notice = Message("user", user("Hm.").content, "notice")
    history = [
        *asked(look(1)),
        user("Again."),
        *asked(look(2)),
        notice,
        system("x"),
        assistant("y"),
    ]
    assert repeats(history, [look(3)]) == [2]


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=6))
def test_every_call_is_counted_once(answers: list[list[int]]) -> None:
    history = [each for one in answers[:-1] for each in asked(*(look(n, at=n) for n in one))]
    last = answers[-1] if answers else []
    before = [n for one in answers[:-1] for n in one]
    counted = repeats(history, [look(n, at=n) for n in last])
    assert counted == [(before + last[: at + 1]).count(n) for at, n in enumerate(last)]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"warn": 1}, ValueError),
        ({"warn": 4, "stop": 4}, ValueError),
        ({"free": "look"}, TypeError),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(wrong: dict[str, Any], error: Any) -> None:
    with pytest.raises(error, match="RepeatLimit"):
        RepeatLimit(**wrong)
