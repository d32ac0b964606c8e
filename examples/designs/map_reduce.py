"""A map-reduce summariser: summarise the parts one after the other, then the summaries."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from agentflow import append, define_workflow, field, node, route, subflow


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
    left: NotRequired[int]
    part: NotRequired[str]
    summary: NotRequired[str]
    summaries: NotRequired[Annotated[list[str], append]]
    digest: NotRequired[str]


@node(
    requires=["parts"],
    provides=["left", "summaries"],
    routes=[route.to("reduce", when=field("left") <= 0), route.to("pick")],
)
async def split(state: State) -> dict[str, object]:
    """Count the parts."""
    return {"left": len(state["parts"]), "summaries": []}


@node(
    requires=["parts", "left"],
    provides=["part", "left"],
    starts_round=True,
    routes=[route.to("summarise")],
)
async def pick(state: State) -> dict[str, object]:
    """Take the next part."""
    return {"part": state["parts"][-state["left"]], "left": state["left"] - 1}


@node(
    requires=["summary"],
    provides=["summaries"],
    routes=[route.to("pick", when=field("left") > 0), route.to("reduce")],
)
async def collect(state: State) -> dict[str, list[str]]:
    """Put the summary to the others."""
    return {"summaries": [state["summary"]]}


@node(requires=["summaries"], provides=["digest"], routes=[route.deliver("digest")])
async def reduce(state: State) -> dict[str, str]:
    """Summarise the summaries."""
    return {"digest": " / ".join(state["summaries"])}


workflow = define_workflow(
    "map-reduce-summariser",
    nodes=[
        split,
        pick,
        subflow(
            "summarise",
            summarise_part,
            inputs={"text": "part"},
            outputs={"summary": "$result"},
            routes=[route.to("collect")],
        ),
        collect,
        reduce,
    ],
    state=State,
    inputs=["parts"],
    result=str,
    max_rounds=100,
    on_limit="reduce",
)
INPUT = {"parts": ["the first of the parts", "the second part of all", "the third and last one"]}
