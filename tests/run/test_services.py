"""Models, tools and sinks as a run sees them: shared between runs, told of the cancel, kept apart in facts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    DeliveryError,
    Engine,
    Message,
    ModelContext,
    RunCancelled,
    ToolContext,
    ToolDenied,
    UnknownTool,
    field,
    node,
    route,
    subflow,
    tool,
)
from agentflow.messages import Chunk, FinishChunk, TextChunk
from agentflow.mock import MockModel, MockReply, Rule
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, unchecked


async def ask(state: Any, ctx: Any) -> Any:
    return {"x": (await ctx.model.invoke("Say something.")).value}


@tool(authorize=True)
async def look_up(word: str) -> str:
    """Look a word up."""
    return word.upper()


@tool(authorize=False)
async def pay(amount: int) -> str:
    """Pay."""
    return "paid"


def saying(text: str) -> MockModel:
    return MockModel([Rule(reply=text)])


@pytest.mark.rule("R243")
async def test_a_model_bound_anew_serves_the_next_run_and_a_running_one_keeps_its_own() -> None:
    reached, go_on = anyio.Event(), anyio.Event()

    async def wait(state: Any) -> None:
        reached.set()
        await go_on.wait()

    engine = Engine(line(wait, ask), model=saying("old"))
    async with engine.start() as running:
        await reached.wait()
        engine.rebind(model=saying("new"))
        go_on.set()
        assert await running.result() == {"x": "old"}
    assert await engine.run() == {"x": "new"}


@pytest.mark.rule("R246")
async def test_one_provider_serves_runs_at_the_same_time() -> None:
    engine = Engine(alone(ask), model=MockModel([Rule(reply=lambda request: request.text)]))
    results: list[Any] = []

    async def run() -> None:
        results.append(await engine.run())

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(run)
    assert results == [{"x": "Say something."}] * 10


@pytest.mark.rule("R247")
async def test_an_unregistered_tool_stays_unknown_in_every_run() -> None:
    async def call(state: Any, ctx: Any) -> Any:
        return {"x": (await ctx.tools.invoke(state["tool"], {"word": "a"})).value}

    engine = Engine(alone(call), tools=[look_up])
    assert (await engine.run({"tool": "look_up"}))["x"] == "A"
    for _ in range(2):
        with pytest.raises(UnknownTool, match="erase"):
            await engine.run({"tool": "erase"})


@pytest.mark.rule("R280")
async def test_more_rounds_permit_no_tool() -> None:
    async def call(state: Any, ctx: Any) -> Any:
        await ctx.tools.invoke("pay", {"amount": 1})

    turn = node(call, id="a", starts_round=True, routes=[route.to("a", field("x") == 1), END])
    with pytest.raises(ToolDenied):
        await unchecked("w", nodes=[turn], max_rounds=100).run(tools=[pay])


@pytest.mark.rule("R244", "R327")
@pytest.mark.parametrize("grown", [1, 2])
async def test_model_calls_are_counted_in_the_scope_of_the_run(grown: int) -> None:
    engine = Engine(line(*[ask] * grown), model=saying("x"), budget=Budget(model_calls=1))
    for _ in range(2):
        async with engine.start() as run:
            if grown == 1:
                assert await run.result() == {"x": "x"}
            else:
                with pytest.raises(BudgetExceeded) as caught:
                    await run.result()
                assert (caught.value.limit, caught.value.used) == ("model_calls", 2)
            assert run.ledger.used("model_calls") == 1


class Waiting:
    """A provider that waits for ever, and keeps what it was told."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.context: ModelContext | None = None
        self.closed = False

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        self.context = context
        yield TextChunk("a")
        try:
            self.reached.set()
            await anyio.sleep_forever()
        finally:
            self.closed = True


@pytest.mark.rule("R320")
async def test_a_provider_is_given_the_signal_of_the_run() -> None:
    provider, signal = Waiting(), CancelSignal()
    async with Engine(alone(ask), model=provider).start(signal=signal) as run:
        await provider.reached.wait()
        assert provider.context is not None
        assert not provider.context.signal.cancelled
        signal.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert provider.context.signal.reason == "enough"
    assert provider.closed


@pytest.mark.rule("R320")
@pytest.mark.case("T033")
@pytest.mark.parametrize("levels", [0, 2])
async def test_a_tool_is_given_the_signal_of_the_run_that_calls_it(levels: int) -> None:
    reached = anyio.Event()
    signals: list[CancelSignal] = []

    @tool(authorize=True)
    async def wait(ctx: ToolContext) -> str:
        """Wait."""
        signals.append(ctx.signal)
        reached.set()
        await anyio.sleep_forever()
        return "never"

    async def call(state: Any, ctx: Any) -> None:
        await ctx.tools.invoke("wait")

    workflow = alone(call)
    for level in range(levels):
        workflow = unchecked(f"level-{level}", nodes=[subflow("sub", workflow, routes=[END])])
    async with Engine(workflow, tools=[wait]).start() as run:
        await reached.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert [signal.reason for signal in signals] == ["enough"]


