"""The tool calls of one answer: one result each, in their order; nothing is left behind when the run must end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    DeliveryError,
    Engine,
    RunCancelled,
    RunSuspended,
    tool,
)
from agentflow.messages import Message, ToolCall
from agentflow.run.decide import Bail
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder, fake_context
from agentflow.tools.execution import run_calls
from agentflow.tools.results import CallResults, result_text
from tests.models.kit import asking


def calls(*names: str | tuple[str, dict[str, Any]]) -> list[ToolCall]:
    pairs = [(name, {}) if isinstance(name, str) else name for name in names]
    return [ToolCall(f"c{at}", name, given) for at, (name, given) in enumerate(pairs, 1)]


def told(results: Sequence[Message]) -> list[tuple[str, bool, str]]:
    """The call id, whether it is an error, and the text of each result."""
    parts = [message.tool_results for message in results]
    assert all(len(part) == 1 for part in parts)
    assert all((message.role, message.provenance) == ("tool", "tool") for message in results)
    return [(part.call_id, part.is_error, part.content) for (part,) in parts]


@tool
async def echo(word: str) -> str:
    """Say it again."""
    return word


@tool
async def broken() -> None:
    """Fail."""
    raise ValueError("no luck")


@tool(authorize=False)
async def forbidden() -> None:
    """Never."""


@tool
async def lie() -> int:
    """Promise a number."""
    return "many"  # type: ignore[return-value]


@pytest.mark.case("P077", "P080", "P082")
async def test_whatever_goes_wrong_with_a_call_becomes_its_result_and_the_others_go_on() -> None:
    ctx = fake_context(tools=[echo, broken, forbidden, lie])
    proposed = [
        *calls(
            ("echo", {"word": "a"}),
            "broken",
            "forbidden",
            "nothing",
            ("echo", {"wrod": "b"}),
            "lie",
        ),
        ToolCall("c7", "echo", {}, error="the arguments are no valid JSON", raw='{"word": "'),
        ToolCall("c8", "echo", {"word": "z"}),
    ]
    results = told(await run_calls(ctx, proposed))
    assert [id for id, _, _ in results] == [f"c{number}" for number in range(1, 9)]
    assert [is_error for _, is_error, _ in results] == [False, *[True] * 6, False]
    texts = [text for _, _, text in results]
    assert texts[1] == "Error: tool 'broken' failed: ValueError: no luck"
    assert texts[2] == "Error: tool 'forbidden' is denied: its own authorize said no"
    assert texts[3].startswith("Error: there is no tool 'nothing'; the tools are: 'echo', 'broken'")
    assert "word: Field required; wrod: Extra inputs are not permitted" in texts[4]
    assert texts[5].startswith("Error: the output of tool 'lie'")
    assert texts[6].startswith("Error: the arguments are no valid JSON; nothing was executed")
    # Only what was really started is counted.
    assert ctx.ledger.used("tool_calls") == 4


@pytest.mark.rule("R311")
async def test_calls_that_were_not_made_are_told_as_failed() -> None:
    recorder = FactRecorder()
    ctx = fake_context(tools=[echo], observers=[recorder])
    broken_call = ToolCall("c1", "echo", {}, error="no JSON")
    await run_calls(ctx, [broken_call, ToolCall("c2", "nothing")])
    assert [(fact.kind, fact.data["error"]) for fact in recorder.facts] == [
        ("tool.failed", "ContractError"),
        ("tool.failed", "UnknownTool"),
    ]


async def test_no_calls_are_no_results() -> None:
    assert await run_calls(fake_context(), []) == []


class Stage:
    """Tools that can be watched while they work."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.log: list[str] = []
        self.most = 0
        self.gates: dict[str, anyio.Event] = {}

    def tool(self, name: str, *, parallel: bool = True, waits_for: str | None = None) -> Any:
        async def act() -> str:
            self.log.append(f"{name} starts")
            self.running.append(name)
            self.most = max(self.most, len(self.running))
            try:
                if waits_for is not None:
                    await self.gates.setdefault(waits_for, anyio.Event()).wait()
                else:
                    await anyio.lowlevel.checkpoint()
                self.gates.setdefault(name, anyio.Event()).set()
                self.log.append(f"{name} ends")
            finally:
                self.running.remove(name)
            return name

        return tool(act, id=name, parallel=parallel)


