"""Checks of conversation histories."""

from __future__ import annotations

import anyio

from agentflow.agents.memory.turn import Thread, Turn
from agentflow.messages.message import Message, assistant, tool_result, user
from agentflow.messages.part import FilePart, ReasoningPart, TextPart, ToolCall
from agentflow.testing.memory_check import MakeMemory, MemoryCheck, check_in

__all__ = ["history_checks"]

history_checks: list[MemoryCheck] = []

ANNA = Thread("anna", "plans")


def said(id: str, *texts: str) -> Turn:
    """A turn in which the user says something, and more."""
    return Turn(id, tuple(user(text, id=f"{id}/{at}") for at, text in enumerate(texts or (id,))))


@check_in(history_checks)
async def a_new_conversation_is_empty(make: MakeMemory) -> None:
    """Nothing is in it, and asking is no error."""
    history = make()
    assert list(await history.load(ANNA, last=10)) == []
    assert list(await history.recorded(ANNA, "t1")) == []
    assert list(await history.find("anna", ["t1"])) == []


@check_in(history_checks)
async def messages_come_back_as_they_were(make: MakeMemory) -> None:
    """Every kind of part, provenance, id and pin, also texts that are hard to write down."""
    call = ToolCall("c1", "look", {"at": [1, {"deep": None}], "why": "ünïcode \U0001f600"})
    turn = Turn(
        "t1",
        (
            user("nul \x00, quote ', half \ud83d", files=[FilePart("image/png", data=b"\x00\xff")]),
            Message("assistant", (ReasoningPart("hm"), TextPart("a"), call), "model", "m1"),
            tool_result(call, "failed", is_error=True),
            Message("user", (TextPart("b"),), "input", None, True),
            assistant(""),
        ),
    )
    await make().append(ANNA, turn)
    assert list(await make().load(ANNA, last=1)) == [turn]


@check_in(history_checks)
async def turns_are_loaded_in_their_order(make: MakeMemory) -> None:
    """The latest of them, the oldest of those first; whatever their ids are."""
    history = make()
    for id in ("b", "a", "C", "c"):
        await history.append(ANNA, said(id))
    assert [turn.id for turn in await history.load(ANNA, last=10)] == ["b", "a", "C", "c"]
    assert [turn.id for turn in await history.load(ANNA, last=2)] == ["C", "c"]
    assert list(await history.load(ANNA, last=0)) == []


@check_in(history_checks)
async def a_turn_is_kept_once(make: MakeMemory) -> None:
    """Appended again, by whomever, it stays as it was and where it was."""
    history = make()
    await history.append(ANNA, said("t1", "first"))
    await history.append(ANNA, said("t2"))
    await make().append(ANNA, said("t1", "other"))
    assert list(await history.load(ANNA, last=9)) == [said("t1", "first"), said("t2")]


@check_in(history_checks)
async def turns_that_are_appended_at_the_same_time_are_all_kept(make: MakeMemory) -> None:
    """Also by several adapters."""
    history, other = make(), make()
    async with anyio.create_task_group() as group:
        for at in range(6):
            group.start_soon((history, other)[at % 2].append, ANNA, said(f"t{at}"))
    kept = await make().load(ANNA, last=9)
    assert sorted(turn.id for turn in kept) == [f"t{at}" for at in range(6)]


@check_in(history_checks)
async def conversations_are_apart(make: MakeMemory) -> None:
    """Those of one resource, and those of one id under two resources."""
    history = make()
    threads = [ANNA, Thread("anna", "other"), Thread("ben", "plans"), Thread("ann", "aplans")]
    for thread in threads:
        await history.append(thread, said("t1", thread.resource, thread.id))
    for thread in threads:
        assert list(await history.load(thread, last=9)) == [said("t1", thread.resource, thread.id)]