class Sink:
    """Keeps what it is sent; each chunk takes it a while."""

    def __init__(self, fails_at: int = 0) -> None:
        self.taken: list[Any] = []
        self.busy = False
        self._fails_at = fails_at

    async def send(self, chunk: Any) -> None:
        assert not self.busy
        self.busy = True
        await anyio.lowlevel.checkpoint()
        self.busy = False
        if len(self.taken) + 1 == self._fails_at:
            raise OSError("the line is closed")
        self.taken.append(chunk)


@pytest.mark.rule("R342")
async def test_a_sink_takes_one_chunk_after_the_other_and_nothing_is_read_ahead() -> None:
    asked: list[int] = []
    sink = Sink()

    class Counting:
        async def stream(
            self, messages: Sequence[Message], context: ModelContext
        ) -> AsyncIterator[Chunk]:
            for number, text in enumerate("abc"):
                asked.append(len(sink.taken) - number)
                yield TextChunk(text)
            yield FinishChunk()

    assert await alone(ask).run(model=Counting(), sink=sink) == {"x": "abc"}
    assert [chunk.text for chunk in sink.taken] == ["a", "b", "c"]
    assert asked == [0, 0, 0]


@pytest.mark.rule("R343")
@pytest.mark.parametrize("fails_at", [1, 2])
async def test_a_failing_sink_fails_the_run_past_any_error_node(fails_at: int) -> None:
    workflow = unchecked(
        "w",
        nodes=[
            node(ask, id="a", may_provide=["x"], on_error="b", routes=[END]),
            node(ask, id="b", may_provide=["x"], routes=[END]),
        ],
    )
    seen = Recorder()
    sink = Sink(fails_at)
    model = MockModel([Rule(reply="a long answer")])
    with pytest.raises(DeliveryError, match="the line is closed") as caught:
        await workflow.run(model=model, sink=sink, observers=[seen])
    assert isinstance(caught.value.__cause__, OSError)
    assert len(sink.taken) == fails_at - 1
    assert seen.visited() == ["a"]


@pytest.mark.rule("R343")
async def test_the_sink_of_the_run_takes_the_place_of_the_engines() -> None:
    broken, own = Sink(1), Sink()
    engine = Engine(alone(ask), model=saying("x"), sink=broken)
    assert await engine.run(sink=own) == {"x": "x"}
    assert len(own.taken) == 1
    with pytest.raises(DeliveryError):
        await engine.run()


@pytest.mark.rule("R345")
async def test_thinking_shows_as_a_call_that_has_started_and_no_reasoning_is_told() -> None:
    seen = Recorder()
    model = MockModel([Rule(reply=MockReply(text="42", reasoning="secret thought"))])
    assert await alone(ask).run(model=model, observers=[seen]) == {"x": "42"}
    kinds = seen.kinds
    assert kinds.index("model.started") < kinds.index("model.completed")
    assert "secret thought" not in repr(seen.facts)


@pytest.mark.rule("R346")
async def test_text_tools_and_the_answer_are_told_apart() -> None:
    async def both(state: Any, ctx: Any) -> Any:
        text = (await ctx.model.invoke("Say something.")).value
        ctx.report(payload={"preview": text})
        found = (await ctx.tools.invoke("look_up", {"word": text})).value
        return {"x": found}

    seen = Recorder()
    await alone(both).run(model=saying("a"), tools=[look_up], observers=[seen])
    story = [kind for kind in seen.kinds if kind.startswith(("model", "tool", "node.p", "run.c"))]
    assert story == [
        "model.started",
        "model.chunk",
        "model.completed",
        "node.progress",
        "tool.started",
        "tool.completed",
        "run.completed",
    ]


@pytest.mark.rule("R257")
def test_a_node_has_an_id_a_description_what_it_needs_and_gives_and_its_routes() -> None:
    async def draft(state: Any) -> Any:
        """Write a draft."""

    made = node(draft, requires=["x"], provides=["y"], routes=[route.deliver("y")])
    (told,) = unchecked("w", nodes=[made]).manifest()["nodes"]
    assert (told["id"], told["description"]) == ("draft", "Write a draft.")
    assert (told["requires"], told["provides"]) == (["x"], ["y"])
    assert [(one["kind"], one["field"]) for one in told["routes"]] == [("deliver", "y")]
