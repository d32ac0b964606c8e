"""From `"provider:model"` to a provider, by entry points: installing a package is all it takes to offer one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

__all__ = ["GROUP", "names_provider", "provider_of"]

GROUP = "agentflow.providers"
"""The entry point group. An entry is a callable that takes the part after the colon and gives a provider."""


def names_provider(name: str) -> bool:
    """Whether a string names a model of a provider that is installed."""
    return bool(_split(name, _installed())[0])


def provider_of(name: str) -> Any:
    """The provider that a string names: `provider:model`, or `provider/model` where the provider is installed.

    Raises:
        ValueError: It names none that is installed; or the provider cannot be loaded, lacks its key, or refuses the model.
            The message says what to install or to set.
    """
    installed = _installed()
    kind, model = _split(name, installed)
    if not kind:
        raise _unknown(name, installed)
    if not model:
        raise ValueError(f"{name!r} names no model of the provider {kind!r}; write '{kind}:model'")
    try:
        make = installed[kind].load()
    except ImportError as error:
        raise ValueError(
            f"the provider {kind!r} of the model {name!r} cannot be loaded: {error}"
        ) from error
    return make(model)


def _installed() -> dict[str, Any]:
    # Read only when a string is resolved: listing what is installed takes longer than everything else here.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _split(name: str, installed: Collection[str]) -> tuple[str, str]:
    """The provider and the model; no provider if none of that name is installed."""
    for mark in (":", "/"):
        kind, found, model = name.partition(mark)
        if found and kind in installed:
            return kind, model
    return "", name


def _unknown(name: str, installed: Collection[str]) -> ValueError:
    kind, colon, model = name.partition(":")
    listed = ", ".join(map(repr, sorted(installed))) or "none"
    if not colon or not kind or not model:
        return ValueError(
            f"{name!r} names no model; write 'provider:model', such as 'mock:echo', or give a provider object; "
            f"installed providers: {listed}"
        )
    return ValueError(
        f"there is no provider {kind!r} for the model {name!r}; installed: {listed}. Install the package that offers it "
        f"(entry point group {GROUP!r}), reach it through 'pydantic-ai:{name}' if pydantic-ai knows it, or give a "
        f"provider object"
    )
