"""Private fields, as the validator sees them: where the mark may stand, what would record them, what would miss them."""

from __future__ import annotations

from dataclasses import dataclass, field as part
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from agentflow import (
    Finding,
    Node,
    Workflow,
    append,
    ask,
    define_workflow,
    field,
    map_each,
    model_node,
    node,
    parallel,
    private,
    route,
    subflow,
    tool_node,
    validate,
    wait,
)
from agentflow.graph.schema import schema_of

_typed_dict: Any = typing_extensions.TypedDict


class State(TypedDict):
    token: Annotated[str, private]
    open: NotRequired[str]
    ok: NotRequired[bool]
    hidden: NotRequired[Annotated[str, private]]


class Model(BaseModel):
    token: Annotated[str, Field(min_length=1), private]
    log: Annotated[list[str], append, private] = []
    open: str = ""


@dataclass
class Record:
    token: Annotated[str, private]
    log: Annotated[list[str], private, append] = part(default_factory=list)
    open: str = ""


@pytest.mark.parametrize("source", [Model, Record], ids=["pydantic", "dataclass"])
def test_the_mark_stands_beside_reducers_and_constraints(source: Any) -> None:
    schema = schema_of(source)
    assert schema.problems == ()
    assert schema.private() == {"token", "log"}
    assert schema.fields["log"].reducer is append
    assert "private" not in repr(schema.fields["token"].annotation)
    assert schema_of(State).private() == {"token", "hidden"}


def test_the_mark_is_in_the_manifest_and_in_the_fingerprint() -> None:
    def made(hint: Any) -> Workflow[Any]:
        state = _typed_dict("State", {"a": hint})
        use = node(_nothing, id="use", requires=["a"], routes=[route.finish(len)])
        return define_workflow("w", nodes=[use], state=state)

    open, marked = made(str), made(Annotated[str, private])
    assert marked.manifest()["state"]["a"] == {
        "type": "str",
        "required": True,
        "default": False,
        "reducer": None,
        "private": True,
    }
    assert open.fingerprint != marked.fingerprint


def test_the_mark_is_in_the_declarative_form() -> None:
    data: dict[str, Any] = {
        "id": "w",
        "state": {
            "fields": {
                "token": {"type": "string", "private": True},
                "log": {"type": "array", "reducer": "append", "private": True, "optional": True},
                "open": {"type": "string", "private": False},
            }
        },
        "nodes": [
            {"id": "end", "run": "builtins:len", "routes": [{"finish": "builtins:len"}]},
        ],
        "waive": {"AF212": "a test"},
    }
    workflow = Workflow.from_spec(data)
    assert workflow.schema.private() == {"token", "log"}
    assert workflow.schema.fields["log"].reducer is append
    again = Workflow.from_spec(workflow.to_spec())
    assert again.manifest() == workflow.manifest()
    assert again.to_spec()["state"] == data["state"]
    wrong = {**data["state"]["fields"], "token": {"type": "string", "private": "yes"}}
    report = validate({**data, "state": {"fields": wrong}})
    assert [each.code for each in report.errors] == ["AF130"]


# --- where it stands ---------------------------------------------------------------------------


class Account(TypedDict):
    name: str
    token: Annotated[str, private]


Secret = typing_extensions.TypeAliasType("Secret", Annotated[str, private])


@pytest.mark.parametrize(
    ("hint", "where"),
    [
        (list[Annotated[str, private]], "a part of its type"),
        (Annotated[str, private] | None, "a part of its type"),
        (Annotated[dict[str, Annotated[str, private]], Field()], "a part of its type"),
        (Account, "'token' of Account"),
        (dict[str, list[Account]], "'token' of Account"),
        (Secret, "'=' of Secret"),
    ],
)
def test_only_a_whole_field_can_be_private(hint: Any, where: str) -> None:
    def found(hint: Any) -> list[str]:
        state = _typed_dict("State", {"a": hint})
        use = node(_nothing, id="use", requires=["a"], routes=[route.finish(len)])
        return [each.message for each in validate(use, state=state).errors]

    assert found(hint) == [
        f"field 'a' of the state: {where} is marked private, which only a whole field can be"
    ]
    # What is private as a whole is private in all its parts.
    assert found(Annotated[hint, private]) == []


async def _nothing(state: Any) -> None: ...


# --- what would record it ----------------------------------------------------------------------


class Child(TypedDict):
    open: NotRequired[str]
    hidden: NotRequired[Annotated[str, private]]


def child(*ends: Any) -> Workflow[Any]:
    @node(provides=["hidden", "open"], routes=[*ends])
    async def only(state: Any) -> dict[str, Any]:
        return {"hidden": "h", "open": "o"}

    return define_workflow(
        "child",
        nodes=[only],
        state=Child,
        optional_inputs=["open", "hidden"],
        waive={"AF210": "a test", "AF211": "a test"},
    )


def errors(*nodes: Node, **options: Any) -> list[tuple[str, str]]:
    report = validate(*nodes, state=State, **options)
    return [(each.code, each.message) for each in report.errors]


