"""Hooks: at fixed points, exactly once, also when the call fails; and never in the way of its error."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest

from agentflow import (
    Agent,
    CancelSignal,
    ContractError,
    ModelError,
    ModelUnavailable,
    RunCancelled,
    RunSuspended,
    ToolContext,
    tool,
)
from agentflow.agents import Fallback, Hooks, Middleware, TriedAgain
from agentflow.messages import Message, TextPart, assistant, tool_result, user
from agentflow.messages.part import ReasoningPart, ToolCall
from agentflow.mock import MockModel, Rule, call, calls
from agentflow.models import Model, Retries
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import assert_valid, look, roles, scripted
from tests.models.kit import Endless


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, tools, **options)


class Log:
    """Hooks that note what they are told."""

    def __init__(self) -> None:
        self.ends: list[Any] = []
        self.errors: list[Any] = []
        self.steps: list[int] = []
        self.starts = 0

    @property
    def hooks(self) -> Hooks:
        async def start(view: Any) -> None:
            await anyio.lowlevel.checkpoint()
            self.starts += 1

        async def end(end: Any, view: Any) -> None:
            await anyio.lowlevel.checkpoint()
            self.ends.append(end)

        return Hooks(
            on_start=start,
            on_end=end,
            on_error=lambda error, view: self.errors.append(error),
            on_step_finish=lambda step, view: self.steps.append(step.number),
        )


@pytest.mark.rule("R103")
async def test_the_end_is_told_once_when_all_goes_well() -> None:
    log = Log()
    result = await agent(scripted("ok"), hooks=log.hooks).generate_text("go")
    (end,) = log.ends
    assert (end.finish_reason, end.result, end.error, end.text) == ("stop", result, None, "ok")
    assert (log.starts, log.errors) == (1, [])
    assert end.messages == result.messages


@pytest.mark.rule("R103")
@pytest.mark.case("T037")
async def test_the_end_is_told_once_when_it_fails_with_what_there_is() -> None:
    log = Log()
    model = scripted(call("look", at=1), RuntimeError("down"))
    with pytest.raises(ModelError, match="down"):
        await agent(model, look, hooks=log.hooks).generate_text("go")
    (end,) = log.ends
    assert (end.finish_reason, end.result) == ("error", None)
    assert log.errors == [end.error]
    assert [step.number for step in end.steps] == [1]
    assert roles(end.messages) == ["user", "assistant", "tool"]
    assert end.usage.calls == 1


@pytest.mark.case("T037")
async def test_a_cancelled_call_is_told_with_its_steps_and_a_legal_history() -> None:
    log, signal = Log(), CancelSignal()

    @tool
    async def stop() -> None:
        signal.cancel("enough")

    model = scripted(call("look"), calls(call("stop"), call("look")))
    with pytest.raises(RunCancelled):
        await agent(model, look, stop, hooks=log.hooks).generate_text("go", signal=signal)
    (end,) = log.ends
    assert end.finish_reason == "cancelled"
    assert [len(step.tool_results) for step in end.steps] == [1, 2]
    assert_valid(end.messages)


@pytest.mark.case("T037")
async def test_a_stream_that_was_left_is_told_with_the_text_that_was_handed_out() -> None:
    log = Log()
    async with agent(Endless(), hooks=log.hooks).stream_text("go") as stream:
        async for _ in stream.text:
            break
    (end,) = log.ends
    assert (end.finish_reason, end.text) == ("cancelled", "Well")
    assert [message.text for message in end.messages] == ["go"]


async def test_a_call_whose_task_is_cancelled_is_told_of_too() -> None:
    log, model = Log(), Endless()
    async with anyio.create_task_group() as group:
        group.start_soon(agent(model, hooks=log.hooks).generate_text, "go")
        await model.thinking.wait()
        group.cancel_scope.cancel()
    assert [end.finish_reason for end in log.ends] == ["cancelled"]


@pytest.mark.case("T071")
async def test_an_error_of_a_hook_at_the_end_hides_neither_a_result_nor_the_first_error() -> None:
    def broken(end: Any, view: Any) -> None:
        raise LookupError("no table")

    good = agent(scripted("ok"), hooks=Hooks(on_end=broken))
    assert (await good.generate_text("go")).text == "ok"
    bad = agent(scripted(RuntimeError("down")), hooks=Hooks(on_end=broken, on_error=broken))
    with pytest.raises(ModelError, match="down") as caught:
        await bad.generate_text("go")
    assert "on_end raised LookupError: no table" in caught.value.__notes__


async def test_an_error_of_a_hook_before_the_first_model_call_refuses_the_call() -> None:
    log, model = Log(), scripted("ok")

    def broken(view: Any) -> None:
        raise LookupError("closed")

    asked = agent(model, hooks=[Hooks(on_start=broken), log.hooks])
    with pytest.raises(LookupError, match="closed"):
        await asked.generate_text("go")
    with pytest.raises(LookupError, match="closed"):
        async with asked.stream_text("go"):
            pytest.fail("the block was entered")
    assert len(model.requests) == 0
    assert [end.finish_reason for end in log.ends] == ["error", "error"]


@pytest.mark.rule("R062")
async def test_every_step_is_told_whether_it_spoke_or_called_tools() -> None:
    log = Log()
    model = scripted(call("look"), call("look"), "ok")
    result = await agent(model, look, hooks=log.hooks).generate_text("go")
    assert log.steps == [step.number for step in result.steps] == [1, 2, 3]


@pytest.mark.rule("R062", "R074", "R076")
async def test_a_step_that_a_tool_ended_the_loop_in_is_not_told() -> None:
    @tool
    async def finish(ctx: Any) -> None:
        ctx.bail("42")

    log, model = Log(), scripted(call("look"), call("finish"))
    result = await agent(model, look, finish, hooks=log.hooks).generate_text("go")
    assert (log.steps, len(result.steps), result.text) == ([1], 2, "42")
    assert len(model.requests) == 2


async def test_the_last_word_is_a_step_that_is_told_once() -> None:
    log = Log()
    model = scripted(call("look"), "I have seen enough.")
    asked = agent(model, look, hooks=log.hooks, max_steps=1, on_max_steps="answer")
    await asked.generate_text("go")
    assert log.steps == [1, 2]


@pytest.mark.rule("R066")
async def test_condition_preparation_and_hook_all_belong_to_the_one_loop() -> None:
    fired: list[str] = []

    def prepare(step: Any) -> None:
        fired.append("prepare")

    def condition(steps: Any) -> bool:
        fired.append("condition")
        return True

    asked = agent(
        scripted(call("look")),
        look,
        prepare_step=prepare,
        stop_when=condition,
        hooks=Hooks(on_step_finish=lambda step, view: fired.append("finish")),
    )
    await asked.generate_text("go")
    assert fired == ["prepare", "finish", "condition"]


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.rule("R034")
async def test_a_hook_may_add_to_what_is_sent_and_not_to_what_is_kept() -> None:
    model = scripted(call("look"), "ok")

    def add(messages: list[Message], view: Any) -> list[Message]:
        return [*messages, user("(It is noon.)")]

    asked = agent(model, look, hooks=Hooks(on_prepare_model_messages=add))
    result = await asked.generate_text("go")
    assert [request.messages[-1].text for request in model.requests] == ["(It is noon.)"] * 2
    assert "noon" not in repr(result.messages)


@pytest.mark.rule("R041")
async def test_the_conversation_is_prepared_before_the_instructions_are_there() -> None:
    seen: list[list[str]] = []

    def note(messages: list[Message], view: Any) -> None:
        seen.append([message.text for message in messages])

    hooks = Hooks(on_prepare_messages=note, on_prepare_model_messages=note)
    await agent(scripted("ok"), hooks=hooks).generate_text("go")
    assert seen == [["go"], ["Be brief.", "go"]]


@pytest.mark.rule("R041")
async def test_a_hook_gets_a_conversation_that_is_repaired_already() -> None:
    seen: list[list[str]] = []

    def note(messages: list[Message], view: Any) -> None:
        seen.append(roles(messages))

    orphan = tool_result(ToolCall("lost", "look"), "0")
    torn = [user("a"), assistant(tool_calls=[ToolCall("c", "look")]), orphan, user("b")]
    await agent(scripted("ok"), hooks=Hooks(on_prepare_messages=note)).generate_text(torn)
    assert seen == [["user", "user"]]


@pytest.mark.rule("R357", "R035")
async def test_reasoning_that_a_hook_leaves_dangling_is_not_sent() -> None:
    thought = ReasoningPart("hm", vendor_data={"vendor": "any", "id": "r1"})

    def add(messages: list[Message], view: Any) -> list[Message]:
        said = Message("assistant", (TextPart("So."), thought))
        return [*messages, said, Message("assistant", (thought,)), user("And?")]

    model = scripted("ok")
    await agent(model, hooks=Hooks(on_prepare_model_messages=add)).generate_text("go")
    (request,) = model.requests
    assert [message.text for message in request.messages] == ["Be brief.", "go", "So.", "And?"]
    assert "hm" not in repr(request.messages)


_CALL = ToolCall("c", "look")


@pytest.mark.rule("R042")
@pytest.mark.parametrize("name", ["on_prepare_messages", "on_prepare_model_messages"])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([assistant(tool_calls=[_CALL]), user("go")], "no result"),
        ([assistant(tool_calls=[_CALL])], "no result"),
        ([tool_result(_CALL, "3")], "not there"),
        (["hm"], "str"),
    ],
)
async def test_what_a_hook_makes_of_messages_must_be_legal(
    name: str, wrong: list[Any], told: str
) -> None:
    model = scripted("ok")
    hooks: dict[str, Any] = {name: lambda messages, view: wrong}
    with pytest.raises(ContractError, match=told):
        await agent(model, hooks=Hooks(**hooks)).generate_text("go")
    assert len(model.requests) == 0


@pytest.mark.rule("R042")
@pytest.mark.parametrize("name", ["on_prepare_messages", "on_prepare_model_messages"])
async def test_a_hook_cannot_even_make_a_message_of_a_role_that_there_is_not(name: str) -> None:
    model = scripted("ok")

    def made(_messages: Any, _view: Any) -> list[Message]:
        role: Any = "x"
        return [Message(role, (TextPart("hm"),))]

    hooks: dict[str, Any] = {name: made}
    with pytest.raises(ValueError, match=r"Message\(role='x'\): give 'system', 'user', "):
        await agent(model, hooks=Hooks(**hooks)).generate_text("go")
    assert len(model.requests) == 0


# --- tools ---------------------------------------------------------------------------------------


async def test_each_tool_call_is_told_when_it_begins_and_when_it_ends() -> None:
    log: list[Any] = []

    @tool
    async def broken() -> None:
        raise ValueError("no luck")

    hooks = Hooks(
        on_tool_start=lambda start, view: log.append(("start", start.tool, dict(start.input))),
        on_tool_end=lambda end, view: log.append(("end", end.tool, end.output, type(end.error))),
    )
    model = scripted(call("look", at=3), call("broken"), "ok")
    await agent(model, look, broken, hooks=hooks).generate_text("go")
    assert log[:2] == [("start", "look", {"at": 3}), ("end", "look", 3, type(None))]
    assert [entry[:2] for entry in log[2:]] == [("start", "broken"), ("end", "broken")]
    assert log[-1][3].__name__ == "ToolFailed"


async def test_a_tool_call_that_is_cancelled_is_told_to_have_ended() -> None:
    log: list[str] = []
    started = anyio.Event()

    @tool
    async def wait() -> None:
        started.set()
        await anyio.sleep_forever()

    async def ended(end: Any, view: Any) -> None:
        await anyio.lowlevel.checkpoint()
        log.append(end.tool)

    asked = agent(scripted(call("wait")), wait, hooks=Hooks(on_tool_end=ended))
    async with anyio.create_task_group() as group:
        group.start_soon(asked.generate_text, "go")
        await started.wait()
        group.cancel_scope.cancel()
    assert log == ["wait"]


async def test_a_call_that_waits_for_a_person_has_not_ended_until_it_has() -> None:
    log = Log()
    made: list[str] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    @tool(id="look")
    async def watched(at: int = 0) -> int:
        return at

    hooks = [log.hooks, Hooks(on_tool_start=lambda start, view: made.append(start.tool))]
    model = scripted(calls(call("look"), call("pay", amount=5)), "Done.")
    async with agent(model, pay, watched, hooks=hooks, store="memory:") as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
        assert (log.ends, made) == ([], ["look"])
        await asked.resume("r", True)
    assert [end.finish_reason for end in log.ends] == ["stop"]
    assert log.starts == 1
    assert made == ["look", "pay"]
    assert log.steps == [1, 2]


@pytest.mark.parametrize("who", ["tool", "sub-agent"])
async def test_a_tool_call_that_waits_inside_is_told_to_begin_and_to_end_once(who: str) -> None:
    log: list[tuple[str, str]] = []

    @tool(needs_approval=True)
    async def pay() -> str:
        return "paid"

    @tool
    async def ask(ctx: ToolContext) -> str:
        return str(await ctx.node.suspend("may", "May I?"))

    hooks = Hooks(
        on_tool_start=lambda start, view: log.append(("start", start.tool)),
        on_tool_end=lambda end, view: log.append(("end", end.tool)),
    )
    paying = MockModel([Rule(turn=1, reply=call("pay")), Rule(reply="It is paid.")])
    sub = Agent("payer", model=paying, tools=[pay], description="Pays.")
    name = "ask" if who == "tool" else "ask_payer"
    asking = call(name) if who == "tool" else call(name, task="x")
    model = MockModel([Rule(turn=1, reply=asking), Rule(reply="ok")])
    async with agent(model, ask, sub.as_tool(), hooks=hooks, store="memory:") as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
        assert log == [("start", name)]
        await asked.resume("r", True)
    assert log == [("start", name), ("end", name)]


async def test_a_tool_call_that_is_left_and_goes_on_is_told_to_begin_and_to_end_once() -> None:
    log: list[str] = []
    begun: list[str] = []

    @tool
    async def wait() -> str:
        begun.append("wait")
        if len(begun) == 1:
            await anyio.sleep_forever()
        return "done"

    hooks = Hooks(
        on_tool_start=lambda start, view: log.append("start"),
        on_tool_end=lambda end, view: log.append("end"),
    )
    model, store = scripted(call("wait"), "ok"), MemoryStore()
    async with (
        agent(model, wait, hooks=hooks, store=store) as asked,
        anyio.create_task_group() as group,
    ):
        group.start_soon(partial(asked.generate_text, "go", run_id="r"))
        while not begun:
            await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    async with agent(model, wait, hooks=hooks, store=store) as asked:
        assert (await asked.generate_text("go", run_id="r")).text == "ok"
    assert log == ["start", "end"]


async def test_hooks_of_a_call_are_told_after_those_of_the_agent() -> None:
    log: list[str] = []
    own = Hooks(on_end=lambda end, view: log.append("agent"))
    asked = agent(scripted("ok"), hooks=own)
    await asked.generate_text("go", hooks=Hooks(on_end=lambda end, view: log.append("call")))
    assert log == ["agent", "call"]


def test_what_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="Hooks"):
        agent(scripted("ok"), hooks=[print])


async def test_middleware_retries_are_told() -> None:
    retried: list[tuple[str, int]] = []

    def check(text: str, ctx: Any) -> str:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)
        return text

    asked = agent(
        scripted("bad", "good"),
        middlewares=[Middleware(output=check)],
        max_middleware_retries=1,
        hooks=Hooks(on_retry=lambda again, view: retried.append((again.reason, view.attempt))),
    )
    await asked.generate_text("go")
    assert retried == [("again", 1)]


async def test_tries_and_fallbacks_of_model_calls_are_told_after_the_call() -> None:
    told: list[Any] = []
    busy = MockModel([Rule(reply=ModelUnavailable("busy"))], name="busy")
    calm = MockModel([Rule(reply="ok")], name="calm")
    hooks = Hooks(
        on_retry=lambda again, view: told.append(again),
        on_fallback=lambda fallback, view: told.append(fallback),
    )
    retries = Retries(count=1, backoff=0)
    model = Model(busy, retries=retries, fallbacks=[calm])
    assert (await agent(model, hooks=hooks).generate_text("go")).text == "ok"
    assert told == [
        TriedAgain(what="model", reason="calm", times=2),
        Fallback(model="busy", next="calm"),
    ]
    told.clear()
    with pytest.raises(ModelUnavailable):
        await agent(Model(busy, retries=retries), hooks=hooks).generate_text("go")
    assert told == [TriedAgain(what="model", reason="busy", times=1)]
    told.clear()
    await agent(calm, hooks=hooks).generate_text("go")
    assert told == []
