"""A supervisor with workers: it hands out pieces of work, several at the same time, until it is content.

A worker that fails stops nobody; the supervisor is told.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from agentflow import append, define_workflow, field, map_each, node, route


class Work(TypedDict):
    task: str
    product: NotRequired[str]


@node(requires=["task"], provides=["product"], routes=[route.deliver("product")])
async def work(state: Work) -> dict[str, str]:
    """Do the work."""
    if state["task"].startswith("pictures"):
        raise LookupError("nobody draws today")
    return {"product": f"{state['task']} is done"}


worker = define_workflow("worker", nodes=[work], state=Work, inputs=["task"], result=str)


class State(TypedDict):
    request: str
    tasks: NotRequired[list[str]]
    results: NotRequired[Annotated[list[str], append]]
    failures: NotRequired[list[dict[str, Any]]]


@node(requires=["request"], provides=["results", "failures"], routes=[route.to("supervise")])
async def begin(state: State) -> dict[str, Any]:
    """Nothing is done yet, and nothing has failed."""
    return {"results": [], "failures": []}


def report(state: Any) -> str:
    """What has been done."""
    return "; ".join(state["results"])


@node(
    requires=["request", "results", "failures"],
    provides=["tasks"],
    starts_round=True,
    routes=[
        route.finish(report, when=field("tasks") == [], reads=["results"]),
        route.to("hand_out"),
    ],
)
async def supervise(state: State) -> dict[str, list[str]]:
    """Decide what is to be done next; nothing when all is there."""
    if state["failures"]:
        reasons = [failure["message"] for failure in state["failures"]]
        return {"tasks": [f"a text instead, because {reason}" for reason in reasons]}
    if state["results"]:
        return {"tasks": []}
    wanted = ("research", "pictures", "an outline")
    return {"tasks": [f"{what} for {state['request']}" for what in wanted]}


hand_out = map_each(
    "hand_out",
    worker,
    over="tasks",
    item="task",
    into="results",
    concurrency=3,
    max_items=3,
    on_branch_error="collect",
    errors="failures",
    routes=[route.to("supervise")],
)

workflow = define_workflow(
    "supervisor",
    nodes=[begin, supervise, hand_out],
    state=State,
    inputs=["request"],
    result=str,
    max_rounds=4,
)
INPUT = {"request": "a report"}
