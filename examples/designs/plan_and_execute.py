"""Plan and execute: make a plan, carry out its steps one by one, replan when a step says so.

After Wang et al., "Plan-and-Solve Prompting" (2023).
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from agentflow import append, define_workflow, field, must_pass, node, route


class State(TypedDict):
    goal: str
    plan: NotRequired[list[str]]
    done: NotRequired[Annotated[list[str], append]]
    replan: NotRequired[bool]
    left: NotRequired[int]


@node(requires=["goal"], provides=["plan", "left"], routes=[route.to("execute")])
async def make_plan(state: State) -> dict[str, object]:
    """Cut the goal into steps."""
    steps = [f"{state['goal']}: step {number}" for number in (1, 2, 3)]
    return {"plan": steps, "left": len(steps)}


@node(
    requires=["plan", "left"],
    provides=["done", "replan", "left"],
    starts_round=True,
    routes=[
        route.to("make_plan", when=field("replan") == True),  # noqa: E712 - a condition as data
        route.to("execute", when=field("left") > 0),
        route.to("report"),
    ],
)
async def execute(state: State) -> dict[str, object]:
    """Carry out the next step of the plan."""
    step = state["plan"][-state["left"]]
    return {"done": [f"did {step}"], "replan": False, "left": state["left"] - 1}


@node(
    requires=["done"], routes=[route.finish(lambda state: "; ".join(state["done"]), reads=["done"])]
)
async def report(state: State) -> None:
    """Tell what was done."""


workflow = define_workflow(
    "plan-and-execute",
    nodes=[make_plan, execute, report],
    state=State,
    inputs=["goal"],
    result=str,
    max_rounds=20,
    policies=[must_pass("make_plan", before="execute")],
)
INPUT = {"goal": "tidy up"}
