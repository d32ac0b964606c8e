"""Middleware: in a visible order, at named boundaries, with attempts that start afresh."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, ContractError, DeliveryError, ModelError
from agentflow.agents import (
    Guardrail,
    Hooks,
    Middleware,
    MiddlewareAborted,
    StepPlan,
)
from agentflow.messages import TextChunk, user
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.testing import FactRecorder
from tests.agents.kit import assert_valid, endless, look, roles, scripted


class City(BaseModel):
    """A place."""

    city: str


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, tools, **options)


def noting(log: list[str], name: str) -> Middleware:
    """A middleware that notes when it is at work, and changes nothing."""

    def note(boundary: str) -> Any:
        def handler(value: Any, ctx: Any) -> Any:
            log.append(f"{name} {boundary}")
            return None if boundary == "step" else value

        return handler

    return Middleware(name=name, input=note("input"), step=note("step"), output=note("output"))


# --- what may stand in the list ------------------------------------------------------------------


@pytest.mark.rule("R081")
async def test_functions_and_objects_become_records_with_names() -> None:
    class Shout:
        def output(self, value: str, ctx: Any) -> str:
            return f"{value}!"

    class Named:
        name = "named"

        async def output(self, value: str, ctx: Any) -> str:
            return f"{value}?"

    recorder = FactRecorder()
    asked = agent(
        scripted("ok"),
        middlewares=[Middleware(output=lambda value, ctx: value.upper()), Shout(), Named()],
        observers=[recorder],
    )
    assert (await asked.generate_text("go")).text == "OK!?"
    names = [data["middleware"] for data in recorder.data("middleware.completed")]
    assert names == ["middleware-1", "middleware-2", "named"]


@pytest.mark.rule("R082")
@pytest.mark.parametrize("wrong", [42, print, object(), Middleware(), Middleware(output=3)])  # type: ignore[arg-type]
def test_anything_else_is_refused_with_its_place(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"middlewares\[1\]"):
        agent(scripted("ok"), middlewares=[noting([], "a"), wrong])


@pytest.mark.rule("R080")
async def test_those_of_the_agent_go_before_those_of_the_call() -> None:
    log: list[str] = []
    asked = agent(scripted("ok"), middlewares=[noting(log, "a1"), noting(log, "a2")])
    await asked.generate_text("go", middlewares=[noting(log, "c1")])
    assert [line for line in log if line.endswith("input")] == ["a1 input", "a2 input", "c1 input"]


# --- the order -----------------------------------------------------------------------------------


@pytest.mark.rule("R002", "R079", "R098", "R029")
async def test_everything_stands_in_one_order_whichever_way_one_asks() -> None:
    logs: dict[str, list[str]] = {}

    def made(log: list[str]) -> Agent:
        def reply(request: MockRequest) -> Any:
            log.append("model")
            return {"city": "Rome"}

        def note(what: str) -> Any:
            def judged(value: Any, view: Any) -> bool:
                log.append(what)
                return True

            return judged

        def told(ctx: Any) -> str:
            log.append("prepare")
            return "Be brief."

        def ended(end: Any, view: Any) -> None:
            log.append("on_end")

        def started(view: Any) -> None:
            log.append("on_start")

        return Agent(
            "helper",
            told,
            MockModel([Rule(reply=reply)]),
            middlewares=[noting(log, "middleware")],
            guardrails=[Guardrail(input=note("judge input"), output=note("judge output"))],
            hooks=Hooks(on_start=started, on_end=ended),
        )

    for way in ("text", "object", "stream", "stream object"):
        log = logs.setdefault(way, [])
        asked = made(log)
        match way:
            case "text":
                await asked.generate_text("go")
            case "object":
                await asked.generate_object("go", City)
            case "stream":
                async with asked.stream_text("go") as stream:
                    await stream.text
            case _:
                with pytest.warns(DeprecationWarning, match="stream_text"):
                    old = asked.stream_object("go", City)
                async with old as stream:
                    await stream.object
    expected = [
        *("on_start", "middleware input", "judge input", "prepare", "middleware step", "model"),
        *("middleware output", "judge output", "on_end"),
    ]
    assert list(logs.values()) == [expected] * 4


async def test_who_stands_around_the_loop_is_a_node_and_the_bounds_count_attempts() -> None:
    asked = agent(scripted("ok"), middlewares=[noting([], "a")], max_middleware_retries=2)
    assert [node.id for node in asked.workflow.nodes] == ["receive", "work", "review"]
    assert asked.workflow.report.findings == ()
    assert asked.workflow.bounds().model_calls.value == 30
    once = agent(scripted("ok"), middlewares=[noting([], "a")])
    assert once.workflow.report.findings == ()
    assert once.workflow.bounds().model_calls.value == 10
    plain = agent(scripted("ok"), middlewares=[Middleware(step=lambda step, ctx: None)])
    assert plain.workflow.nodes[0].id == "admit"


# --- what it may change --------------------------------------------------------------------------


async def test_input_middleware_gives_the_conversation_that_is_asked_with() -> None:
    model = scripted("ok")

    def redact(messages: Any, ctx: Any) -> Any:
        return [user(message.text.replace("1234", "****")) for message in messages]

    result = await agent(model, middlewares=[Middleware(input=redact)]).generate_text("PIN 1234")
    assert model.requests[0].messages[-1].text == "PIN ****"
    assert "1234" not in repr(result.messages)


@pytest.mark.rule("R078")
async def test_output_middleware_rewrites_the_answer_in_its_conversation_too() -> None:
    model = scripted(call("look", at=1), "The PIN is 1234.")

    def redact(text: str, ctx: Any) -> str:
        return text.replace("1234", "****")

    asked = agent(model, look, middlewares=[Middleware(output=redact)])
    result = await asked.generate_text("go")
    assert result.text == result.messages[-1].text == "The PIN is ****."
    assert "1234" not in repr(result.messages)
    assert_valid(result.messages)


async def test_output_middleware_of_a_structured_answer_gets_and_gives_the_value() -> None:
    def move(value: City, ctx: Any) -> City:
        return City(city=f"{value.city}, Italy")

    asked = agent(scripted({"city": "Rome"}), middlewares=[Middleware(output=move)])
    result = await asked.generate_object("go", City)
    assert result.object == City(city="Rome, Italy")
    assert result.text == '{"city":"Rome, Italy"}'


async def test_output_middleware_that_gives_no_text_for_a_text_is_a_contract_error() -> None:
    asked = agent(scripted("ok"), middlewares=[Middleware(output=lambda value, ctx: 3)])
    with pytest.raises(ContractError, match="gives a text"):
        await asked.generate_text("go")


@pytest.mark.rule("R083")
async def test_each_middleware_is_told_of_with_the_value_before_and_after() -> None:
    recorder, blind = FactRecorder(content=True), FactRecorder()
    asked = agent(
        scripted("ok"),
        middlewares=[Middleware(name="shout", output=lambda value, ctx: value.upper())],
        observers=[recorder, blind],
    )
    await asked.generate_text("go")
    told = recorder.only("middleware.completed")
    assert told.data == {"middleware": "shout", "boundary": "output", "place": 1}
    assert told.content == {"before": "ok", "after": "OK"}
    assert blind.only("middleware.completed").content is None
    assert recorder.only("middleware.started").node_id == "review"


@pytest.mark.rule("R083")
@pytest.mark.parametrize(
    ("boundary", "given", "node"),
    [
        ("input", lambda value, ctx: value, "receive"),
        ("turn", lambda value, ctx: value.proceed(), "work"),
        ("step", lambda value, ctx: None, "assemble"),
        ("request", lambda value, ctx: value.send(), "model"),
        ("commit", lambda value, ctx: value, "model"),
        ("output", lambda value, ctx: value, "review"),
    ],
)
async def test_a_middleware_is_told_of_at_whichever_boundary_it_stands(
    boundary: str, given: Any, node: str
) -> None:
    def broken(value: Any, ctx: Any) -> Any:
        raise KeyError("x")

    recorder = FactRecorder(content=True)
    parts: Any = [{boundary: given}, {boundary: given}]
    asked = agent(
        scripted("ok", "ok"), middlewares=[Middleware(**p) for p in parts], observers=[recorder]
    )
    await asked.generate_text("go")
    told = [f for f in recorder.facts if f.kind.startswith("middleware.")]
    assert {f.node_id for f in told} == {node}
    assert sorted((f.kind, f.data["place"]) for f in told) == [
        ("middleware.completed", 1),
        ("middleware.completed", 2),
        ("middleware.started", 1),
        ("middleware.started", 2),
    ]
    part: Any = {boundary: broken}
    with pytest.raises(KeyError):
        await asked.generate_text("go", middlewares=[Middleware(**part)])
    assert recorder.data("middleware.failed")[-1]["error"] == "KeyError"


@pytest.mark.rule("R016")
async def test_it_sees_the_same_run_and_context_as_everybody() -> None:
    seen: list[Any] = []

    def note(value: Any, ctx: Any) -> Any:
        seen.append((ctx.run, ctx.context["tier"], ctx.identity, ctx.deps, ctx.retry_count))
        return value

    hooks = Hooks(on_end=lambda end, view: seen.append((view.run, view.run_id)))
    asked = agent(scripted("ok"), middlewares=[Middleware(input=note)], hooks=hooks)
    await asked.generate_text("go", context={"tier": "pro"}, identity="u", deps="db", run_id="r")
    (run, *rest), (same, id) = seen
    assert run is same
    assert (rest, id) == (["pro", "u", "db", 0], "r")


# --- state ---------------------------------------------------------------------------------------


@pytest.mark.rule("R205", "R206")
async def test_state_lives_through_the_steps_of_a_call_and_begins_anew_with_the_next() -> None:
    seen: list[Any] = []

    class Counting:
        def input(self, messages: Any, ctx: Any) -> Any:
            ctx.state["first"] = messages[0].text
            return messages

        def step(self, step: Any, ctx: Any) -> StepPlan | None:
            ctx.state["count"] = ctx.state.get("count", 0) + 1
            seen.append(ctx.state["count"])
            return None

        def output(self, value: Any, ctx: Any) -> Any:
            seen.append((ctx.state["first"], ctx.state["count"]))
            return value

    model = scripted(call("look"), call("look"), "ok", "ok")
    asked = agent(model, look, middlewares=[Counting()])
    await asked.generate_text("go")
    await asked.generate_text("again")
    assert seen == [1, 2, 3, ("go", 3), 1, ("again", 1)]


def counting(seen: list[Any], **declared: Any) -> Middleware:
    """A middleware that counts at three boundaries, and asks for one further attempt."""

    def count(value: Any, ctx: Any) -> None:
        ctx.state["count"] = ctx.state.get("count", 0) + 1

    def output(text: str, ctx: Any) -> str:
        seen.append(ctx.state["count"])
        if ctx.retry_count == 0:
            ctx.abort("once more", retry=True)
        return text

    def given(value: Any, ctx: Any) -> Any:
        count(value, ctx)
        return value

    return Middleware(input=given, step=count, output=output, **declared)


@pytest.mark.rule("R205", "S12")
@pytest.mark.parametrize(
    ("declared", "counts"),
    [({}, [2, 4]), ({"state_scope": "call"}, [2, 4]), ({"state_scope": "attempt"}, [2, 2])],
)
async def test_state_lives_through_attempts_unless_it_is_declared_to_be_of_one(
    declared: dict[str, Any], counts: list[int]
) -> None:
    seen: list[Any] = []
    asked = agent(
        scripted("a", "b"), middlewares=[counting(seen, **declared)], max_middleware_retries=1
    )
    await asked.generate_text("go")
    assert seen == counts


@pytest.mark.rule("S12")
async def test_each_middleware_has_its_own_scope_also_where_input_asks_for_the_attempt() -> None:
    seen: list[Any] = []

    class Once:
        state_scope = "attempt"

        def input(self, messages: Any, ctx: Any) -> Any:
            seen.append(dict(ctx.state))
            ctx.state["seen"] = True
            if ctx.retry_count == 0:
                ctx.abort("once more", retry=True)
            return messages

    class Whole:
        def input(self, messages: Any, ctx: Any) -> Any:
            seen.append(dict(ctx.state))
            ctx.state["seen"] = True
            return messages

    asked = agent(scripted("a"), middlewares=[Whole(), Once()], max_middleware_retries=1)
    await asked.generate_text("go")
    assert seen == [{}, {}, {"seen": True}, {}]


@pytest.mark.rule("S12")
def test_a_scope_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="state_scope"):
        agent(scripted("a"), middlewares=[Middleware(output=print, state_scope="step")])  # type: ignore[arg-type]


async def test_a_middleware_may_plan_each_step() -> None:
    model = scripted(call("look"), "ok")

    class Frugal:
        def step(self, step: Any, ctx: Any) -> StepPlan:
            return StepPlan(max_output_tokens=step.number)

    await agent(model, look, middlewares=[Frugal()]).generate_text("go")
    assert [request.context.max_output_tokens for request in model.requests] == [1, 2]


# --- abort and retry -----------------------------------------------------------------------------


@pytest.mark.rule("R084")
@pytest.mark.parametrize("boundary", ["input", "output"])
async def test_it_may_end_the_call_with_a_reason(boundary: str) -> None:
    recorder = FactRecorder()

    def no(value: Any, ctx: Any) -> Any:
        ctx.abort("no")

    made: dict[str, Any] = {boundary: no}
    model = scripted("ok")
    asked = agent(model, middlewares=[Middleware(name="judge", **made)], observers=[recorder])
    with pytest.raises(MiddlewareAborted, match="'judge' aborted the call: no") as caught:
        await asked.generate_text("go")
    assert (caught.value.middleware, caught.value.reason) == ("judge", "no")
    assert len(model.requests) == (0 if boundary == "input" else 1)
    assert recorder.only("middleware.failed").data["error"] == "MiddlewareAborted"


@pytest.mark.rule("R085", "R087", "R089")
@pytest.mark.case("T049")
async def test_it_may_ask_for_another_attempt_which_is_told_the_reason() -> None:
    counts: list[int] = []

    def check(text: str, ctx: Any) -> str:
        counts.append(ctx.retry_count)
        if "sorry" in text:
            ctx.abort("Do not apologise.", retry=True)
        return text

    model = scripted("I am sorry.", "Here you are.")
    asked = agent(model, middlewares=[Middleware(output=check)], max_middleware_retries=1)
    result = await asked.generate_text("go")
    assert (result.text, counts) == ("Here you are.", [0, 1])
    first, second = ([m.text for m in request.messages] for request in model.requests)
    assert first == ["Be brief.", "go"]
    assert second == ["Be brief.", "Do not apologise.", "go"]
    assert model.requests[1].messages[1].role == "system"


@pytest.mark.rule("R086")
@pytest.mark.case("T051")
@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_attempts_are_capped_and_the_last_reason_is_not_lost(retries: int) -> None:
    def never(text: str, ctx: Any) -> str:
        ctx.abort(f"not {text}", retry=True)
        raise AssertionError

    model = scripted("good 1", "good 2", "good 3")
    asked = agent(model, middlewares=[Middleware(output=never)], max_middleware_retries=retries)
    with pytest.raises(MiddlewareAborted, match=f"max_middleware_retries={retries}") as caught:
        await asked.generate_text("go")
    assert len(model.requests) == retries + 1
    assert caught.value.reason == f"not good {retries + 1}"


@pytest.mark.rule("R086")
@pytest.mark.parametrize("boundary", ["input", "output"])
async def test_an_abort_that_does_not_ask_for_another_attempt_gets_none(boundary: str) -> None:
    def no(value: Any, ctx: Any) -> Any:
        ctx.abort("no")

    made: dict[str, Any] = {boundary: no}
    model = scripted("ok", "ok")
    asked = agent(model, middlewares=[Middleware(**made)], max_middleware_retries=5)
    with pytest.raises(MiddlewareAborted) as caught:
        await asked.generate_text("go")
    assert (caught.value.retry, caught.value.because) == (False, "")
    assert len(model.requests) <= 1


@pytest.mark.rule("R088")
@pytest.mark.case("T051")
async def test_nothing_of_an_attempt_that_was_given_up_is_in_the_next_or_in_the_result() -> None:
    def check(text: str, ctx: Any) -> str:
        if text == "bad":
            ctx.abort("again", retry=True)
        return text

    model = scripted(call("look", at=1), "bad", call("look", at=2), "good")
    asked = agent(model, look, middlewares=[Middleware(output=check)], max_middleware_retries=1)
    result = await asked.generate_text("go")
    assert [dict(made.arguments) for made in result.tool_calls] == [{"at": 2}]
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant"]
    assert "bad" not in repr(model.requests[2].messages)
    assert (result.usage.calls, result.total_usage.calls) == (2, 4)


@pytest.mark.rule("R090")
async def test_feedback_is_told_once_and_only_to_the_next_attempt() -> None:
    def check(text: str, ctx: Any) -> str:
        if text != "good":
            ctx.abort(f"not {text}", retry=True)
        return text

    model = scripted("one", "two", "good")
    asked = agent(model, middlewares=[Middleware(output=check)], max_middleware_retries=2)
    await asked.generate_text("go")
    third = [message.text for message in model.requests[2].messages]
    assert third == ["Be brief.", "not two", "go"]


@pytest.mark.rule("R091")
async def test_the_input_side_is_gone_through_again_from_the_original_input() -> None:
    seen: list[str] = []
    judged: list[str] = []

    def widen(messages: Any, ctx: Any) -> Any:
        seen.append(messages[0].text)
        return f"{messages[0].text} please"

    def judge(messages: Any, view: Any) -> bool:
        judged.append(messages[0].text)
        return True

    def check(text: str, ctx: Any) -> str:
        if ctx.retry_count == 0:
            ctx.abort("again", retry=True)
        return text

    asked = agent(
        MockModel([Rule(reply="ok")]),
        middlewares=[Middleware(input=widen, output=check)],
        guardrails=[Guardrail(input=judge)],
        max_middleware_retries=1,
    )
    await asked.generate_text("go")
    assert seen == ["go", "go"]
    assert judged == ["go please", "go please"]


async def test_input_middleware_may_ask_for_another_attempt_too() -> None:
    def check(messages: Any, ctx: Any) -> Any:
        if ctx.retry_count == 0:
            ctx.abort("wait for it", retry=True)
        return messages

    retried: list[str] = []
    model = scripted("ok")
    asked = agent(
        model,
        middlewares=[Middleware(input=check)],
        max_middleware_retries=1,
        hooks=Hooks(on_retry=lambda again, view: retried.append(again.reason)),
    )
    assert (await asked.generate_text("go")).text == "ok"
    assert [message.text for message in model.requests[0].messages] == [
        *("Be brief.", "wait for it", "go")
    ]
    assert retried == ["wait for it"]


async def test_a_retry_does_not_give_back_what_was_spent() -> None:
    from agentflow import Budget, BudgetExceeded

    def never(text: str, ctx: Any) -> str:
        ctx.abort("again", retry=True)
        raise AssertionError

    asked = agent(
        endless(),
        look,
        max_steps=2,
        max_middleware_retries=9,
        middlewares=[Middleware(output=never)],
    )
    with pytest.raises(BudgetExceeded) as caught:
        await asked.generate_text("go", budget=Budget(model_calls=5))
    assert caught.value.limit == "model_calls"


async def test_an_error_of_middleware_is_the_calls_error() -> None:
    def broken(value: Any, ctx: Any) -> Any:
        raise LookupError("no table")

    with pytest.raises(LookupError, match="no table"):
        await agent(scripted("ok"), middlewares=[Middleware(output=broken)]).generate_text("go")


# --- streams -------------------------------------------------------------------------------------


@pytest.mark.rule("R092")
async def test_what_was_handed_out_cannot_be_tried_again_and_that_is_said() -> None:
    def never(text: str, ctx: Any) -> str:
        ctx.abort("again", retry=True)
        raise AssertionError

    model = MockModel([Rule(reply="ok")])
    asked = agent(model, middlewares=[Middleware(output=never)], max_middleware_retries=3)
    async with asked.stream_text("go") as stream:
        with pytest.raises(MiddlewareAborted, match="cannot be taken back"):
            await stream.text
    assert len(model.requests) == 1


async def test_chunk_middleware_changes_and_leaves_out_what_is_handed_out() -> None:
    class Quiet:
        def chunk(self, chunk: Any, ctx: Any) -> Any:
            ctx.state["count"] = ctx.state.get("count", 0) + 1
            if not isinstance(chunk, TextChunk):
                return chunk
            return None if chunk.text == " b" else TextChunk(chunk.text.upper())

        def output(self, text: str, ctx: Any) -> str:
            return f"{text} in {ctx.state['count']}"

    async with agent(scripted("a b c"), middlewares=[Quiet()]).stream_text("go") as stream:
        pieces = [piece async for piece in stream.text]
        assert await stream.text == "a b c in 3"
    assert pieces == ["A", " C"]


async def test_chunk_middleware_may_end_the_stream() -> None:
    def no(chunk: Any, ctx: Any) -> Any:
        ctx.abort("not this")

    async with agent(scripted("a"), middlewares=[Middleware(chunk=no)]).stream_text("go") as stream:
        with pytest.raises(MiddlewareAborted, match="not this"):
            await stream.text


@pytest.mark.parametrize("given", [3, "text", [], user("text")])
async def test_what_chunk_middleware_gives_is_a_chunk_or_nothing(given: Any) -> None:
    asked = agent(scripted("a"), middlewares=[Middleware(chunk=lambda chunk, ctx: given)])
    async with asked.stream_text("go") as stream:
        with pytest.raises(DeliveryError, match=f"gave {type(given).__name__} for a chunk"):
            await stream.text
        assert stream.text_so_far == ""


@pytest.mark.rule("R086")
@pytest.mark.parametrize("boundary", ["step", "chunk"])
async def test_where_no_other_attempt_can_be_asked_for_the_error_says_so(boundary: str) -> None:
    def again(value: Any, ctx: Any) -> Any:
        ctx.abort("not this", retry=True)

    handlers: Any = {boundary: again}
    asked = agent(scripted("a"), middlewares=[Middleware(**handlers)], max_middleware_retries=3)
    async with asked.stream_text("go") as stream:
        with pytest.raises(MiddlewareAborted, match="which input and output middleware alone can"):
            await stream.text


@pytest.mark.rule("R206")
async def test_what_middleware_keeps_does_not_keep_the_run_of_its_call() -> None:
    seen: list[weakref.ref[Any]] = []

    def keep(text: str, ctx: Any) -> str:
        ctx.state["ctx"] = ctx
        seen.append(weakref.ref(ctx.run))
        return text

    await agent(scripted("a"), middlewares=[Middleware(output=keep)]).generate_text("go")
    gc.collect()
    assert [run() for run in seen] == [None]


async def test_the_first_event_tells_the_id_of_the_answer_through_middleware_too() -> None:
    asked = agent(scripted("ok"), middlewares=[noting([], "a")])
    async with asked.stream_text("go") as stream:
        first = await anext(stream.events)
        assert first.response_id == (await stream.messages)[-1].id


# --- durable -------------------------------------------------------------------------------------


async def test_a_durable_call_with_middleware_goes_on_after_an_interruption() -> None:
    asked_of: list[int] = []

    class Patient:
        async def stream(self, messages: Any, context: Any) -> Any:
            from agentflow.messages import FinishChunk

            asked_of.append(len(messages))
            if len(asked_of) == 1:
                raise ModelError("down")
            yield TextChunk("ok")
            yield FinishChunk()

    def shout(text: str, ctx: Any) -> str:
        return text.upper()

    made = agent(Patient(), middlewares=[Middleware(output=shout)], store="memory:")
    async with made as asked:
        with pytest.raises(ModelError):
            await asked.generate_text("go", run_id="r")
        assert (await asked.generate_text("go", run_id="r2")).text == "OK"
