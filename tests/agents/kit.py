"""What the tests of agents share: models that go on for ever, a tool that gets stuck, and what a legal conversation is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import anyio

from agentflow import Agent, Message, Tool, tool
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


class Looking:
    """A tool `look` that never comes back from its second look, the first time; then it looks again.

    Attributes:
        looked: Where it has looked.
        stuck: Set when it does not come back.
    """

    def __init__(self) -> None:
        self.looked: list[int] = []
        self.stuck = anyio.Event()

    @property
    def tool(self) -> Tool:
        @tool(id="look")
        async def look(at: int) -> int:
            self.looked.append(at)
            if at == 2 and not self.stuck.is_set():
                self.stuck.set()
                await anyio.sleep_forever()
            return at

        return look

    async def left(self, asked: Agent) -> None:
        """Ask an agent with a store as run `r`, and leave its stream when the tool does not come back."""

        async def read(stream: Any) -> None:
            async for _ in stream.events:
                pass

        async with (
            asked,
            anyio.create_task_group() as group,
            asked.stream_text("go", run_id="r") as stream,
        ):
            group.start_soon(read, stream)
            await self.stuck.wait()


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
