"""Conditions on fields of all sorts of types: what is said of them agrees with what their values answer."""

from __future__ import annotations

import datetime
import enum
import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import pytest
from pydantic import AwareDatetime, BaseModel, Field
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from agentflow import Condition, field, node, route, validate
from agentflow.graph.schema import schema_of


class Mark(enum.Enum):
    GOOD = 1
    FINE = 1  # noqa: PIE796 - an alias is meant
    BAD = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Rank(enum.IntEnum):
    LOW = 1


class Shade(str, enum.Enum):  # noqa: UP042 - the old spelling is meant
    X = "x"


class Point(NamedTuple):
    x: int
    y: str


class Moved(Point):
    """Has a text where its base has a number."""

    @property
    def x(self) -> str:  # type: ignore[override]
        return ""


class Thing:
    """A class that says nothing of its attributes."""

    def __init__(self) -> None:
        self.n = "a"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.is_instance_schema(cls)


class Holder(BaseModel):
    m: int

    @property
    def n(self) -> str:
        return "a"


class Document(TypedDict):
    title: str


Cents = NewType("Cents", int)
Price = NewType("Price", Cents)
Mood = NewType("Mood", Literal["glad", "sad"])  # type: ignore[valid-newtype]
Level = TypeAliasType("Level", Literal["low", "high"])
Share = TypeAliasType("Share", Annotated[float, Field(ge=0)])
AWARE = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)

it = field("it")


@pytest.mark.parametrize(
    ("kind", "values", "condition"),
    [
        (Cents, [-1, 9, 10], it < 10),
        (Price, [-1, 9, 10], it >= 10),
        (Cents | None, [None, 9, 10], it < 10),
        (Cents, [1, 2], it.contains("1")),
        (Cents, [1, 2], it == "1"),
        (Mood, ["glad", "sad"], it == "mad"),
        (Level, ["low", "high"], it == "low"),
        (Level, ["low", "high"], it == "middle"),
        (Share, [0.0, 0.5, 2.0], it <= 0.5),
        (Share, [0.0, 0.5, 2.0], it == "half"),
        (dict[str, int], [{}, {"n": 1}], field("it.n").contains("b")),
        (dict[str, int], [{}, {"n": 1}], field("it.n") <= "a"),
        (dict[str, int], [{}, {"n": 1}, {"n": 3}], field("it.n") <= 2),
        (dict[str, dict[str, int]], [{}, {"n": {}}, {"n": {"m": 1}}], field("it.n.m") <= "a"),
        (Mapping[str, int], [{}, {"n": 1}], field("it.n") <= "a"),
        (dict[int, int], [{}, {1: 1}], field("it.n").exists() | it.exists()),
        (typing.Dict, [{"n": "a"}], field("it.n") <= "a"),  # noqa: UP006 - the old spelling is meant
        (dict[str, Any], [{"n": "a"}], field("it.n") <= "a"),
        (Point, [Point(0, "a")], field("it.x").contains("b")),
        (Point, [Point(0, "a")], field("it.x") <= "a"),
        (Point, [Point(0, "a")], field("it.y") <= "a"),
        (Moved, [Moved(0, "a")], field("it.x") <= "a"),
        (datetime.date, [AWARE.date()], field("it.year") <= "a"),
        (datetime.date, [AWARE.date()], field("it.year") <= 2024),
        (datetime.datetime, [AWARE], field("it.hour").contains(1)),
        (int, [0, 1], field("it.real") <= "a"),
        (int | float, [0, 0.5], (field("it.real") > 0) & (field("it.real") < 1)),
        (Rights, [Rights.READ, Rights(0)], field("it.name") <= "a"),
        (Rights, [Rights.READ, Rights(0)], field("it.name").contains("R")),
        (Rights, [Rights.READ, Rights.WRITE], it.contains(1)),
        (Rights, [Rights.READ, Rights.WRITE], it.contains(Rights.READ)),
        (dict[str, str] | Thing, [{"n": "a"}, Thing()], field("it.n") <= "b"),
        (dict[str, str] | Holder, [{"n": "a"}, Holder(m=1)], field("it.n") <= "b"),
        (complex, [1 + 0j, 1j], it == 1),
        (complex, [1 + 0j, 1j], it == 10**400),
        (complex, [1 + 0j, 1j], it <= 1),
        (complex, [1 + 0j, 1j], it <= 1j),
        (Point, [Point(0, "a")], it >= ()),
        (Point, [Point(0, "a")], it >= (0,)),
        (Point, [Point(0, "a")], it < (0.5, "b")),
        (Point, [Point(0, "a")], it < ("a", "b")),
        (tuple[int, ...], [(), (1, 2)], it <= ()),
        (tuple[int, int], [(1, 2)], it < (1, 3, 4)),
        (int, [1, 2], (it == Rank.LOW) & field("it.value").exists()),
        (float, [1.0, 2.0], (it == Rank.LOW) & (field("it.name") == "LOW")),
        (str, ["x", "y"], (it == Shade.X) & (field("it.value") == "x")),
        (bytes, [b"", b"ab"], it.contains("a")),
        (bytes, [b"", b"ab"], it.contains(b"a")),
        (bytes, [b"", b"ab"], it.contains(97)),
        (bytes, [b"", b"ab"], it.contains(300)),
        (int, [0, 1], field("it.real") == 1),
        (float, [0.0, 1.5], field("it.real").exists()),
        (Decimal, [Decimal(0), Decimal(1)], field("it.imag").exists()),
        (Decimal, [Decimal(0), Decimal(1)], field("it.size").exists()),
        (str, ["", "text"], field("it.title").exists()),
        (str | Document, ["text", {"title": "x"}], field("it.title") == "x"),
        (int, [0, 1], field("it.title").exists()),
        (Mark, [Mark.GOOD, Mark.BAD], it == Mark.FINE),
        (Mark, [Mark.GOOD, Mark.BAD], it == 1),
        (AwareDatetime, [AWARE], it < AWARE.replace(tzinfo=None)),
        (AwareDatetime, [AWARE, AWARE.replace(year=2023)], it < AWARE),
    ],
    ids=str,
)
def test_a_comparison_is_refused_just_when_it_raises_for_a_value_or_holds_for_none(
    kind: Any, values: list[Any], condition: Condition
) -> None:
    given = TypedDict("given", {"it": kind})  # noqa: UP013 - the type is not known by name

    def look(state: Any) -> None: ...

    routes = [route.finish(dict, when=condition), route.finish(dict)]
    codes = {each.code for each in validate(node(look, routes=routes), state=given)}
    accept = schema_of(given).fields["it"].value.accept
    answers = [_answer(condition, {"it": accept(value)}) for value in values]
    expected = {"AF207": None in answers, "AF301": True not in answers}
    assert codes & expected.keys() == {code for code, told in expected.items() if told}


