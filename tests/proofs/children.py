"""Sub-workflows for the random graphs: small, sound, and of many kinds. Some have nodes that are called as those above."""

from __future__ import annotations

from typing import Any, TypedDict

from agentflow import (
    Node,
    Retry,
    Uses,
    Workflow,
    define_workflow,
    map_each,
    node,
    parallel,
    race,
    route,
    subflow,
)
from agentflow.graph.condition import field

__all__ = ["CHILDREN", "INNER_NAMES", "NESTED", "SMALL"]


class _Switched(TypedDict, total=False):
    flag: bool
    out: str


async def _work(state: Any, ctx: Any) -> dict[str, Any]:
    raise AssertionError("sub-workflows of the proofs are not run")


def _says_so(state: Any) -> bool:
    raise AssertionError("sub-workflows of the proofs are not run")


_END = route.deliver("out")


def _node(id: str, *routes: Any, **options: Any) -> Node:
    settings: dict[str, Any] = {"provides": ["out"], "uses": Uses(model_calls=1), "routes": routes}
    return node(_work, id=id, **(settings | options))


_GIVEN: dict[str, Any] = {"inputs": [], "optional_inputs": ["x"]}
_one = define_workflow("one", nodes=[_node("p", _END)], **_GIVEN)
_line = define_workflow(
    "line",
    **_GIVEN,
    nodes=[_node("p", route.to("a"), provides=[]), _node("a", _END, uses=Uses(tool_calls=2))],
)
_loop = define_workflow(
    "loop",
    nodes=[
        _node("q", route.to("q", _says_so), route.to("p", _says_so), _END, starts_round=True),
        _node("p", route.to("q")),
    ],
    max_rounds=2,
)
_handled = define_workflow(
    "handled",
    **_GIVEN,
    nodes=[_node("q", route.to("p"), on_error="r"), _node("p", _END), _node("r", _END)],
)
_switched = define_workflow(
    "switched",
    state=_Switched,
    nodes=[
        _node("p", route.to("q", field("flag") == True), _END, provides=["flag", "out"]),  # noqa: E712
        _node("q", route.to("b")),
        _node("b", _END),
    ],
)
_nested = define_workflow(
    "nested",
    nodes=[
        subflow("r", _handled, outputs={"out": "$result"}, routes=[route.to("s")], retry=Retry(2)),
        _node("s", _END),
    ],
)

_stuck = define_workflow(
    "stuck",
    **_GIVEN,
    # The longest way runs out of rounds, so no run ends with it.
    nodes=[
        _node("q", route.to("p", _says_so), _END, starts_round=True),
        _node("p", route.to("q"), provides=[]),
    ],
    max_rounds=2,
)
_fanned = define_workflow(
    "fanned",
    **_GIVEN,
    nodes=[parallel("r", {"x": _one, "y": _stuck}, routes=[route.to("s")]), _node("s", _END)],
    waive={"AF210": "nobody reads"},
)
_raced = define_workflow(
    "raced",
    **_GIVEN,
    nodes=[race("r", {"x": _handled, "y": _one}, into="out", routes=[_END])],
)


def _items(state: Any) -> list[str]:
    raise AssertionError("sub-workflows of the proofs are not run")


_mapped = define_workflow(
    "mapped",
    inputs=[],
    nodes=[
        map_each(
            "r",
            _line,
            over=_items,
            item="x",
            into="out",
            max_items=2,
            concurrency=1,
            on_branch_error="collect",
            errors="failed",
            routes=[_END],
        )
    ],
    waive={"AF210": "nobody reads"},
)

CHILDREN: tuple[Workflow[Any], ...] = (
    *(_one, _line, _loop, _handled, _switched, _nested),
    *(_stuck, _fanned, _raced, _mapped),
)
SMALL: tuple[Workflow[Any], ...] = (_one, _line, _handled, _stuck)
"""Those of which several can be gone through in every order; each takes an item as `x`."""
NESTED: tuple[Workflow[Any], ...] = (*SMALL, _raced, _mapped)
"""Those of which one can be gone through in every order beside one that is small."""
INNER_NAMES = ("p", "q", "r", "s", "a/p", "b/q", "b/r/p", "c/p", "a[x]/p", "b[y]/q", "a/r")
"""Names that nodes inside may be called by."""
