"""What a run does to the world outside: nothing is undone there, and its two outlets keep their own pace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest

from agentflow import CancelSignal, Fact, Message, ModelContext, RunCancelled, node, route
from agentflow.graph.workflow import define_workflow
from agentflow.messages import Chunk, FinishChunk, TextChunk
from tests.house.repository import ROOT
from tests.run.workflows import alone


@pytest.mark.rule("R323")
async def test_a_cancel_undoes_nothing_outside() -> None:
    outside: list[str] = []
    signal = CancelSignal()

    async def pay(state: Any) -> dict[str, Any]:
        outside.append("paid")
        signal.cancel("too late")
        await anyio.sleep_forever()
        return {"x": 1}

    with pytest.raises(RunCancelled):
        await alone(pay).run({}, signal=signal)
    assert outside == ["paid"]


@pytest.mark.rule("R323")
def test_the_page_of_semantics_says_who_reconciles() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    last = text.partition("\n## What stays with the application\n")[2]
    assert "Reconciling it is the application's (R323)" in " ".join(last.split())


class Counting:
    """A provider that notes how many chunks were asked of it."""

    def __init__(self) -> None:
        self.asked = 0
        self.done = anyio.Event()

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        for text in ("a", "b", "c"):
            self.asked += 1
            yield TextChunk(text)
        self.done.set()
        yield FinishChunk()


@node(provides=["answer"], routes=[route.deliver("answer")])
async def ask(state: Any, ctx: Any) -> dict[str, Any]:
    return {"answer": (await ctx.model.invoke("Go on.")).value}


WORKFLOW = define_workflow("ask", nodes=[ask], result=str)


@pytest.mark.rule("R344")
async def test_a_sink_holds_the_model_up() -> None:
    provider = Counting()
    asked: list[int] = []

    class Slow:
        async def send(self, chunk: Any) -> None:
            await anyio.wait_all_tasks_blocked()
            asked.append(provider.asked)

    assert await WORKFLOW.run({}, model=provider, sink=Slow()) == "abc"
    assert asked == [1, 2, 3]


@pytest.mark.rule("R344")
async def test_an_observer_does_not_hold_the_model_up() -> None:
    provider = Counting()
    told: list[Any] = []

    class Slow:
        def accepts(self, kind: str, content: bool) -> bool:
            return kind == "model.chunk"

        async def event(self, fact: Fact) -> None:
            # Waits for what comes after it: a sink that did so would wait for ever.
            await provider.done.wait()
            told.append(fact.content.text)

    assert await WORKFLOW.run({}, model=provider, observers=[Slow()]) == "abc"
    assert told == ["a", "b", "c"]
