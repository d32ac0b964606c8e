"""Calling a tool: one order, nothing without a permit, and a receipt only for work that succeeded."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    Invocation,
    OutputInvalid,
    Retry,
    RunCancelled,
    ToolContext,
    ToolDenied,
    ToolFailed,
    Toolkit,
    UnknownTool,
    Uses,
    tool,
)
from agentflow.run.ports import ToolCalls, ToolSource
from agentflow.run.visit_record import VisitRecord
from agentflow.testing import FactRecorder, fake_context
from agentflow.tools.calls import Tools, tools_of
from tests.models.kit import asking
from tests.tools.logged import LOG, add_in_thread, broken


@tool
async def add_up(a: int, b: int = 1) -> int:
    """Add."""
    LOG.append(f"add {a} {b}")
    return a + b


@pytest.mark.rule("R315", "R316")
@pytest.mark.parametrize("used", [add_up, add_in_thread], ids=["async", "thread"])
async def test_a_call_gives_a_value_and_the_record_of_it(used: Any) -> None:
    ctx = fake_context(tools=[used])
    receipt = await ctx.tools.invoke(used.id, {"a": "2"})
    assert receipt.value == 3
    told = receipt.invocation
    assert (told.kind, told.name, told.node_id) == ("tool", used.id, "node")
    assert ctx.ledger.used("tool_calls") == 1


@pytest.mark.rule("R316")
def test_the_record_names_no_user_no_message_and_no_permit() -> None:
    assert set(Invocation.__dataclass_fields__) == {
        *("id", "kind", "name", "node_id", "usage", "partial", "finish_reason", "seconds", "tries")
    }


@pytest.mark.rule("R238", "R247")
async def test_a_tool_that_is_only_named_in_a_prompt_does_not_exist() -> None:
    from agentflow.mock import MockModel, Rule

    recorder = FactRecorder()
    ctx = fake_context(
        tools=[add_up, broken], model=MockModel([Rule(reply="ok")]), observers=[recorder]
    )
    await ctx.model.invoke("You may use the tool delete_all.")
    with pytest.raises(
        UnknownTool, match="there is no tool 'delete_all'; the tools are: 'add_up',"
    ):
        await ctx.tools.invoke("delete_all")
    assert recorder.only("tool.failed").data["error"] == "UnknownTool"
    assert ctx.ledger.used("tool_calls") == 0


@pytest.mark.rule("R247")
async def test_a_second_run_does_not_know_what_the_first_one_did_not() -> None:
    async def ask(ctx: Any) -> None:
        await ctx.tools.invoke("nothing")

    async with Engine(asking(ask)) as engine:
        for _ in range(2):
            with pytest.raises(UnknownTool, match="the tools are: none"):
                await engine.run({})


@pytest.mark.rule("R310")
async def test_the_order_of_a_call_is_parse_authorise_handler_output_cancel_success() -> None:
    log: list[str] = []

    def parse(value: Any) -> Any:
        log.append(f"parse {value}")
        return value

    def permit(input: Any) -> bool:
        log.append("authorise")
        return True

    async def policy(used: Any, input: Any, ctx: ToolContext) -> bool:
        log.append("policy")
        return True

    async def work(word):  # type: ignore[no-untyped-def]
        log.append("handler")
        return "out"

    parsed = Annotated[str, BeforeValidator(parse)]
    work.__annotations__ = {"word": parsed, "return": parsed}

    class Watching(FactRecorder):
        def event(self, fact: Any) -> None:
            log.append(fact.kind)

    ctx = fake_context(
        tools=[tool(work, authorize=permit)], authorize=policy, observers=[Watching()]
    )
    checked = ctx.check_open

    class Checking(type(ctx)):  # type: ignore[misc]
        def check_open(self) -> None:
            log.append("check cancel")
            checked()

    watched = Checking(ctx.frame, ctx._node, 1)
    await watched.tools.invoke("work", {"word": "in"})
    assert log == [
        "check cancel",
        "parse in",
        "authorise",
        "policy",
        "check cancel",
        "tool.started",
        "handler",
        "parse out",
        "check cancel",
        "tool.completed",
    ]


@pytest.mark.rule("R311")
@pytest.mark.parametrize(
    ("input", "message"),
    [
        ({"a": "x"}, r"the input of tool 'add_up': a: Input should be a valid integer"),
        ({}, "a: Field required"),
        ({"a": 1, "c": 2}, "c: Extra inputs are not permitted"),
        ([1, 2], "is list; give a mapping of parameter to value"),
        ("a", "is str; give a mapping of parameter to value"),
    ],
)
async def test_bad_input_never_reaches_the_handler(input: Any, message: str) -> None:
    ctx = fake_context(tools=[add_up])
    with pytest.raises(ContractError, match=message):
        await ctx.tools.invoke("add_up", input)
    assert LOG == []
    assert ctx.ledger.used("tool_calls") == 0


@pytest.mark.rule("R312")
async def test_bad_output_is_no_success() -> None:
    @tool
    async def lie() -> int:
        return "many"  # type: ignore[return-value]

    recorder = FactRecorder()
    ctx = fake_context(tools=[lie], observers=[recorder])
    with pytest.raises(
        OutputInvalid, match="the output of tool 'lie': Input should be a valid int"
    ):
        await ctx.tools.invoke("lie")
    assert recorder.kinds() == ["tool.started", "tool.failed"]


async def test_the_declared_output_wins_over_the_annotation() -> None:
    @tool(output=list[int])
    async def numbers() -> Any:
        return ("1", 2)

    assert (await fake_context(tools=[numbers]).tools.invoke("numbers")).value == [1, 2]


@pytest.mark.rule("R313")
@pytest.mark.parametrize("threaded", [False, True])
async def test_a_cancel_while_the_handler_works_discards_what_it_returns(threaded: bool) -> None:
    signal, recorder = CancelSignal(), FactRecorder()

    @tool
    async def late() -> str:
        signal.cancel("too late")
        return "done"

    @tool(id="late")
    def late_in_thread() -> str:
        signal.cancel("too late")
        return "done"

    ctx = fake_context(
        tools=[late_in_thread if threaded else late], signal=signal, observers=[recorder]
    )
    with pytest.raises(RunCancelled, match="too late"):
        await ctx.tools.invoke("late")
    assert recorder.kinds() == ["tool.started", "tool.failed"]
    call_id = recorder.facts[0].call_id
    assert call_id is not None
    assert ctx.record.find(call_id) is None


@pytest.mark.rule("R279")
async def test_tool_calls_have_a_limit_of_their_own() -> None:
    ctx = fake_context(tools=[add_up], budget=Budget(tool_calls=1))
    await ctx.tools.invoke("add_up", {"a": 1})
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.tools.invoke("add_up", {"a": 1})
    assert caught.value.limit == "tool_calls"
    limited = fake_context(tools=[add_up], uses=Uses(tool_calls=0))
    with pytest.raises(BudgetExceeded, match="in one visit of node"):
        await limited.tools.invoke("add_up", {"a": 1})


async def test_a_retry_of_the_node_calls_the_tool_again_and_a_recorded_call_is_not_repeated() -> (
    None
):
    async def ask(ctx: Any) -> int:
        receipt = await ctx.tools.invoke("add_up", {"a": ctx.attempt})
        if ctx.attempt == 1:
            raise OSError
        return int(receipt.value)

    assert await asking(ask, retry=Retry(2)).run({}, tools=[add_up]) == 3
    assert LOG == ["add 1 1", "add 2 1"]

    denied: list[str] = []
    ctx = fake_context(tools=[add_up], authorize=lambda *_: not denied)
    first = await ctx.tools.invoke("add_up", {"a": 5})
    denied.append("from now on")
    again = type(ctx)(ctx.frame, ctx._node, 1, record=ctx.record)
    assert await again.tools.invoke("add_up", {"a": 5}) == first
    assert ctx.ledger.used("tool_calls") == 1


def test_two_tools_of_one_id_are_refused_with_both_sources() -> None:
    def other_sum(a: int, b: int) -> int:
        return a + b

    other = tool(other_sum, id="add_up")
    with pytest.raises(ValueError, match=r"two tools have the id 'add_up'") as caught:
        tools_of([add_up, Toolkit([other], name="maths")])
    assert str(caught.value).count("test_calls.py:") == 2
    assert "in toolkit 'maths'" in str(caught.value)


def test_one_tool_in_two_toolkits_is_one_tool() -> None:
    source = tools_of([add_up, Toolkit([add_up], "Add first.")])
    assert isinstance(source, Tools)
    assert [spec.name for spec in source.specs()] == ["add_up"]
    assert source.instructions == ("Add first.",)


@pytest.mark.rule("R237")
@pytest.mark.parametrize("wrong", [lambda x: x, "add_up", object(), Toolkit([3])])  # type: ignore[list-item]
def test_an_engine_refuses_what_is_no_tool_when_it_is_made(wrong: Any) -> None:
    with pytest.raises(
        TypeError, match="is no tool: its input has no contract; make it with @tool"
    ):
        Engine(asking(lambda ctx: ctx.tools.invoke("x")), tools=[wrong])


async def test_tools_are_offered_to_a_model_by_name_or_by_themselves() -> None:
    from tests.models.kit import Scripted

    provider = Scripted()
    ctx = fake_context(tools=[add_up, broken], model=provider)
    await ctx.model.invoke("Hi.", tools=["broken", add_up], tool_choice="add_up")
    assert [spec.name for spec in provider.contexts[0].tools] == ["broken", "add_up"]
    with pytest.raises(UnknownTool):
        await ctx.model.invoke("Hi.", tools=["nothing"])
    assert [spec.name for spec in ctx.tools.specs()] == ["add_up", "broken"]


def test_the_tools_of_an_engine_keep_the_port_of_the_kernel() -> None:
    source: ToolSource = tools_of([])
    calls: ToolCalls = source.bind(fake_context())
    assert calls.specs() == ()


def test_denied_is_told_apart_from_failed() -> None:
    assert not issubclass(ToolDenied, ToolFailed)


async def test_a_visit_looks_once_for_what_was_called_before_however_many_calls_it_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[None] = []
    keys = VisitRecord.own_keys

    def counted(self: VisitRecord) -> Any:
        looked.append(None)
        return keys(self)

    monkeypatch.setattr(VisitRecord, "own_keys", counted)

    @tool
    async def double(number: int) -> int:
        return 2 * number

    ctx = fake_context(tools=[double])
    assert [(await ctx.tools.invoke("double", {"number": n})).value for n in range(50)] == [
        2 * n for n in range(50)
    ]
    assert len(looked) == 1
