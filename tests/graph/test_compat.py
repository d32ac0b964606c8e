"""Compatibility of definitions: what lets a stored run go on under another definition, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from agentflow import (
    Retry,
    Uses,
    Workflow,
    add,
    append,
    ask,
    define_workflow,
    field,
    node,
    parallel,
    route,
    subflow,
)
from agentflow.graph.compat import Comparison, compared
from agentflow.graph.migration import Migration


class State(TypedDict):
    n: int
    kind: NotRequired[Literal["small", "large"]]
    log: NotRequired[Annotated[list[str], append]]
    out: NotRequired[str]


class Wider(TypedDict):
    n: int | str
    kind: NotRequired[Literal["small", "large", "huge"]]
    log: NotRequired[Annotated[list[str], append]]
    out: NotRequired[str]
    more: NotRequired[int]


class Narrower(TypedDict):
    n: int
    kind: NotRequired[Literal["small"]]
    log: NotRequired[Annotated[list[str], append]]
    out: NotRequired[str]


class Joined(TypedDict):
    n: int
    kind: NotRequired[Literal["small", "large"]]
    log: NotRequired[list[str]]
    out: NotRequired[str]


async def look(state: Any) -> Any: ...
async def work(state: Any) -> Any: ...
async def other(state: Any) -> Any: ...


def first(**options: Any) -> Any:
    settings: dict[str, Any] = {
        "id": "first",
        "provides": ["kind"],
        "routes": [route.to("last", field("kind") == "small"), route.to("first")],
        "starts_round": True,
    }
    return node(look, **(settings | options))


def last(**options: Any) -> Any:
    settings: dict[str, Any] = {
        "id": "last",
        "requires": ["kind"],
        "provides": ["out", "log"],
        "routes": [route.deliver("out")],
    }
    return node(work, **(settings | options))


def flow(*nodes: Any, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"state": State, "inputs": ["n"], "max_rounds": 3}
    return define_workflow("flow", nodes=nodes or (first(), last()), **(settings | options))


def between(old: Workflow[Any], new: Workflow[Any]) -> Comparison:
    return compared(old, new)


SAFE: dict[str, Callable[[], Workflow[Any]]] = {
    "nothing": flow,
    "a description": lambda: flow(first(description="Other words."), last()),
    "more attempts and a timeout": lambda: flow(
        first(retry=Retry(5), timeout=3), last(uses=Uses())
    ),
    "wider types": lambda: flow(state=Wider),
    "more rounds": lambda: flow(max_rounds=9),
    "a new node behind a new route": lambda: flow(
        first(),
        last(routes=[route.deliver("out", field("out") != ""), route.to("new")]),
        node(other, id="new", routes=[route.deliver("out")]),
    ),
    "an optional input": lambda: flow(optional_inputs=["log"]),
    "another version": lambda: flow(version="2"),
}


@pytest.mark.parametrize("name", SAFE)
def test_what_no_recorded_visit_touches_is_safe(name: str) -> None:
    found = between(flow(), SAFE[name]())
    assert (found.verdict, [str(change) for change in found.changes]) == ("safe", [])


BREAKING: dict[str, tuple[Callable[[], Workflow[Any]], str]] = {
    "a node is gone": (
        lambda: flow(first(routes=[route.deliver("kind")])),
        "node last: the node is gone",
    ),
    "a route leads elsewhere": (
        lambda: flow(
            first(routes=[route.to("first", field("kind") == "large"), route.to("last")]),
            last(),
        ),
        "node first: route 1 led to last, and leads to first",
    ),
    "a field is not written any more": (
        lambda: flow(first(), last(provides=["out"])),
        "node last: it does not write 'log' any more",
    ),
    "a type is narrower": (
        lambda: flow(
            first(routes=[route.to("last", lambda s: True), route.to("first")]),
            last(),
            state=Narrower,
        ),
        "the field 'kind' was Literal['small', 'large'], and is Literal['small']",
    ),
    "a reducer is gone": (
        lambda: flow(state=Joined),
        "the reducer of 'log' was append, and is None",
    ),
    "fewer rounds": (lambda: flow(max_rounds=2), "max_rounds was 3, and is 2"),
    "another entry": (
        lambda: flow(
            node(other, id="begin", routes=[route.to("first")]), first(), last(), entry="begin"
        ),
        "the entry was 'first', and is 'begin'",
    ),
    "a required input": (
        lambda: flow(inputs=["n", "out"]),
        "the input 'out' is required now",
    ),
    "an input is gone": (
        lambda: flow(inputs=[], optional_inputs=[]),
        "the input 'n' is gone",
    ),
    "an error node": (
        lambda: flow(
            first(),
            last(on_error="mend"),
            node(other, id="mend", provides=["out"], routes=[route.deliver("out")]),
        ),
        "node last: its error node was None, and is 'mend'",
    ),
    "another function": (
        lambda: flow(first(), node(other, **_options(last()))),
        "node last: it ran tests.graph.test_compat:work, and runs tests.graph.test_compat:other",
    ),
    "a field that a run has missed": (
        lambda: flow(
            first(provides=["kind", "log"]),
            last(requires=["kind", "log"]),
        ),
        "node last: a run that was under way may come here without the field 'log'",
    ),
}


def _options(made: Any) -> dict[str, Any]:
    return {name: getattr(made, name) for name in ("id", "requires", "provides", "routes")}


@pytest.mark.parametrize("name", BREAKING)
def test_what_a_recorded_visit_touches_is_told_with_its_place(name: str) -> None:
    make, said = BREAKING[name]
    found = between(flow(), make())
    assert found.verdict == "breaking"
    assert said in "\n".join(map(str, found.changes))
    assert all(change.hint for change in found.changes)


def test_another_id_is_another_workflow() -> None:
    renamed = define_workflow(
        "renamed", nodes=[first(), last()], state=State, inputs=["n"], max_rounds=3
    )
    assert "workflow 'flow' has become 'renamed'" in str(between(flow(), renamed).changes[0])


def test_a_question_that_has_changed_is_told() -> None:
    def asking(**options: Any) -> Workflow[Any]:
        settings: dict[str, Any] = {
            "prompt": "which?",
            "answer": "out",
            "schema": str,
            "routes": [route.deliver("out")],
        }
        made = ask("which", **(settings | options))
        return define_workflow("asking", nodes=[made])

    assert between(asking(), asking()).verdict == "safe"
    for option, value in (("schema", int), ("prompt", "what?")):
        found = between(asking(), asking(**{option: value}))
        assert f"the {option} of its question has changed" in str(found.changes)
    found = between(asking(), asking(answer="say", routes=[route.deliver("say")]))
    assert "the answer of its question has changed" in str(found.changes)


def nested(inner: Workflow[Any], **options: Any) -> Workflow[Any]:
    held = subflow("sub", inner, inputs={"n": "n"}, outputs={"got": "$result"}, **options)
    fan = parallel("fan", {"a": held}, routes=[route.deliver("got")])
    return define_workflow("nested", nodes=[fan], inputs=["n"])


def test_workflows_inside_are_compared_too() -> None:
    assert between(nested(flow()), nested(flow())).verdict == "safe"
    found = between(nested(flow()), nested(flow(max_rounds=2)))
    assert str(found.changes[0]) == "node fan[a]: max_rounds was 3, and is 2"
    found = between(nested(flow()), nested(flow(first(routes=[route.deliver("kind")]))))
    assert "node fan[a]/last: the node is gone" in map(str, found.changes)


def test_a_migration_of_the_old_version_makes_a_breaking_change_migratable() -> None:
    def renewed(**options: Any) -> Workflow[Any]:
        return flow(first(routes=[route.deliver("kind")]), version="2", **options)

    assert between(flow(), renewed()).verdict == "breaking"
    assert between(flow(), renewed(migrations={"1": dict})).verdict == "migratable"
    assert between(flow(), renewed(migrations={"0": dict})).verdict == "breaking"
    renames = Migration(dict, {"last": "first"})
    assert between(flow(), renewed(migrations={"1": renames})).verdict == "migratable"


def test_a_number_that_is_joined_otherwise_is_told() -> None:
    class Summed(TypedDict):
        n: int
        kind: NotRequired[Literal["small", "large"]]
        log: NotRequired[Annotated[list[str], add]]
        out: NotRequired[str]

    found = between(flow(), flow(state=Summed))
    assert "the reducer of 'log' was append, and is add" in str(found.changes)


def test_migrations_that_are_none_are_slips() -> None:
    with pytest.raises(Exception, match=r"migrations\['1'\] is 3"):
        flow(migrations={"1": 3})
