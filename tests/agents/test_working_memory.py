"""Working memory: told with the instructions, updated by the model, and of the form that it was given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, Toolkit
from agentflow.agents.memory import (
    InMemoryHistory,
    InMemoryWorkingMemory,
    Memory,
    Owner,
    Recall,
    Thread,
    Turn,
)
from agentflow.messages import user
from agentflow.mock import MockRequest, call, calls
from tests.agents.kit import look, scripted

MINE: Any = {"resource_id": "u1", "thread_id": "t1"}


class Customer(BaseModel):
    """What is known of a customer."""

    name: str
    likes: list[str] = []


def agent(working: InMemoryWorkingMemory, model: Any, *tools: Any, **options: Any) -> Agent:
    memory = Memory(
        history=InMemoryHistory(),
        working=working,
        working_type=Customer,
        save=options.pop("save", "finish"),
        recall=options.pop("recall", None),
    )
    return Agent("desk", "Be brief.", model, tools, memory=memory, **options)


def systems(request: MockRequest) -> list[tuple[str, str]]:
    return [(m.text, m.provenance) for m in request.messages if m.role == "system"]


def update(name: str, *likes: str) -> Any:
    return call("update_working_memory", memory={"name": name, "likes": list(likes)})


@pytest.mark.rule("R044", "R218")
async def test_what_is_known_is_told_after_all_other_instructions() -> None:
    working = InMemoryWorkingMemory()
    await working.put("u1", '{"name":"Ann"}')
    model = scripted("ok")
    kit = Toolkit([look], instructions="Look twice.")
    await agent(working, model, kit).generate_text("go", **MINE)
    first, second, last = systems(model.requests[0])
    assert (first[0], second[0]) == ("Be brief.", "Look twice.")
    assert last[1] == "memory"
    assert '{"name": "Ann"}' in last[0]


@pytest.mark.rule("R049")
async def test_nothing_is_told_where_nothing_is_known() -> None:
    asked: list[str] = []

    class Watched(InMemoryWorkingMemory):
        async def get(self, resource: str) -> str | None:
            asked.append(resource)
            return await super().get(resource)

    model = scripted("ok", "ok")
    working = Watched()
    await agent(working, model).generate_text("go", **MINE)
    await working.put("u1", '{"name":"Ann"}')
    await agent(working, model).generate_text("go", thread_id="t1")
    assert [systems(request) for request in model.requests] == [[("Be brief.", "contributed")]] * 2
    assert asked == ["u1"]


async def test_what_the_model_keeps_is_told_in_the_next_call_of_whatever_conversation() -> None:
    working, model = InMemoryWorkingMemory(), scripted(update("Ann", "tea"), "ok", "ok", "ok")
    asked = agent(working, model, require_authorization=True)
    await asked.generate_text("I am Ann and like tea.", **MINE)
    assert json.loads(await working.get("u1") or "") == {"name": "Ann", "likes": ["tea"]}
    await asked.generate_text("go", resource_id="u1", thread_id="other")
    assert '"Ann"' in systems(model.requests[-1])[-1][0]
    await asked.generate_text("go", resource_id="u2", thread_id="t1")
    assert len(systems(model.requests[-1])) == 1


async def test_what_is_not_of_the_form_is_not_kept_and_the_model_is_told() -> None:
    wrong = call("update_working_memory", memory={"likes": "tea"})
    working, model = InMemoryWorkingMemory(), scripted(wrong, "ok")
    result = await agent(working, model).generate_text("go", **MINE)
    assert await working.get("u1") is None
    (told,) = result.steps[0].tool_results
    assert told.is_error
    assert "name" in told.content


async def test_of_two_updates_in_one_answer_the_last_one_counts() -> None:
    working = InMemoryWorkingMemory()
    both = calls(update("Ann"), update("Ben"))
    await agent(working, scripted(both, "ok")).generate_text("go", **MINE)
    assert json.loads(await working.get("u1") or "")["name"] == "Ben"


async def test_an_update_for_nobody_is_told_to_the_model() -> None:
    working = InMemoryWorkingMemory()
    result = await agent(working, scripted(update("Ann"), "ok")).generate_text("go")
    (told,) = result.steps[0].tool_results
    assert told.is_error
    assert "whose memory" in told.content


@pytest.mark.rule("R095")
async def test_updates_of_earlier_turns_are_not_replayed() -> None:
    working, model = InMemoryWorkingMemory(), scripted(update("Ann"), "ok", "fine")
    asked = agent(working, model)
    await asked.generate_text("I am Ann.", **MINE)
    # Within its own turn the call is there, with its result.
    assert any(m.tool_calls for m in model.requests[1].messages)
    await asked.generate_text("go", **MINE)
    told = [m for m in model.requests[2].messages if m.role != "system"]
    assert [m.text for m in told] == ["I am Ann.", "ok", "go"]
    assert not any(m.tool_calls or m.tool_results for m in told)


async def test_a_memory_that_is_read_only_tells_and_offers_nothing() -> None:
    working, model = InMemoryWorkingMemory(), scripted("ok")
    await working.put("u1", '{"name":"Ann"}')
    await agent(working, model, save="never").generate_text("go", **MINE)
    assert '"Ann"' in systems(model.requests[0])[-1][0]
    assert list(model.requests[0].tools) == []


@pytest.mark.rule("R201")
async def test_history_recall_and_working_memory_are_all_told_as_memory() -> None:
    class Found(Recall):
        async def add(self, thread: Thread, turn: Turn) -> None:
            raise AssertionError("nothing is kept in this test")

        async def search(self, resource: str, thread: str | None, text: str) -> list[str]:
            assert Owner(resource_id=resource, thread_id=thread) == Owner(**MINE)
            return ["old"]

        async def forget(self, resource: str, thread: str | None = None) -> None:
            raise AssertionError("nothing is forgotten in this test")

    working, model = InMemoryWorkingMemory(), scripted("ok")
    asked = agent(working, model, recall=Found(), save="never")
    assert asked.profile.memory is not None
    history = asked.profile.memory.history
    await history.append(Thread("u1", "long ago"), Turn("old", (user("recalled"),)))
    await history.append(Thread("u1", "t1"), Turn("new", (user("history"),)))
    await working.put("u1", '{"name":"known"}')
    await asked.generate_text("go", **MINE)
    told = [m for m in model.requests[0].messages if m.provenance == "memory"]
    assert [m.role for m in told] == ["system", "user", "user"]
    assert '"known"' in told[0].text
    assert [m.text for m in told[1:]] == ["recalled", "history"]


def test_a_working_memory_has_a_keeper_and_a_form() -> None:
    for half in ({"working": InMemoryWorkingMemory()}, {"working_type": Customer}):
        with pytest.raises(ValueError, match="give both"):
            Memory(history=InMemoryHistory(), **half)


def test_the_tool_shows_the_form_to_the_model() -> None:
    memory = Memory(
        history=InMemoryHistory(), working=InMemoryWorkingMemory(), working_type=Customer
    )
    (offered,) = memory.tools
    assert offered.id == "update_working_memory"
    assert "likes" in json.dumps(offered.spec.parameters)
