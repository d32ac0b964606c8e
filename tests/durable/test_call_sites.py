"""One workflow in several places: each call of it has a name, a state and effects of its own, and nothing adds up."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Engine, Workflow, node, route, subflow
from tests.run.workflows import END, unchecked


def counting(done: list[str]) -> Workflow[Any]:
    """Counts what its state holds already, after an effect."""

    async def count(state: Any, ctx: Any) -> Any:
        await ctx.once("act", lambda: done.append(ctx.effect_key("act")))
        return {"seen": [*state.get("seen", ()), ctx.run_id.partition("/")[2]]}

    return unchecked(
        "counting",
        nodes=[node(count, id="count", provides=["seen"], routes=[route.deliver("seen")])],
    )


@pytest.mark.case("P032")
async def test_every_call_site_and_every_visit_of_it_stands_alone() -> None:
    done: list[str] = []
    inner = counting(done)

    async def again(state: Any) -> Any:
        return {"n": state["n"] + 1}

    ways = [route.to("a", lambda state: state["n"] < 2), END]
    workflow = unchecked(
        "outer",
        nodes=[
            subflow(
                "a", inner, outputs={"x": "$result"}, starts_round=True, routes=[route.to("b")]
            ),
            subflow("b", inner, outputs={"y": "$result"}, routes=[route.to("again")]),
            node(again, id="again", provides=["n"], routes=ways),
        ],
        inputs=["n"],
        max_rounds=2,
    )
    async with Engine(workflow, store="memory:") as engine:
        assert await engine.run({"n": 0}, run_id="r") == {"n": 2, "x": ["a#2"], "y": ["b#2"]}
        # Another run of the same engine begins from nothing, too.
        assert (await engine.run({"n": 1}, run_id="s"))["x"] == ["a#1"]
    assert done == [
        *(f"r/{call}/count#1/act" for call in ("a#1", "b#1", "a#2", "b#2")),
        *(f"s/{call}/count#1/act" for call in ("a#1", "b#1")),
    ]
