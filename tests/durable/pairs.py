"""Pairs of definitions: a random one, and what an author may have made of it later; with nodes that ask, fail, act and hold workflows.

A definition is drawn as plain data, so that a change is a change of data; then it is built. What a node gives follows from its
name and its visit alone, so that the same node does the same under every definition.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field as attribute
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from agentflow import (
    Node,
    NodeContext,
    Route,
    Workflow,
    add,
    append,
    ask,
    field,
    map_each,
    node,
    parallel,
    route,
    subflow,
)
from agentflow.graph.workflow import assemble

__all__ = ["Flow", "answer", "built", "changed", "drawn"]

TYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "int": (int, (0, 7, 12)),
    "int or text": (int | str, (0, "t", 12)),
    "text": (str, ("", "t")),
    "two": (Literal["x", "y"], ("x", "y")),
    "three": (Literal["x", "y", "z"], ("x", "y", "z")),
    "log": (Annotated[list[int], append], ([1], [])),
    "sum": (Annotated[int, add], (1, 2)),
    "texts": (list[str], (["t"], [])),
}
"""What fields may hold, each with values."""

START = {
    "a": "int",
    "b": "text",
    "c": "two",
    "d": "int",
    "log": "log",
    "sum": "sum",
    "many": "texts",
}


@dataclass
class Step:
    """A node as data; `does` says what it is: it acts, fails at times, asks, or holds workflows."""

    id: str
    does: str
    requires: list[str]
    provides: list[str]
    may: list[str]
    ways: list[tuple[str, str, str]]
    """Kind, target or field, and what is asked: the key of a condition, or nothing."""
    starts_round: bool = False
    on_error: str | None = None
    prompt: str = "how many?"


@dataclass
class Flow:
    """A workflow as data."""

    steps: list[Step]
    fields: dict[str, str] = attribute(default_factory=lambda: dict(START))
    inputs: list[str] = attribute(default_factory=lambda: ["a"])
    optional: list[str] = attribute(default_factory=list)
    typed: bool = True
    max_rounds: int = 3
    on_limit: str | None = None
    inner: Flow | None = None

    def every(self) -> list[Flow]:
        return [self, *([self.inner] if self.inner else [])]


CONDITIONS = {
    "a": field("a").exists(),
    "b": field("b").exists() & (field("b") == "t"),
    "c": field("c").exists() & (field("c") == "x"),
    "d": field("d").exists(),
    "log": field("log").exists(),
    "sum": field("sum").exists(),
    "not c": ~field("c").exists() | (field("c") != "y"),
}


def _value(id: str, visit: int, name: str, kind: str) -> Any:
    return copy.copy(random.Random(f"{id} {visit} {name}").choice(TYPES[kind][1]))


def _body(step: Step, fields: dict[str, str]) -> Any:
    async def acting(state: Any, ctx: NodeContext) -> dict[str, Any]:
        told = random.Random(f"{step.id} {ctx.visit}")
        if step.does == "acts":
            await ctx.once("act", lambda: 1)
        if step.does == "suspends":
            await ctx.suspend("more", {"n": 1})
        if step.does == "fails" and told.random() < 0.5:
            raise ValueError("it is one of those days")
        names = [*step.provides, *(name for name in step.may if told.random() < 0.5)]
        return {name: _value(step.id, ctx.visit, name, fields[name]) for name in names}

    return acting


def _route(way: tuple[str, str, str]) -> Route:
    kind, target, asked = way
    when = CONDITIONS[asked] if asked else None
    return getattr(route, kind)(target, when)  # type: ignore[no-any-return]


def items(state: Any) -> list[int]:
    return [0, 1]


def _node(step: Step, flow: Flow) -> Node:
    options: dict[str, Any] = {
        "id": step.id,
        "requires": step.requires,
        "routes": [_route(way) for way in step.ways],
        "starts_round": step.starts_round,
        "on_error": step.on_error,
        "may_provide": step.may,
    }
    inner = flow.inner
    if step.does in ("holds", "fans", "maps") and inner is not None:
        held = built(inner, "inner")
        del options["may_provide"]
        if step.does == "maps":
            made: Node = map_each(
                workflow=held,
                over=items,
                item="a",
                into="many",
                concurrency=2,
                max_items=2,
                **options,
            )
            return made
        if step.does == "holds":
            return subflow(workflow=held, inputs={"a": "a"}, outputs={"b": "b"}, **options)
        branch = subflow("x", held, inputs={"a": "a"}, outputs={"sum": "sum"})
        other = subflow("x", held, inputs={"a": "a"}, outputs={"sum": "sum", "b": "b"})
        return parallel(branches={"one": branch, "two": other}, **options)
    if step.does == "asks":
        return ask(
            prompt=step.prompt,
            answer="d",
            schema=get_args(TYPES[flow.fields["d"]][0])[0]
            if flow.fields["d"] in ("log", "sum")
            else TYPES[flow.fields["d"]][0],
            **options,
        )
    made = node(_body(step, flow.fields), provides=step.provides, **options)
    assert isinstance(made, Node)
    return made


def built(flow: Flow, id: str = "flow", **options: Any) -> Workflow[Any]:
    """The workflow of some data, not checked."""
    hints: Any = {name: NotRequired[TYPES[kind][0]] for name, kind in flow.fields.items()}
    return assemble(
        id,
        [_node(step, flow) for step in flow.steps],
        place=None,
        state=TypedDict("State", hints) if flow.typed else None,  # type: ignore[operator]
        inputs=flow.inputs,
        optional_inputs=flow.optional,
        max_rounds=flow.max_rounds if any(step.starts_round for step in flow.steps) else None,
        on_limit=flow.on_limit,
        **options,
    )


def answer(schema: Any) -> Any:
    """An answer to a question of these definitions."""
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "t", "array": [1]}.get(schema.get("type"), 3)


def drawn(chance: random.Random, *, deep: bool = True) -> Flow:
    """A sound definition."""
    while True:
        flow = _flow(chance, deep=deep)
        if built(flow, "flow" if deep else "inner").report.ok:
            return flow


def _flow(chance: random.Random, *, deep: bool) -> Flow:
    inner = drawn(chance, deep=False) if deep and chance.random() < 0.6 else None
    count = chance.randint(2, 5 if deep else 3)
    does = ["acts", "fails", "asks", "suspends", *(["holds", "fans", "maps"] if inner else [])]
    steps = [_step(chance, f"n{at}", at, count, does) for at in range(count)]
    if not deep:
        # What the nodes around it take from it.
        steps[-1].provides = list(dict.fromkeys([*steps[-1].provides, "b", "sum"]))
        steps[-1].may = []
        steps[-1].does = "acts"
        for step in steps:
            step.ways = [
                way if way[0] == "to" else ("to", f"n{count - 1}", way[2]) for way in step.ways
            ]
        steps[-1].ways = [("deliver", "b", "")]
    backs = {way[1] for at, step in enumerate(steps) for way in step.ways if way[1] <= f"n{at}"}
    for step in steps:
        step.starts_round = step.starts_round or step.id in backs
    flow = Flow(steps, typed=chance.random() < 0.8, inner=inner)
    flow.max_rounds = chance.randint(1, 3)
    if chance.random() < 0.2:
        flow.on_limit = f"n{count - 1}"
    return flow


def _step(chance: random.Random, id: str, at: int, count: int, does: list[str]) -> Step:
    step = Step(
        id=id,
        does=chance.choice(does),
        requires=["a"] if at == 0 else [name for name in START if chance.random() < 0.07],
        provides=[name for name in START if chance.random() < 0.35],
        may=[],
        ways=[],
        starts_round=chance.random() < 0.3,
    )
    step.may = [name for name in START if name not in step.provides and chance.random() < 0.1]
    if step.does == "asks":
        step.provides, step.may = [], []
    if chance.random() < 0.25 and count > 1:
        step.on_error = chance.choice([f"n{to}" for to in range(count) if to != at])
    step.ways = [_way(chance, at, count) for _ in range(chance.randint(0, 2))]
    last = ("to", f"n{at + 1}", "") if at + 1 < count else ("deliver", "a", "")
    step.ways = [way for way in step.ways if way[:2] != last[:2]] + [last]
    return step


def _way(chance: random.Random, at: int, count: int) -> tuple[str, str, str]:
    asked = chance.choice(list(CONDITIONS))
    if at + 1 < count and chance.random() < 0.5:
        return "to", f"n{chance.randint(at + 1, count - 1)}", asked
    if chance.random() < 0.6:
        return "to", f"n{chance.randint(0, at)}", asked
    return "deliver", chance.choice(["a", "a", "b", "d"]), asked


def changed(chance: random.Random, flow: Flow) -> Flow:
    """What an author may have made of a sound definition; sound too."""
    while True:
        made = copy.deepcopy(flow)
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            _change(chance, chance.choice(made.every()))
        if built(made).report.ok and _agree(made):
            return made


def _agree(flow: Flow) -> bool:
    """Whether what a workflow inside is given and gives back is what its own fields hold: else any run of it may fail."""
    inner = flow.inner
    return inner is None or all(
        inner.fields[name] == flow.fields[name] for name in ("a", "b", "sum")
    )


def _change(chance: random.Random, flow: Flow) -> None:  # noqa: C901 - a list of everything that may change
    step = chance.choice(flow.steps)
    field_name = chance.choice(list(START))
    match chance.randint(0, 15):
        case 0:
            flow.steps.append(_step(chance, f"new{chance.randint(0, 9)}", 9, 1, ["acts"]))
            step.ways.insert(len(step.ways) - 1, ("to", flow.steps[-1].id, "a"))
        case 1 if len(flow.steps) > 1:
            flow.steps.remove(step)
            for other in flow.steps:
                other.ways = [way for way in other.ways if way[1] != step.id] or [
                    ("deliver", "a", "")
                ]
                other.on_error = None if other.on_error == step.id else other.on_error
        case 2:
            old, step.id = step.id, f"{step.id}r"
            for other in flow.steps:
                other.ways = [
                    (kind, step.id if target == old else target, asked)
                    for kind, target, asked in other.ways
                ]
                other.on_error = step.id if other.on_error == old else other.on_error
            flow.on_limit = step.id if flow.on_limit == old else flow.on_limit
        case 3:
            chance.shuffle(step.ways)
        case 4:
            kind, target, _ = step.ways.pop()
            step.ways += [(kind, target, chance.choice(list(CONDITIONS))), ("deliver", "a", "")]
        case 5:
            step.ways = [*step.ways[:-1], (*step.ways[-1][:2], ""), ("deliver", field_name, "")][:3]
        case 6:
            step.provides = sorted({*step.provides, field_name})
            step.may = [name for name in step.may if name != field_name]
        case 7:
            step.provides = [name for name in step.provides if name != field_name]
        case 8:
            step.requires = sorted({*step.requires, field_name})
        case 9:
            step.requires = [name for name in step.requires if name != field_name]
        case 10:
            flow.fields[field_name] = chance.choice(list(TYPES))
        case 11:
            flow.max_rounds += chance.choice([-1, 1, 2])
        case 12:
            step.prompt = "how many of them?"
        case 13:
            step.may = [name for name in START if name not in step.provides][:2]
        case 14:
            step.starts_round = not step.starts_round
        case _:
            flow.optional = [field_name] if field_name not in flow.inputs else []
