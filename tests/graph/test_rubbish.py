"""Rubbish: whatever is handed to a definition, the answer is findings, and what is sound can be compiled."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentflow import (
    Budget,
    DefinitionError,
    Node,
    Report,
    Retry,
    Route,
    Uses,
    at_most,
    define_workflow,
    ends_within,
    field,
    must_pass,
    never_after,
    node,
    only_if,
    route,
    subflow,
    validate,
)


class Hostile:
    """Something that refuses to be compared, hashed, asked or shown."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("==")

    def __hash__(self) -> int:
        raise TypeError("hash")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __repr__(self) -> str:
        raise RuntimeError("repr")


def sound_end(state: Any) -> dict[str, int]:
    return {"x": 1}


async def predicate(state: Any) -> bool:
    return True


END = node(sound_end, id="end", provides=["x"], routes=[route.deliver("x")])
INNER = define_workflow("inner", nodes=[END])

RUBBISH: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 3, 1.5, float("nan"), float("inf"), 10**400, ..., NotImplemented),
        *("", "a", "end", "start", "a b", "<x>", "x" * 500, b"x", bytearray(b"x")),
        *([], ["a"], ["end"], [""], [None], {}, {"a": 1}, {"a": "a"}, {1: 2}, {"AF210": "why"}),
        *(set(), {1}, (1, 2), frozenset("ab"), range(3), iter([]), object(), sys, type, int, list[int]),
        *(len, predicate, sound_end, lambda: None, Hostile(), [Hostile()], {"a": Hostile()}, Hostile),
        *(END, INNER, route.to("end"), route.deliver("x"), field("x"), field("x") == 1, field("")),
        *(field(Hostile()), field("x") == Hostile(), Retry(2), Retry(Hostile()), Uses(), Uses(model_calls=Hostile())),  # type: ignore[arg-type]
        *(Budget(), must_pass("a", before="b"), Report("x")),
    ]
)  # fmt: skip
ANY = RUBBISH | st.text(max_size=4) | st.integers() | st.lists(RUBBISH, max_size=2)


def mostly(good: Any) -> st.SearchStrategy[Any]:
    """Mostly what is good, and now and then something else."""
    return st.integers(0, 19).flatmap(lambda dice: ANY if dice == 0 else st.just(good))


