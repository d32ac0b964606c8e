"""Contracts: what a value must be, compiled once by pydantic; and the error for a value that is not."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.excerpt import excerpt
from agentflow.graph.frozen import freeze
from agentflow.graph.typeddict import rebuilt

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["ANY", "Contract", "contract_error", "private_error", "reason_of"]

_PLAIN_TYPES = (int, str, float, bool, bytes, type(None))


class Contract:
    """A check of values against a type, compiled by pydantic; `accept` validates and freezes.

    Args:
        annotation: The type.
        config: The pydantic config of the class that declares it, if it has one.
        validate: The check itself, where it is more than what the type says.
        exact: A type whose instances are valid and immutable as they are, so that the hot loop asks nothing else;
            default: the annotation itself where that is true of it.
        schema: What pydantic made of the type, where `validate` is more than that.

    Raises:
        Exception: What pydantic raises for a hint that it cannot turn into a validator.
    """

    __slots__ = ("_schema", "accept", "annotation", "exact", "validate")

    def __init__(
        self,
        annotation: Any,
        *,
        config: Mapping[str, Any] | None = None,
        validate: Callable[[Any], Any] | None = None,
        exact: type | None = None,
        schema: Any = None,
    ) -> None:
        self.annotation = annotation
        self.exact = exact
        self._schema = schema
        self.accept: Callable[[Any], Any] = self._accept
        if validate is not None:
            self.validate = validate
        elif not config and any(annotation is kind for kind in _PLAIN_TYPES):
            self.exact = annotation
            # pydantic takes these whatever happens, and is slow to load: a definition can do without it.
            self.validate = self._compile_and_validate
        else:
            self._compile(config or {})

    def compile(self) -> None:
        """Make the check, where that was put off, so that no run has to wait for it."""
        if self.validate == self._compile_and_validate:
            self._compile({})

    def _compile(self, config: Mapping[str, Any]) -> None:
        adapter = _adapter_of(self.annotation, config)
        self.validate = adapter.validator.validate_python
        self._schema = adapter.core_schema

    def _compile_and_validate(self, value: Any) -> Any:
        if type(value) is self.exact:
            return value
        self._compile({})
        return self.validate(value)

    def _accept(self, value: Any) -> Any:
        return freeze(self.validate(value))

    def each(self) -> Contract:
        """The contract of a list of which every item satisfies this one."""
        self.compile()
        validate = self.validate
        return Contract(
            list[Any],
            validate=lambda given: [validate(item) for item in given],
            schema=self._schema,
        )

    @property
    def repeatable(self) -> bool:
        """Whether a value that was accepted is accepted again, as it is: true unless code of the author's has a say in it."""
        return _repeatable(self._schema)


class AnyContract(Contract):
    """The contract of an untyped field: every value that can be frozen."""

    __slots__ = ()

    def __init__(self) -> None:
        self.annotation = Any
        self.validate = lambda value: value
        self.exact = None
        self.accept = freeze
        self._schema = {"type": "any"}


ANY = AnyContract()


def _repeatable(schema: Any) -> bool:
    if isinstance(schema, list | tuple):
        return all(map(_repeatable, schema))
    if not isinstance(schema, Mapping):
        return True
    kind = schema.get("type")
    if isinstance(kind, str) and (kind == "json" or kind.startswith("function")):
        return False
    return all(map(_repeatable, schema.values()))


def _adapter_of(annotation: Any, config: Mapping[str, Any]) -> TypeAdapter[Any]:
    """What validates by pydantic, in its usual lax mode."""
    if isinstance(annotation, types.FunctionType):
        # pydantic would take it for a function whose arguments are to be checked.
        raise TypeError(f"{annotation!r} is a function, not a type")
    try:
        return _adapter(rebuilt(annotation), config)
    except Exception as error:
        if "arbitrary_types_allowed" not in str(error):
            raise
        return _adapter_of_strange_classes(annotation, config)


def _adapter(hint: Any, config: Mapping[str, Any]) -> TypeAdapter[Any]:
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(hint, config=config or None)  # type: ignore[arg-type]
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        # A class that pydantic knows by itself brings its own config.
        return TypeAdapter(hint)


def _adapter_of_strange_classes(annotation: Any, config: Mapping[str, Any]) -> TypeAdapter[Any]:
    """An adapter that checks instances of classes unknown to pydantic with `isinstance`."""
    from pydantic.warnings import ArbitraryTypeWarning

    lenient = {"arbitrary_types_allowed": True}
    with warnings.catch_warnings():
        # What is no class at all would be let through unchecked, with this warning only.
        warnings.simplefilter("error", ArbitraryTypeWarning)
        return _adapter(rebuilt(annotation, config=lenient), {**config, **lenient})


def reason_of(error: Exception) -> str:
    """In one line, why a contract could not be made."""
    text = str(error).strip().partition("\n")[0]
    told_well = type(error).__module__.startswith(("agentflow", "pydantic"))
    return text if told_well else f"{type(error).__name__}: {text}"


def contract_error(where: str, value: Any, error: Exception) -> ContractError:
    """The error for a value that a contract refused, saying where, what came and why."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        parts = [
            f"{'.'.join(map(str, item['loc'])) + ': ' if item['loc'] else ''}{item['msg']}"
            for item in error.errors(include_url=False, include_context=False)
        ]
        reason = "; ".join(parts)
    else:
        reason = f"{type(error).__name__}: {error}"
    return ContractError(f"{where}: {reason} (got {excerpt(value)})")


def private_error(where: str, error: Exception) -> ContractError:
    """The same for a value that must not be told: by the kinds of what is wrong with it, and nothing else."""
    from pydantic import ValidationError

    kinds = [type(error).__name__]
    if isinstance(error, ValidationError):
        details = error.errors(include_url=False, include_context=False, include_input=False)
        kinds = [item["type"] for item in details]
    return ContractError(f"{where}: {', '.join(dict.fromkeys(kinds))} (the field is private)")
