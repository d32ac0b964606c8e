"""A model: a provider with a name, the transports that it is used with, and its counter of tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from agentflow.models.ports import Counter, Provider
from agentflow.models.resolution import provider_of
from agentflow.models.transport import MESSAGE, TEXT, Transport, checked_transport

__all__ = ["Model", "as_model"]


class Model:
    """A provider, ready to be bound to an engine. Immutable, and holds nothing of a call.

    Args:
        provider: An object with `stream(messages, context)`, or a `"provider:model"` string.
        name: What facts and receipts call it; default: the provider's own name.
        transports: Further transports by name, besides `text` and `message`.
        counter: Counts input tokens, as `(messages, tools) -> int`; without one nothing is guessed, and budgets of tokens
            need a provider that reports its usage.

    Raises:
        TypeError: The provider has no `stream`, or a transport is malformed.
        ValueError: The string names no provider that is installed.
    """

    __slots__ = ("counter", "name", "provider", "transports")

    provider: Provider
    name: str
    transports: Mapping[str, Transport]
    counter: Counter | None

    def __init__(
        self,
        provider: Provider | str,
        *,
        name: str | None = None,
        transports: Mapping[str, Transport] | None = None,
        counter: Counter | None = None,
    ) -> None:
        if isinstance(provider, str):
            name = provider if name is None else name
            provider = provider_of(provider)
        if not callable(getattr(provider, "stream", None)):
            raise TypeError(
                f"{provider!r} is no provider: it has no stream(messages, context); "
                f"give an object that has, or a string such as 'openai:gpt-5-mini'"
            )
        if counter is not None and not callable(counter):
            raise TypeError(f"counter={counter!r} cannot be called; it is (messages, tools) -> int")
        own = {"text": TEXT, "message": MESSAGE}
        more = {key: checked_transport(value) for key, value in (transports or {}).items()}
        values = {
            "provider": provider,
            "name": _name_of(provider) if name is None else name,
            "transports": MappingProxyType({**own, **more}),
            "counter": counter,
        }
        for slot, value in values.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Model does not change: make another one with another {name}")

    @property
    def reports(self) -> Collection[str]:
        """The usage figures that the provider tells of every call that ends well."""
        found: Collection[str] = getattr(self.provider, "reports", ())
        return found

    def __repr__(self) -> str:
        return f"<Model {self.name!r}>"


def _name_of(provider: Any) -> str:
    name = getattr(provider, "name", None)
    return name if isinstance(name, str) and name else type(provider).__name__


def as_model(value: Any, *, name: str | None = None) -> Model:
    """What was given as a model, as one: a `Model`, a provider, or a `"provider:model"` string.

    Raises:
        TypeError: It is none of them.
        ValueError: The string names no provider that is installed.
    """
    if not isinstance(value, Model):
        return Model(value, name=name)
    if name is None or name == value.name:
        return value
    return Model(value.provider, name=name, transports=value.transports, counter=value.counter)
