"""Runs as trees of spans: one root for each call, one span for each visit and each call of a model or a tool."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Agent, ModelError, RunSuspended, tool
from agentflow.agents import Middleware, MiddlewareAborted
from agentflow.mock import MockModel, Rule, call
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import look, scripted

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agentflow.observers.spans import SpanTree


class Traces:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tree = SpanTree(self.provider)

    @property
    def spans(self) -> tuple[Any, ...]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def path(self, span: Any) -> list[str]:
        """The names from the root to a span."""
        ids = {one.context.span_id: one for one in self.spans}
        above = [] if span.parent is None else self.path(ids[span.parent.span_id])
        return [*above, span.name]


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.mark.rule("R022")
async def test_each_call_is_one_tree_with_its_nodes_and_calls_below(traces: Traces) -> None:
    agent = Agent(
        "helper",
        model=scripted(call("look"), "ok", call("look"), "ok"),
        tools=[look],
        observers=[traces.tree],
    )
    await agent.generate_text("go")
    await agent.generate_text("go")
    roots = [span for span in traces.spans if span.parent is None]
    assert [root.name for root in roots] == ["workflow helper", "workflow helper"]
    assert len({span.context.trace_id for span in traces.spans}) == 2
    (first, _) = traces.named("tool look")
    assert traces.path(first) == ["workflow helper", "node tools", "tool look"]
    for asked in traces.named("model mock"):
        assert traces.path(asked) == ["workflow helper", "node model", "model mock"]
    assert {span.attributes["agentflow.status"] for span in traces.spans} == {"completed"}
    assert all(span.end_time >= span.start_time for span in traces.spans)


@pytest.mark.rule("R022")
async def test_a_sub_agent_is_below_the_call_that_has_asked_it(traces: Traces) -> None:
    below = Agent("below", model=scripted("found"))
    agent = Agent(
        "boss",
        model=scripted(call("ask_below", task="look"), "ok"),
        sub_agents=[below],
        observers=[traces.tree],
    )
    await agent.generate_text("go")
    paths = [traces.path(span) for span in traces.named("model mock")]
    assert ["workflow boss", "node tools"] in [path[:2] for path in paths]
    assert len([span for span in traces.spans if span.parent is None]) == 1


@pytest.mark.rule("R083")
@pytest.mark.parametrize("record", ["metadata", "content"])
async def test_each_middleware_has_a_span_with_its_values_where_they_are_wanted(
    traces: Traces, record: Any
) -> None:
    def refused(value: Any, ctx: Any) -> Any:
        ctx.abort("no")

    agent = Agent(
        "helper",
        model=scripted("ok", "ok"),
        middlewares=[
            Middleware(name="shout", output=lambda value, ctx: value.upper()),
            Middleware(name="again", request=lambda request, ctx: request.send()),
        ],
        observers=[SpanTree(traces.provider, record=record)],
    )
    await agent.generate_text("go")
    (shout,) = traces.named("middleware shout")
    (again,) = traces.named("middleware again")
    assert traces.path(shout)[-2:] == ["node review", "middleware shout"]
    assert traces.path(again)[-2:] == ["node model", "middleware again"]
    assert shout.attributes["agentflow.middleware.boundary"] == "output"
    values = [shout.attributes.get(f"agentflow.middleware.{name}") for name in ("before", "after")]
    assert values == (["ok", "OK"] if record == "content" else [None, None])
    with pytest.raises(MiddlewareAborted):
        await agent.generate_text("go", middlewares=[Middleware(name="gate", input=refused)])
    (gate,) = traces.named("middleware gate")
    assert gate.status.status_code is StatusCode.ERROR


def test_there_is_nothing_else_to_record() -> None:
    wrong: Any = "everything"
    with pytest.raises(ValueError, match="everything"):
        SpanTree(record=wrong)


@pytest.mark.case("P140")
async def test_a_step_that_waits_for_a_person_is_one_span_and_no_error(traces: Traces) -> None:
    @tool(needs_approval=True)
    async def refund(order: int) -> str:
        """Give money back."""
        return "given"

    model = scripted(call("refund", order=7), "ok")
    async with Agent(
        "clerk", model=model, tools=[refund], store=MemoryStore(), observers=[traces.tree]
    ) as agent:
        with pytest.raises(RunSuspended) as waits:
            await agent.generate_text("go")
        (step,) = traces.named("node tools")
        assert step.attributes["agentflow.status"] == "waiting"
        await agent.resume(waits.value.run_id, True)
    first = [span for span in traces.named("node tools") if span.attributes["agentflow.visit"] == 1]
    assert [span.attributes["agentflow.status"] for span in first] == ["waiting"]
    assert all(span.status.status_code is not StatusCode.ERROR for span in traces.spans)
    # What the step does when it goes on is below the same span, and one run is one tree.
    (made,) = traces.named("tool refund")
    assert traces.path(made) == ["workflow clerk", "node tools", "tool refund"]
    assert len([span for span in traces.spans if span.parent is None]) == 1


async def test_what_fails_is_an_error_with_its_type(traces: Traces) -> None:
    def fail(request: Any) -> Any:
        raise ValueError("broken")

    agent = Agent("helper", model=MockModel([Rule(reply=fail)]), observers=[traces.tree])
    with pytest.raises(ModelError):
        await agent.generate_text("go")
    for name in ("model mock", "node model", "workflow helper"):
        (span,) = traces.named(name)
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes["error.type"] == "ModelError"
    assert traces.tree._open == traces.tree._waiting == {}


async def test_the_span_of_a_run_is_there_while_it_goes_on_and_is_below_its_callers(
    traces: Traces,
) -> None:
    @tool
    async def mark(ctx: Any) -> str:
        """Say whose run it is."""
        traces.tree.span_of(ctx.run_id).set_attribute("customer", "u1")
        return "marked"

    agent = Agent(
        "helper", model=scripted(call("mark"), "ok"), tools=[mark], observers=[traces.tree]
    )
    with traces.provider.get_tracer("test").start_as_current_span("request"):
        result = await agent.generate_text("go")
    (run,) = traces.named("workflow helper")
    assert run.attributes["customer"] == "u1"
    assert traces.path(run) == ["request", "workflow helper"]
    assert not traces.tree.span_of(result.run_id).is_recording()
