"""Specimens of nodes that hold workflows, each with the codes that a person says its report must have."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from agentflow import (
    Node,
    Policy,
    Workflow,
    append,
    at_most,
    map_each,
    must_pass,
    never_after,
    parallel,
    race,
    route,
    subflow,
)
from tests.proofs.specimens import ROUND, Specimen, flow, says_so, step

__all__ = ["SPECIMENS"]


class State(TypedDict, total=False):
    number: int
    text: str
    items: list[int]
    lists: list[list[int]]
    maybe: list[int] | None
    texts: list[str]
    failures: list[Any]
    log: Annotated[list[int], append]


def around(*nodes: Node, **options: Any) -> Workflow[Any]:
    return flow(*nodes, **({"state": State} | options))


def turning() -> Workflow[Any]:
    """Its longest way, of four visits, runs out of rounds; the longest that ends makes three."""
    return around(
        step("p", route.to("q", says_so), route.deliver("number"), **ROUND),
        step("q", route.to("p")),
        inputs=["number"],
        max_rounds=2,
    )


def given(**outputs: str) -> Node:
    return subflow("s", turning(), inputs={"number": "number"}, outputs=outputs)


def fan(*policies: Policy, **options: Any) -> Workflow[Any]:
    both = parallel("fan", {"a": given(), "b": given()}, routes=[route.to("last")], **options)
    last = step("last", requires=[options["errors"]] if options else [])
    return around(both, last, inputs=["number"], policies=policies)


def first(*policies: Policy) -> Workflow[Any]:
    both = race("first", {"a": given(), "b": given()}, routes=[route.to("last")])
    return around(both, step("last"), inputs=["number"], policies=policies)


def each(*policies: Policy, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"into": "items", "max_items": 3, "concurrency": 2}
    settings |= {"over": list, "item": "number", "routes": [route.to("last")], **options}
    last = step("last", requires=["items", *([options["errors"]] if "errors" in options else [])])
    return around(map_each("each", turning(), **settings), last, policies=policies)


def gone_through(over: Any, kind: str = "items") -> Workflow[Any]:
    settings: dict[str, Any] = {"over": over, "item": "number", "into": kind, "max_items": 1}
    made = map_each("each", turning(), routes=[route.deliver(kind)], **settings)
    return around(made, inputs=[over] if isinstance(over, str) else [])


def two_arguments(state: Any, ctx: Any) -> list[int]:
    """Gives items to nobody."""
    return []


def keeping(*policies: Policy) -> Workflow[Any]:
    """A workflow that is given the log, and gives back all of it."""
    inner = around(step("p", route.deliver("items"), provides=["items"]), optional_inputs=["items"])
    mapped = {"inputs": {"items": "log"}, "outputs": {"log": "items"}}
    held = subflow("s", inner, routes=[route.deliver("log")], **mapped)
    return around(held, inputs=["log"], policies=policies)


_COLLECT: dict[str, Any] = {"on_branch_error": "collect", "errors": "failures"}

SPECIMENS: dict[str, Specimen] = {
    # What is declared.
    "two writers": Specimen(
        lambda: around(
            parallel(
                "fan",
                {"a": given(number="$result"), "b": given(number="$result")},
                routes=[route.deliver("number")],
            ),
            inputs=["number"],
        ),
        ("AF128",),
    ),
    "added again": Specimen(keeping, ("AF214",)),
    "failures as texts": Specimen(
        lambda: fan(on_branch_error="collect", errors="texts"), ("AF605",)
    ),
    "items for nobody": Specimen(lambda: gone_through(two_arguments), ("AF117",)),
    "items of a text": Specimen(lambda: gone_through("text"), ("AF606",)),
    "items of another type": Specimen(lambda: gone_through("lists"), ("AF605",)),
    "items that may be None": Specimen(lambda: gone_through("maybe"), ("AF606",)),
    # How far it goes, and what holds of it.
    "all at once": Specimen(lambda: fan(at_most("fan[a]/q", 2), at_most("q", 4)), ()),
    "all at once, one less": Specimen(lambda: fan(at_most("q", 3)), ("AF503",)),
    "all at once, one is cancelled": Specimen(
        lambda: fan(never_after("fan[a]/p", "fan[b]/q")), ("AF502",)
    ),
    "all ended well": Specimen(lambda: fan(must_pass("p", before="last")), ()),
    "all ended or failed": Specimen(
        lambda: fan(must_pass("p", before="last"), **_COLLECT), ("AF501",)
    ),
    "the first to end": Specimen(lambda: first(at_most("q", 4), must_pass("p", before="last")), ()),
    "the first to end, one less": Specimen(lambda: first(at_most("q", 3)), ("AF503",)),
    "two items at a time": Specimen(lambda: each(at_most("q", 5)), ()),
    "two items at a time, one less": Specimen(lambda: each(at_most("q", 4)), ("AF503",)),
    "one item at a time": Specimen(lambda: each(at_most("q", 4), concurrency=1), ()),
    "one item at a time, one less": Specimen(
        lambda: each(at_most("q", 3), concurrency=1), ("AF503",)
    ),
    "items that may fail": Specimen(
        lambda: each(at_most("q", 5), concurrency=1, **_COLLECT), ("AF503",)
    ),
    "perhaps no item": Specimen(lambda: each(must_pass("p", before="last")), ("AF501",)),
}
"""By a name that says what is wrong, or right."""