def some(**good: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these options, each mostly as it should be."""
    return st.fixed_dictionaries({}, optional={name: mostly(value) for name, value in good.items()})


CONDITION: st.SearchStrategy[Any] = st.one_of(
    mostly(field("x") == 1),
    mostly(None),
    st.builds(lambda path, value: field(path) == value, ANY, ANY),
    st.builds(lambda path, values: field(path).is_in(values), ANY, ANY),
    st.builds(lambda path, value: ~field(path).contains(value) | field("x").exists(), ANY, ANY),
)
ROUTE: st.SearchStrategy[Any] = st.one_of(
    st.builds(route.to, mostly("end"), CONDITION, reads=mostly(["x"])),
    st.builds(route.to_if, mostly("end"), mostly(sound_end)),
    st.builds(route.to_if_equal, mostly("start"), mostly("x.y"), ANY),
    st.builds(route.to_if_error, mostly("end")),
    st.builds(route.deliver, mostly("x"), CONDITION),
    st.builds(route.deliver_if_ready, mostly("x")),
    st.builds(route.finish, mostly(sound_end), CONDITION, reads=mostly(None)),
    ANY,
)
OPTIONS: dict[str, Any] = {
    "description": "x",
    "requires": ["a"],
    "provides": ["x"],
    "may_provide": ["y"],
    "starts_round": True,
    "on_error": "end",
    "timeout": 1,
    "retry": Retry(2),
    "uses": Uses(model_calls=1),
    "metadata": {"a": 1},
    "waive": {"AF210": "why"},
}
NODE: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        lambda fn, name, routes, options: node(fn, id=name, routes=routes, **options),
        mostly(sound_end),
        mostly("start"),
        st.lists(ROUTE, max_size=3) | ANY,
        some(**OPTIONS, bogus=1),
    ),
    st.builds(
        lambda name, workflow, inputs, outputs, options: subflow(
            name, workflow, inputs=inputs, outputs=outputs, routes=[route.deliver("x")], **options
        ),
        mostly("sub"),
        mostly(INNER),
        mostly({"a": "x"}),
        mostly({"x": "$result"}),
        some(**OPTIONS),
    ),
    st.just(END),
    ANY,
)
NODES: st.SearchStrategy[list[Any]] = st.builds(
    lambda first, rest: [*first, END, *rest],
    st.lists(NODE, max_size=1),
    st.integers(0, 9).flatmap(lambda dice: st.lists(NODE, max_size=2 if dice == 0 else 0)),
)
POLICY: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda one, other: must_pass(one, before=other), mostly("start"), mostly("end")),
    st.builds(never_after, mostly("end"), mostly("start")),
    st.builds(at_most, mostly("end"), mostly(1)),
    st.builds(only_if, mostly("end"), CONDITION),
    st.builds(lambda rounds: ends_within(rounds=rounds), mostly(1)),
    ANY,
)
WORKFLOW = st.fixed_dictionaries(
    {},
    optional={
        "state": mostly(None),
        "inputs": mostly(["a", "x"]),
        "optional_inputs": mostly(["y"]),
        "entry": mostly(None),
        "result": mostly(int),
        "max_rounds": mostly(1),
        "on_error": mostly("end"),
        "on_limit": mostly("end"),
        "version": mostly("2"),
        "description": mostly("x"),
        "policies": st.lists(POLICY, max_size=2) | ANY,
        "waive": mostly({"AF210": "why"}),
    },
)


def examined(report: Report) -> None:
    """Everything that a report offers works, whatever it is about."""
    assert isinstance(report, Report)
    assert report.as_text() or not report.findings
    json.dumps(report.as_json())
    for finding in report:
        assert finding.message
        assert finding.place is None or finding.place.file or finding.place.pointer is not None
        assert "\n" not in finding.message


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(nodes=NODES, options=WORKFLOW, id=mostly("w"))
def test_rubbish_gives_findings_and_never_an_exception(
    nodes: list[Any], options: dict[str, Any], id: Any
) -> None:
    examined(validate(*nodes, id=id, **options))
    examined(validate(*nodes, id=id, bogus=nodes, **options))
    try:
        workflow = define_workflow(id, nodes=nodes, **options)
    except DefinitionError as error:
        told = str(error)
        assert told.startswith("workflow ")
    else:
        # Whatever passes can be compiled, told and drawn.
        assert list(workflow.plan.nodes) == [each.id for each in workflow.nodes]
        assert workflow.fingerprint
        workflow.manifest()
        assert workflow.to_mermaid()
        assert workflow.to_dot()


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(nodes=ANY, options=WORKFLOW)
def test_rubbish_instead_of_nodes_gives_findings(nodes: Any, options: dict[str, Any]) -> None:
    with contextlib.suppress(DefinitionError):
        define_workflow("w", nodes=nodes, **options)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(subject=ANY, policies=st.lists(POLICY, max_size=2) | ANY, budget=ANY)
def test_validate_takes_anything_at_all(subject: Any, policies: Any, budget: Any) -> None:
    examined(validate(subject))
    examined(validate(INNER, policies=policies, budget=budget))
    examined(validate(END, policies=policies, budget=budget))


@given(fn=ANY, options=some(**OPTIONS, id="a", routes=[route.to("end")]))
def test_making_a_node_never_raises(fn: Any, options: dict[str, Any]) -> None:
    made = node(fn, **options)
    if isinstance(made, Node):
        assert repr(made)
    else:
        assert callable(made)


@given(made=ROUTE)
def test_making_a_route_never_raises(made: Any) -> None:
    if isinstance(made, Route):
        assert str(made)


def test_the_rubbish_is_not_all_refused() -> None:
    """The strategies above would prove little if nothing sound ever came out of them."""
    found = {"sound": 0, "refused": 0}

    @settings(max_examples=300, database=None, suppress_health_check=list(HealthCheck))
    @given(nodes=NODES, options=WORKFLOW)
    def count(nodes: list[Any], options: dict[str, Any]) -> None:
        found["sound" if validate(*nodes, **options).ok else "refused"] += 1

    count()
    assert min(found.values()) > 30, found


@pytest.mark.parametrize("number", range(3))
def test_a_hostile_value_is_hostile(number: int) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        (lambda: repr(Hostile()), lambda: hash(Hostile()), lambda: bool(Hostile()))[number]()