OPEN = child(route.deliver("open"))
FINISHED = child(route.finish(lambda state: state["hidden"], reads=["hidden"]))
MAPPINGS: dict[str, tuple[Any, dict[str, str], dict[str, str], str | None]] = {
    "private to private": (OPEN, {"hidden": "token"}, {"hidden": "hidden"}, None),
    "private into an open input": (
        OPEN,
        {"open": "token"},
        {},
        "the input 'open' of 'child' takes 'token', which is private, and 'open' is not",
    ),
    "open into a private input": (OPEN, {"hidden": "open"}, {}, None),
    "private into an open output": (
        OPEN,
        {},
        {"open": "hidden"},
        "the output 'open' takes 'hidden' of 'child', which is private, and 'open' is not",
    ),
    "open into a private output": (
        OPEN,
        {},
        {"hidden": "open"},
        "the output 'hidden' is private, and takes 'open' of 'child', which is not",
    ),
    "a delivered field into a private output": (
        OPEN,
        {},
        {"hidden": "$result"},
        "the output 'hidden' is private, and takes 'open' of 'child', which is not",
    ),
    "a computed result into a private output": (FINISHED, {}, {"hidden": "$result"}, None),
    "a delivered field into an open output": (OPEN, {}, {"open": "$result"}, None),
}


@pytest.mark.parametrize(
    ("inner", "inputs", "outputs", "problem"), MAPPINGS.values(), ids=MAPPINGS.keys()
)
def test_a_mapping_does_not_take_the_mark_off(
    inner: Workflow[Any], inputs: dict[str, str], outputs: dict[str, str], problem: str | None
) -> None:
    sub = subflow("sub", inner, inputs=inputs, outputs=outputs, routes=[route.finish(len)])
    found = errors(sub, inputs=["token", "open"], optional_inputs=[])
    assert found == ([] if problem is None else [("AF126", f"node 'sub': {problem}")])


class Items(TypedDict):
    names: list[str]
    tokens: NotRequired[Annotated[list[str], private]]
    results: NotRequired[list[str]]


@pytest.mark.parametrize(
    ("over", "item", "code"),
    [
        ("tokens", "open", "AF126"),
        ("tokens", "hidden", None),
        ("names", "hidden", None),
        (lambda state: state["tokens"], "hidden", "AF213"),
        (lambda state: state["names"], "open", None),
    ],
)
def test_items_are_mapped_like_other_fields(over: Any, item: str, code: str | None) -> None:
    each = map_each(
        "each",
        OPEN,
        over=over,
        item=item,
        into="results",
        max_items=3,
        routes=[route.deliver("results")],
    )
    report = validate(each, state=Items, inputs=["names", "tokens"], waive={"AF212": "a test"})
    found = [each.code for each in report if each.code in ("AF126", "AF213")]
    assert found == ([] if code is None else [code])


def test_a_branch_that_asks_suspends_the_node() -> None:
    asks = define_workflow(
        "asks", nodes=[ask("a", prompt="?", answer="x", routes=[route.deliver("x")])], inputs=[]
    )
    both = parallel("both", branches={"one": OPEN, "two": asks}, routes=[route.to("use")])

    class Both(State):
        one: NotRequired[str]
        two: NotRequired[str]

    assert [each.node for each in lost(both, use(), state=Both)] == ["use"]


def test_a_private_field_is_no_result() -> None:
    end = node(_nothing, id="end", routes=[route.deliver("token")])
    assert errors(end) == [
        ("AF126", "node 'end' delivers 'token', which is private, and results are recorded")
    ]
    # Nobody can accept what would make the mark untrue.
    waived = node(_nothing, id="end", routes=[route.deliver("token")], waive={"AF126": "why not"})
    assert [code for code, _ in errors(waived)] == ["AF126", "AF702"]


def test_an_answer_is_not_put_into_a_private_field() -> None:
    asking = ask("who", prompt="?", answer="hidden", routes=[route.finish(len)])
    assert errors(asking) == [
        (
            "AF126",
            "node 'who': the answer goes into 'hidden', which is private, and answers are recorded",
        )
    ]
    assert errors(ask("who", prompt="?", answer="ok", routes=[route.finish(len)])) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda output: tool_node("call", tool="login", output=output, routes=[route.finish(len)]),
        lambda output: model_node("call", input="open", output=output, routes=[route.finish(len)]),
    ],
    ids=["tool", "model"],
)
def test_what_a_call_gives_is_recorded_whatever_field_it_is_put_into(make: Any) -> None:
    report = validate(make("hidden"), state=State, inputs=["open", "token"])
    (found,) = report.warnings
    assert found.code == "AF213"
    assert "'call' puts what its call gives into 'hidden', which is private" in found.message
    assert validate(make("ok"), state=State, inputs=["open", "token"]).warnings == ()


# --- what would miss it ------------------------------------------------------------------------


def lost(*nodes: Node, **options: Any) -> list[Finding]:
    report = validate(*nodes, state=options.pop("state", State), **options)
    assert not report.errors, report.as_text()
    return [each for each in report if each.code == "AF208"]


def use(**options: Any) -> Node:
    options = {"requires": ["token"], "routes": [route.finish(len)], **options}
    return node(_nothing, id="use", **options)


