"""Nodes: what the decorator makes of a function, and that it stays one."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

from agentflow import Node, Retry, Uses, define_workflow, node, route
from tests.graph.definitions import at


@node  # at: bare
def bare(state: Any) -> dict[str, int]:
    """Answer with one more.

    And nothing else.
    """
    return {"b": state["a"] + 1}


@node(
    id="full",
    description="Does it all.",
    requires=["a"],
    provides=["b"],
    may_provide=("c",),
    routes=[route.deliver("b")],
    starts_round=True,
    on_error="bare",
    timeout=1.5,
    retry=Retry(2),
    uses=Uses(model_calls=1),
    metadata={"owner": "ada"},
    waive={"AF210": "nobody reads it yet"},
)
async def full(state: Any, ctx: Any) -> dict[str, Any]:
    """Not this line."""
    return {"b": ctx.node_id}


def plain(state: Any) -> None:
    pass


class Greeter:
    """Callable, and no function."""

    def __call__(self, state: Any) -> dict[str, str]:
        return {"b": "hello"}

    def method(self, state: Any) -> dict[str, str]:
        """Greet."""
        return {"b": "method"}


@pytest.mark.rule("R257")
def test_a_bare_decorator_takes_name_and_first_line_of_the_docstring() -> None:
    assert isinstance(bare, Node)
    assert (bare.id, bare.description) == ("bare", "Answer with one more.")
    assert (bare.requires, bare.provides, bare.may_provide, bare.routes) == ((), (), (), ())
    assert (bare.starts_round, bare.on_error, bare.timeout, bare.retry, bare.uses) == (
        False,
        *(None, None, None, None),
    )
    assert (bare.metadata, bare.waive, bare.slips) == ({}, {}, ())


@pytest.mark.rule("R257")
def test_every_option_is_kept() -> None:
    assert (full.id, full.description) == ("full", "Does it all.")
    assert (full.requires, full.provides, full.may_provide) == (("a",), ("b",), ("c",))
    assert [str(each) for each in full.routes] == ["deliver 'b'"]
    assert (full.starts_round, full.on_error, full.timeout) == (True, "bare", 1.5)
    assert (full.retry, full.uses) == (Retry(2), Uses(model_calls=1))
    assert (full.metadata, full.waive) == ({"owner": "ada"}, {"AF210": "nobody reads it yet"})
    assert full.may_write == {"b", "c"}
    assert full.slips == ()


@pytest.mark.rule("R250")
def test_a_node_stays_callable_as_its_function() -> None:
    assert bare({"a": 1}) == {"b": 2}


@pytest.mark.rule("R250")
async def test_an_async_node_stays_callable_as_its_function() -> None:
    class Ctx:
        node_id = "x"

    assert await full({}, Ctx()) == {"b": "x"}
    assert await full({}, ctx=Ctx()) == {"b": "x"}


def test_a_call_makes_a_new_node_each_time_and_leaves_the_old_one_alone() -> None:
    first = node(plain, id="first", provides=["x"])
    second = node(plain, id="second")
    again = node(first, id="again")
    assert (first.id, second.id, again.id) == ("first", "second", "again")
    assert first.run is second.run is again.run is plain
    # Of a node only its function is taken.
    assert (first.provides, again.provides) == (("x",), ())


@pytest.mark.parametrize(
    ("made", "id", "description"),
    [
        (node(plain), "plain", ""),
        (node(lambda state: None), "<lambda>", ""),
        (node(functools.partial(plain)), "", ""),
        (node(Greeter()), "", ""),
        (node(Greeter().method), "method", "Greet."),
        (node(plain, id="x", description="y"), "x", "y"),
        (node(plain, description=""), "plain", ""),
    ],
)
def test_id_and_description_come_from_what_has_them(made: Node, id: str, description: str) -> None:
    assert (made.id, made.description) == (id, description)


def test_methods_partials_and_callable_objects_are_nodes_too() -> None:
    assert node(Greeter().method, id="a")({}) == {"b": "method"}
    assert node(Greeter(), id="a")({}) == {"b": "hello"}
    assert node(functools.partial(dict, b=1), id="a")() == {"b": 1}


def test_a_node_knows_where_it_was_declared() -> None:
    called = node(  # at: called
        plain,
        id="called",
    )
    assert called.place is not None
    assert (called.place.file, called.place.line) == (__file__, at("called"))
    assert bare.place is not None
    assert bare.place.line == at("bare")


def test_a_node_is_a_value_with_an_identity() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        bare.id = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        full.metadata["x"] = 1  # type: ignore[index]
    assert bare != node(bare)
    assert len({bare, full}) == 2
    assert repr(full) == "<Node 'full'>"


def test_what_a_caller_gave_may_change_later_without_harm() -> None:
    names, notes = ["a"], {"owner": "ada"}
    made = node(plain, requires=names, metadata=notes)
    names.append("b")
    notes["owner"] = "bob"
    assert (made.requires, made.metadata) == (("a",), {"owner": "ada"})


def test_iterables_of_any_kind_name_fields_and_sets_have_an_order() -> None:
    made = node(plain, requires=(name for name in "ba"), provides={"z", "y", "x"}, routes=iter([]))
    assert (made.requires, made.provides, made.routes) == (("b", "a"), ("x", "y", "z"), ())


@pytest.mark.parametrize(
    ("options", "slips"),
    [
        ({"requires": "question"}, ["requires='question' is no list of field names"]),
        ({"requires": None}, ["requires=None is no list of field names"]),
        ({"provides": 5}, ["provides=5 is no list of field names"]),
        ({"provides": ["a", 5, ""]}, [
            "provides names 5, which is no field name",
            "provides names '', which is no field name",
        ]),
        ({"may_provide": b"ab"}, [
            "may_provide names 97, which is no field name",
            "may_provide names 98, which is no field name",
        ]),
        ({"routes": route.deliver("a")}, ["routes is one route; it takes a list"]),
        ({"routes": "answer"}, ["routes='answer' is no list"]),
        ({"routes": 5}, ["routes=5 is no list"]),
        (
            {"routes": [route.deliver("a"), "answer"]},
            ["routes[1] is 'answer'; make it with route.to(…) or its kin"],
        ),
        ({"starts_round": "yes"}, ["starts_round='yes' is neither True nor False"]),
        ({"description": 5}, ["description=5 is no text"]),
        ({"metadata": 5}, ["metadata=5 is no mapping with names as keys"]),
        ({"metadata": {1: 2}}, ["metadata={1: 2} is no mapping with names as keys"]),
        ({"waive": ["AF210"]}, ["waive=['AF210'] is no mapping with names as keys"]),
        ({"provide": ["a"]}, ["there is no option provide=; did you mean provides=?"]),
        ({"zzz": 1}, ["there is no option zzz="]),
        (
            {"requires": 1, "routes": 2, "waive": 3},
            [
                "requires=1 is no list of field names",
                "routes=2 is no list",
                "waive=3 is no mapping with names as keys",
            ],
        ),
    ],
)  # fmt: skip
def test_a_slip_is_noted_and_never_raised(options: dict[str, Any], slips: list[str]) -> None:
    assert list(node(plain, **options).slips) == slips


def test_what_can_be_read_beside_a_slip_is_kept() -> None:
    made = node(plain, provides=["a", 5], routes=[route.deliver("a"), "b"])  # type: ignore[list-item]
    assert made.provides == ("a",)
    assert [str(each) for each in made.routes] == ["deliver 'a'"]


@pytest.mark.parametrize("id", [5, [], True, plain, 1.5])
def test_an_id_that_is_no_text_is_kept_as_text_that_is_malformed(id: Any) -> None:
    assert node(plain, id=id).id.startswith("<")


def test_a_node_that_holds_a_workflow_has_no_function_to_call() -> None:
    from agentflow import subflow

    inner = define_workflow("inner", nodes=[node(lambda state: {"a": 1}, id="a", provides=["a"],
                                                 routes=[route.deliver("a")])])  # fmt: skip
    with pytest.raises(TypeError, match="node 'sub' holds a sub-workflow; it has no function"):
        subflow("sub", inner)({})
