"""A run with something of everything that progress can show, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from agentflow import Budget, Engine, Fact, Retry, define_workflow, node, route, subflow
from agentflow.mock import MockModel, Rule
from agentflow.testing import FixedClock


class State(TypedDict):
    logs: NotRequired[str]
    found: NotRequired[int]
    cause: NotRequired[str]
    report: NotRequired[str]


class Inner(TypedDict):
    cause: NotRequired[str]


async def run(*observers: Callable[[Fact], Any] | Any, clock: FixedClock, rounds: int = 2) -> Any:
    """Read logs (its first attempt fails), look for a cause `rounds` times, fail to post, and report."""

    @node(provides=["logs"], retry=Retry(2, backoff=0.5), routes=[route.to("search")])
    async def read_logs(state: Any, ctx: Any) -> Any:
        clock.advance(0.25)
        if ctx.attempt == 1:
            raise OSError("the disk is busy")
        return {"logs": "…"}

    @node(
        requires=["logs"],
        provides=["found"],
        starts_round=True,
        routes=[route.to("judge", when=lambda state: state["found"] >= rounds), route.to("search")],
    )
    async def search(state: Any, ctx: Any) -> Any:
        clock.advance(1)
        await ctx.model.invoke(input="look")
        return {"found": state.get("found", 0) + 1}

    @node(provides=["cause"], routes=[route.deliver("cause")])
    async def decide(state: Any) -> Any:
        clock.advance(2)
        return {"cause": "a deploy"}

    judge = subflow(
        "judge",
        define_workflow("judgement", nodes=[decide], state=Inner),
        outputs={"cause": "$result"},
        routes=[route.to("post")],
    )

    @node(requires=["cause"], on_error="report", routes=[route.to("report")])
    async def post(state: Any) -> Any:
        raise ConnectionError("nobody is there\nreally")

    @node(provides=["report"], routes=[route.deliver("report")])
    async def report(state: Any) -> Any:
        return {"report": "it was a deploy"}

    workflow = define_workflow(
        "incident", nodes=[read_logs, search, judge, post, report], state=State, inputs=[], max_rounds=9_999
    )  # fmt: skip
    engine = Engine(
        workflow,
        model=MockModel(rules=[Rule(reply="nothing")]),
        observers=observers,
        clock=clock,
        budget=Budget(model_calls=10_000),
    )
    async with engine:
        return await engine.run(run_id="r-1")
