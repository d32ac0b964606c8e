"""What hand-offs leave behind: in memories everything once, and in stores enough to go on from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, RunSuspended, tool
from agentflow.agents import Hooks
from agentflow.agents.memory import InMemoryHistory, InMemoryWorkingMemory, Memory, Thread, Turn
from agentflow.graph.codec import decoded, encoded
from agentflow.mock import call, calls
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import Looking, assert_valid, look, scripted
from tests.agents.test_handoffs import billing, front, ids_of, over

# --- memory --------------------------------------------------------------------------------------


@pytest.mark.case("P127")
async def test_records_of_steps_hold_the_conversation_once_too() -> None:
    written: list[Turn] = []

    class Told(InMemoryHistory):
        async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
            written.append(turn)
            await super().record(thread, turn, at=at)

    shared = Memory(history=Told(), save="step_and_wait")
    below = billing(scripted(call("look", at=1), "It is paid."), look, memory=shared)
    asked = front(scripted(call("look", at=2), over()), below, tools=[look], memory=shared)
    result = await asked.generate_text("go", resource_id="u1", thread_id="t1")
    assert len({turn.id for turn in written}) == 1
    said = [message for turn in written for message in turn.messages]
    assert [message.text for message in said] == [message.text for message in result.messages]
    assert set(ids_of(said)[1].values()) == {1}
    assert ids_of(said)[0] == ids_of(said)[1]


@pytest.mark.case("P127")
async def test_the_conversation_is_kept_once_by_the_memory_of_the_call() -> None:
    history = InMemoryHistory()
    shared = Memory(history=history)
    below = scripted(call("look", at=1), "It is paid.")
    model = scripted(over(), "You are welcome.")
    asked = front(model, billing(below, look, memory=shared), memory=shared)
    mine: Any = {"resource_id": "u1", "thread_id": "t1"}
    result = await asked.generate_text("Is it paid?", **mine)
    (turn,) = await history.load(Thread("u1", "t1"), last=9)
    assert turn.messages == tuple(
        message if message.id else kept
        for message, kept in zip(result.messages, turn.messages, strict=True)
    )
    assert ids_of(turn.messages)[0] == ids_of(turn.messages)[1]
    assert set(ids_of(turn.messages)[0].values()) == {1}
    assert await history.load(Thread("u1", "t1/billing"), last=9) == []
    again = await asked.generate_text("Thanks.", **mine)
    assert again.text == "You are welcome."
    sent = model.requests[1].messages
    assert_valid(sent)
    assert [message.text for message in sent if message.text] == [
        *("You are the front desk.", "Is it paid?", "It is paid.", "Thanks."),
    ]


class Known(BaseModel):
    """What is known of a user."""

    name: str = ""


async def test_of_its_own_memory_only_what_it_knows_of_the_user_is_told() -> None:
    working, history = InMemoryWorkingMemory(), InMemoryHistory()
    await working.put("u1", '{"name": "Ada"}')
    own = Memory(history=history, working=working, working_type=Known)
    below = scripted("Hello, Ada.")
    asked = front(scripted(over()), billing(below, memory=own))
    await asked.generate_text("go", identity={"resource_id": "u1", "thread_id": "t1"})
    assert "Ada" in below.requests[0].messages[1].text
    assert below.requests[0].tools == ()
    assert await history.load(Thread("u1", "t1/billing"), last=9) == []


# --- durable -------------------------------------------------------------------------------------


async def test_an_approval_asked_by_who_took_over_suspends_the_call_and_goes_on() -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    log: list[Any] = []
    hooks = Hooks(
        on_start=lambda view: log.append("start"),
        on_end=lambda end, view: log.append(end.finish_reason),
        on_step_finish=lambda step, view: log.append(step.number),
        on_handoff=lambda handoff, view: log.append((handoff.agent, handoff.kind, handoff.task)),
    )
    store = MemoryStore()
    below_model, model = scripted(call("pay", amount=5), "Paid."), scripted(over(reason="money"))

    def made() -> Agent:
        below = billing(below_model, pay, hooks=hooks)
        return front(model, below, hooks=hooks, store=store)

    async with made() as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
    assert paid == []
    assert log == ["start", ("billing", "conversation", "money"), "start"]
    async with made() as asked:
        result = await asked.resume("r", True)
        assert log[3:] == [1, 2, "stop", 1, "stop"]
        again = await asked.generate_text("go", run_id="r")
    assert (result.text, result.path, paid) == ("Paid.", ("billing",), [5])
    assert (again.path, again.messages) == (result.path, result.messages)
    assert (len(model.requests), len(below_model.requests)) == (1, 2)
    assert_valid(result.messages)


async def test_a_call_beside_it_that_waits_for_an_approval_is_waited_for_first() -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    below, model = scripted("All is paid."), scripted(calls(over(), call("pay", amount=5)))
    async with front(model, billing(below), tools=[pay], store="memory:") as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
        assert not below.requests
        result = await asked.resume("r", True)
    assert (result.text, result.path, paid) == ("All is paid.", ("billing",), [5])
    assert_valid(below.requests[0].messages)
    assert {one.content for one in result.steps[0].tool_results} == {
        *("paid 5", "billing goes on with this conversation."),
    }


async def test_a_hand_off_may_itself_need_an_approval() -> None:
    handing = replace(billing(scripted("It is paid.")).as_handoff(), needs_approval=True)
    model = scripted(over(), over())
    async with front(model, handing, store="memory:") as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
        with pytest.raises(RunSuspended):
            await asked.resume("r", False)
        result = await asked.resume("r", True)
    assert (result.text, result.path) == ("It is paid.", ("billing",))
    assert [one.is_error for one in result.steps[0].tool_results] == [True]


async def test_what_a_result_was_stored_without_is_a_conversation_nobody_handed_over() -> None:
    data: Any = encoded((await front(scripted("ok")).generate_text("go")).loop)
    assert "path" in repr(data)
    older = without(data, "path")
    assert decoded(older).path == ()


def without(data: Any, name: str) -> Any:
    """Stored data as an earlier version has stored it."""
    if isinstance(data, dict):
        return {key: without(value, name) for key, value in data.items() if key != name}
    return [without(value, name) for value in data] if isinstance(data, list) else data


async def test_who_took_over_goes_on_after_an_interruption_and_asks_nothing_twice() -> None:
    store, looking, told = MemoryStore(), Looking(), list[str]()
    below_model = scripted(call("look", at=1), call("look", at=2), "found")
    model = scripted(over())
    hooks = Hooks(on_handoff=lambda handoff, view: told.append(handoff.agent))

    def made() -> Agent:
        return front(model, billing(below_model, looking.tool), store=store, hooks=hooks)

    await looking.left(made())
    async with made() as asked:
        result = await asked.generate_text("go", run_id="r")
    assert looking.looked == [1, 2, 2]
    assert (len(model.requests), len(below_model.requests)) == (1, 3)
    assert (result.text, result.path, told) == ("found", ("billing",), ["billing"])
