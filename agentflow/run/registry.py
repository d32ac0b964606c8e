"""From names to objects: how an engine finds models and tools without importing the layers above it."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agentflow.graph.excerpt import excerpt
from agentflow.run.model_ports import ModelCalls
from agentflow.run.ports import ToolCalls, ToolSource

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["NoModels", "NoTools", "load", "load_store", "opened", "store_of"]

# By name and not by import: the layers that make these stand above this one.
_BUILTIN = {
    "models": "agentflow.models.source:models_of",
    "tools": "agentflow.tools.calls:tools_of",
}


def load(name: str) -> Any:
    """The factory that is registered under `name`.

    Raises:
        LookupError: Nothing is registered under it.
    """
    try:
        module, _, attribute = _BUILTIN[name].partition(":")
    except KeyError:
        raise LookupError(
            f"nothing is registered as {name!r}; there are {sorted(_BUILTIN)}"
        ) from None
    return getattr(importlib.import_module(module), attribute)


class NoModels:
    """What an engine without models has in their place; the layer of models is loaded only when a node asks for one."""

    def bind(self, ctx: NodeContext) -> ModelCalls:
        """Models of which every call says that there is none."""
        calls: ModelCalls = load("models")(None, {}).bind(ctx)
        return calls

    async def close(self) -> None:
        """Nothing to give back."""


class NoTools:
    """What an engine without tools has in their place; the layer of tools is loaded only when a node asks for one."""

    opened = True

    def bind(self, ctx: NodeContext) -> ToolCalls:
        """Tools of which every call says that there is none."""
        calls: ToolCalls = load("tools")(()).bind(ctx)
        return calls

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to give back."""


@asynccontextmanager
async def opened(tools: ToolSource) -> AsyncIterator[None]:
    """See to it that tools are connected while the block lasts; whoever has connected them before keeps them."""
    if tools.opened:
        yield
        return
    await tools.open()
    try:
        yield
    finally:
        await tools.close()


_STORES = {
    "memory": "agentflow.stores.memory:MemoryStore",
    "sqlite": "agentflow.stores.sqlite:from_url",
    "postgresql": "agentflow.stores.postgresql:from_url",
}


def store_of(given: Any) -> Any:
    """The store that was given: by its URL, or itself; `None` for none.

    Raises:
        TypeError: It is neither.
        ValueError: There is no store of that kind.
    """
    if given is None:
        return None
    if isinstance(given, str):
        return load_store(given)
    if not callable(getattr(given, "claim", None)) or not callable(getattr(given, "append", None)):
        raise TypeError(
            f"store={excerpt(given)} is no store: give a URL such as 'sqlite:///runs.db', or a Store"
        )
    return given


def load_store(url: str) -> Any:
    """The store that a URL names: `memory:`, `sqlite:///relative.db`, `sqlite:////absolute.db` or `postgresql://…`.

    Raises:
        ValueError: There is no store of that kind.
    """
    kind = url.partition(":")[0]
    if kind not in _STORES:
        known = ", ".join(f"{name}:" for name in _STORES)
        raise ValueError(f"store={url!r}: there is no store {kind!r}; there are {known}")
    module, _, attribute = _STORES[kind].partition(":")
    return getattr(importlib.import_module(module), attribute)(url)
