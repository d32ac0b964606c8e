"""Checks of working memories and vector indexes."""

from __future__ import annotations

import json

from agentflow.agents.memory.turn import Thread
from agentflow.testing.memory_check import MakeMemory, MemoryCheck, check_in

__all__ = ["vector_checks", "working_checks"]

working_checks: list[MemoryCheck] = []
vector_checks: list[MemoryCheck] = []

ANNA = Thread("anna", "plans")


@check_in(working_checks)
async def nobody_has_a_working_memory_at_first(make: MakeMemory) -> None:
    """It is `None`."""
    assert await make().get("anna") is None


@check_in(working_checks)
async def the_text_that_was_put_last_is_kept(make: MakeMemory) -> None:
    """As JSON, for everybody who looks."""
    memory = make()
    for value in ({"name": "Änna \x00"}, {"list": [1, None]}, {}):
        await memory.put("anna", json.dumps(value))
        assert json.loads(await make().get("anna")) == value


@check_in(working_checks)
async def every_resource_has_its_own(make: MakeMemory) -> None:
    """Whatever the others put."""
    memory = make()
    await memory.put("anna", "1")
    await memory.put("ben", "2")
    assert [await memory.get(who) for who in ("anna", "ben", "carl")] == ["1", "2", None]


@check_in(working_checks)
async def one_text_is_dropped(make: MakeMemory) -> None:
    """And no other; to drop nothing is no error."""
    memory = make()
    await memory.put("anna", "1")
    await memory.put("ben", "2")
    await memory.drop("anna")
    await memory.drop("nobody")
    assert [await make().get(who) for who in ("anna", "ben")] == [None, "2"]


@check_in(vector_checks)
async def an_empty_index_finds_nothing(make: MakeMemory) -> None:
    """And asking is no error."""
    assert list(await make().search("anna", [1.0, 0.0], model="m", limit=3)) == []


@check_in(vector_checks)
async def the_nearest_is_found_first(make: MakeMemory) -> None:
    """By the angle and not by the length, as many as were asked for."""
    index = make()
    for id, vector in (("far", [0.0, 5.0]), ("near", [3.0, 0.3]), ("middle", [1.0, 1.0])):
        await index.add(ANNA, id, vector, model="m")
    found = await make().search("anna", [0.5, 0.0], model="m", limit=3)
    assert [match.turn_id for match in found] == ["near", "middle", "far"]
    assert abs(found[0].similarity - 0.99504) < 1e-4
    assert abs(found[2].similarity) < 1e-6
    assert [m.turn_id for m in await index.search("anna", [1.0, 0.0], model="m", limit=1)] == [
        "near"
    ]


@check_in(vector_checks)
async def resources_and_conversations_are_apart(make: MakeMemory) -> None:
    """Nobody finds what another resource has; within one, a conversation may be asked for."""
    index = make()
    await index.add(ANNA, "t1", [1.0, 0.0], model="m")
    await index.add(Thread("anna", "other"), "t2", [1.0, 0.1], model="m")
    await index.add(Thread("ben", "plans"), "t3", [1.0, 0.0], model="m")

    async def ids(resource: str, thread: str | None = None) -> list[str]:
        found = await index.search(resource, [1.0, 0.0], model="m", limit=9, thread=thread)
        return [match.turn_id for match in found]

    assert await ids("anna") == ["t1", "t2"]
    assert await ids("anna", "other") == ["t2"]
    assert await ids("ben") == ["t3"]
    assert await ids("ben", "other") == []


@check_in(vector_checks)
async def a_turn_has_one_vector_of_each_model(make: MakeMemory) -> None:
    """The one that was added last; vectors of different models are never compared."""
    index = make()
    await index.add(ANNA, "t1", [1.0, 0.0], model="m")
    await index.add(ANNA, "t1", [0.0, 1.0], model="m")
    await index.add(ANNA, "t2", [1.0, 0.0, 0.0], model="other")
    (match,) = await index.search("anna", [0.0, 2.0], model="m", limit=9)
    assert match.turn_id == "t1"
    assert abs(match.similarity - 1) < 1e-6


@check_in(vector_checks)
async def vectors_of_one_model_have_one_length(make: MakeMemory) -> None:
    """Another one is refused where it is added and where it is searched for, and changes nothing."""
    index = make()
    await index.add(ANNA, "t1", [1.0, 0.0], model="m")
    for attempt in (
        index.add(ANNA, "t2", [1.0, 0.0, 0.0], model="m"),
        index.search("anna", [1.0], model="m", limit=1),
    ):
        try:
            await attempt
        except ValueError:
            continue
        else:
            raise AssertionError("a vector of another length was taken")
    assert len(await index.search("anna", [1.0, 0.0], model="m", limit=9)) == 1


@check_in(vector_checks)
async def vectors_are_forgotten(make: MakeMemory) -> None:
    """Those of a conversation and of the ones below it, or all of a resource."""
    index = make()
    for resource in ("anna", "ben"):
        for thread in ("plans", "plans/scout", "plans2"):
            await index.add(Thread(resource, thread), f"{resource} {thread}", [1.0, 0.0], model="m")

    async def ids(resource: str) -> list[str]:
        found = await index.search(resource, [1.0, 0.0], model="m", limit=9)
        return [match.turn_id for match in found]

    await index.forget("anna", "plans")
    assert await ids("anna") == ["anna plans2"]
    await index.forget("anna")
    assert await ids("anna") == []
    assert len(await ids("ben")) == 3