async def test_results_come_in_the_order_of_the_calls_whatever_ends_first() -> None:
    stage = Stage()
    tools = [stage.tool("a", waits_for="b"), stage.tool("b", waits_for="c"), stage.tool("c")]
    ctx = fake_context(tools=tools)
    results = told(await run_calls(ctx, calls("a", "b", "c")))
    assert stage.log[-3:] == ["c ends", "b ends", "a ends"]
    assert [text for _, _, text in results] == ["a", "b", "c"]


async def test_a_tool_that_must_be_alone_is_a_barrier() -> None:
    stage = Stage()
    tools = [stage.tool(name, parallel=name != "B") for name in "aBcd"]
    await run_calls(fake_context(tools=tools), calls("a", "B", "c", "d"))
    assert stage.log[:4] == ["a starts", "a ends", "B starts", "B ends"]
    assert set(stage.log[4:6]) == {"c starts", "d starts"}


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_no_more_calls_run_at_the_same_time_than_the_engine_allows(most: int) -> None:
    stage = Stage()
    tools = [stage.tool(f"t{number}") for number in range(6)]
    proposed = calls(*(used.id for used in tools))

    async def ask(ctx: Any) -> int:
        return len(await run_calls(ctx, proposed))

    assert await asking(ask).run({}, tools=tools, max_parallel_tools=most) == 6
    assert stage.most == most


