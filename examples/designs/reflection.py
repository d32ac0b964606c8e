"""Reflection: draft, criticise the draft, and draft again with the criticism in hand.

After Shinn et al., "Reflexion" (2023) and Madaan et al., "Self-Refine" (2023).
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from agentflow import define_workflow, field, node, route


class State(TypedDict):
    task: str
    criticism: NotRequired[str | None]
    draft: NotRequired[str]


@node(
    requires=["task"],
    provides=["draft"],
    starts_round=True,
    routes=[route.to("criticise")],
)
async def write(state: State) -> dict[str, str]:
    """Write a draft, with the last criticism in mind if there is one."""
    again = " (mended)" if state.get("criticism") else ""
    return {"draft": f"A text about {state['task']}{again}."}


@node(
    requires=["task", "draft"],
    provides=["criticism"],
    routes=[route.to("write", when=~field("criticism").is_none()), route.deliver("draft")],
)
async def criticise(state: State) -> dict[str, str | None]:
    """Find what is wrong with the draft, or nothing."""
    return {"criticism": None if "mended" in state["draft"] else "too plain"}


@node(requires=["draft"], routes=[route.deliver("draft")])
async def settle(state: State) -> None:
    """Rounds are out: the last draft has to do."""


workflow = define_workflow(
    "reflection",
    nodes=[write, criticise, settle],
    state=State,
    inputs=["task"],
    result=str,
    max_rounds=4,
    on_limit="settle",
)
INPUT = {"task": "lighthouses"}
