"""The input contract of a tool: its function's signature as a validator and as a JSON schema."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin

import typing_extensions

from agentflow.graph.calling import routine_of
from agentflow.graph.contract import reason_of
from agentflow.graph.frozen import freeze
from agentflow.graph.typeddict import rebuilt
from agentflow.tools.context import ToolContext

__all__ = ["InputContract", "input_contract"]

_make_typeddict: Any = typing_extensions.TypedDict


@dataclass(frozen=True, slots=True, eq=False)
class InputContract:
    """What a tool's arguments must be.

    Args:
        schema: The JSON schema that a model is shown.
        validate: Validates the given arguments by pydantic; what is not declared is refused.
        defaults: The defaults of the parameters that may be left out.
        order: The names of the parameters, in the order of the signature.
        positional: Those of them that can only be given by position.
        context: The parameter that gets the tool context, if there is one.
        returns: What the function says it returns; `inspect.Signature.empty` if it does not say.
    """

    schema: Mapping[str, Any]
    validate: Callable[[Any], dict[str, Any]]
    defaults: Mapping[str, Any]
    order: tuple[str, ...]
    positional: tuple[str, ...]
    context: str | None
    returns: Any

    def accept(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The validated arguments, defaults filled in.

        Raises:
            pydantic.ValidationError: They do not satisfy the contract.
        """
        given = self.validate(dict(arguments))
        return {name: given[name] if name in given else self.defaults[name] for name in self.order}

    def bind(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """Accepted arguments as the function is called with them."""
        named = dict(arguments)
        if self.context is not None:
            named[self.context] = context
        return [named.pop(name) for name in self.positional], named


def input_contract(
    function: Callable[..., Any], *, tool: str, described: Mapping[str, str]
) -> InputContract:
    """The input contract of a function.

    Args:
        function: A function, a method or a callable object.
        tool: The tool's id, for errors.
        described: What its docstring says of its parameters.

    Raises:
        TypeError: The signature is no contract: a parameter has no type, or is `*args` or `**kwargs`, or no JSON schema can
            be made of its type.
    """
    parameters, hints = _read(function, tool)
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    positional: list[str] = []
    context: str | None = None
    for parameter in parameters:
        name = parameter.name
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(name)
        if name == "ctx" or hints.get(name) is ToolContext:
            if context is not None:
                raise TypeError(
                    f"tool {tool!r} takes its context twice: as {context!r} and as {name!r}"
                )
            context = name
            continue
        _check_kind(parameter, tool)
        if name not in hints:
            raise TypeError(
                f"tool {tool!r}: the parameter {name!r} has no type, so its input has no contract; annotate it"
            )
        optional = parameter.default is not parameter.empty
        if optional:
            defaults[name] = parameter.default
        fields[name] = _field(hints[name], described.get(name), parameter.default, optional)
    adapter = _adapter(fields, tool)
    return InputContract(
        schema=_schema(adapter, tool),
        validate=adapter.validator.validate_python,
        defaults=defaults,
        order=tuple(fields),
        positional=tuple(positional),
        context=context,
        returns=hints.get("return", inspect.Signature.empty),
    )


def _read(
    function: Callable[..., Any], tool: str
) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(routine_of(function), include_extras=True)
    except Exception as error:
        # Resolving hints runs code of the author's module, which may raise whatever it likes.
        raise TypeError(
            f"tool {tool!r}: its signature cannot be read: {error}; what its annotations name must exist at run time"
        ) from error
    return list(signature.parameters.values()), hints


def _check_kind(parameter: inspect.Parameter, tool: str) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(
            f"tool {tool!r}: {parameter} takes anything, which is no contract; name the parameters"
        )


def _field(hint: Any, description: str | None, default: Any, optional: bool) -> Any:
    from pydantic import Field

    told: dict[str, Any] = {}
    if description:
        told["description"] = description
    if optional and _is_plain(default):
        told["json_schema_extra"] = {"default": default}
    if told:
        # Before the author's own annotations, which win.
        base, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        hint = Annotated[(base, Field(**told), *extras)]
    return (NotRequired if optional else Required)[hint]


def _is_plain(value: Any) -> bool:
    """Whether a default can be shown in a JSON schema as it is."""
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list() | tuple():
            return all(map(_is_plain, value))
        case _:
            return False


def _adapter(fields: dict[str, Any], tool: str) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    made = _make_typeddict(tool, fields)
    # Rebuilding reads this class too, and keeps its config: unknown arguments are refused.
    made.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        return TypeAdapter(rebuilt(made))
    except Exception as error:
        # pydantic raises many kinds for a hint that it cannot turn into a validator.
        raise TypeError(
            f"tool {tool!r}: no validator can be made of its parameters: {reason_of(error)}"
        ) from error


def _schema(adapter: Any, tool: str) -> Mapping[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """Without the titles that only repeat the names; a model is charged for every one of them."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's hook
            return False

    try:
        schema: dict[str, Any] = adapter.json_schema(schema_generator=Untitled)
    except Exception as error:
        raise TypeError(
            f"tool {tool!r}: no JSON schema can be made of its parameters: {reason_of(error)}"
        ) from error
    schema.pop("title", None)
    frozen: Mapping[str, Any] = freeze(schema)
    return frozen
