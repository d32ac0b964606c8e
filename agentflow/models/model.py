"""A model: a provider with a name, the ways that it is used, and what becomes of a call that fails."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from agentflow.errors import ModelListEmpty
from agentflow.models.answer_form import StructuredWay
from agentflow.models.limiter import Limiter
from agentflow.models.ports import Counter, Provider
from agentflow.models.price import PriceTable, Pricing, pricing_of
from agentflow.models.resolution import provider_of
from agentflow.models.retries import Retries
from agentflow.models.transport import MESSAGE, TEXT, Transport, checked_transport

__all__ = ["Model", "as_model"]


class Model:
    """A provider, ready to be bound to an engine. Immutable, and holds nothing of a call.

    Args:
        provider: An object with `stream(messages, context)`, or a `"provider:model"` string.
        name: What facts and receipts call it; default: the provider's own name.
        transports: Further transports by name, besides `text` and `message`.
        counter: Counts input tokens, as `(messages, tools) -> int`, plain or async; without one nothing is guessed, and
            budgets of tokens need a provider that reports its usage.
        retries: How often a call is tried again: a number, or `Retries` for the waits too. Only after a
            `ModelUnavailable`, and never when a piece of the answer was delivered.
        fallbacks: Who is asked, in this order, when this model stays unavailable: models, providers or strings.
        timeout: Seconds that one try may take in all; `None` for any.
        idle_timeout: Seconds that a try may wait for the next piece of its answer; `None` for any.
        limiter: Keeps calls waiting while there are too many.
        price: What its tokens cost, or a table of prices by the vendor's names; default: what the library `genai-prices`
            knows, if it is installed and the provider tells its vendor and model. Else the cost is unknown.

    Raises:
        TypeError: The provider has no `stream`, or an option is none of what it may be.
        ValueError: The string names no provider that is installed, or a timeout is no time.
        ModelListEmpty: A list of fallbacks was given in place of the provider, and is empty.
    """

    __slots__ = (
        "counter",
        "fallbacks",
        "idle_timeout",
        "limiter",
        "name",
        "price",
        "provider",
        "retries",
        "timeout",
        "transports",
    )

    provider: Provider
    name: str
    transports: Mapping[str, Transport]
    counter: Counter | None
    retries: Retries
    fallbacks: tuple[Model, ...]
    timeout: float | None
    idle_timeout: float | None
    limiter: Limiter | None
    price: Pricing | None

    def __init__(
        self,
        provider: Provider | str,
        *,
        name: str | None = None,
        transports: Mapping[str, Transport] | None = None,
        counter: Counter | None = None,
        retries: Retries | int = 2,
        fallbacks: Iterable[Any] = (),
        timeout: float | None = None,
        idle_timeout: float | None = None,
        limiter: Limiter | None = None,
        price: Pricing | PriceTable | None = None,
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
        if limiter is not None and not isinstance(limiter, Limiter):
            raise TypeError(
                f"limiter={limiter!r} is none: give Limiter(concurrency=…, per_minute=…)"
            )
        own = {"text": TEXT, "message": MESSAGE}
        more = {key: checked_transport(value) for key, value in (transports or {}).items()}
        self._set(
            provider=provider,
            name=_name_of(provider) if name is None else name,
            transports=MappingProxyType({**own, **more}),
            counter=counter,
            retries=retries if isinstance(retries, Retries) else Retries(count=retries),
            fallbacks=tuple(as_model(fallback) for fallback in _listed(fallbacks)),
            timeout=_seconds("timeout", timeout),
            idle_timeout=_seconds("idle_timeout", idle_timeout),
            limiter=limiter,
            price=pricing_of(provider, price),
        )

    def _set(self, **values: Any) -> None:
        for slot, value in values.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Model does not change: make another one with another {name}")

    def structured(self, schema: Mapping[str, Any]) -> StructuredWay:
        """How the provider gets answers that keep to a JSON schema."""
        way: Any = getattr(self.provider, "structured", "prompt")
        found: StructuredWay = way(schema) if callable(way) else way
        return found

    @property
    def reports(self) -> Collection[str]:
        """The usage figures that are known of every call that ends well."""
        found: Collection[str] = getattr(self.provider, "reports", ())
        if self.price is not None and {"input_tokens", "output_tokens"} <= set(found):
            return {*found, "cost"}
        return found

    @property
    def chain(self) -> tuple[Model, ...]:
        """The model, and its fallbacks with theirs, in the order in which they are asked."""
        return (self, *(model for fallback in self.fallbacks for model in fallback.chain))

    def renamed(self, name: str) -> Model:
        """The same model by another name."""
        made = Model.__new__(Model)
        made._set(**{slot: getattr(self, slot) for slot in Model.__slots__} | {"name": name})
        return made

    async def aclose(self) -> None:
        """Give back the connections that its provider, and those of its fallbacks, hold in the loop that is running.

        The model can be used again; then new ones are made.
        """
        for model in self.chain:
            close = getattr(model.provider, "aclose", None)
            if close is not None:
                await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Model {self.name!r}>"


def _seconds(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"Model({name}={value!r}): it is seconds, more than 0, or None")
    return value


def _listed(fallbacks: Iterable[Any]) -> Sequence[Any]:
    return (fallbacks,) if isinstance(fallbacks, str | Model) else tuple(fallbacks)


def _name_of(provider: Any) -> str:
    name = getattr(provider, "name", None)
    return name if isinstance(name, str) and name else type(provider).__name__


def as_model(value: Any, *, name: str | None = None, made: list[Model] | None = None) -> Model:
    """What was given as a model, as one.

    Args:
        value: A `Model`, a provider, a `"provider:model"` string, or a list of them, each the fallback of the one before.
        name: What it is called.
        made: Gets the models that are made of strings: nobody else can close what they hold.

    Raises:
        TypeError: It is none of them.
        ValueError: The string names no provider that is installed.
        ModelListEmpty: The list is empty.
    """
    if isinstance(value, list | tuple):
        return _chained([as_model(item, made=made) for item in value], name)
    if isinstance(value, Model):
        return value if name is None or name == value.name else value.renamed(name)
    model = Model(value, name=name)
    if made is not None and isinstance(value, str):
        made.append(model)
    return model


def _chained(models: Sequence[Model], name: str | None) -> Model:
    if not models:
        raise ModelListEmpty(
            "the list of models is empty; give at least one: the first is asked, the others are its fallbacks"
        )
    first = models[0]
    made = first.renamed(first.name if name is None else name)
    made._set(fallbacks=(*first.fallbacks, *models[1:]))
    return made
