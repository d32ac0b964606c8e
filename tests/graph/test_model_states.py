"""Pydantic models and dataclasses as state schemas: everything they declare of a field holds."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Generic, TypedDict, TypeVar

import pydantic
import pydantic.dataclasses
import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, RootModel

from agentflow import append, merge
from agentflow.graph.schema import FieldSpec, schema_of

T = TypeVar("T")
MADE: list[str] = []


def made_anew() -> list[str]:
    MADE.append("made")
    return []


def upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


class Place(BaseModel):
    name: str
    tags: list[str] = []


class Report(BaseModel):
    title: str
    score: int = Field(default=1, gt=0)
    shout: Annotated[str, BeforeValidator(upper)] = "A"
    checked: str = "x"
    notes: list[str] = Field(default_factory=made_anew)
    place: Place | None = None
    log: Annotated[list[str], append, Field(max_length=9)] = []
    named: str = Field(default="n", alias="Named", validation_alias="NAMED")

    fixed: ClassVar[int] = 3
    _private: int = 4

    @pydantic.field_validator("checked", mode="after")
    @classmethod
    def _no_spaces(cls, value: str) -> str:
        if " " in value:
            raise ValueError("spaces are not welcome")
        return value.lower()

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def length(self) -> int:
        return len(self.title)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    number: int
    name: str = "x"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, str_strip_whitespace=True, extra="forbid")
    number: int
    name: str = ""


class Child(Report):
    extra: int


class Tree(BaseModel):
    name: str
    children: list[Tree] = []
    parent: Tree | None = None


class Wrapped(BaseModel):
    number: int = Field(gt=0)
    children: list[Wrapped] = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def _before(cls, value: Any) -> Any:
        return value

    @pydantic.model_validator(mode="after")
    def _after(self) -> Wrapped:
        return self


class Box(BaseModel, Generic[T]):
    item: T
    more: list[T] = []


class Roots(RootModel[list[int]]):
    pass


class Later(BaseModel):
    a: Nowhere  # type: ignore[name-defined] # noqa: F821 - it is not there on purpose


class Dependent(BaseModel):
    a: int = 1
    b: int = Field(default_factory=lambda data: data["a"] + 1)


class WrongDefault(BaseModel):
    a: str = None  # type: ignore[assignment]
    b: int = Field(default=0, gt=0)
    c: int = 1


class Wire:
    """A class that pydantic does not know."""


class Lenient(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    wire: Wire


class Address(TypedDict):
    street: str


@dataclasses.dataclass
class Plain:
    a: int
    b: str = "b"
    c: list[str] = dataclasses.field(default_factory=made_anew)
    d: int = dataclasses.field(init=False)
    e: int = dataclasses.field(default=5, init=False)
    f: Annotated[dict[str, int], merge] = dataclasses.field(default_factory=dict, kw_only=True)
    g: Address | None = dataclasses.field(default=None, kw_only=True)
    h: ClassVar[int] = 3
    i: dataclasses.InitVar[int] = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Slotted:
    a: int
    b: Annotated[int, Field(gt=0)] = 1
    wire: Wire | None = None


@dataclasses.dataclass
class Derived(Plain):
    z: int = 26


@dataclasses.dataclass
class BadDefault:
    a: int = "x"  # type: ignore[assignment]


@pydantic.dataclasses.dataclass(config=ConfigDict(str_strip_whitespace=True))
class Checked:
    a: int = Field(gt=0)
    b: list[int] = Field(default_factory=list)
    c: str = dataclasses.field(default="c", init=False)
    d: int = dataclasses.field(init=False)
    e: list[Checked] = dataclasses.field(default_factory=list)

    @pydantic.field_validator("c")
    @classmethod
    def _upper(cls, value: str) -> str:
        return value.upper()


def fields_of(source: Any) -> dict[str, FieldSpec]:
    schema = schema_of(source)
    assert schema.problems == ()
    assert schema.attributes
    return dict(schema.fields)


def accepted(source: Any, name: str, value: Any) -> Any:
    return fields_of(source)[name].value.accept(value)


def refused(source: Any, name: str, value: Any, why: str) -> bool:
    with pytest.raises(pydantic.ValidationError, match=why):
        accepted(source, name, value)
    return True


def defaults_of(source: Any) -> dict[str, Any]:
    return {
        name: spec.default() for name, spec in fields_of(source).items() if spec.default is not None
    }


def problems_of(source: Any) -> list[tuple[str | None, str]]:
    return [(problem.field, problem.message) for problem in schema_of(source).problems]


# --- pydantic models ---------------------------------------------------------------------------


def test_the_fields_of_a_model_are_its_fields_and_nothing_else() -> None:
    assert list(fields_of(Report)) == [
        *("title", "score", "shout", "checked", "notes", "place", "log", "named")
    ]
    assert list(fields_of(Child)) == [*fields_of(Report), "extra"]


@pytest.mark.parametrize(
    ("source", "required"),
    [(Report, ["title"]), (Child, ["title", "extra"]), (Frozen, ["number"]), (Tree, ["name"])],
)
def test_a_field_without_a_default_is_required(source: Any, required: list[str]) -> None:
    schema = schema_of(source)
    assert list(schema.required()) == required
    assert [spec.name for spec in schema.with_default()] == [
        name for name in schema.fields if name not in required
    ]


def test_constraints_and_validators_of_a_field_hold() -> None:
    assert accepted(Report, "score", "3") == 3
    assert refused(Report, "score", 0, "greater than 0")
    assert accepted(Report, "shout", "abc") == "ABC"
    assert accepted(Report, "checked", "ABC") == "abc"
    assert refused(Report, "checked", "a b", "spaces are not welcome")
    assert refused(Report, "log", ["x"] * 10, "at most 9 items")
    assert accepted(Child, "checked", "ABC") == "abc"


def test_no_value_is_taken_by_its_type_where_the_model_asks_for_more() -> None:
    # The hot loop skips validation for values of exactly this type.
    exact = {name: spec.value.exact for name, spec in fields_of(Report).items()}
    assert exact == {
        "title": str,
        "score": None,
        "shout": None,
        "checked": None,
        "notes": None,
        "place": None,
        "log": None,
        "named": str,
    }
    assert fields_of(Strict)["number"].value.exact is None
    assert fields_of(Frozen)["number"].value.exact is int


def test_the_config_of_a_model_holds_for_each_field() -> None:
    assert refused(Strict, "number", "3", "valid integer")
    assert accepted(Strict, "name", "  x ") == "x"


def test_defaults_are_those_of_the_model_and_made_anew() -> None:
    MADE.clear()
    first, second = defaults_of(Report), defaults_of(Report)
    assert first == second
    assert first["score"] == 1
    assert first["notes"] is not second["notes"]
    assert first["log"] is not second["log"]
    assert MADE == ["made", "made"]


def test_defining_runs_no_default_factory() -> None:
    MADE.clear()
    fields_of(Report)
    fields_of(Plain)
    assert MADE == []


def test_a_field_is_known_by_its_name_not_by_its_alias() -> None:
    assert accepted(Report, "named", "x") == "x"
    assert "Named" not in fields_of(Report)


def test_a_frozen_model_is_as_good_as_any() -> None:
    assert accepted(Frozen, "number", "3") == 3


def test_a_model_as_a_value_is_validated_and_lent() -> None:
    place = accepted(Report, "place", {"name": "x"})
    assert place == Place(name="x")
    assert refused(Report, "place", {}, "Field required")


@pytest.mark.parametrize("source", [Tree, Wrapped])
def test_recursive_models_and_models_with_validators_of_their_own_have_fields(source: Any) -> None:
    child = {"name": "a"} if source is Tree else {"number": 1}
    (made,) = accepted(source, "children", [child])
    assert isinstance(made, source)
    assert refused(source, "children", [{"children": 3}], "Field required")


def test_a_generic_model_is_filled_in() -> None:
    assert accepted(Box[int], "item", "3") == 3
    assert fields_of(Box[int])["more"].annotation == list[int]


def test_reducers_of_a_model_are_found_and_stay_out_of_the_type() -> None:
    for source in (Report, Child):
        spec = fields_of(source)["log"]
        assert spec.reducer is append
        assert append not in spec.annotation.__metadata__


def test_constraints_are_part_of_the_type() -> None:
    # The fingerprint of a workflow is made of it.
    assert "Gt(gt=0)" in repr(fields_of(Report)["score"].annotation)


def test_a_model_of_strange_classes_has_said_so_itself() -> None:
    accepted(Lenient, "wire", Wire())
    assert refused(Lenient, "wire", 1, "instance of Wire")


def test_serializers_do_not_matter() -> None:
    class Shown(BaseModel):
        a: Annotated[int, PlainSerializer(str)]

    assert accepted(Shown, "a", "3") == 3


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (Roots, "its fields cannot be read: Roots is a RootModel, which has no fields"),
        (
            Later,
            (
                "its fields cannot be read: `Later` is not fully defined; you should define `Nowhere`, "
                "then call `Later.model_rebuild()`."
            ),
        ),
        (
            Dependent,
            (
                "its fields cannot be read: the default factory of 'b' takes the other fields, "
                "which may not be there yet"
            ),
        ),
    ],
)
def test_a_model_that_cannot_be_a_state_says_why(source: Any, problem: str) -> None:
    assert problems_of(source) == [(None, problem)]


def test_an_invalid_default_is_found_before_any_run() -> None:
    assert problems_of(WrongDefault) == [
        ("a", "its default is invalid: Input should be a valid string (got None)"),
        ("b", "its default is invalid: Input should be greater than 0 (got 0)"),
    ]
    assert problems_of(BadDefault) == [
        (
            "a",
            (
                "its default is invalid: Input should be a valid integer, unable to parse string "
                "as an integer (got 'x')"
            ),
        )
    ]


def test_an_instance_is_no_schema() -> None:
    for instance in (Frozen(number=1), Slotted(a=1)):
        ((_, message),) = problems_of(instance)
        assert "is no TypedDict, pydantic model class or dataclass" in message


# --- dataclasses -------------------------------------------------------------------------------


def test_the_fields_of_a_dataclass_are_its_fields_and_nothing_else() -> None:
    assert list(fields_of(Plain)) == ["a", "b", "c", "d", "e", "f", "g"]
    assert set(fields_of(Derived)) == {*fields_of(Plain), "z"}


def test_what_a_dataclass_cannot_be_given_is_not_required() -> None:
    assert schema_of(Plain).required() == ("a",)
    assert schema_of(Slotted).required() == ("a",)


def test_defaults_of_a_dataclass_are_made_anew() -> None:
    MADE.clear()
    first, second = defaults_of(Plain), defaults_of(Plain)
    assert first == {"b": "b", "c": [], "e": 5, "f": {}, "g": None} == second
    assert first["c"] is not second["c"]
    assert MADE == ["made", "made"]


def test_fields_of_a_dataclass_are_validated() -> None:
    assert accepted(Plain, "a", "3") == 3
    assert refused(Plain, "a", "x", "valid integer")
    assert refused(Plain, "g", {}, "Field required")
    assert refused(Slotted, "b", 0, "greater than 0")
    assert fields_of(Plain)["f"].reducer is merge
    accepted(Slotted, "wire", Wire())


def test_a_dataclass_of_pydantic_is_held_to_what_it_declares() -> None:
    assert schema_of(Checked).required() == ("a",)
    assert defaults_of(Checked) == {"b": [], "c": "c", "e": []}
    assert refused(Checked, "a", 0, "greater than 0")
    assert accepted(Checked, "c", " x ") == "X"
    assert refused(Checked, "e", [{}], "Field required")
    assert not fields_of(Checked)["d"].required
