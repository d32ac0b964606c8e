"""Functions, types and workflows that declarative forms can name, and one workflow that uses everything."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from agentflow import (
    Reducer,
    Retry,
    Uses,
    append,
    at_most,
    define_workflow,
    ends_within,
    field,
    map_each,
    must_pass,
    never_after,
    node,
    only_if,
    parallel,
    race,
    route,
    subflow,
)

HERE = __name__


class Mood(enum.Enum):
    CALM = "calm"
    CROSS = "cross"


class Trouble(Exception):
    """A named exception, for `retry.on`."""


class State(TypedDict):
    question: str
    status: NotRequired[Literal["online", "offline"]]
    mood: NotRequired[Mood]
    notes: Annotated[list[str], append]
    answer: NotRequired[str]


class Counted(TypedDict):
    n: int


@dataclass
class Defaults:
    question: str
    tries: int = 0
    answer: str | None = None


class Answer(TypedDict):
    text: str


def double(current: int | None, delta: int) -> int:
    return 2 * (current or 0) + delta


doubling = Reducer(None, double, "doubling")


async def fetch(state: Any) -> dict[str, Any]:
    """Fetch the status.

    Nobody reads this line.
    """
    return {"status": "online"}


def reply(state: Any, ctx: Any) -> dict[str, Any]:
    return {"answer": f"{state['question']}!"}


def pause(failed: int) -> float:
    return 0.0 * failed


def is_short(state: Any) -> bool:
    return len(state["question"]) < 10


def shout(state: Any) -> str:
    return str(state["question"]).upper()


is_online = field("status") == "online"


@node(id="tag", provides=["answer"], routes=[route.deliver("answer")])
def decorated(state: Any) -> dict[str, Any]:
    """Tag it."""
    return {"answer": "tagged"}


def take_note(state: Any) -> dict[str, Any]:
    return {"notes": [state["question"]]}


def some_notes(state: Any) -> list[str]:
    return ["a", "b"]


class Box:
    """Holds a function that is reached by a dotted attribute."""

    @staticmethod
    def inside(state: Any) -> dict[str, Any]:
        return {"answer": "boxed"}

    @classmethod
    def of_class(cls, state: Any) -> dict[str, Any]:
        return {"answer": cls.__name__}


small = define_workflow(
    "small", nodes=[decorated], inputs=["question"], result=str, description="One node."
)

everything = define_workflow(
    "everything",
    description="One of each.",
    version="7",
    state=State,
    inputs=["question"],
    optional_inputs=["notes", "mood"],
    result=str,
    max_rounds=3,
    on_error="sorry",
    on_limit="sorry",
    policies=[
        must_pass("fetch", before="deep"),
        never_after("sorry", "fetch"),
        at_most("deep", 3),
        only_if("deep", ~(field("status") == "offline")),
        ends_within(rounds=3),
    ],
    waive={"AF205": "the mood may well be missing", "AF304": "tried last", "AF210": "for readers"},
    nodes=[
        node(
            fetch,
            requires=["question"],
            provides=["status"],
            may_provide=["notes"],
            starts_round=True,
            timeout=2.5,
            retry=Retry(3, pause, on=(Trouble, ValueError)),
            uses=Uses(model_calls=2),
            metadata={"owner": ["a", {"b": None}], "weight": 1.5},
            waive={"AF211": "it is written anew each round"},
            routes=[
                route.to(
                    "deep",
                    (field("status") == "online") & ~field("mood").is_in([Mood.CROSS]),
                    reads=["status", "mood"],
                ),
                route.to("fetch", is_short, reads=["question"]),
                route.finish(shout, reads=["question"]),
            ],
        ),
        subflow(
            "deep",
            small,
            inputs={"question": "question"},
            outputs={"answer": "$result"},
            on_error="sorry",
            routes=[route.deliver_if_ready("answer"), route.to("sorry")],
        ),
        node(
            Box.inside,
            id="sorry",
            description="Say sorry.",
            provides=["answer"],
            routes=[route.deliver("answer")],
        ),
    ],
)


class Branched(TypedDict):
    question: str
    notes: NotRequired[Annotated[list[str], append]]
    who: NotRequired[Literal["small", "other"]]
    answer: NotRequired[str]
    answers: NotRequired[list[str]]
    failures: NotRequired[list[dict[str, Any]]]


noted = define_workflow(
    "noted",
    nodes=[
        node(
            take_note,
            id="note",
            provides=["notes"],
            routes=[route.finish(shout, reads=["question"])],
        )
    ],
    state=State,
    inputs=["question"],
    optional_inputs=["notes"],
    waive={"AF210": "they are taken from it"},
)
into_notes = subflow(
    "own",
    noted,
    inputs={"question": "question", "notes": "notes"},
    outputs={"notes": "notes"},
)

branched = define_workflow(
    "branched",
    description="Branches of each kind.",
    state=Branched,
    inputs=["question"],
    optional_inputs=["notes"],
    result=str,
    nodes=[
        parallel(
            "fan",
            {"answer": small, "noted": into_notes},
            on_branch_error="collect",
            errors="failures",
            routes=[route.to("each")],
        ),
        map_each(
            "each",
            small,
            over="notes",
            item="question",
            into="answers",
            concurrency=3,
            max_items=20,
            requires=["failures"],
            routes=[route.to("again")],
            waive={"AF201": "there is always a note"},
        ),
        map_each(
            "again",
            noted,
            over=some_notes,
            item="question",
            into="answers",
            requires=["answers"],
            routes=[route.to("first")],
        ),
        race(
            "first",
            {"small": small, "other": small},
            into="answer",
            winner="who",
            requires=["answers"],
            routes=[route.deliver("answer", field("who") == "small"), route.deliver("answer")],
        ),
    ],
)


def everything_there(state: Any) -> dict[str, Any]:
    return dict(state)