@check_in(history_checks)
async def a_record_is_no_history(make: MakeMemory) -> None:
    """What a turn has said before it ended is there, and neither loaded nor found."""
    history = make()
    await history.record(ANNA, said("t1", "a", "b"), at=0)
    assert list(await make().recorded(ANNA, "t1")) == [said("t1", "a", "b")]
    assert list(await history.load(ANNA, last=9)) == []
    assert list(await history.find("anna", ["t1"])) == []
    assert list(await history.recorded(ANNA, "t2")) == []
    assert list(await history.recorded(Thread("ben", "plans"), "t1")) == []


@check_in(history_checks)
async def a_record_grows_and_begins_anew(make: MakeMemory) -> None:
    """What is recorded takes the place of everything from its place on."""
    history, whole = make(), said("t1", "a", "b", "c").messages
    await history.record(ANNA, Turn("t1", whole[:1]), at=0)
    await history.record(ANNA, Turn("t1", whole[1:]), at=1)
    assert list(await history.recorded(ANNA, "t1")) == [Turn("t1", whole)]
    await history.record(ANNA, Turn("t1", whole[2:]), at=1)
    assert list(await history.recorded(ANNA, "t1")) == [Turn("t1", (whole[0], whole[2]))]
    await history.record(ANNA, said("t1", "again"), at=0)
    assert list(await history.recorded(ANNA, "t1")) == [said("t1", "again")]


@check_in(history_checks)
async def a_turn_that_has_ended_has_no_record(make: MakeMemory) -> None:
    """Its record goes with the append, those of others stay."""
    history = make()
    for id in ("t1", "t2"):
        await history.record(ANNA, said(id), at=0)
    await history.append(ANNA, said("t1", "whole"))
    assert list(await history.recorded(ANNA, "t1")) == []
    assert list(await history.recorded(ANNA, "t2")) == [said("t2")]
    assert list(await history.load(ANNA, last=9)) == [said("t1", "whole")]


@check_in(history_checks)
async def turns_are_found_by_id(make: MakeMemory) -> None:
    """In all conversations of the resource, the oldest first, and nobody else's."""
    history, other = make(), Thread("anna", "other")
    await history.append(ANNA, said("t1"))
    await history.append(other, said("t2"))
    await history.append(ANNA, said("t3"))
    await history.append(Thread("ben", "plans"), said("t4"))
    found = await history.find("anna", ["t4", "t3", "none", "t2", "t1"])
    assert [turn.id for turn in found] == ["t1", "t2", "t3"]
    assert list(await history.find("anna", [])) == []


@check_in(history_checks)
async def a_conversation_is_forgotten_with_those_below_it(make: MakeMemory) -> None:
    """Turns and records, and nothing of other conversations or of other resources."""
    history, gone = make(), [ANNA, Thread("anna", "plans/scout")]
    stays = [Thread("anna", "plans2"), Thread("anna", "plan"), Thread("ben", "plans")]
    for thread in (*gone, *stays):
        await history.append(thread, said("t1"))
        await history.record(thread, said("t2"), at=0)
    await history.forget("anna", "plans")
    for thread in (*gone, *stays):
        kept = [said("t1")] if thread in stays else []
        assert list(await make().load(thread, last=9)) == kept, thread
        recorded = await history.recorded(thread, "t2")
        assert list(recorded) == ([said("t2")] if thread in stays else []), thread
    await history.append(ANNA, said("t1", "anew"))
    assert list(await history.load(ANNA, last=9)) == [said("t1", "anew")]


@check_in(history_checks)
async def a_resource_is_forgotten_whole(make: MakeMemory) -> None:
    """All of its conversations, and nobody else's; to forget nobody is no error."""
    history, threads = make(), [ANNA, Thread("anna", "other"), Thread("ben", "plans")]
    for thread in threads:
        await history.append(thread, said("t1"))
    await history.forget("anna")
    await history.forget("nobody")
    assert [len(await history.load(thread, last=9)) for thread in threads] == [0, 0, 1]
    assert list(await history.find("anna", ["t1"])) == []