def _answer(condition: Condition, state: dict[str, Any]) -> bool | None:
    try:
        return condition(state)
    except Exception:
        return None


@pytest.mark.parametrize("kind", [Mood, Level, Mark, Literal["glad", "sad", "low"] | None])
def test_a_type_under_another_name_needs_no_fallback_where_every_value_has_a_route(
    kind: Any,
) -> None:
    given = TypedDict("given", {"it": kind})  # noqa: UP013 - the type is not known by name

    def look(state: Any) -> None: ...

    every = [Mark.GOOD, Mark.BAD, "glad", "sad", "low", "high", None]
    accept = schema_of(given).fields["it"].value.accept
    values = [value for value in every if _taken(accept, value)]
    ways = [it.is_none() if value is None else it == value for value in values]
    routes = [route.finish(dict, when=way) for way in ways]
    assert not validate(node(look, routes=routes), state=given).findings
    short = validate(node(look, routes=routes[1:]), state=given)
    assert [each.code for each in short] == ["AF302"]


def _taken(accept: Any, value: Any) -> bool:
    try:
        accept(value)
    except Exception:
        return False
    return True


def test_a_key_of_a_mapping_with_listed_values_needs_a_route_for_each_and_for_none() -> None:
    given = TypedDict("given", {"it": dict[str, Literal["glad", "sad"]]})  # noqa: UP013

    def look(state: Any) -> None: ...

    mood = field("it.mood")
    ways = [mood == "glad", mood == "sad", ~mood.exists()]
    routes = [route.finish(dict, when=way) for way in ways]
    assert not validate(node(look, routes=routes), state=given).findings
    for at in range(3):
        short = validate(node(look, routes=routes[:at] + routes[at + 1 :]), state=given)
        assert [each.code for each in short] == ["AF302"]
    other = [route.finish(dict, when=mood == "mad"), route.finish(dict)]
    assert "AF301" in {each.code for each in validate(node(look, routes=other), state=given)}
