"""Random workflows: their descriptions, and the real workflows that are made of them."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from typing import Any, TypedDict

import anyio
from hypothesis import strategies as st

from agentflow import Node, Retry, Uses, Workflow, field, node, route, subflow
from tests.run.reference import Act, Description, Place, Step, Way
from tests.run.spending import spend
from tests.run.workflows import unchecked


class Numbers(TypedDict, total=False):
    a: int
    b: int
    c: int


FIELDS = ("a", "b", "c")
NUMBER = st.integers(0, 4)
COMPARE: dict[str, Any] = {"<": operator.lt, ">=": operator.ge, "==": operator.eq}


class Trouble(Exception):
    """What a body raises when its act is to fail."""


KINDS = st.sampled_from(["update"] * 10 + ["fail"] * 4 + ["bail", "cancel", "bad"])
MESSAGE = st.sampled_from(["first", "second"])
BAD = st.sampled_from([{"z": 1}, "no mapping", 5, {"a": "no number"}, {}])
TEST = st.tuples(st.sampled_from(FIELDS), st.sampled_from(list(COMPARE)), NUMBER)
FIELD = st.sampled_from(FIELDS)
SOME_FIELDS = st.lists(FIELD, unique=True, max_size=2)
REQUIRED: st.SearchStrategy[tuple[str, ...]] = st.sampled_from([()] * 6 + [("a",), ("c",)])
ATTEMPTS = st.sampled_from([1, 1, 2, 3])
USES = st.sampled_from([*[None] * 8, 0, 1, 2, 4])
FLAVOUR = st.sampled_from([*["async", "waiting"] * 4, "plain", "timed"])
OFTEN, SELDOM = st.sampled_from([True] * 9 + [False]), st.sampled_from([False, False, True])


# Made once for its arguments: hypothesis looks at each strategy anew, which takes longer than the runs.
@functools.cache
def acts(declared: tuple[str, ...], provided: tuple[str, ...]) -> st.SearchStrategy[list[Act]]:
    """Mostly good updates, now and then trouble."""
    must: dict[str, Any] = dict.fromkeys(provided, NUMBER)
    may: dict[str, Any] = {name: NUMBER for name in declared if name not in provided}
    update: st.SearchStrategy[Any] = st.fixed_dictionaries(must, optional=may)

    @st.composite
    def act(draw: st.DrawFn) -> Act:
        kind = draw(KINDS)
        return kind, draw({"fail": MESSAGE, "bad": BAD}.get(kind, update))  # type: ignore[return-value]

    return st.lists(act(), min_size=1, max_size=4)


@functools.cache
def ways(ids: tuple[str, ...], own: int) -> st.SearchStrategy[tuple[Way, ...]]:
    """Conditional routes, and mostly an unconditional one to a later node or the end."""
    anywhere, onwards = st.sampled_from([None, *ids]), st.sampled_from(ids[own + 1 :] or [None])

    @st.composite
    def some(draw: st.DrawFn) -> tuple[Way, ...]:
        targets = [(draw(anywhere), draw(TEST)) for _ in range(draw(st.sampled_from([0, 1, 2, 2])))]
        found = [Way(to, None if to else draw(FIELD), test) for to, test in targets]
        if draw(OFTEN):
            to = draw(onwards)
            found.append(Way(to, None if to else draw(FIELD)))
        return tuple(found)

    return some()


@functools.cache
def descriptions(depth: int = 2) -> st.SearchStrategy[Description]:
    """A workflow of one to four nodes, up to `depth` levels of sub-workflows below it."""

    @st.composite
    def step(draw: st.DrawFn, ids: tuple[str, ...], own: int) -> Step:
        below = draw(descriptions(depth - 1)) if depth and draw(SELDOM) else None
        provides = () if below else tuple(draw(SOME_FIELDS))
        may_provide = () if below else tuple(set(draw(SOME_FIELDS)).difference(provides))
        return Step(
            id=ids[own],
            acts=tuple(draw(acts((*provides, *may_provide), provides))),
            ways=draw(ways(ids, own)),
            requires=draw(REQUIRED),
            provides=provides,
            may_provide=may_provide,
            starts_round=draw(st.booleans()),
            on_error=draw(st.sampled_from([None, *ids])),
            attempts=draw(ATTEMPTS),
            uses=draw(USES),
            below=below,
            flavour=draw(FLAVOUR),
        )

    def whole(ids: tuple[str, ...]) -> st.SearchStrategy[Description]:
        handler = st.sampled_from([None, *ids])
        steps = st.tuples(*(step(ids, own) for own in range(len(ids))))
        return st.builds(Description, steps, st.integers(1, 4), on_error=handler, on_limit=handler)

    ids = ("n1", "n2", "n3", "n4")
    return st.one_of(*(whole(ids[:count]) for count in (1, 2, 3, 3, 4, 4, 4)))


def workflow_of(described: Description, places: list[Place]) -> Workflow[Any]:
    """The workflow of a description; its bodies write down where they are called."""
    nodes: list[Node] = [_node(step, places) for step in described.steps]
    return unchecked(
        "described",
        nodes=nodes,
        state=Numbers,
        inputs=[],
        optional_inputs=FIELDS,
        max_rounds=described.max_rounds,
        on_error=described.on_error,
        on_limit=described.on_limit,
    )


def _node(step: Step, places: list[Place]) -> Any:
    options: dict[str, Any] = {
        "requires": step.requires,
        "routes": [_route(way, plain=index % 2 == 1) for index, way in enumerate(step.ways)],
        "starts_round": step.starts_round,
        "on_error": step.on_error,
        "uses": None if step.uses is None else Uses(tool_calls=step.uses),
        "retry": Retry(step.attempts, on=Trouble) if step.attempts > 1 else None,
        "timeout": 600 if step.flavour == "timed" else None,
    }
    if step.below is None:
        options |= {"provides": step.provides, "may_provide": step.may_provide}
        return node(_body(step, places), id=step.id, **options)
    options |= {"inputs": {name: name for name in FIELDS}, "outputs": {"c": "$result"}}
    return subflow(step.id, workflow_of(step.below, places), **options)


def _route(way: Way, *, plain: bool) -> Any:
    when: Any = None
    if way.test is not None:
        name, comparison, number = way.test
        compare = COMPARE[comparison]
        when = compare(field(name), number)
        if plain:
            when = lambda state: name in state and compare(state[name], number)  # noqa: E731
    if way.target is not None:
        return route.to(way.target, when)
    assert way.delivers is not None
    return route.deliver(way.delivers, when)


def _body(step: Step, places: list[Place]) -> Any:
    calls: Counter[str] = Counter()

    def perform(ctx: Any) -> Any:
        places.append((ctx.run_id, step.id, ctx.visit, ctx.round, ctx.attempt))
        if step.flavour != "plain":
            spend(ctx, "tool_calls")
        act, detail = step.acts[calls[ctx.run_id] % len(step.acts)]
        calls[ctx.run_id] += 1
        if act == "fail":
            raise Trouble(detail)
        if act == "bail":
            ctx.bail(detail)
        if act == "cancel":
            ctx.run.cancel("an act")
        return detail

    async def body(state: Any, ctx: Any) -> Any:
        return perform(ctx)

    async def waiting(state: Any, ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return perform(ctx)

    def plain(state: Any, ctx: Any) -> Any:
        return perform(ctx)

    return {"plain": plain, "waiting": waiting}.get(step.flavour, body)