@pytest.mark.case("P083")
@pytest.mark.parametrize("fatal", [DeliveryError("gone"), BudgetExceeded("depth", 1, 2)])
async def test_a_fatal_error_cancels_the_siblings_and_waits_for_them(fatal: Exception) -> None:
    ended: list[str] = []

    @tool
    async def slow(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            ended.append(name)

    @tool
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise fatal

    ctx = fake_context(tools=[slow, fail])
    proposed = calls(("slow", {"name": "a"}), "fail", ("slow", {"name": "b"}))
    with pytest.raises(type(fatal)) as caught:
        await run_calls(ctx, proposed)
    assert caught.value is fatal
    assert sorted(ended) == ["a", "b"]


@pytest.mark.case("P083", "T053")
async def test_an_ordinary_error_leaves_the_siblings_alone() -> None:
    stage = Stage()
    ctx = fake_context(tools=[stage.tool("a"), broken, stage.tool("b")])
    results = told(await run_calls(ctx, calls("a", "broken", "b")))
    assert [is_error for _, is_error, _ in results] == [False, True, False]


async def test_a_bail_stops_the_siblings_and_is_no_result() -> None:
    @tool
    async def enough(ctx: Any) -> None:
        ctx.bail("early")

    @tool
    async def forever() -> None:
        await anyio.sleep_forever()

    with pytest.raises(Bail) as caught:
        await run_calls(fake_context(tools=[enough, forever]), calls("forever", "enough"))
    assert caught.value.value == "early"


async def test_a_cancel_is_no_result() -> None:
    signal, started = CancelSignal(), anyio.Event()

    @tool
    async def forever() -> None:
        started.set()
        await anyio.sleep_forever()

    async def ask(ctx: Any) -> int:
        return len(await run_calls(ctx, calls("forever", "forever")))

    async with Engine(asking(ask), tools=[forever]).start({}, signal=signal) as run:
        await started.wait()
        signal.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()


@pytest.mark.rule("R279")
async def test_when_the_budget_does_not_hold_all_calls_none_of_them_starts() -> None:
    stage, recorder = Stage(), FactRecorder()
    tools = [stage.tool(f"t{number}") for number in range(3)]
    ctx = fake_context(tools=tools, budget=Budget(tool_calls=2), observers=[recorder])
    with pytest.raises(BudgetExceeded) as caught:
        await run_calls(ctx, calls("t0", "t1", "t2"))
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("tool_calls", 2, 3)
    assert stage.log == []
    assert ctx.ledger.used("tool_calls") == 0
    assert recorder.kinds() == ["limit.reached"]


async def test_calls_that_are_never_made_need_no_budget() -> None:
    ctx = fake_context(tools=[echo, forbidden], budget=Budget(tool_calls=1))
    results = await run_calls(ctx, calls(("echo", {"word": "a"}), "forbidden", "nothing"))
    assert [is_error for _, is_error, _ in told(results)] == [False, True, True]


@pytest.mark.rule("R238", "R309")
async def test_a_tool_that_the_model_was_not_offered_is_not_called() -> None:
    stage, recorder = Stage(), FactRecorder()
    ctx = fake_context(tools=[stage.tool("a"), stage.tool("b")], observers=[recorder])
    results = told(await run_calls(ctx, calls("a", "b"), offered=["a"]))
    assert results[0] == ("c1", False, "a")
    assert results[1] == ("c2", True, "Error: there is no tool 'b'; the tools are: 'a'")
    assert stage.log == ["a starts", "a ends"]
    (refused,) = [fact for fact in recorder.facts if fact.kind == "tool.failed"]
    assert (refused.data["tool"], refused.data["error"]) == ("b", "UnknownTool")


async def test_a_tool_that_asks_something_itself_waits_until_the_others_have_settled() -> None:
    ended: list[str] = []

    @tool
    async def asks(ctx: Any) -> str:
        answer: str = await ctx.node.suspend("colour")
        return answer

    @tool
    async def works(name: str) -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        ended.append(name)
        return name

    proposed = calls(("works", {"name": "a"}), "asks", ("works", {"name": "b"}))

    async def ask(ctx: Any) -> list[Message]:
        return await run_calls(ctx, proposed)

    engine = Engine(asking(ask), tools=[asks, works], store=MemoryStore())
    async with engine:
        with pytest.raises(RunSuspended) as caught:
            await engine.run({}, run_id="r")
        (request,) = caught.value.requests
        assert (request.key, sorted(ended)) == ("colour", ["a", "b"])
        results = await engine.resume("r", "red")
    assert [text for _, _, text in told(results)] == ["a", "red", "b"]
    assert sorted(ended) == ["a", "b"]


@pytest.mark.case("T055")
async def test_the_results_so_far_can_be_told_when_the_calls_were_cut_short() -> None:
    @tool
    async def enough(ctx: Any) -> None:
        ctx.bail("early")

    @tool
    async def forever() -> None:
        await anyio.sleep_forever()

    @tool(parallel=False)
    async def later() -> None: ...

    results = CallResults(calls(("echo", {"word": "a"}), "forever", "enough", "later", "nothing"))
    ctx = fake_context(tools=[echo, enough, forever, later])
    with pytest.raises(Bail):
        await run_calls(ctx, results)
    assert [call.name for call in results.open] == ["forever", "enough", "later"]
    texts = [text for _, _, text in told(results.messages("the run was ended"))]
    at_work = "Error: the run was ended while it was at work; it may have taken effect or not"
    assert texts[:3] == ["a", at_work, at_work]
    assert texts[3] == "Error: the run was ended; nothing was executed"
    assert texts[4].startswith("Error: there is no tool 'nothing'")


async def test_two_calls_of_one_id_are_refused() -> None:
    same = ToolCall("c1", "echo", {"word": "a"})
    with pytest.raises(ContractError, match="two tool calls of one answer have the id 'c1'"):
        await run_calls(fake_context(tools=[echo]), [same, same])


@pytest.mark.case("P137")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ({"天气": "晴, 零下 3 度"}, '{"天气":"晴, 零下 3 度"}'),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (None, "null"),
        (3.5, "3.5"),
        ("", ""),
    ],
)
def test_a_value_is_told_to_the_model_as_text_or_json(value: Any, text: str) -> None:
    assert result_text(value) == text


def test_a_value_that_is_no_json_is_told_as_python_shows_it() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "odd"

    assert result_text({"what": Odd()}) == '{"what":"odd"}'
