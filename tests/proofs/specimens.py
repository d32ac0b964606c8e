"""Specimens: small workflows, each with the codes that a person says its report must have, for the mutants to be held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pydantic

from agentflow import (
    Budget,
    Node,
    Policy,
    Retry,
    Route,
    Uses,
    Workflow,
    ask as ask_somebody,
    at_most,
    ends_within,
    must_pass,
    never_after,
    node,
    only_if,
    private,
    route,
    subflow,
    tool_node,
)
from agentflow.graph.condition import field
from agentflow.graph.workflow import assemble

__all__ = ["SPECIMENS", "Specimen"]


class Service(TypedDict):
    status: Literal["on", "off"]
    load: NotRequired[int]


class State(TypedDict, total=False):
    flag: bool
    number: int
    perhaps: int | None
    maybe: Service | None
    text: str
    status: Literal["new", "open", "done"]


class Secrets(State, total=False):
    secret: Annotated[str, private]


class Parts(State, total=False):
    secrets: list[Annotated[str, private]]


class Checked(pydantic.BaseModel):
    number: int = 0

    @pydantic.model_validator(mode="after")
    def never_run(self) -> Checked:
        return self


class WrongView(TypedDict):
    colour: str


@dataclass(frozen=True)
class Specimen:
    """A workflow, made anew each time, the codes of its report in their order, and a budget to hold it against."""

    build: Callable[[], Workflow[Any]]
    codes: tuple[str, ...]
    budget: Budget | None = None


async def work(state: Any) -> None:
    """Does nothing; specimens are not run."""


async def paint(state: WrongView) -> None:
    """Reads a field that no state has."""


async def count(state: Any) -> int:
    """Returns what is no update."""
    return 1


async def ask(state: Any) -> bool:
    """An asynchronous condition."""
    return True


def says_so(state: Any) -> bool:
    """A condition that is a function."""
    return True


def lists(state: Any) -> list[str]:
    """A finish function that gives a list."""
    return []


END = route.finish(dict, reads=[])
FLAG = field("flag") == True  # noqa: E712
NEW = field("status") == "new"
ROUND: dict[str, Any] = {"starts_round": True}


def step(id: str, *routes: Route, run: Callable[..., Any] = work, **options: Any) -> Node:
    made: Node = node(run, id=id, routes=routes or [END], **options)
    return made


def flow(*nodes: Node, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"state": State, "inputs": [], "optional_inputs": []}
    return assemble("specimen", nodes, place=None, **(settings | options))


def _child(**options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"inputs": ["number"], "optional_inputs": []}
    return assemble(
        "child",
        [
            step("p", route.to("q"), may_provide=["text"], requires=["number"]),
            step("q", route.deliver("number"), uses=Uses(model_calls=2)),
        ],
        place=None,
        state=State,
        **(settings | options),
    )


def _nested(**options: Any) -> Workflow[Any]:
    given = {"inputs": {"number": "number"}, "outputs": {"number": "$result"}}
    inner = subflow("sub", _child(), routes=[route.to("last")], **given, retry=Retry(2))
    last = step("last", route.deliver("number"))
    return flow(inner, last, inputs=["number"], **options)


def _loop(**options: Any) -> Workflow[Any]:
    """Sound: a loop whose nodes may fail, with a node for errors, one for the limit, and data that is there in time."""
    settings: dict[str, Any] = {"max_rounds": 3, "on_limit": "stop"}
    return flow(
        step("ask", route.to("act", FLAG), route.to("rest"), provides=["flag"], **ROUND),
        step(
            "act",
            route.to("ask", ~field("number").exists()),
            END,
            may_provide=["number"],
            on_error="mend",
            uses=Uses(tool_calls=2),
        ),
        step("rest", route.to("ask"), requires=["flag"], on_error="mend", uses=Uses(model_calls=1)),
        step("mend", route.to("ask"), requires=["flag"], provides=["text"]),
        step("stop", route.deliver_if_ready("text"), route.deliver("flag")),
        **(settings | options),
    )


def _looping(policy: Policy) -> Callable[[], Workflow[Any]]:
    return lambda: _loop(policies=[policy])


def _nesting(policy: Policy) -> Callable[[], Workflow[Any]]:
    return lambda: _nested(policies=[policy])


SPECIMENS: dict[str, Specimen] = {
    # Declarations and structure.
    "twins": Specimen(lambda: flow(step("a", route.to("a2")), step("a2"), step("a2")), ("AF102",)),
    "doubled": Specimen(
        lambda: flow(step("a", provides=["text"], may_provide=["text"])), ("AF103",)
    ),
    "no rounds": Specimen(lambda: flow(step("a"), max_rounds=0), ("AF118",)),
    "lambda as result": Specimen(lambda: flow(step("a"), result=lambda x: x), ("AF121",)),
    "method never run": Specimen(lambda: flow(step("a"), state=Checked), ("AF125",)),
    "no argument": Specimen(lambda: flow(step("a", run=lambda: None)), ("AF117",)),
    "asynchronous condition": Specimen(
        lambda: flow(
            step("a", route.to("a", ask), END, **ROUND),  # type: ignore[arg-type]
            max_rounds=2,
        ),
        ("AF116",),
    ),
    "unknown field": Specimen(lambda: flow(step("a", provides=["txt"])), ("AF120",)),
    "input not mapped": Specimen(
        lambda: flow(subflow("a", _child(), outputs={"number": "$result"}, routes=[END])),
        ("AF122",),
    ),
    "unknown target": Specimen(lambda: flow(step("a", route.to("zzz", FLAG), END)), ("AF106",)),
    "unreachable": Specimen(lambda: flow(step("a"), step("b")), ("AF109",)),
    "dead end": Specimen(
        lambda: flow(step("a", route.to("b", NEW), END), node(work, id="b"), inputs=["status"]),
        ("AF110",),
    ),
    "loop without exit": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), END),
            step("b", route.to("b"), **ROUND),
            inputs=["status"],
            max_rounds=2,
        ),
        ("AF111",),
    ),
    "shadowed": Specimen(lambda: flow(step("a", END, route.deliver("text"))), ("AF115",)),
    "repeated": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), route.to("b", NEW), END), step("b"), inputs=["status"]
        ),
        ("AF123",),
    ),
    "errors in a circle": Specimen(
        lambda: flow(step("a", route.to("b"), on_error="b"), step("b", on_error="a")), ("AF124",)
    ),
    "uncounted loop": Specimen(
        lambda: flow(step("a", route.to("a", NEW), END), inputs=["status"], max_rounds=2),
        ("AF113",),
    ),
    "unstated rounds": Specimen(
        lambda: flow(step("a", route.to("a", NEW), END, **ROUND), inputs=["status"]), ("AF114",)
    ),
    # Data flow.
    "sound loop": Specimen(_loop, ()),
    "sometimes there": Specimen(
        lambda: flow(
            step("a", route.to("b", FLAG), END, provides=["flag"], may_provide=["text"]),
            step("b", route.to("c", field("text").exists()), END),
            step("c", requires=["text"]),
        ),
        (),
    ),
    "sometimes missing": Specimen(
        lambda: flow(step("a", route.to("b"), may_provide=["text"]), step("b", requires=["text"])),
        ("AF201",),
    ),
    "missing once only": Specimen(
        lambda: flow(
            step("a", route.to("b"), may_provide=["text"]),
            step("b", route.to("c"), requires=["text"]),
            step("c", requires=["text"]),
        ),
        ("AF201",),
    ),
    "failed before it provided": Specimen(
        lambda: flow(
            step("a", route.to("b"), provides=["text"], on_error="mend"),
            step("b", requires=["text"]),
            step("mend", requires=["text"]),
        ),
        ("AF202",),
    ),
    "kept for errors": Specimen(
        lambda: flow(
            step("a", route.to("b"), provides=["text"]),
            step("b", on_error="mend"),
            step("mend", requires=["text"]),
        ),
        (),
    ),
    "failed again": Specimen(
        lambda: flow(
            step("a", route.to("b"), on_error="mend"),
            step("b", on_error="last"),
            step("mend", route.to("b"), on_error="last", provides=["text"]),
            step("last", requires=["text"]),
        ),
        ("AF202",),
    ),
    "failed again in the end": Specimen(
        lambda: flow(
            step("a", route.to("b"), on_error="mend", provides=["text"]),
            step("b", requires=["text"]),
            step("mend", on_error="last"),
            step("last", requires=["text"]),
        ),
        ("AF305",),
    ),
    "failed in every round": Specimen(
        lambda: flow(
            step("a", route.to("a", ~FLAG), END, provides=["flag"], on_error="mend", **ROUND),
            step(
                "mend",
                route.to("a", ~field("number").exists()),
                route.to("late"),
                may_provide=["number"],
            ),
            step("late", requires=["text"]),
            max_rounds=3,
        ),
        ("AF201",),
    ),
    "delivered too soon": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), route.deliver("text"), provides=["status"]),
            step("b", route.deliver("text"), provides=["text"]),
        ),
        ("AF203",),
    ),
    "read by a function": Specimen(
        lambda: flow(step("a", route.finish(dict, reads=["text"]), may_provide=["text"])),
        ("AF204",),
    ),
    "looked at": Specimen(
        lambda: flow(step("a", route.to("b", FLAG), END, may_provide=["flag"]), step("b")),
        ("AF205",),
    ),
    "given at times": Specimen(
        lambda: flow(step("a", requires=["text"]), optional_inputs=["text"]), ("AF201",)
    ),
    "cannot be compared": Specimen(
        lambda: flow(
            step("a", route.to("b", field("perhaps") < 10), END), step("b"), inputs=["perhaps"]
        ),
        ("AF207",),
    ),
    "never read": Specimen(
        lambda: flow(step("a", route.to("b"), provides=["text"]), step("b")), ("AF210",)
    ),
    "read by the error node": Specimen(
        lambda: flow(
            step("a", route.to("b"), provides=["text"]),
            step("b", route.to("c"), provides=["text"], on_error="mend"),
            step("c", requires=["text"]),
            step("mend", requires=["text"]),
        ),
        (),
    ),
    "given back at times": Specimen(
        lambda: flow(
            subflow(
                "a",
                _child(),
                inputs={"number": "number"},
                outputs={"text": "text"},
                routes=[route.deliver("text")],
            ),
            inputs=["number"],
        ),
        ("AF206",),
    ),
    "given back always": Specimen(
        lambda: flow(
            subflow(
                "a",
                assemble(
                    "child",
                    [step("p", route.to("q"), provides=["text"]), step("q")],
                    place=None,
                    state=State,
                ),
                outputs={"text": "text"},
                routes=[route.deliver("text")],
            ),
        ),
        (),
    ),
    "limit needs": Specimen(
        lambda: flow(
            step("a", route.to("a", ~FLAG), END, provides=["flag"], **ROUND),
            step("stop", requires=["text"]),
            max_rounds=2,
            on_limit="stop",
        ),
        ("AF201",),
    ),
    "limit after a failure": Specimen(
        lambda: flow(
            step("a", route.to("b"), **ROUND),
            step("b", on_error="a"),
            step("last", on_error="rescue"),
            step("rescue", requires=["text"]),
            max_rounds=1,
            on_limit="last",
        ),
        ("AF202",),
    ),
    # Exhaustiveness.
    "misspelled": Specimen(
        lambda: flow(
            step("a", route.to("b", field("status") == "opne"), END), step("b"), inputs=["status"]
        ),
        ("AF301", "AF305"),
    ),
    "uncovered": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), route.to("b", field("status") == "open")),
            step("b"),
            inputs=["status"],
        ),
        ("AF302",),
    ),
    "covered": Specimen(
        lambda: flow(
            step(
                "a",
                route.to("b", NEW | (field("status") == "open")),
                route.to("c", ~(field("status") != "done")),
            ),
            step("b"),
            step("c"),
            inputs=["status"],
        ),
        (),
    ),
    "numbers covered": Specimen(
        lambda: flow(
            step("a", route.to("b", field("number") <= 9), route.to("c", field("number") >= 10)),
            step("b"),
            step("c"),
            inputs=["number"],
        ),
        (),
    ),
    "a number between": Specimen(
        lambda: flow(
            step("a", route.to("b", field("number") <= 10), route.to("c", field("number") >= 12)),
            step("b", requires=["number"]),
            step("c"),
            inputs=["number"],
        ),
        ("AF302",),
    ),
    "nothing below None": Specimen(
        lambda: flow(
            step(
                "a",
                route.to("b", field("maybe").is_none()),
                route.to("b", field("maybe.status") == "on"),
                route.to("c", field("maybe.status") == "off"),
            ),
            step("b"),
            step("c"),
            inputs=["maybe"],
        ),
        (),
    ),
    "left out below": Specimen(
        lambda: flow(
            step(
                "a",
                route.to("b", field("maybe").is_none()),
                route.to("c", field("maybe.load").exists()),
            ),
            step("b"),
            step("c"),
            inputs=["maybe"],
        ),
        ("AF302",),
    ),
    "all of it": Specimen(
        lambda: flow(
            step(
                "a",
                route.to("b", field("number").exists() & FLAG),
                END,
                provides=["flag"],
                may_provide=["number"],
            ),
            step("b", requires=["number"]),
        ),
        (),
    ),
    "one of two": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW | (field("status") == "open")), END, provides=["status"]),
            step("b", route.to("c", NEW), END),
            step("c"),
        ),
        (),
    ),
    "covered before": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), route.to("b", ~NEW), route.to("c", NEW), END),
            step("b"),
            step("c"),
            inputs=["status"],
        ),
        ("AF305", "AF303", "AF303"),
    ),
    "said by a function": Specimen(
        lambda: flow(
            step("a", route.to("b", says_so), route.to("b", NEW)), step("b"), inputs=["status"]
        ),
        ("AF304",),
    ),
    "no way out on any data": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), END, **ROUND),
            step("b", route.to("a", NEW), END),
            inputs=["status"],
            max_rounds=2,
        ),
        ("AF306", "AF303"),
    ),
    "an end by failure only": Specimen(
        lambda: flow(
            step("a", route.to("b", NEW), END),
            step("b", route.to("b", NEW), END, on_error="mend", **ROUND),
            step("mend"),
            inputs=["status"],
            max_rounds=2,
        ),
        ("AF306", "AF303"),
    ),
    "led into a trap": Specimen(
        lambda: flow(
            step("a", route.to("d", NEW), route.to("b")),
            step("b", route.to("c")),
            step("c", route.to("d", NEW), route.to("c"), **ROUND),
            step("d"),
            inputs=["status"],
            max_rounds=2,
        ),
        ("AF306", "AF303"),
    ),
    "led to a stop in a round that is not there": Specimen(
        lambda: flow(
            step("a", route.to("b"), on_error="c", **ROUND),
            step("b", requires=["text"]),
            step("c", route.to("a"), provides=["number"]),
            max_rounds=1,
        ),
        ("AF201", "AF210"),
    ),
    "led to a stop": Specimen(
        lambda: flow(step("a", route.to("b")), step("b", requires=["text"])), ("AF201",)
    ),
    "below a mapping": Specimen(
        lambda: flow(
            step("a", route.to("b", field("maybe.stat") == "on"), END), step("b"), inputs=["maybe"]
        ),
        ("AF127",),
    ),
    # Rounds and budgets.
    "rounds without a loop": Specimen(lambda: flow(step("a"), max_rounds=3), ("AF401",)),
    "too few rounds": Specimen(
        lambda: flow(
            step("a", route.to("b", field("flag").exists()), route.to("c"), **ROUND),
            step("b"),
            step("c", route.to("a"), provides=["flag"]),
            max_rounds=1,
        ),
        ("AF305", "AF402", "AF303"),
    ),
    "small budget": Specimen(
        lambda: flow(step("a", route.to("b")), step("b")), ("AF403",), Budget(visits=1)
    ),
    # Policies.
    "limit passed": Specimen(_looping(must_pass("act", before="stop")), ("AF501",)),
    "mended before": Specimen(_looping(must_pass("ask", before="mend")), ()),
    "never after": Specimen(_looping(never_after("mend", "ask")), ("AF502",)),
    "asked thrice": Specimen(_looping(at_most("ask", 3)), ()),
    "asked twice": Specimen(_looping(at_most("ask", 2)), ("AF503",)),
    "only with a flag": Specimen(_looping(only_if("act", FLAG)), ()),
    "only without a flag": Specimen(_looping(only_if("rest", FLAG)), ("AF504",)),
    "ends in three": Specimen(_looping(ends_within(rounds=3)), ()),
    "ends in two": Specimen(_looping(ends_within(rounds=2)), ("AF505",)),
    "passed inside": Specimen(_nesting(must_pass("q", before="last")), ()),
    "tried twice inside": Specimen(_nesting(at_most("sub/p", 1)), ("AF503",)),
    "passed without success": Specimen(
        lambda: flow(
            step("check", route.to("pay"), on_error="pay"),
            step("pay"),
            policies=[must_pass("check", before="pay")],
        ),
        ("AF501",),
    ),
    "handled once a round": Specimen(
        lambda: flow(
            step("a", route.to("b"), on_error="mend"),
            step("b", on_error="mend"),
            step("mend", route.to("b")),
            policies=[at_most("mend", 1)],
        ),
        (),
    ),
    # Claims.
    "another view": Specimen(lambda: flow(step("a", run=paint)), ("AF601",)),
    "no update": Specimen(lambda: flow(step("a", run=count)), ("AF601",)),
    "another result": Specimen(
        lambda: flow(step("a", route.finish(lists, reads=[])), result=int), ("AF602",)
    ),
    "a result at times": Specimen(
        lambda: flow(step("a", route.deliver("perhaps"), provides=["perhaps"]), result=int),
        ("AF602",),
    ),
    "another type inside": Specimen(
        lambda: flow(
            subflow(
                "a",
                _child(),
                inputs={"number": "flag"},
                outputs={"text": "$result"},
                routes=[route.deliver("text")],
            ),
            inputs=["flag"],
        ),
        ("AF605",),
    ),
    "waived without a reason": Specimen(
        lambda: flow(step("a", provides=["text"], waive={"AF210": " "})), ("AF702", "AF210")
    ),
    "waived for nothing": Specimen(lambda: flow(step("a", waive={"AF210": "why not"})), ("AF701",)),
    "waived": Specimen(lambda: flow(step("a", provides=["text"], waive={"AF210": "later"})), ()),
    # Private fields.
    "private in part": Specimen(lambda: flow(step("a"), state=Parts), ("AF119",)),
    "private result": Specimen(
        lambda: flow(step("a", route.deliver("secret"), provides=["secret"]), state=Secrets),
        ("AF126",),
    ),
    "private and called for": Specimen(
        lambda: flow(
            tool_node("a", tool="vault", output="secret", routes=[route.to("b")]),
            step("b", requires=["secret"]),
            state=Secrets,
        ),
        ("AF213",),
    ),
    "private and lost": Specimen(
        lambda: flow(
            ask_somebody("a", prompt="?", answer="flag", routes=[route.to("b")]),
            step("b", requires=["secret", "flag"]),
            state=Secrets,
            inputs=["secret"],
        ),
        ("AF208",),
    ),
    "private and not lost": Specimen(
        lambda: flow(
            step("a", route.to("b"), provides=["flag"]),
            step("b", requires=["secret", "flag"]),
            state=Secrets,
            inputs=["secret"],
        ),
        (),
    ),
}
"""By a name that says what is wrong, or right."""
