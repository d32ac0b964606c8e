"""A tool is made from one typed function: contract, schema and description come from the same declaration."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field, ValidationError

import agentflow.tools
from agentflow import Tool, ToolContext, Toolkit, tool
from agentflow.tools.signature import InputContract
from tests.house.test_imports import modules_after


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Place(TypedDict):
    town: str


class Window(BaseModel):
    start: int
    end: int = 9


@dataclasses.dataclass
class Size:
    width: int


@tool(kind="read")
async def search(query: str, limit: int = 10, *, ctx: ToolContext) -> list[str]:
    """Search the archive.

    Gives the newest first.

    Args:
        query: What to look for; words are combined
            with "and".
        limit (int): How many at most.

    Returns:
        The titles.
    """
    return [f"{query} {number}" for number in range(limit)]


@pytest.mark.rule("R314")
def test_schema_and_description_come_from_one_declaration() -> None:
    spec = search.spec
    assert spec.name == "search"
    assert spec.description == "Search the archive.\n\nGives the newest first."
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {
            "query": {
                "type": "string",
                "description": 'What to look for; words are combined with "and".',
            },
            "limit": {"type": "integer", "default": 10, "description": "How many at most."},
        },
    }


def test_a_tool_stays_callable_as_the_function() -> None:
    @tool
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == 8


@pytest.mark.parametrize(
    ("hint", "given", "accepted"),
    [
        (int, "3", 3),
        (datetime.date, "2026-11-30", datetime.date(2026, 11, 30)),
        (Level, "low", Level.LOW),
        (Literal["a", "b"], "a", "a"),
        (Place, {"town": "Ulm"}, {"town": "Ulm"}),
        (Window, {"start": 1}, Window(start=1)),
        (list[Window], [{"start": 1}], [Window(start=1)]),
        (tuple[int, str], [1, "a"], (1, "a")),
        (int | None, None, None),
        (Annotated[int, Field(ge=1)], 1, 1),
        (Any, {"x": 1}, {"x": 1}),
    ],
)
def test_arguments_are_validated_to_what_the_function_expects(
    hint: Any, given: Any, accepted: Any
) -> None:
    def function(value):  # type: ignore[no-untyped-def]
        return value

    function.__annotations__ = {"value": hint}
    assert tool(function).input.accept({"value": given}) == {"value": accepted}


@pytest.mark.rule("R311")
@pytest.mark.parametrize(
    "given",
    [{}, {"query": "a", "other": 1}, {"query": None}, {"query": "a", "limit": "x"}, {"ctx": 1}],
)
def test_missing_unknown_and_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        search.input.accept(given)


def test_defaults_are_filled_in_so_that_a_policy_sees_the_whole_input() -> None:
    assert search.input.accept({"query": "a"}) == {"query": "a", "limit": 10}


def test_a_default_that_is_no_json_is_not_shown_and_works_all_the_same() -> None:
    new_year = datetime.date(2026, 1, 1)

    def after(day: datetime.date = new_year, words: list[str] = ["a"]) -> str:  # noqa: B006
        return f"{day} {words}"

    made = tool(after)
    assert "default" not in made.parameters["properties"]["day"]
    assert made.parameters["properties"]["words"]["default"] == ["a"]
    assert made.input.accept({}) == {"day": new_year, "words": ["a"]}


def test_an_own_description_of_a_parameter_wins_over_the_docstring() -> None:
    @tool
    def look(word: Annotated[str, Field(description="Own.", max_length=5)]) -> str:
        """Look.

        Args:
            word: From the docstring.
        """
        return word

    assert look.parameters["properties"]["word"] == {
        "type": "string",
        "description": "Own.",
        "maxLength": 5,
    }


@pytest.mark.parametrize("name", ["model_config", "json", "schema", "copy", "_private", "self_"])
def test_parameters_may_have_any_name(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def take({name}: int = 1) -> int: return {name}", scope)
    assert tool(scope["take"]).input.accept({name: 2}) == {name: 2}


def test_the_context_is_found_by_type_or_by_name_and_never_shown() -> None:
    @tool
    def by_name(ctx, word: str) -> str:  # type: ignore[no-untyped-def]
        return word

    @tool
    def by_type(word: str, context: ToolContext) -> str:
        return word

    for made, name in ((by_name, "ctx"), (by_type, "context")):
        assert isinstance(made.input, InputContract)
        assert made.input.context == name
    assert list(by_name.parameters["properties"]) == ["word"]
    assert list(by_type.parameters["properties"]) == ["word"]


def test_methods_partials_and_callable_objects_can_be_tools() -> None:
    class Shop:
        def price(self, item: str) -> int:
            """Tell a price."""
            return len(item)

        def __call__(self, item: str) -> int:
            return len(item)

    assert tool(Shop().price).id == "price"
    assert list(tool(Shop(), id="shop").parameters["properties"]) == ["item"]
    fixed = tool(functools.partial(Shop().price, item="x"), id="fixed")
    assert fixed.parameters["properties"]["item"]["default"] == "x"


def test_positional_only_parameters_are_given_by_position() -> None:
    @tool
    def power(base: int, exponent: int, /) -> int:
        return int(base**exponent)

    positional, named = power.input.bind(power.input.accept({"base": 2, "exponent": 3}), Any)  # type: ignore[arg-type]
    assert (power(*positional, **named), positional) == (8, [2, 3])


def test_making_a_tool_of_a_tool_gives_another_one() -> None:
    renamed = tool(search, id="find", description="Find.")
    assert (renamed.id, renamed.description, search.id) == ("find", "Find.", "search")


@pytest.mark.rule("R237")
def test_a_parameter_without_a_type_is_no_contract() -> None:
    def loose(query) -> str:  # type: ignore[no-untyped-def]
        return str(query)

    with pytest.raises(TypeError, match="the parameter 'query' has no type, so its input has no"):
        tool(loose)


@pytest.mark.rule("R237")
def test_parameters_that_take_anything_are_no_contract() -> None:
    def many(*words: str) -> None: ...
    def named(**words: str) -> None: ...

    for function in (many, named):
        with pytest.raises(TypeError, match="takes anything, which is no contract"):
            tool(function)


class Opaque:
    pass


def takes_opaque(x: Opaque) -> None: ...
def gives(x: int) -> None: ...


gives.__annotations__["return"] = "function"


def takes_twice(ctx: ToolContext, other: ToolContext) -> None: ...
def generates(x: int) -> Any:
    yield x


@pytest.mark.rule("R237")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (takes_opaque, "no validator can be made of its parameters"),
        (gives, "its signature cannot be read: name 'function' is not defined"),
        (takes_twice, "takes its context twice: as 'ctx' and as 'other'"),
        (generates, "is a generator; a tool returns its value once"),
        (Opaque, "cannot be made a tool: give a typed function"),
        (3, "cannot be made a tool: give a typed function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_reason(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tool(function)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"id": "two words"}, ValueError, "'two words' is no tool id"),
        ({"id": ""}, ValueError, "is no tool id"),
        ({"authorize": "yes"}, TypeError, "authorize='yes' is no bool and no function"),
        ({"authorize": lambda: True}, TypeError, r"is called with \(input, ctx\) or \(input\)"),
        ({"timeout": 0}, ValueError, "timeout=0; it is seconds above 0"),
        ({"retries": -1}, ValueError, "retries=-1; it is a whole number"),
        ({"retries": True}, ValueError, "retries=True; it is a whole number"),
        ({"output": 3}, TypeError, "no contract can be made of its output type 3"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tool(search.handler, **options)


def test_a_lambda_needs_an_id() -> None:
    with pytest.raises(ValueError, match="'<lambda>' is no tool id"):
        tool(lambda: 1)
    assert tool(lambda: 1, id="one").id == "one"


def test_a_tool_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        search.id = "other"  # type: ignore[misc]
    schema: Any = search.parameters
    with pytest.raises(TypeError, match="read-only"):
        schema["properties"]["query"]["type"] = "integer"


def test_a_toolkit_holds_its_tools_and_what_a_model_must_know() -> None:
    kit = Toolkit([search], "Search before you answer.", name="archive")
    assert (kit.tools, kit.instructions, kit.name) == (
        (search,),
        "Search before you answer.",
        "archive",
    )
    assert isinstance(search, Tool)


def test_objects_in_arguments_are_closed_too() -> None:
    @tool
    def order(where: Place, sizes: list[Size]) -> None: ...

    assert order.input.accept({"where": {"town": "Ulm"}, "sizes": []})
    for wrong in (
        {"where": {"town": "Ulm", "twon": "Bonn"}, "sizes": []},
        {"where": {"town": "Ulm"}, "sizes": [{"width": 1, "wdith": 2}]},
    ):
        with pytest.raises(ValidationError):
            order.input.accept(wrong)
    definitions = order.parameters["$defs"]
    assert {each["additionalProperties"] for each in definitions.values()} == {False}


def test_a_definition_that_has_tools_loads_no_engine() -> None:
    loaded = modules_after("from agentflow import Toolkit, tool\nfrom agentflow.tools import Tool")
    assert "agentflow.tools.tool" in loaded
    assert not loaded & {"anyio", "agentflow.run.effects", "agentflow.tools.execution", "griffe"}


def test_what_carries_out_calls_is_found_when_it_is_asked_for() -> None:
    for name in agentflow.tools.__all__:
        assert getattr(agentflow.tools, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'invoke'"):
        agentflow.tools.invoke  # noqa: B018
