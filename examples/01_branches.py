"""An evening out is planned: several things are looked up at the same time, inside of one run, and nothing outlives its node.

`parallel` runs two workflows and merges what they add. `map_each` runs one workflow for each place, two at a time, and keeps the
order of the places; one that fails is collected. `race` asks two services for the way and takes the first answer. What can be
proved of a workflow is proved through them: its worst case, and that no place is asked twice.

    python examples/01_branches.py
    agentflow validate examples/01_branches.py --bounds
    agentflow graph examples/01_branches.py:evening
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import anyio
from anyio.lowlevel import checkpoint

from agentflow import (
    Fact,
    append,
    at_most,
    define_workflow,
    map_each,
    node,
    parallel,
    race,
    route,
    subflow,
)

# What the branches do: workflows like any other, each with a state of its own.


class Remark(TypedDict):
    town: str
    notes: NotRequired[Annotated[list[str], append]]


@node(requires=["town"], routes=[route.to("forecast")])
async def measure(state: Remark) -> None:
    """Ask the stations, one after the other; the other branch does not wait for that."""
    for _station in range(3):
        await checkpoint()


@node(requires=["town"], provides=["notes"], routes=[route.deliver("notes")])
async def forecast(state: Remark) -> dict[str, list[str]]:
    """Say what the weather will be."""
    return {"notes": [f"a dry and warm evening in {state['town']}"]}


@node(requires=["town"], provides=["notes"], routes=[route.deliver("notes")])
async def calendar(state: Remark) -> dict[str, list[str]]:
    """See what else there is."""
    return {"notes": ["a concert in the park", "a market that is open late"]}


weather = define_workflow("weather", nodes=[measure, forecast], state=Remark, inputs=["town"])
events = define_workflow("events", nodes=[calendar], state=Remark, inputs=["town"])


class Place(TypedDict):
    place: str
    price: NotRequired[int]


@node(requires=["place"], provides=["price"], routes=[route.deliver("price")])
async def ask(state: Place) -> dict[str, int]:
    """Ask a place for its price."""
    if state["place"].startswith("The Old"):
        raise ConnectionError("nobody answers")
    return {"price": 10 + len(state["place"])}


price_of = define_workflow("price", nodes=[ask], state=Place, inputs=["place"], result=int)


class Way(TypedDict):
    town: str
    way: NotRequired[str]


@node(requires=["town"], provides=["way"], routes=[route.deliver("way")])
async def by_train(state: Way) -> dict[str, str]:
    """A service that answers."""
    return {"way": f"the 18:04 to {state['town']}"}


@node(requires=["town"], provides=["way"], routes=[route.deliver("way")])
async def by_bus(state: Way) -> dict[str, str]:
    """A service that has a bad day; it is cancelled when the other has won."""
    await anyio.sleep_forever()
    raise AssertionError("it is cancelled before")


train = define_workflow("train", nodes=[by_train], state=Way, inputs=["town"], result=str)
bus = define_workflow("bus", nodes=[by_bus], state=Way, inputs=["town"], result=str)


# The workflow around them.


class Evening(TypedDict):
    town: str
    places: list[str]
    notes: NotRequired[Annotated[list[str], append]]
    prices: NotRequired[list[int]]
    silent: NotRequired[list[dict[str, Any]]]
    way: NotRequired[str]
    by: NotRequired[Literal["train", "bus"]]


adds_notes: dict[str, Any] = {"inputs": {"town": "town"}, "outputs": {"notes": "notes"}}
look_around = parallel(
    "look_around",
    {
        # Both give `notes`: allowed, because its reducer says how they are joined.
        "weather": subflow("weather", weather, **adds_notes),
        "events": subflow("events", events, **adds_notes),
    },
    routes=[route.to("prices")],
)
prices = map_each(
    "prices",
    price_of,
    over="places",
    item="place",
    into="prices",
    concurrency=2,
    max_items=10,
    on_branch_error="collect",
    errors="silent",
    routes=[route.to("way")],
)
find_way = race(
    "way", {"train": train, "bus": bus}, into="way", winner="by", routes=[route.to("plan")]
)


def told(state: Any) -> str:
    """The plan, put together."""
    lines = [f"Take {state['way']} (by {state['by']})."]
    lines += [f"There is {note}." for note in state["notes"]]
    missing = {failure["branch"]: failure["message"] for failure in state["silent"]}
    known = iter(state["prices"])
    for at, place in enumerate(state["places"]):
        said = missing[at] if at in missing else f"{next(known)} a head"
        lines.append(f"{place}: {said}")
    return "\n".join(lines)


@node(
    requires=["notes", "prices", "silent", "way", "by"],
    routes=[route.finish(told, reads=["notes", "prices", "silent", "way", "by", "places"])],
)
async def plan(state: Evening) -> None:
    """Put it together."""


evening = define_workflow(
    "evening",
    nodes=[look_around, prices, find_way, plan],
    state=Evening,
    inputs=["town", "places"],
    result=str,
    policies=[at_most("prices/ask", 10), at_most("way", 1)],
    description="Plan an evening out.",
)


def show(fact: Fact) -> None:
    """One line whenever a branch is through; which of them it is depends on who is quicker."""
    if fact.kind == "node.progress":
        print(f"  {fact.node_id}: {fact.data['done']} of {fact.data['of']}")


async def main() -> None:
    """Plan an evening, and show what is known of all evenings."""
    print("The worst case, before anything runs:")
    for line in evening.bounds().as_text().splitlines():
        print(f"  {line}")
    print("\nThe run:")
    given = {"town": "Millbrook", "places": ["Rosa's", "The Old Mill", "Dock 9"]}
    text = await evening.run(given, observers=[show])
    print(f"\nThe plan:\n{text}")
    print(f"\nThe picture, as Mermaid:\n{evening.to_mermaid()}", end="")


if __name__ == "__main__":
    anyio.run(main)
