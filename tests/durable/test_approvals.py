"""Tool calls that a person has to agree to: asked at once, bound to their arguments, and never made when refused."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from agentflow import (
    Budget,
    CancelSignal,
    ContractError,
    Engine,
    NodeContext,
    Request,
    Retry,
    RunCancelled,
    RunSuspended,
    Tool,
    ToolContext,
    ToolDenied,
    tool,
)
from agentflow.agents.loop import build_loop
from agentflow.messages.message import Message
from agentflow.mock import MockModel, Rule, call, calls
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from agentflow.tools.json_contract import JsonInput
from tests.durable.crashing import CrashingStore, process
from tests.run.workflows import alone


class Bank:
    """Tools that count what they did."""

    def __init__(
        self,
        *,
        retries: int = 0,
        timeout: float | None = None,
        approval_timeout: float | None = None,
    ) -> None:
        self.done: Counter[str] = Counter()
        self.retries = retries
        self.timeout = timeout
        self.approval_timeout = approval_timeout

    def tools(self) -> list[Tool]:
        @tool(
            needs_approval=True,
            retries=self.retries,
            timeout=self.timeout,
            approval_timeout=self.approval_timeout,
        )
        async def pay(to: str, amount: int) -> str:
            """Pay somebody."""
            self.done[f"pay {to} {amount}"] += 1
            return f"paid {to} {amount}"

        @tool(needs_approval=lambda given: given["size"] > 3)
        def order(size: int) -> str:
            """Order something."""
            self.done[f"order {size}"] += 1
            return f"ordered {size}"

        @tool
        async def look(at: str) -> str:
            """Look at something."""
            self.done[f"look {at}"] += 1
            if at == "nothing":
                raise ValueError("there is nothing")
            return f"saw {at}"

        return [pay, order, look]


def scripted(*replies: Any) -> MockModel:
    return MockModel([Rule(reply=list(replies))])


class Desk:
    """The agentic loop over one store, process by process."""

    def __init__(self, *replies: Any, bank: Bank | None = None) -> None:
        self.model = scripted(*replies, "done")
        self.bank = bank or Bank()
        self.store = MemoryStore()
        self.clock = FixedClock()

    async def life(self, answers: Any = None, *, store: Any = None) -> Run[Any]:
        """One process: it starts the run, or answers it."""
        async with Engine(
            build_loop(),
            store=store or self.store,
            clock=self.clock,
            model=self.model,
            tools=self.bank.tools(),
        ) as engine:
            if answers is None:
                run = engine.start({"messages": "go"}, run_id="r")
            else:
                run = engine.reopen("r", answers)
            async with run:
                await run.settled()
        return run


def results(run: Run[Any]) -> list[tuple[str, str, bool]]:
    """The results of tool calls that the model was given: id, text, and whether it is an error."""
    messages: tuple[Message, ...] = run.outcome().messages
    return [
        (part.call_id, part.content, part.is_error)
        for message in messages
        for part in message.tool_results
    ]


def ids(requests: tuple[Request, ...]) -> dict[str, str]:
    """Request ids by the call id that the model gave."""
    return {request.payload["call_id"]: request.id for request in requests}


THREE = calls(
    call("pay", to="ada", amount=1),
    call("pay", to="bob", amount=2),
    call("pay", to="ada", amount=1),
)


@pytest.mark.rule("R208", "R209")
@pytest.mark.case("P061", "P062", "T025")
async def test_all_questions_of_one_answer_are_asked_at_once_and_answered_each_by_its_id() -> None:
    desk = Desk(THREE)
    run = await desk.life()
    assert run.status == "suspended"
    assert [request.payload for request in run.requests] == [
        {"tool": "pay", "arguments": {"to": "ada", "amount": 1}, "call_id": "call_1"},
        {"tool": "pay", "arguments": {"to": "bob", "amount": 2}, "call_id": "call_2"},
        {"tool": "pay", "arguments": {"to": "ada", "amount": 1}, "call_id": "call_3"},
    ]
    known = ids(run.requests)
    assert len(set(known.values())) == 3
    assert desk.bank.done == {}
    run = await desk.life({known["call_2"]: True})
    assert ids(run.requests) == {name: known[name] for name in ("call_1", "call_3")}
    assert desk.bank.done == {"pay bob 2": 1}
    answers = {
        known["call_1"]: {"approved": False, "reason": "not to her"},
        known["call_3"]: True,
    }
    run = await desk.life(answers)
    assert results(run) == [
        ("call_1", "Error: tool 'pay' was refused: not to her", True),
        ("call_2", "paid bob 2", False),
        ("call_3", "paid ada 1", False),
    ]
    assert desk.bank.done == {"pay ada 1": 1, "pay bob 2": 1}
    assert len(desk.model.requests) == 2


@pytest.mark.case("P043", "T059")
async def test_calls_beside_a_question_are_made_once_those_that_failed_too() -> None:
    desk = Desk(
        calls(call("look", at="this"), call("pay", to="ada", amount=1), call("look", at="nothing"))
    )
    run = await desk.life()
    (request,) = run.requests
    assert desk.bank.done == {"look this": 1, "look nothing": 1}
    run = await desk.life({request.id: True})
    assert [text for _, text, _ in results(run)] == [
        "saw this",
        "paid ada 1",
        "Error: tool 'look' failed: ValueError: there is nothing",
    ]
    assert desk.bank.done == {"look this": 1, "look nothing": 1, "pay ada 1": 1}
    assert run.ledger.used("tool_calls") == 3


@pytest.mark.case("P085", "P088")
async def test_a_call_that_failed_beside_a_question_is_not_counted_again_nor_judged_again() -> None:
    bank, store, allowed = Bank(), MemoryStore(), [True]
    model = scripted(calls(call("look", at="nothing"), call("pay", to="ada", amount=1)), "done")

    def judge(tool: Tool, input: Any, ctx: Any) -> bool:
        return tool.id == "pay" or allowed[0]

    async with Engine(
        build_loop(),
        store=store,
        model=model,
        tools=bank.tools(),
        authorize=judge,
        budget=Budget(tool_calls=2),
    ) as engine:
        with pytest.raises(RunSuspended) as caught:
            await engine.run({"messages": "go"}, run_id="r")
        allowed[0] = False
        (request,) = caught.value.requests
        async with engine.reopen("r", {request.id: True}) as run:
            await run.settled()
    assert [text for _, text, _ in results(run)] == [
        "Error: tool 'look' failed: ValueError: there is nothing",
        "paid ada 1",
    ]
    assert bank.done == {"look nothing": 1, "pay ada 1": 1}
    assert run.ledger.used("tool_calls") == 2


@pytest.mark.case("P065")
@pytest.mark.parametrize("refusal", [False, {"approved": False}])
async def test_a_refused_call_is_never_made_whatever_happens_afterwards(refusal: Any) -> None:
    desk = Desk(calls(call("pay", to="ada", amount=1), call("pay", to="bob", amount=2)))
    known = ids((await desk.life()).requests)
    await desk.life({known["call_1"]: refusal})
    for at in range(1, 4):
        # Killed again and again while the other call is approved and made.
        answers = {known["call_2"]: True} if at == 1 else None
        await desk.life(answers, store=CrashingStore(desk.store, at, before=False))
    run = await desk.life()
    assert [(id, error) for id, _, error in results(run)] == [("call_1", True), ("call_2", False)]
    assert desk.bank.done["pay ada 1"] == 0
    assert desk.bank.done["pay bob 2"] == 1


async def test_a_rule_that_changes_its_mind_does_not_undo_a_refusal() -> None:
    """Whether somebody is asked is decided once for a call."""
    strict = [True]

    @tool(needs_approval=lambda given: strict[0])
    async def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return "paid"

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found = []
        for to in ("ada", "bob"):
            try:
                found.append((await ctx.tools.invoke("pay", {"to": to}, call_id=to)).value)
            except ToolDenied as error:
                found.append(str(error))
        return {"x": found}

    done: list[str] = []
    store = MemoryStore()
    async with Engine(alone(body), store=store, tools=[pay]) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        with pytest.raises(RunSuspended):
            await engine.resume("r", {"approved": False, "reason": "no"})
        strict[0] = False
        # For the first call the person's word stands, and for the second the question that was asked.
        async with engine.start(run_id="r") as run:
            await run.settled()
        assert run.status == "suspended"
        result = await engine.resume("r", True)
    assert result == {"x": ["tool 'pay' was refused: no", "paid"]}
    assert done == ["bob"]


async def test_whoever_approves_may_change_the_arguments_but_not_the_contract() -> None:
    desk = Desk(calls(call("pay", to="ada", amount=100), call("pay", to="bob", amount=5)))
    known = ids((await desk.life()).requests)
    agreed = {"approved": True, "arguments": {"to": "ada", "amount": 1}}
    slip = {"approved": True, "arguments": {"to": "bob", "amount": "much"}}
    run = await desk.life({known["call_1"]: agreed, known["call_2"]: slip})
    with pytest.raises(ContractError, match=r"invalid at arguments/amount: 'much' is not of type"):
        run.outcome()
    # Nothing was done and nothing is answered: whoever made the slip can mend it.
    assert not desk.bank.done
    assert ids((await desk.life()).requests) == known
    mended = {"approved": True, "arguments": {"to": "bob", "amount": 2}}
    run = await desk.life({known["call_1"]: agreed, known["call_2"]: mended})
    assert results(run) == [("call_1", "paid ada 1", False), ("call_2", "paid bob 2", False)]


def even(amount: int) -> int:
    if amount % 2:
        raise ValueError("an odd amount")
    return amount


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (None, {"amount": 3}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "required": ["amount"]}, {}),
    ],
    ids=["by code of its own", "in another dialect"],
)
async def test_what_only_the_tool_can_judge_it_refuses_when_it_is_called(
    parameters: Any, arguments: dict[str, Any]
) -> None:
    done: list[int] = []

    async def pay(amount: Annotated[int, AfterValidator(even)]) -> str:
        done.append(amount)
        return "paid"

    async def paid(given: dict[str, Any], _ctx: Any) -> str:
        return await pay(**given)

    made = (
        tool(pay, needs_approval=True, description="Pay.")
        if parameters is None
        else Tool(
            id="pay",
            description="Pay.",
            handler=paid,
            input=JsonInput({"type": "object", **parameters}),
            needs_approval=True,
        )
    )

    async def body(_state: Any, ctx: NodeContext) -> Any:
        return {"x": (await ctx.tools.invoke("pay", {"amount": 2})).value}

    async with Engine(alone(body), store=MemoryStore(), tools=[made]) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        with pytest.raises(ContractError, match="amount"):
            await engine.resume("r", {"approved": True, "arguments": arguments})
        (info,) = await engine.runs()
    assert (info.status, done) == ("failed", [])


async def test_a_call_that_was_made_with_other_arguments_is_found_again_after_a_crash() -> None:
    desk = Desk(call("pay", to="ada", amount=100))
    (request,) = (await desk.life()).requests
    answer = {"approved": True, "arguments": {"to": "ada", "amount": 1}}
    # Dies right after the call was recorded: resumed and answered are one write, the call is the second.
    await desk.life({request.id: answer}, store=CrashingStore(desk.store, 2, before=False))
    assert desk.bank.done == {"pay ada 1": 1}
    run = await desk.life()
    assert results(run) == [("call_1", "paid ada 1", False)]
    assert desk.bank.done == {"pay ada 1": 1}


async def test_an_approval_that_nobody_gives_in_time_is_a_refusal() -> None:
    desk = Desk(call("pay", to="ada", amount=1), bank=Bank(approval_timeout=60))
    run = await desk.life()
    assert run.due is not None
    desk.clock.advance(61)
    run = await desk.life()
    assert results(run) == [
        ("call_1", "Error: tool 'pay' was refused: nobody answered in time", True)
    ]
    assert desk.bank.done == {}


async def test_a_question_that_is_asked_again_keeps_its_time() -> None:
    desk = Desk(
        calls(call("pay", to="ada", amount=1), call("order", size=5)),
        bank=Bank(approval_timeout=60),
    )
    run = await desk.life()
    due = run.due
    assert [request.due for request in run.requests] == [due, None]
    desk.clock.advance(40)
    run = await desk.life({ids(run.requests)["call_2"]: True})
    assert [request.due for request in run.requests] == [due]
    desk.clock.advance(20)
    assert [text for _, text, _ in results(await desk.life())] == [
        "Error: tool 'pay' was refused: nobody answered in time",
        "ordered 5",
    ]


@pytest.mark.case("P073")
@pytest.mark.parametrize(
    "rule",
    [
        lambda given: 1 / 0,
        lambda given: None,
        lambda given: "",
        lambda given: 0,
        lambda given: given["absent"],
    ],
    ids=["raises", "None", "empty", "zero", "looks for what is not there"],
)
async def test_a_rule_that_cannot_say_means_that_somebody_is_asked(rule: Any) -> None:
    @tool(needs_approval=rule)
    async def pay(to: str) -> str:
        """Pay."""
        raise AssertionError("nobody has agreed")

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.tools.invoke("pay", {"to": "ada"})).value}

    run = await process(alone(body), MemoryStore(), tools=[pay])
    assert run.status == "suspended"


@pytest.mark.case("P073")
@pytest.mark.parametrize("arguments", ['{"to": ', "null", "[1]", '{"to": "ada", "amount": NaN}'])
async def test_arguments_that_are_none_are_never_asked_about_and_never_used(arguments: str) -> None:
    from agentflow.mock import MockCall, MockReply

    broken = MockReply(calls=(MockCall("pay", arguments),))
    desk = Desk(broken)
    run = await desk.life()
    assert run.status == "completed", run._error
    ((_, text, error),) = results(run)
    assert error, text
    assert desk.bank.done == {}


async def test_a_rule_by_the_arguments_asks_where_it_says_so() -> None:
    desk = Desk(calls(call("order", size=3), call("order", size=4)))
    run = await desk.life()
    assert [request.payload["arguments"] for request in run.requests] == [{"size": 4}]
    assert desk.bank.done == {"order 3": 1}


@pytest.mark.case("P067")
async def test_a_question_passes_a_retry_around_the_call() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        attempts.append(ctx.attempt)
        try:
            return {"x": (await ctx.tools.invoke("pay", {"to": "ada", "amount": 1})).value}
        except ToolDenied:
            return {"x": "refused"}

    attempts: list[int] = []
    bank = Bank(retries=2, timeout=5)
    store = MemoryStore()
    workflow = alone(body, retry=Retry(3))
    async with Engine(workflow, store=store, tools=bank.tools()) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        assert await engine.resume("r", True) == {"x": "paid ada 1"}
    assert attempts == [1, 1]


@pytest.mark.case("P044")
@pytest.mark.parametrize("orders", [("ab", "ba"), ("ba", "ab")])
async def test_the_questions_of_tasks_that_come_in_another_order_keep_their_ids(
    orders: tuple[str, str],
) -> None:
    import anyio

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, str] = {}

        async def one(to: str) -> None:
            receipt = await ctx.tools.invoke("pay", {"to": to, "amount": 1})
            found[to] = receipt.value

        async with anyio.create_task_group() as group:
            for to in ctx.deps:
                group.start_soon(one, to)
        return {"x": dict(sorted(found.items()))}

    bank, store = Bank(), MemoryStore()
    async with Engine(alone(body), store=store, tools=bank.tools()) as engine:
        async with engine.start(run_id="r", deps=orders[0]) as run:
            await run.settled()
        assert len(run.requests) == 2
        answers = {request.id: True for request in run.requests}
        result = await engine.resume("r", answers, deps=orders[1])
    assert result == {"x": {"a": "paid a 1", "b": "paid b 1"}}


@pytest.mark.case("T033")
async def test_a_cancel_reaches_a_tool_that_was_approved() -> None:
    signal = CancelSignal()

    @tool(needs_approval=True)
    async def work(ctx: ToolContext) -> str:
        """Work."""
        signal.cancel("enough")
        assert ctx.signal.cancelled
        await ctx.signal.wait()
        return "worked"

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.tools.invoke("work")).value}

    store = MemoryStore()
    async with Engine(alone(body), store=store, tools=[work]) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        with pytest.raises(RunCancelled, match="enough"):
            await engine.resume("r", True, signal=signal)
        assert [info.status for info in await engine.runs()] == ["cancelled"]
