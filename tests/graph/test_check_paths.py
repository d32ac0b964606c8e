"""Paths below a field: a condition that looks at what no value of the field's type has is told."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import pytest
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, PrivateAttr, computed_field

from agentflow import Finding, Report, field, node, only_if, route, validate
from tests.graph.definitions import at, codes, told

T = TypeVar("T")


class Place(BaseModel):
    city: str = ""


class Score(BaseModel):
    points: int = 0
    place: Place | None = None


class Keyed(TypedDict, total=False):
    points: int
    place: Place


@dataclass
class Inner:
    place: Place


@dataclass
class Plain:
    points: int = 0
    place: Inner | None = None


@dataclass(frozen=True, slots=True)
class Slotted:
    points: int


class Pair(BaseModel, Generic[T]):
    points: T


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    points: int = 0


class OpenKeyed(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    points: int


class Computed(BaseModel):
    _seen: int = PrivateAttr(0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def point(self) -> int:
        return 1


class Inventive(BaseModel):
    def __getattr__(self, name: str) -> Any:
        return 1


@dataclass
class Made:
    points: int

    def __post_init__(self) -> None:
        self.point = self.points


@dataclass
class Lazy:
    points: int

    @cached_property
    def point(self) -> int:
        return self.points


class Thing:
    """A class that says nothing of its attributes."""


class Level(enum.Enum):
    LOW = 1


def astray(report: Report) -> list[Finding]:
    return [finding for finding in report if finding.code == "AF127"]


def report(annotation: Any, path: str, **options: Any) -> Report:
    """What is said of a condition on a path below the field `it` of some type."""
    state = TypedDict("state", {"it": annotation})  # noqa: UP013

    def look(state: Any) -> None: ...

    routes = [route.finish(dict, when=field(path).exists(), reads=["it"]), route.finish(dict)]
    step = node(look, requires=["it"], routes=routes)
    return validate(step, state=state, inputs=["it"], **options)


@pytest.mark.parametrize(
    "annotation",
    [
        *(Score, Keyed, Plain, Slotted, Pair[int], Score | None, Score | Plain, Score | int),
        *(Annotated[Score, "a remark"], Score | Annotated[int, Ge(0)], Score | Literal["none"]),
        *(Score | list[int],),
    ],
    ids=str,
)
def test_a_key_that_a_closed_type_does_not_have_is_refused(annotation: Any) -> None:
    said = report(annotation, "it.point")
    assert codes(said) == ["AF127"]
    assert said.findings[0].hint == "did you mean 'it.points'?"
    assert astray(report(annotation, "it.points")) == []


@pytest.mark.parametrize(
    "annotation",
    [
        *(Open, OpenKeyed, Computed, Inventive, Made, Lazy, Thing, Any, dict, dict[str, int]),
        *(Score | dict[str, int], Score | Open, Score | Any),
    ],
    ids=str,
)
def test_nothing_is_said_where_a_value_may_have_the_key_all_the_same(annotation: Any) -> None:
    assert astray(report(annotation, "it.point")) == []


def test_methods_private_parts_and_members_of_the_class_are_there() -> None:
    assert astray(report(Computed, "it._seen")) == []
    assert astray(report(Score, "it.model_fields_set")) == []
    assert astray(report(Level | Score, "it.value")) == []


@pytest.mark.parametrize(
    ("annotation", "path", "what", "hint"),
    [
        (Score, "it.place.town", "'it.place.town', and Place has no 'town'", "add 'town' to Place"),
        (Keyed, "it.place.citi", "'it.place.citi', and Place has no 'citi'", "did you mean 'it.place.city'?"),
        (Plain, "it.plaec.x", "'it.plaec', and Plain has no 'plaec'", "did you mean 'it.place'?"),
        (Plain, "it.place.place.x", "'it.place.place.x', and Place has no 'x'", "add 'x' to Place"),
        (Score | Plain, "it.note", "'it.note', and Score and Plain has no 'note'", "add 'note' to Score"),
    ],
)  # fmt: skip
def test_the_message_names_the_part_that_leads_to_nothing(
    annotation: Any, path: str, what: str, hint: str
) -> None:
    (finding,) = astray(report(annotation, path))
    assert finding.message.endswith(f"looks at {what}")
    assert finding.hint == hint


def test_the_finding_stands_at_the_line_of_the_route() -> None:
    class State(TypedDict):
        score: Score

    def look(state: Any) -> None: ...

    routes = [
        route.finish(dict, when=~(field("score.pointz") >= 3), reads=["score"]),  # at: route
        route.finish(dict),
    ]
    said = told(validate(node(look, requires=["score"], routes=routes), state=State))
    assert said == (
        f"here:{at('route')}: error AF127: a route of node 'look' "
        "(finish with dict when not score.pointz >= 3) looks at 'score.pointz', and Score has no 'pointz'\n"
        "    hint: did you mean 'score.points'?"
    )


def test_a_policy_whose_condition_looks_at_nothing_is_malformed() -> None:
    policy = only_if("look", ~field("it.point").exists())
    (finding,) = report(Score, "it.points", policies=[policy]).errors
    assert finding.code == "AF507"
    assert finding.message.endswith(
        "is malformed: it looks at 'it.point', and Score has no 'point'"
    )
    assert "AF504" in codes(report(dict[str, int], "it.points", policies=[policy]))
