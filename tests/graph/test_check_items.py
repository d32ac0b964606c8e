"""Items: what a `map_each` goes through is a list of what its workflow takes, told before a run and true in it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from agentflow import (
    ContractError,
    Node,
    Report,
    Workflow,
    append,
    field,
    map_each,
    node,
    route,
    validate,
)
from agentflow.graph.workflow import assemble
from tests.graph.definitions import at, codes, told
from tests.run.workflows import unchecked

END = [route.finish(dict, reads=[])]


class Item(TypedDict):
    x: int
    more: NotRequired[str]
    out: NotRequired[str]


async def work(state: Any) -> Any:
    return {"out": "done"}


def per_item(state: Any = Item, **options: Any) -> Workflow[Any]:
    made = node(work, id="w", provides=["out"], routes=[route.deliver("out")])
    settings: dict[str, Any] = {"inputs": ["x"], "optional_inputs": ["more"]}
    return assemble("per-item", [made], place=None, state=state, **(settings | options))


def mapped(
    over: Any = "xs", item: str = "x", inner: Workflow[Any] | None = None, **options: Any
) -> Node:
    settings: dict[str, Any] = {"into": "ys", "routes": END}
    settings |= {"over": over, "item": item, **options}
    return map_each("each", inner or per_item(), **settings)  # at: map


def typed(**fields: Any) -> Any:
    """A state of optional fields."""
    made: Any = TypedDict
    return made("typed", {name: NotRequired[kind] for name, kind in fields.items()})


def of(*nodes: Node, xs: Any = list[int], ys: Any = list[str], **options: Any) -> Report:
    settings: dict[str, Any] = {"state": typed(xs=xs, ys=ys), "inputs": ["xs"]}
    return validate(*nodes, **(settings | options))


def errors(report: Report) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in report.errors]


def test_a_sound_map_has_no_findings() -> None:
    assert of(mapped(routes=[route.deliver("ys")])).findings == ()


# --- the item is an input ------------------------------------------------------------------------


def test_an_item_that_is_no_input_is_refused() -> None:
    made = mapped(item="y", inputs={"x": "xs"})
    assert told(of(made)).splitlines()[:2] == [
        f"here:{at('map')}: error AF122: node 'each': the item 'y' is no input of the sub-workflow 'per-item'",
        "    hint: name an input of it: item='…'",
    ]


def test_what_is_needed_besides_the_item_has_to_be_mapped() -> None:
    inner = per_item(inputs=["x", "more"], optional_inputs=[])
    assert errors(of(mapped(inner=inner))) == [
        (
            "AF122",
            "node 'each': the sub-workflow 'per-item' needs the input 'more', and inputs do not map it",
        )
    ]


# --- a list ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (str, "abc", "str"),
        (int, 3, "int"),
        (dict[str, int], {"a": 1}, "dict[str, int]"),
        (set[int], {1}, "set[int]"),
        (Literal["a", "b"], "a", "Literal['a', 'b']"),
        (int | str, 3, "int | str"),
    ],
)
async def test_a_field_that_is_never_a_list_is_refused_and_would_fail(
    kind: Any, value: Any, said: str
) -> None:
    assert errors(of(mapped(), xs=kind)) == [
        ("AF606", f"node 'each' goes through 'xs', which is {said} and no list of items")
    ]
    workflow = unchecked("w", nodes=[mapped()], state=typed(xs=kind, ys=list[str]), inputs=["xs"])
    with pytest.raises(ContractError):
        await workflow.run({"xs": value})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (list[int], [1]),
        (tuple[int, ...], (1,)),
        (tuple[int, int], (1, 2)),
        (list[int] | str, [1]),
        (Any, [1]),
    ],
)
async def test_a_field_that_may_be_a_list_is_fine(kind: Any, value: Any) -> None:
    assert of(mapped(), xs=kind).errors == ()
    workflow = unchecked("w", nodes=[mapped()], state=typed(xs=kind, ys=list[str]), inputs=["xs"])
    assert (await workflow.run({"xs": value}))["ys"] == ["done"] * len(value)


def test_a_path_on_which_there_is_none_is_refused_and_one_that_asks_is_not() -> None:
    first = node(work, id="first", provides=["xs"], routes=[route.to("each")])
    made = mapped()
    report = of(first, made, xs=list[int] | None, inputs=[])
    assert told(report).splitlines()[:3] == [
        f"here:{at('map')}: error AF606: node 'each' goes through 'xs', which may be None, and None is no list of items",
        "    path: first -> each",
        "    hint: ask field('xs').is_none() before, or have an empty list provided",
    ]
    ways = [route.finish(dict, field("xs").is_none(), reads=[]), route.to("each")]
    asked = node(work, id="first", provides=["xs"], routes=ways)
    assert of(asked, mapped(), xs=list[int] | None, inputs=[]).errors == ()


# --- a function -----------------------------------------------------------------------------------


def no_argument() -> list[int]:
    return []


def two_arguments(state: Any, ctx: Any) -> list[int]:
    return []


@pytest.mark.parametrize("over", [no_argument, two_arguments])
def test_a_function_that_does_not_take_the_state_is_refused(over: Any) -> None:
    made = mapped(over)
    name = over.__name__
    assert told(of(made, inputs=[])) == (
        f"here:{at('map')}: error AF117: node 'each': the function over={name} cannot be called with the state alone\n"
        "    hint: make it a function of one argument, the state; it may be async, and it may yield the items"
    )


def plain(state: Any) -> list[int]:
    return [1]


def made_lazily(state: Any) -> Iterator[int]:
    yield 1


async def awaited(state: Any) -> list[int]:
    return [1]


async def streamed(state: Any) -> AsyncIterator[int]:
    yield 1


@node
def a_node(state: Any) -> list[int]:
    return [1]


class Callable:
    def __call__(self, state: Any) -> list[int]:
        return [1]


@pytest.mark.parametrize(
    "over",
    [
        *(plain, made_lazily, awaited, streamed, Callable(), a_node),
        functools.partial(two_arguments, ctx=None),
        lambda state: [1],
    ],
)
async def test_functions_of_every_form_give_items(over: Any) -> None:
    assert of(mapped(over), inputs=[]).errors == ()
    workflow = unchecked("w", nodes=[mapped(over)])
    assert (await workflow.run({}))["ys"] in (["done"], [])


def gives_text(state: Any) -> str:
    return "abc"


async def gives_a_set(state: Any) -> set[int]:
    return {1}


def gives_a_mapping(state: Any) -> Mapping[str, int]:
    return {"a": 1}


@pytest.mark.parametrize(
    ("over", "kind"),
    [(gives_text, "str"), (gives_a_set, "set[int]"), (gives_a_mapping, "Mapping[str, int]")],
)
async def test_a_function_that_gives_no_list_is_refused_and_would_fail(
    over: Any, kind: str
) -> None:
    said = f"goes through what {over.__name__} gives, which is {kind} and no list of items"
    assert errors(of(mapped(over), inputs=[])) == [("AF606", f"node 'each' {said}")]
    with pytest.raises(ContractError):
        await unchecked("w", nodes=[mapped(over)]).run({})


class View(TypedDict):
    colour: str


def reads_another_state(state: View) -> list[int]:
    return []


def test_what_a_function_reads_is_in_the_state() -> None:
    assert codes(of(mapped(reads_another_state), inputs=[]))[:1] == ["AF601"]


# --- the items and the results ---------------------------------------------------------------------


def gives_texts(state: Any) -> AsyncIterator[dict[str, int]]:
    raise AssertionError("not run")


@pytest.mark.parametrize(
    ("over", "kind", "said"),
    [
        ("xs", list[bytes | str], ""),
        ("xs", list[int], ""),
        ("xs", list[Any], ""),
        ("xs", list, ""),
        ("xs", tuple[int, list[int]], ""),
        ("xs", list[list[int]], "the items of 'xs' are list[int]"),
        ("xs", tuple[None, dict[str, int]], "the items of 'xs' are None or dict[str, int]"),
        (gives_texts, Any, "the items of what gives_texts gives are dict[str, int]"),
    ],
)
async def test_items_that_the_workflow_never_takes_are_refused(
    over: Any, kind: Any, said: str
) -> None:
    found = errors(of(mapped(over), xs=kind))
    start = "node 'each': the input 'x' of 'per-item' is int, and "
    assert found == ([("AF605", start + said)] if said else [])


async def test_items_that_are_refused_would_fail() -> None:
    state = typed(xs=list[list[int]], ys=list[str])
    workflow = unchecked("w", nodes=[mapped()], state=state, inputs=["xs"])
    with pytest.raises(ContractError):
        await workflow.run({"xs": [[1]]})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (list[str], ""),
        (list[Any], ""),
        (tuple[str, ...], ""),
        (list[int | str], ""),
        (append, ""),
        (str, "str"),
        (list[list[str]], "list[list[str]]"),
        (dict[str, str], "dict[str, str]"),
    ],
)
async def test_results_that_the_field_never_takes_are_refused_and_would_fail(
    kind: Any, said: str
) -> None:
    from typing import Annotated

    kind = Annotated[list[str], append] if kind is append else kind
    message = f"node 'each': the output 'ys' takes {said}, and gets the results of 'per-item', a list of str"
    assert errors(of(mapped(), ys=kind)) == ([("AF605", message)] if said else [])
    workflow = unchecked("w", nodes=[mapped()], state=typed(xs=list[int], ys=kind), inputs=["xs"])
    if said:
        with pytest.raises(ContractError):
            await workflow.run({"xs": [1]})
    else:
        assert list((await workflow.run({"xs": [1]}))["ys"]) == ["done"]
