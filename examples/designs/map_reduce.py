"""A map-reduce summariser: summarise the parts, some at the same time, then the summaries.

After Dean and Ghemawat, "MapReduce: Simplified Data Processing on Large Clusters" (2004).
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from agentflow import define_workflow, map_each, node, route


class Part(TypedDict):
    text: str
    summary: NotRequired[str]


@node(requires=["text"], provides=["summary"], routes=[route.deliver("summary")])
async def shorten(state: Part) -> dict[str, str]:
    """Keep the first words."""
    return {"summary": " ".join(state["text"].split()[:3])}


summarise_part = define_workflow(
    "summarise-part", nodes=[shorten], state=Part, inputs=["text"], result=str
)


class State(TypedDict):
    parts: list[str]
    summaries: NotRequired[list[str]]
    digest: NotRequired[str]


summarise = map_each(
    "summarise",
    summarise_part,
    over="parts",
    item="text",
    into="summaries",
    concurrency=4,
    max_items=100,
    routes=[route.to("reduce")],
)


@node(requires=["summaries"], provides=["digest"], routes=[route.deliver("digest")])
async def reduce(state: State) -> dict[str, str]:
    """Summarise the summaries; they stand in the order of the parts."""
    return {"digest": " / ".join(state["summaries"])}


workflow = define_workflow(
    "map-reduce-summariser",
    nodes=[summarise, reduce],
    state=State,
    inputs=["parts"],
    result=str,
)
INPUT = {"parts": ["the first of the parts", "the second part of all", "the third and last one"]}
