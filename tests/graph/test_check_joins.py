"""Joins: two branches that give one field are refused, and so is what would be lost or added twice without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_type_hints

import pytest

from agentflow import (
    DefinitionError,
    Node,
    Reducer,
    Report,
    Workflow,
    add,
    append,
    define_workflow,
    field,
    map_each,
    merge,
    node,
    parallel,
    race,
    route,
    subflow,
    union,
    validate,
)
from agentflow.graph.workflow import assemble
from tests.graph.definitions import at, codes, told
from tests.run.workflows import unchecked

END = [route.finish(dict, reads=[])]


def double(current: int | None, delta: int) -> int:
    return 2 * (current or 0) + delta


class State(TypedDict, total=False):
    question: str
    answer: str
    verdict: Literal["a", "b"]
    names: list[str]
    counts: dict[str, int]
    tags: set[str]
    number: int
    log: Annotated[list[str], append]
    total: Annotated[int, add]
    table: Annotated[dict[str, int], merge]
    seen: Annotated[set[str], union]
    doubled: Annotated[int, Reducer(None, double)]
    failures: list[dict[str, Any]]


def child(name: str = "out", **options: Any) -> Workflow[Any]:
    async def work(state: Any) -> Any:
        raise AssertionError("not run")

    made = node(work, id="w", provides=[name], routes=[route.deliver(name)])
    return assemble("child", [made], place=None, inputs=[], **options)


def of(*nodes: Node, **options: Any) -> Report:
    settings: dict[str, Any] = {"state": State, "inputs": [], "optional_inputs": []}
    return validate(*nodes, **(settings | options))


def typed(**fields: Any) -> Any:
    """A state of optional fields."""
    made: Any = TypedDict
    return made("typed", {name: NotRequired[kind] for name, kind in fields.items()})


def giving(*targets: str, outputs: str = "$result") -> Node:
    return subflow("s", child(), outputs=dict.fromkeys(targets, outputs))


# --- one field, given once -------------------------------------------------------------------


@pytest.mark.case("P008")
@pytest.mark.case("T015")
def test_two_branches_that_give_one_field_are_refused_where_it_is_declared() -> None:
    both = {"left": giving("answer"), "right": giving("answer")}
    fan = parallel("fan", both, routes=END)  # at: fan
    assert told(of(fan)) == (
        f"here:{at('fan')}: error AF128: node 'fan': branch 'left' and branch 'right' give 'answer', and only the "
        "last would stay\n"
        "    hint: let each give a field of its own, or declare how 'answer' is joined: "
        "Annotated[…, append] puts lists together, merge joins mappings, add adds numbers"
    )


@pytest.mark.case("P008")
def test_a_definition_with_two_writers_is_refused_and_the_finding_cannot_be_waived() -> None:
    fan = parallel(
        "fan",
        {"a": giving("answer"), "b": giving("answer")},
        routes=END,
        waive={"AF128": "the last one may win"},
    )
    with pytest.raises(DefinitionError) as refused:
        define_workflow("w", nodes=[fan], state=State, inputs=[], optional_inputs=[])
    assert {finding.code for finding in refused.value.findings} == {"AF128", "AF702"}


@pytest.mark.case("T015")
def test_branches_that_give_different_fields_are_fine() -> None:
    fan = parallel("fan", {"a": giving("answer"), "b": giving("question")}, routes=END)
    assert of(fan, optional_inputs=[]).errors == ()
    assert of(parallel("fan", {"a": child(), "b": child()}, routes=END), state=None).errors == ()


def test_an_untyped_field_has_no_reducer() -> None:
    fan = parallel("fan", {"a": giving("answer"), "b": giving("answer")}, routes=END)
    assert codes(of(fan, state=None))[:1] == ["AF128"]


@pytest.mark.parametrize("name", ["log", "total", "table", "seen", "doubled"])
def test_a_field_with_a_reducer_may_be_given_by_all(name: str) -> None:
    fan = parallel("fan", {"a": giving(name), "b": giving(name)}, routes=END)
    assert "AF128" not in codes(of(fan))


@pytest.mark.case("P031")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("names", "Annotated[…, append] puts lists together"),
        ("counts", "Annotated[…, merge] joins mappings by their keys"),
        ("tags", "Annotated[…, union] joins sets"),
    ],
)
def test_the_hint_names_the_reducer_that_goes_with_the_type(name: str, said: str) -> None:
    fan = parallel("fan", {"a": giving(name), "b": giving(name)}, routes=END)
    assert of(fan).errors[0].hint.endswith(f"is joined: {said}")


def test_in_a_race_only_one_gives() -> None:
    first = race("first", {"a": giving("answer"), "b": giving("answer")}, routes=END)
    assert of(first).errors == ()


def test_collecting_does_not_change_that_both_may_give() -> None:
    collect: dict[str, Any] = {"on_branch_error": "collect", "errors": "failures", "routes": END}
    fan = parallel("fan", {"a": giving("answer"), "b": giving("answer")}, **collect)
    assert codes(of(fan))[:1] == ["AF128"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            lambda more: race("n", {"a": giving("answer")}, winner="answer", **more),
            "the winner and winner= give 'answer'",
        ),
        (
            lambda more: race(
                "n",
                {"a": giving("names")},
                winner="answer",
                on_branch_error="collect",
                errors="answer",
                **more,
            ),
            "winner= and errors= give 'answer'",
        ),
        (
            lambda more: parallel(
                "n", {"a": giving("names")}, on_branch_error="collect", errors="names", **more
            ),
            "branch 'a' and errors= give 'names'",
        ),
        (
            lambda more: map_each(
                "n",
                child(optional_inputs=["x"]),
                over=list,
                item="x",
                into="names",
                on_branch_error="collect",
                errors="names",
                **more,
            ),
            "the results and errors= give 'names'",
        ),
    ],
)
def test_what_a_node_itself_tells_needs_a_field_of_its_own(
    made: Callable[[dict[str, Any]], Node], said: str
) -> None:
    (finding,) = (each for each in of(made({"routes": END})) if each.code == "AF128")
    assert said in finding.message


# --- what was given does not come back as if it were new --------------------------------------


class Logged(TypedDict, total=False):
    log: Annotated[list[str], append]
    plain: list[str]
    total: Annotated[int, add]
    table: Annotated[dict[str, int], merge]
    seen: Annotated[set[str], union]


def adding(source: str, **options: Any) -> Workflow[Any]:
    """A workflow that is given a field, writes it, and delivers it."""

    async def work(state: Any) -> Any:
        return {source: ["new"]}

    made = node(work, id="w", provides=[source], routes=[route.deliver(source)])
    settings: dict[str, Any] = {"state": Logged, "inputs": [], "optional_inputs": [source]}
    return unchecked("adding", nodes=[made], **(settings | options))


@pytest.mark.case("P005")
def test_a_field_that_comes_back_as_a_whole_is_warned_of() -> None:
    one = subflow("s", adding("plain"), inputs={"plain": "log"}, outputs={"log": "plain"})
    fan = parallel("fan", {"a": one}, routes=END)  # at: whole
    assert told(of(fan, optional_inputs=["log"])) == (
        f"here:{at('whole')}: warning AF214: node 'fan', branch 'a': 'adding' is given 'log', and 'plain' comes back "
        "as a whole: append would add what was there before a second time\n"
        "    hint: declare 'plain' with append in the state of 'adding' too, so that only what it adds is taken; "
        "or do not give it 'log'"
    )


@pytest.mark.case("P005")
async def test_what_is_warned_of_really_is_doubled_and_what_is_advised_is_not() -> None:
    async def result(child: Workflow[Any], source: str) -> Any:
        one = subflow("s", child, inputs={source: "log"}, outputs={"log": source})
        fan = parallel("fan", {"a": one}, routes=[route.deliver("log")])
        workflow = define_workflow(
            "w", nodes=[fan], state=State, inputs=[], optional_inputs=["log"]
        )
        return workflow.report, await workflow.run({"log": ["old"]})

    async def keep(state: Any) -> Any:
        return {"plain": [*state["plain"], "new"]}

    kept = node(keep, id="w", provides=["plain"], routes=[route.deliver("plain")])
    plain = unchecked("plain", nodes=[kept], state=Logged, optional_inputs=["plain"])
    report, doubled = await result(plain, "plain")
    assert (codes(report), doubled) == (["AF214"], ["old", "old", "new"])
    report, added = await result(adding("log"), "log")
    assert ("AF214" in codes(report), added) == (False, ["old", "new"])


def test_a_result_that_is_the_whole_field_is_warned_of_with_the_mapping_that_is_not() -> None:
    fan = parallel("fan", {"log": adding("log")}, routes=END)
    (finding,) = (each for each in of(fan, optional_inputs=["log"]) if each.code == "AF214")
    assert "its result comes back as a whole" in finding.message
    assert finding.hint.startswith("take the field: outputs={'log': 'log'}, so that only")
    other = subflow("s", adding("plain"), inputs={"plain": "log"}, outputs={"log": "$result"})
    (finding,) = (
        each
        for each in of(parallel("fan", {"a": other}, routes=END), optional_inputs=["log"])
        if each.code == "AF214"
    )
    assert finding.hint.startswith(
        "declare 'plain' with append in the state of 'adding' too, and take the field: outputs={'log': 'plain'}"
    )


@pytest.mark.parametrize(
    ("inner", "inputs", "outputs"),
    [
        ("log", {}, {"log": "log"}),
        ("log", {"log": "names"}, {"log": "log"}),
        ("log", {"log": "log"}, {"names": "$result"}),
        ("log", {"log": "log"}, {"log": "log"}),
        ("seen", {"seen": "seen"}, {"seen": "seen"}),
        ("plain", {"plain": "seen"}, {"seen": "plain"}),
        # The same keys once more change nothing, as long as nobody else gives any.
        ("plain", {"plain": "table"}, {"table": "plain"}),
    ],
)
def test_what_comes_back_otherwise_is_fine(
    inner: str, inputs: dict[str, str], outputs: dict[str, str]
) -> None:
    one = subflow("s", adding(inner), inputs=inputs, outputs=outputs, routes=END)
    assert "AF214" not in codes(of(one, optional_inputs=["log", "seen", "table", "names"]))


def test_a_mapping_that_comes_back_as_a_whole_hides_what_a_sibling_has_changed() -> None:
    one = subflow("s", adding("plain"), inputs={"plain": "table"}, outputs={"table": "plain"})
    fan = parallel("fan", {"a": one, "b": one}, routes=END)
    assert codes(of(fan, optional_inputs=["table"])).count("AF214") == 2


@pytest.mark.case("P005")
@pytest.mark.parametrize("back", ["total", "log", "seen"])
@pytest.mark.parametrize("reducing", [True, False])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("source", ["field", "result"])
async def test_a_field_is_warned_of_just_where_a_run_adds_something_twice(
    back: str, reducing: bool, given: bool, source: str
) -> None:
    old: Any = {"total": 5, "log": ["old"], "seen": {"old"}}[back]
    new: Any = {"total": 2, "log": ["new"], "seen": {"new"}}[back]

    def both(one: Any, other: Any) -> Any:
        return one | other if isinstance(one, set) else one + other

    async def work(state: Any) -> Any:
        whole = both(type(new)(state["field"]), new) if "field" in state else new
        return {"field": new if reducing else whole}

    hint = get_type_hints(State, include_extras=True)[back]
    inner = typed(field=hint if reducing else Any)
    only = node(work, id="w", provides=["field"], routes=[route.deliver("field")])
    child = assemble("child", [only], place=None, state=inner, optional_inputs=["field"])
    held = subflow(
        "s",
        child,
        inputs={"field": back} if given else {},
        outputs={back: "field" if source == "field" else "$result"},
    )
    fan = parallel("fan", {"a": held}, routes=[route.deliver(back)])
    workflow = unchecked("w", nodes=[fan], state=State, inputs=[back])
    result = await workflow.run({back: old})
    twice = result != both(old, new)
    report = of(fan, inputs=[back])
    assert ("AF214" in codes(report)) == twice


# --- failures and winners ----------------------------------------------------------------------


class Failure(TypedDict):
    branch: str
    error: str
    message: str


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        (list[dict[str, Any]], True),
        (list[Failure], True),
        (list[Any], True),
        (tuple[dict[str, str], ...], True),
        (Any, True),
        (list[str], False),
        (dict[str, Any], False),
        (str, False),
    ],
)
def test_the_field_for_failures_takes_a_list_of_mappings(kind: Any, fits: bool) -> None:
    made = typed(bad=kind, a=str)
    collect: dict[str, Any] = {"on_branch_error": "collect", "errors": "bad", "routes": END}
    for one in (parallel("n", {"a": child()}, **collect), race("n", {"a": child()}, **collect)):
        found = [each.message for each in of(one, state=made) if each.code == "AF605"]
        said = "and errors= puts a list of {'branch': …, 'error': …, 'message': …} there"
        assert [message.endswith(said) for message in found] == ([] if fits else [True])


def test_failures_of_items_are_told_by_their_numbers() -> None:
    made = typed(bad=list[Failure], ys=list[Any])
    one = map_each(
        "n",
        child(optional_inputs=["x"]),
        over=list,
        item="x",
        into="ys",
        on_branch_error="collect",
        errors="bad",
        routes=END,
    )
    assert "AF605" in codes(of(one, state=made))


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        (str, ""),
        (Literal["left", "right", "none"], ""),
        (Literal["left", "none"], "'right'"),
        (Literal["none"], "'left' or 'right'"),
        (list[str], "'left' or 'right'"),
    ],
)
def test_the_field_for_the_winner_takes_every_name(kind: Any, refused: str) -> None:
    made = typed(who=kind)
    held = {"left": giving(), "right": giving()}
    found = of(race("n", held, winner="who", routes=END), state=made)
    said = [each.message.partition("and ")[2] for each in found if each.code == "AF605"]
    assert said == ([f"winner= may put {refused} there"] if refused else [])


# --- what there is after a join ------------------------------------------------------------------


@pytest.mark.case("P013")
def test_after_collected_failures_a_result_may_be_missing() -> None:
    collect: dict[str, Any] = {"on_branch_error": "collect", "errors": "failures"}
    to_last: dict[str, Any] = {"routes": [route.to("last")]}
    last = node(child, id="last", requires=["answer"], routes=END)
    fan = parallel("fan", {"a": giving("answer")}, **collect, **to_last)
    (finding,) = of(fan, last).errors
    assert (finding.code, finding.path) == ("AF201", ("fan", "last"))
    asked = [route.to("last", field("answer").exists()), *END]
    assert of(parallel("fan", {"a": giving("answer")}, **collect, routes=asked), last).errors == ()
    sure = parallel("fan", {"a": giving("answer")}, **to_last)
    assert of(sure, last).errors == ()


def test_after_a_race_only_what_every_branch_gives_is_there() -> None:
    last = node(child, id="last", requires=["answer"], routes=END)
    both = {"a": giving("answer"), "b": giving("answer", "question")}
    routes = [route.to("last")]
    assert of(race("n", both, routes=routes), last).errors == ()
    one = {"a": giving("answer"), "b": giving("question")}
    assert codes(of(race("n", one, routes=routes), last))[:1] == ["AF201"]


def test_what_branches_read_is_not_written_in_vain() -> None:
    async def work(state: Any) -> Any:
        raise AssertionError("not run")

    first = node(work, id="f", provides=["names", "number"], routes=[route.to("each")])
    inner = child(optional_inputs=["x", "y"])
    each = map_each(
        "each", inner, over="names", item="x", inputs={"y": "number"}, into="log", routes=[route.deliver("log")]
    )  # fmt: skip
    assert codes(of(first, each)) == []


@pytest.mark.case("P004")
def test_an_output_that_a_branch_may_not_have_at_its_end_is_an_error_with_the_way_inside() -> None:
    async def work(state: Any) -> Any:
        raise AssertionError("not run")

    inner = assemble(
        "inner", [node(work, id="w", may_provide=["out"], routes=END)], place=None, inputs=[]
    )
    branch = subflow("s", inner, outputs={"answer": "out"})
    (finding,) = of(parallel("fan", {"a": branch}, routes=END)).errors
    assert (finding.code, finding.path) == ("AF206", ("fan[a]/w",))
    assert finding.message.startswith("node 'fan', branch 'a': the output 'answer' takes 'out'")


def test_a_branch_that_waits_for_an_answer_is_fine() -> None:
    from agentflow import ask

    asking = assemble(
        "asking",
        [ask("ask", prompt="Is it so?", answer="said", routes=[route.deliver("said")])],
        place=None,
        inputs=[],
    )
    assert of(parallel("fan", {"answer": asking, "question": asking}, routes=END)).errors == ()