def question(target: str = "use", **options: Any) -> Node:
    return ask("who", prompt="?", answer="ok", routes=[route.to(target)], **options)


async def suspends(state: Any, ctx: Any) -> None:
    await ctx.suspend("k")


def waits_in_a_thread(state: Any, ctx: Any) -> None:
    def inner() -> None:
        ctx.sync.suspend("k")

    inner()


async def has_a_friend_who_waits(state: Any, other: str = "") -> None:
    await state.wait()


class Caller:
    async def __call__(self, state: Any, ctx: Any) -> None:
        await ctx.wait(60)


SUSPENDING: dict[str, Node] = {
    "ask": question(),
    "wait": wait("who", seconds=60, routes=[route.to("use")]),
    "ctx.suspend": node(suspends, id="who", routes=[route.to("use")]),
    "ctx.sync.suspend in an inner function": node(
        waits_in_a_thread, id="who", routes=[route.to("use")]
    ),
    "an object that calls ctx.wait": node(Caller(), id="who", routes=[route.to("use")]),
    "a sub-workflow that asks": subflow(
        "who",
        define_workflow(
            "inner",
            nodes=[ask("a", prompt="?", answer="x", routes=[route.deliver("x")])],
            inputs=[],
        ),
        routes=[route.to("use")],
    ),
}


@pytest.mark.parametrize("first", SUSPENDING.values(), ids=SUSPENDING.keys())
def test_what_is_required_after_a_suspension_may_be_lost(first: Node) -> None:
    (found,) = lost(first, use())
    assert found.severity == "warning"
    assert found.node == "use"
    assert found.path == ("who", "use")
    assert found.message == (
        "node 'use' requires 'token': a run that has waited in node 'who' has it only if it is supplied again"
    )


def test_nodes_that_suspend_nothing_lose_nothing() -> None:
    assert lost(node(_nothing, id="who", routes=[route.to("use")]), use()) == []
    # It waits for something else: it does not take a context.
    friend = node(has_a_friend_who_waits, id="who", routes=[route.to("use")])
    assert lost(friend, use()) == []


def test_what_is_needed_before_or_is_not_private_is_not_lost() -> None:
    before = node(_nothing, id="before", requires=["token"], routes=[route.to("who")])
    after = node(_nothing, id="after", requires=["open"], routes=[route.finish(len)])
    assert lost(before, question("after"), after, inputs=["token", "open"]) == []


def test_a_suspended_visit_is_made_again_so_it_needs_what_it_required() -> None:
    (found,) = lost(question(requires=["token"]), use(requires=[]))
    assert (found.node, found.path) == ("who", ("who",))


def test_what_is_provided_anew_is_not_lost() -> None:
    login = node(
        _nothing,
        id="login",
        provides=["token"],
        routes=[route.to("use")],
        waive={"AF211": "a test"},
    )
    assert lost(question("login"), login, use()) == []
    may = node(_nothing, id="login", may_provide=["token"], routes=[route.to("use")])
    assert [each.path for each in lost(question("login"), may, use())] == [("who", "login", "use")]


def test_whoever_asks_whether_it_is_there_does_not_miss_it() -> None:
    check = node(
        _nothing,
        id="check",
        routes=[route.to("use", field("token").exists()), route.to("login")],
    )
    login = node(_nothing, id="login", provides=["token"], routes=[route.to("use")])
    assert (
        lost(question("check"), check, login, use(), waive={"AF305": "a test", "AF303": "x"}) == []
    )


def test_a_default_is_there_again() -> None:
    class Defaulted(BaseModel):
        token: Annotated[str, private] = "none"
        ok: bool = False

    assert lost(question(), use(), state=Defaulted) == []


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ([route.finish(len, lambda state: True, reads=["token"])], "reads 'token'"),
        (
            [route.finish(len, field("token") == "a"), route.finish(len)],
            "looks at 'token'",
        ),
        (
            [route.finish(len, field("token") == "a"), route.finish(len, field("token") != "a")],
            "has no route that matches without 'token'",
        ),
    ],
)
def test_what_routes_look_at_may_be_lost_too(routes: list[Any], told: str) -> None:
    end = node(_nothing, id="end", routes=routes)
    assert any(told in each.message for each in lost(question("end"), end))


def test_a_loss_is_told_once_and_can_be_accepted() -> None:
    again = node(
        _nothing,
        id="again",
        requires=["token"],
        starts_round=True,
        routes=[route.finish(len, field("ok").exists() & (field("ok") == True)), route.to("who")],  # noqa: E712
    )
    loop: dict[str, Any] = {"entry": "again", "max_rounds": 5}
    assert len(lost(again, question("again"), **loop)) == 1
    accepted = {"AF208": "the host supplies it again"}
    assert lost(again, question("again"), waive=accepted, **loop) == []


def test_a_loss_after_a_failure_is_found() -> None:
    mend = node(_nothing, id="mend", requires=["token"], routes=[route.finish(len)])
    (found,) = lost(question("use", on_error="mend"), use(requires=[]), mend)
    assert found.path == ("who", "mend")
