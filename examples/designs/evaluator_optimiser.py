"""Evaluator and optimiser: one proposes, the other scores, until the score is good enough or rounds are out."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow import define_workflow, ends_within, field, node, route


@dataclass
class State:
    brief: str
    proposal: str = ""
    score: int = 0


@node(requires=["brief"], provides=["proposal"], starts_round=True, routes=[route.to("evaluate")])
async def optimise(state: State) -> dict[str, str]:
    """Propose something better than before."""
    return {"proposal": f"{state.proposal}{state.brief[0]}"}


@node(
    requires=["brief", "proposal"],
    provides=["score"],
    routes=[
        route.to("optimise", when=field("score") < 3),
        route.deliver("proposal", when=field("score") >= 3),
    ],
)
async def evaluate(state: State) -> dict[str, int]:
    """Score the proposal. The two routes cover every number, so no fallback is needed."""
    return {"score": len(state.proposal)}


@node(requires=["proposal"], routes=[route.deliver("proposal")])
async def settle(state: State) -> None:
    """Take the best there is."""


workflow = define_workflow(
    "evaluator-optimiser",
    nodes=[optimise, evaluate, settle],
    state=State,
    result=str,
    max_rounds=5,
    on_limit="settle",
    policies=[ends_within(rounds=5)],
)
INPUT = {"brief": "name"}
