"""What the tests of agents share: models that go on for ever, and the check that a conversation is a legal one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentflow import Message, tool
from agentflow.mock import MockModel, Rule, call


@tool
async def look(at: int = 0) -> int:
    """Look at something."""
    return at


def endless(**options: Any) -> MockModel:
    """A model that never has enough of looking; asked without tools, it says so."""

    def reply(request: Any) -> Any:
        if request.context.tool_choice == "none" or not request.tools:
            return "I have seen enough."
        return call("look", at=request.turn)

    return MockModel([Rule(reply=reply)], **options)


def scripted(*replies: Any, **options: Any) -> MockModel:
    """A model that gives these replies, one after the other."""
    return MockModel([Rule(reply=list(replies))], **options)


def assert_valid(messages: Iterable[Message]) -> None:
    """Every proposed call has exactly one result, after it and before the next thing that is said."""
    open_calls: list[str] = []
    for message in messages:
        if message.role != "tool":
            assert not open_calls, f"calls without a result: {open_calls}"
        open_calls += [proposed.id for proposed in message.tool_calls]
        for result in message.tool_results:
            open_calls.remove(result.call_id)
    assert not open_calls


def roles(messages: Sequence[Message]) -> list[str]:
    """Who said what."""
    return [message.role for message in messages]
