"""Hand-offs: another agent takes the conversation over, and its answer is the answer of the call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from agentflow import (
    Agent,
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    RunCancelled,
    ToolContext,
    build_loop,
    tool,
)
from agentflow.agents import Guardrail, GuardrailBlocked, Hooks, Middleware, PendingTurn
from agentflow.agents.compression import Summarise
from agentflow.messages import Message, ToolCall, assistant, tool_result, user
from agentflow.mock import MockModel, MockReply, MockRequest, Rule, call, calls
from tests.agents.kit import assert_valid, endless, look, roles, scripted
from tests.models.kit import Endless


class City(BaseModel):
    """A place."""

    city: str


def billing(model: Any = None, *tools: Any, name: str = "billing", **options: Any) -> Agent:
    return Agent(name, "You know bills.", model, tools, **options)


def front(model: Any, *handoffs: Any, tools: Sequence[Any] = (), **options: Any) -> Agent:
    return Agent("front", "You are the front desk.", model, tools, handoffs=handoffs, **options)


def over(name: str = "billing", **reason: str) -> Any:
    return call(f"transfer_to_{name}", **reason)


def ids_of(messages: Sequence[Message]) -> tuple[Counter[str], Counter[str]]:
    """How often each call is proposed, and how often it has a result."""
    proposed = Counter(one.id for message in messages for one in message.tool_calls)
    answered = Counter(one.call_id for message in messages for one in message.tool_results)
    return proposed, answered


async def test_the_answer_of_who_took_over_is_that_of_the_call() -> None:
    below = scripted(call("look", at=1), "It is paid.")
    model = scripted(MockReply(text="One moment.", calls=over(reason="money").calls))
    result = await front(model, billing(below, look)).generate_text("Is it paid?")
    assert (result.text, result.object, result.finish_reason) == ("It is paid.", None, "stop")
    assert result.path == ("billing",)
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert result.messages[2].tool_results[0].content == "billing goes on with this conversation."
    assert result.new_messages == result.messages[1:]
    assert [(step.number, step.text) for step in result.steps] == [
        *((1, "One moment."), (2, ""), (3, "It is paid.")),
    ]
    assert [made.name for made in result.tool_calls] == ["transfer_to_billing", "look"]
    assert_valid(result.messages)


async def test_who_takes_over_has_the_conversation_and_instructions_and_tools_of_its_own() -> None:
    below = scripted("It is paid.")
    model = scripted(call("look", at=7), over(reason="money"))
    asked = front(model, billing(below, look, description="Knows bills."), tools=[look])
    earlier = [user("Hello."), assistant("Good morning.")]
    await asked.generate_text([*earlier, user("Is it paid?")])
    (request,) = below.requests
    assert [(message.role, message.text) for message in request.messages[:4]] == [
        *(("system", "You know bills."), ("user", "Hello."), ("assistant", "Good morning.")),
        ("user", "Is it paid?"),
    ]
    assert roles(request.messages[4:]) == ["assistant", "tool"] * 2
    assert request.tools == ("look",)
    assert model.requests[0].tools == ("look", "transfer_to_billing")
    assert_valid(request.messages)
    (made,) = asked.profile.handoffs.values()
    assert made.agent.name == "billing"


async def test_the_agent_that_is_asked_answers_the_next_turn() -> None:
    below = billing(scripted("It is paid.", "It is."))
    asked = front(scripted(over(), "Good bye."), below)
    first = await asked.generate_text("Is it paid?")
    again = await below.generate_text([*first.messages, user("Really?")])
    assert (again.text, again.path) == ("It is.", ())
    last = await asked.generate_text([*again.messages, user("Bye.")])
    assert (last.text, last.path) == ("Good bye.", ())


# --- beside other calls --------------------------------------------------------------------------


async def test_calls_beside_a_hand_off_keep_their_results() -> None:
    below = scripted("It is paid.")
    model = scripted(calls(call("look", at=1), over(), call("look", at=2), call("nothing")))
    result = await front(model, billing(below), tools=[look]).generate_text("go")
    told = {one.call_id: one.content for one in result.steps[0].tool_results}
    assert list(told.values())[:2] == ["1", "2"]
    assert len(told) == 4
    assert_valid(result.messages)
    assert_valid(below.requests[0].messages)
    assert ids_of(below.requests[0].messages)[1] == Counter(told.keys())


async def test_of_two_hand_offs_in_one_step_only_the_first_is_made() -> None:
    model = scripted(calls(over("billing"), over("refunds")))
    never = scripted("never")
    asked = front(model, billing(scripted("It is paid.")), billing(never, name="refunds"))
    result = await asked.generate_text("go")
    assert (result.text, result.path) == ("It is paid.", ("billing",))
    assert not never.requests
    refused = next(one for one in result.steps[0].tool_results if one.is_error)
    assert refused.name == "transfer_to_refunds"
    assert "'transfer_to_billing' was called before; this call did nothing" in refused.content
    assert_valid(result.messages)


async def test_a_hand_off_that_may_not_be_is_none_and_neither_is_the_one_after_it() -> None:
    model = scripted(calls(over("billing"), over("refunds")), "I do it myself.")
    others = [billing(scripted("never"), name=name) for name in ("billing", "refunds")]

    def policy(item: Any, given: Any, ctx: Any) -> bool:
        return bool(item.id != "transfer_to_billing")

    result = await front(model, *others, authorize=policy).generate_text("go")
    assert (result.text, result.path) == ("I do it myself.", ())
    assert [one.is_error for one in result.steps[0].tool_results] == [True, True]


async def test_a_tool_that_ends_the_loop_beside_a_hand_off_wins() -> None:
    @tool(parallel=False)
    async def finish(ctx: ToolContext) -> None:
        ctx.bail("enough")

    model, never = scripted(calls(over(), call("finish"))), scripted("never")
    result = await front(model, billing(never), tools=[finish]).generate_text("go")
    assert (result.text, result.finish_reason, result.path) == ("enough", "bail", ())
    assert not never.requests
    assert_valid(result.messages)


async def test_a_hand_off_is_made_by_the_model_of_an_agent_alone() -> None:
    handing = billing(scripted("never")).as_handoff()
    loop = build_loop(max_steps=2)
    result = await loop.run(
        {"messages": "go"}, model=scripted(over(), "I stay."), tools=[look, handing]
    )
    assert result.text == "I stay."
    assert "among its handoffs" in result.steps[0].tool_results[0].content

    @tool
    async def sly(ctx: ToolContext) -> str:
        receipt: Any = await ctx.node.tools.invoke("transfer_to_billing", {})
        return str(receipt.value)

    asked = front(scripted(call("sly"), "I stay."), handing, tools=[sly])
    made = await asked.generate_text("go")
    assert made.steps[0].tool_results[0].is_error
    assert "among its handoffs" in made.steps[0].tool_results[0].content


# --- what comes of it ----------------------------------------------------------------------------


async def test_the_structured_output_of_the_call_is_wanted_of_who_takes_over() -> None:
    below = scripted(call("look"), "no city", {"city": "Rome"})
    asked = front(scripted(over()), billing(below, look))
    result = await asked.generate_object("Where?", City)
    assert result.object == City(city="Rome")
    assert (result.path, result.finish_reason) == (("billing",), "stop")
    assert "That is no valid answer" in below.requests[2].messages[-1].text


async def test_without_that_it_gives_what_it_gives_by_itself() -> None:
    asked = front(scripted(over()), billing(scripted({"city": "Rome"}), output=City))
    result = await asked.generate_text("Where?")
    assert result.object == City(city="Rome")


@pytest.mark.parametrize(
    ("below", "reason"),
    [
        (billing(endless(), look, max_steps=2), "max_steps"),
        (billing(endless(), look, stop_when=lambda steps: len(steps) == 2), "stop_when"),
    ],
)
async def test_why_it_ended_is_told_of_who_took_over(below: Agent, reason: str) -> None:
    result = await front(scripted(over()), below).generate_text("go")
    assert result.finish_reason == reason
    assert len(result.steps) == 3


async def test_a_tool_that_ends_the_loop_of_who_took_over_ends_the_call() -> None:
    @tool
    async def finish(ctx: ToolContext) -> None:
        ctx.bail({"paid": True})

    below = billing(scripted(call("finish")), finish)
    result = await front(scripted(over()), below).generate_text("go")
    assert (result.object, result.finish_reason) == ({"paid": True}, "bail")
    assert_valid(result.messages)


async def test_the_callers_output_middleware_and_guardrails_have_the_last_word() -> None:
    async def skip(turn: PendingTurn, ctx: Any) -> str:
        return "it is paid"

    louder = Middleware(output=lambda text, ctx: text.upper())
    for below in (
        billing(scripted("it is paid")),
        billing(scripted("never"), middlewares=[Middleware(turn=skip)]),
    ):
        result = await front(scripted(over()), below, middlewares=[louder]).generate_text("go")
        assert result.text == result.messages[-1].text == "IT IS PAID"
        assert result.messages[1].text == ""
    bombs = Guardrail(output=lambda text, view: "bomb" not in text)
    with pytest.raises(GuardrailBlocked):
        await front(
            scripted(over()), billing(scripted("a bomb")), guardrails=[bombs]
        ).generate_text("go")


async def test_a_conversation_may_be_handed_on() -> None:
    last = billing(scripted("Refunded."), name="refunds")
    below = billing(scripted(call("look"), over("refunds")), look, handoffs=[last])
    result = await front(scripted(over()), below).generate_text("go")
    assert (result.text, result.path) == ("Refunded.", ("billing", "refunds"))
    assert [step.number for step in result.steps] == [1, 2, 3, 4]
    assert result.steps[-1].text == "Refunded."
    found = {path: usage.calls for path, usage in result.usage_by_path.items()}
    assert found == {
        "model": 1,
        "handoff/billing/model": 2,
        "handoff/billing/handoff/refunds/model": 1,
    }
    assert (result.usage.calls, result.total_usage.calls) == (4, 4)
    assert_valid(result.messages)


async def test_a_sub_agent_may_hand_its_task_over() -> None:
    below = front(scripted(over()), billing(scripted("It is paid.")))
    model = scripted(call("ask_front", task="Is it paid?"), "Paid, they say.")
    result = await Agent("boss", None, model, sub_agents=[below]).generate_text("go")
    assert (result.text, result.path) == ("Paid, they say.", ())
    assert result.steps[0].tool_results[0].content == "It is paid."


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "told"),
    [
        (billing(scripted(RuntimeError("down"), RuntimeError("down"))), "down"),
        (billing(scripted("ok"), permission=lambda asked: False), "the permission said no"),
        (billing(endless(), look, max_steps=1, on_max_steps="raise"), "rounds"),
        (billing(scripted("x"), guardrails=[Guardrail(input=lambda v, c: False)]), "said no"),
        (billing(endless(), look, output=City, max_steps=1), "StructuredOutputNotGenerated"),
    ],
)
async def test_who_fails_has_its_failure_told_and_the_other_goes_on(
    below: Agent, told: str
) -> None:
    model = scripted(over(), "I do it myself.")
    result = await front(model, below).generate_text("go")
    assert (result.text, result.path) == ("I do it myself.", ())
    (failed,) = result.steps[0].tool_results
    assert failed.is_error
    assert "agent 'billing' failed, and the conversation is yours again" in failed.content
    assert told in failed.content
    assert model.requests[1].messages[-1].tool_results == (failed,)
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant"]
    assert_valid(result.messages)


async def test_after_a_failure_the_next_step_may_hand_over_again() -> None:
    down = billing(scripted(RuntimeError("down"), RuntimeError("down")))
    model = scripted(over(), over("refunds"))
    asked = front(model, down, billing(scripted("Refunded."), name="refunds"))
    result = await asked.generate_text("go")
    assert (result.text, result.path) == ("Refunded.", ("refunds",))
    assert_valid(result.messages)


async def test_a_cancel_of_the_call_ends_who_took_over_and_leaves_a_legal_conversation() -> None:
    model, signal, ends = Endless(), CancelSignal(), []
    hooks = Hooks(on_end=lambda end, view: ends.append((end.finish_reason, end.messages)))
    asked = front(scripted(over()), billing(model), hooks=hooks)

    async def cancel() -> None:
        await model.thinking.wait()
        signal.cancel("enough")

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        with pytest.raises(RunCancelled, match="enough"):
            await asked.generate_text("go", signal=signal)
    assert model.closed == 1
    ((reason, messages),) = ends
    assert reason == "cancelled"
    assert_valid(messages)


@pytest.mark.parametrize("ends", ["stop", "answer", "raise"])
async def test_the_last_step_may_hand_over(ends: Any) -> None:
    asked = front(
        scripted(over()), billing(scripted("It is paid.")), max_steps=1, on_max_steps=ends
    )
    result = await asked.generate_text("go")
    assert (result.text, result.finish_reason) == ("It is paid.", "stop")
    assert asked.workflow.bounds().model_calls.value == (12 if ends == "answer" else 11)


# --- one run -------------------------------------------------------------------------------------


async def test_who_takes_over_spends_what_is_left_and_shares_the_context() -> None:
    seen: list[Any] = []

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append((ctx.context, ctx.identity, ctx.run_id.startswith("r/handoff")))

    below = billing(scripted(call("show"), "ok"), show, context={"k": 2, "j": 3})
    given: dict[str, Any] = {"k": 1}
    asked = front(scripted(over()), below)
    await asked.generate_text("go", context=given, identity="u", run_id="r")
    assert seen == [({"k": 1, "j": 3}, "u", True)]
    asked = front(scripted(over()), billing(endless(), look))
    with pytest.raises(BudgetExceeded) as caught:
        await asked.generate_text("go", budget=Budget(model_calls=4))
    assert (caught.value.limit, caught.value.allowed) == ("model_calls", 4)


async def test_the_worst_case_of_who_takes_over_is_counted() -> None:
    last = billing(endless(), look, name="refunds", max_steps=5)
    below = billing(scripted("never"), max_steps=2, handoffs=[last])
    other = billing(scripted("never"), name="other", max_steps=3)
    asked = front(scripted("never"), below, other, max_steps=4)
    assert below.workflow.bounds().model_calls.value == 2 * (1 + 5)
    assert asked.workflow.bounds().model_calls.value == 4 * (1 + 2 * (1 + 5))
    assert asked.workflow.report.findings == ()
    summarised = below.as_handoff(carry=Summarise())
    assert (
        front(scripted("never"), summarised, max_steps=1).workflow.bounds().model_calls.value == 14
    )
    node_ids = [node.id for node in asked.workflow.nodes]
    assert node_ids == ["admit", "assemble", "model", "tools", "handoff", "decide", "conclude"]
    assert "handoff" not in [node.id for node in other.workflow.nodes]


async def test_no_chain_of_hand_offs_leads_back_in_a_circle() -> None:
    first = billing(MockModel([Rule(reply=over("b"))]), name="a")
    second = billing(MockModel([Rule(reply=over("a"))]), name="b", handoffs=[first])
    asked = first.profile.over({"handoffs": [second]})
    # The one that is reached again is the agent as it was made, which hands to nobody.
    assert asked.steps * (1 + 10 * (1 + 10)) == 1110
    result = await first.generate_text("go", handoffs=[second])
    assert (result.path, result.finish_reason) == (("b", "a"), "max_steps")
    assert result.bounds.model_calls.value == 1110
    with pytest.raises(TypeError, match="so that no hand-off leads back in a circle"):
        Agent("a", handoffs=["b"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"handoffs=.*give a list of agents"):
        Agent("a", handoffs=second)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="transfer_to_a"):
        Agent("x", handoffs=[first, first])


async def test_a_chain_is_no_deeper_than_agents_may_nest() -> None:
    chained = billing(scripted("deep"), name="end")
    for at in range(7):
        ways = scripted(over("end" if not at else f"a{at - 1}"), f"a{at} stays")
        chained = billing(ways, name=f"a{at}", handoffs=[chained])
    result = await chained.generate_text("go")
    assert result.path == ("a5", "a4", "a3", "a2", "a1")
    assert result.text == "a1 stays"
    with pytest.raises(BudgetExceeded) as caught:
        await front(scripted(over()), billing(scripted("never"))).generate_text(
            "go", budget=Budget(depth=1)
        )
    assert caught.value.limit == "depth"


# --- what is carried over ------------------------------------------------------------------------


def talk() -> list[Message]:
    """A conversation with calls in it."""
    asked = ToolCall("c1", "look", {"at": 1})
    made = assistant(tool_calls=[asked], id="m1")
    return [user("Look."), made, tool_result(asked, "a long story"), assistant("Done.")]


@pytest.mark.case("P128")
async def test_calls_that_are_carried_over_in_a_summary_are_not_sent_as_well() -> None:
    def reply(request: MockRequest) -> Any:
        return "They looked." if "Summarise" in request.messages[0].text else over()

    below = scripted("It is paid.")
    carried = billing(below).as_handoff(carry=Summarise(keep_recent=1))
    asked = front(MockModel([Rule(reply=reply)]), carried)
    result = await asked.generate_text([*talk(), user("Is it paid?")])
    (request,) = below.requests
    texts = [message.text for message in request.messages]
    assert texts == [
        *("You know bills.", "What was said before, in short:\nThey looked.", "Is it paid?"),
        *("", ""),
    ]
    assert [one.name for m in request.messages for one in m.tool_calls] == ["transfer_to_billing"]
    assert result.messages[: len(talk())] == tuple(talk())
    assert not any("They looked" in message.text for message in result.messages)
    assert result.text == "It is paid."
    assert_valid(result.messages)


async def test_what_is_carried_over_is_the_applications_affair_but_must_be_legal() -> None:
    async def question(messages: Sequence[Message], ctx: Any) -> Sequence[Message]:
        return [message for message in messages if message.role == "user"]

    async def torn(messages: Sequence[Message], ctx: Any) -> Sequence[Message]:
        return messages[-1:]

    below = scripted("ok")
    asked = front(scripted(over()), billing(below).as_handoff(carry=question))
    result = await asked.generate_text([*talk(), user("Is it paid?")])
    assert [message.text for message in below.requests[0].messages] == [
        *("You know bills.", "Look.", "Is it paid?"),
    ]
    assert len(result.messages) == len(talk()) + 4
    assert [step.text for step in result.steps] == ["", "ok"]
    with pytest.raises(ContractError, match="carry of the hand-off to 'billing'"):
        await front(scripted(over()), billing().as_handoff(carry=torn)).generate_text("go")
    wrong: Any = "all"
    with pytest.raises(TypeError, match="carry='all'"):
        billing().as_handoff(carry=wrong)
