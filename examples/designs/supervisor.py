"""A supervisor with workers: it hands each piece of work to the worker who can do it, until it is content."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from agentflow import Node, append, define_workflow, node, route, subflow


class Work(TypedDict):
    task: str
    product: NotRequired[str]


@node(requires=["task"], provides=["product"], routes=[route.deliver("product")])
async def work(state: Work) -> dict[str, str]:
    """Do the work."""
    return {"product": f"{state['task']} is done"}


worker = define_workflow("worker", nodes=[work], state=Work, inputs=["task"], result=str)


class State(TypedDict):
    request: str
    next_worker: NotRequired[Literal["research", "writing", "nobody"]]
    task: NotRequired[str]
    results: NotRequired[Annotated[list[str], append]]
    product: NotRequired[str]


@node(
    requires=["request", "results"],
    provides=["next_worker", "task"],
    starts_round=True,
    routes=[
        route.to_if_equal("research", "next_worker", "research"),
        route.to_if_equal("writing", "next_worker", "writing"),
        route.finish(lambda state: "; ".join(state["results"]), reads=["results"]),
    ],
)
async def supervise(state: State) -> dict[str, str]:
    """Decide who works next, and on what."""
    turn = ("research", "writing", "nobody")[len(state["results"])]
    return {"next_worker": turn, "task": f"{turn} for {state['request']}"}


def hire(id: str) -> Node:
    """A worker in a node of its own, whose product comes back as `product`."""
    return subflow(
        id,
        worker,
        inputs={"task": "task"},
        outputs={"product": "$result"},
        routes=[route.to("take_in")],
    )


@node(requires=["product"], provides=["results"], routes=[route.to("supervise")])
async def take_in(state: State) -> dict[str, list[str]]:
    """Put a worker's product to the results."""
    return {"results": [state["product"]]}


@node(requires=["request"], provides=["results"], routes=[route.to("supervise")])
async def begin(state: State) -> dict[str, list[str]]:
    """Nothing is done yet."""
    return {"results": []}


workflow = define_workflow(
    "supervisor",
    nodes=[begin, supervise, hire("research"), hire("writing"), take_in],
    state=State,
    inputs=["request"],
    result=str,
    max_rounds=6,
)
INPUT = {"request": "a report"}
