"""Prices: what the tokens of a call cost, where that is known. An unknown price is unknown, and never zero."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

__all__ = ["Price", "PriceTable", "Pricing", "pricing_of"]

_MILLION: Final = 1_000_000


class Pricing(Protocol):
    """Whoever knows what a call costs."""

    def cost(self, usage: Mapping[str, float]) -> float | None:
        """US dollars for what a call has used; `None` where the figures do not tell."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one model's tokens cost, in US dollars for a million.

    Args:
        input: Tokens of the request.
        output: Tokens of the answer, reasoning included.
        cached: Tokens of the request that came from a cache; default: as the others.
        cache_write: Tokens of the request that were put into one; default: as the others.

    Raises:
        ValueError: One of them is negative, or no number.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached", "cache_write"):
            value = getattr(self, name)
            if name in ("cached", "cache_write") and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(
                    f"Price({name}={value!r}): it is US dollars for a million tokens, of at least 0"
                )

    def cost(self, usage: Mapping[str, float]) -> float | None:
        """US dollars for what a call has used; `None` if it is not known how many tokens that were."""
        if not {"input_tokens", "output_tokens"} <= usage.keys():
            return None
        cached, written = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
        fresh = usage["input_tokens"] - cached - written
        total = (
            fresh * self.input
            + cached * (self.input if self.cached is None else self.cached)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + usage["output_tokens"] * self.output
        )
        return total / _MILLION


PriceTable = Mapping[str, Price]
"""Prices by the name that the vendor gives a model."""


def pricing_of(provider: Any, given: Pricing | PriceTable | None) -> Pricing | None:
    """The pricing of a provider's model: what the caller gave, else what the library `genai-prices` knows, if it is there.

    Args:
        provider: Tells its `vendor` and `model`; of one that does not, nothing is looked up.
        given: A price, a table of them, or `None`.

    Raises:
        TypeError: What was given is none of these.
    """
    vendor, model = getattr(provider, "vendor", None), getattr(provider, "model", None)
    if isinstance(given, Mapping):
        return given.get(model) if isinstance(model, str) else None
    if given is not None:
        if not callable(getattr(given, "cost", None)):
            raise TypeError(
                f"price={given!r} is no price: give Price(input=…, output=…), or a mapping of model to Price"
            )
        return given
    if not isinstance(vendor, str) or not isinstance(model, str):
        return None
    if importlib.util.find_spec("genai_prices") is None:
        return None
    listed = _Listed(vendor, model)
    return listed if listed.known else None


class _Listed:
    """The price of a model in the list of the library `genai-prices`."""

    __slots__ = ("_model", "_vendor", "known")

    def __init__(self, vendor: str, model: str) -> None:
        self._vendor = vendor
        self._model = model
        self.known = self.cost({"input_tokens": 0, "output_tokens": 0}) is not None

    def cost(self, usage: Mapping[str, float]) -> float | None:
        import genai_prices

        if not {"input_tokens", "output_tokens"} <= usage.keys():
            return None
        figures = {
            "input_tokens": usage["input_tokens"],
            "output_tokens": usage["output_tokens"],
            "cache_read_tokens": usage.get("cached_tokens"),
            "cache_write_tokens": usage.get("cache_write_tokens"),
        }
        counted = genai_prices.Usage(
            **{name: int(value) for name, value in figures.items() if value is not None}
        )
        try:
            found = genai_prices.calc_price(counted, self._model, provider_id=self._vendor)
        except (LookupError, ValueError):
            # Not in the list, or figures that contradict each other.
            return None
        return float(found.total_price)
