"""From `"provider:model"` to a provider, by entry points: installing a package is all it takes to offer one."""

from __future__ import annotations

from typing import Any

__all__ = ["GROUP", "provider_of"]

GROUP = "agentflow.providers"
"""The entry point group. An entry is a callable that takes the part after the colon and gives a provider."""


def provider_of(name: str) -> Any:
    """The provider that a string names.

    Raises:
        ValueError: It has no colon, or names a provider that is not installed, or its package refuses it.
    """
    # Read only when a string is resolved: listing what is installed takes longer than everything else here.
    from importlib.metadata import entry_points

    kind, colon, model = name.partition(":")
    if not colon or not kind or not model:
        raise ValueError(
            f"{name!r} names no model; write 'provider:model', such as 'mock:echo', or give a provider object"
        )
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if kind not in installed:
        listed = ", ".join(map(repr, sorted(installed))) or "none"
        raise ValueError(
            f"there is no provider {kind!r} for the model {name!r}; installed: {listed}. Install the package that offers "
            f"it (entry point group {GROUP!r}), or give a provider object"
        )
    try:
        make = installed[kind].load()
    except ImportError as error:
        raise ValueError(
            f"the provider {kind!r} of the model {name!r} cannot be loaded: {error}"
        ) from error
    return make(model)
