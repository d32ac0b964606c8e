"""Toolkits that lie elsewhere: their tools are there while a connection is, and may become others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.tools.tool import Tool

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.tools.calls import BoundTools, Tools

__all__ = ["ConnectedToolkit", "ConnectedTools"]


class ConnectedToolkit(ABC):
    """A toolkit behind a connection, which the engine opens and closes."""

    __slots__ = ()

    @property
    @abstractmethod
    def source(self) -> str:
        """What errors call it."""

    @property
    @abstractmethod
    def opened(self) -> bool:
        """Whether it is open in the loop that is running, by whomever."""

    @property
    @abstractmethod
    def instructions(self) -> str:
        """A text for the model, said once; empty for none."""

    @property
    @abstractmethod
    def tools(self) -> tuple[Tool, ...]:
        """Its tools as they are now: the same object until they become others.

        Raises:
            RuntimeError: It is not open.
        """

    @abstractmethod
    async def open(self) -> None:
        """Connect; opening again is counted."""

    @abstractmethod
    async def close(self) -> None:
        """Give the connection back, when it was closed as often as it was opened."""


class ConnectedTools:
    """The tools of an engine of which some lie behind connections. Each visit sees them as they are when it first looks.

    Args:
        make: Makes a table of tools and instructions.
        here: The tools that are here, by id.
        sources: Where each of them is from, for errors.
        instructions: What their toolkits say to a model.
        toolkits: Those that are connected.
    """

    __slots__ = ("_here", "_instructions", "_known", "_make", "_mine", "_sources", "_toolkits")

    def __init__(
        self,
        make: Callable[[Mapping[str, Tool], tuple[str, ...]], Tools],
        here: Mapping[str, Tool],
        sources: Mapping[str, str],
        instructions: Sequence[str],
        toolkits: Sequence[ConnectedToolkit],
    ) -> None:
        self._make = make
        self._here = here
        self._sources = sources
        self._instructions = tuple(instructions)
        self._toolkits = tuple(toolkits)
        self._known: tuple[list[tuple[Tool, ...]], Tools] | None = None
        self._mine = False

    @property
    def opened(self) -> bool:
        """Whether all of them are open; an engine may use what another one has opened, as long as that keeps it open."""
        return all(toolkit.opened for toolkit in self._toolkits)

    def bind(self, ctx: NodeContext) -> BoundTools:
        """The tools as they are now, tied to the cancel, the budget and the facts of one visit."""
        return self._table().bind(ctx)

    async def open(self) -> None:
        """Connect to all of them, or to none; opening twice is nothing.

        Raises:
            ContractError: Two tools have the same id.
            Exception: What the connection failed with.
        """
        if self._mine:
            return
        opened: list[ConnectedToolkit] = []
        try:
            for toolkit in self._toolkits:
                await toolkit.open()
                opened.append(toolkit)
            _, clashes = self._joined()
            if clashes:
                raise ContractError("; ".join(clashes))
        except BaseException:
            await _close(opened)
            raise
        self._mine = True

    async def close(self) -> None:
        """Give all connections back that were opened here."""
        if self._mine:
            self._mine = False
            self._known = None
            await _close(self._toolkits)

    def _table(self) -> Tools:
        now = [toolkit.tools for toolkit in self._toolkits]
        if self._known is not None and all(
            mine is theirs for mine, theirs in zip(self._known[0], now, strict=True)
        ):
            return self._known[1]
        joined, clashes = self._joined()
        for clash in clashes:
            _log().warning("a tool is left out", reason=clash)
        told = (toolkit.instructions for toolkit in self._toolkits)
        table = self._make(joined, (*self._instructions, *filter(None, told)))
        self._known = now, table
        return table

    def _joined(self) -> tuple[dict[str, Tool], list[str]]:
        """All tools by id, and what is wrong with those of which the id is taken: whoever had it first keeps it."""
        joined = dict(self._here)
        sources = dict(self._sources)
        clashes: list[str] = []
        for toolkit in self._toolkits:
            for tool in toolkit.tools:
                if tool.id in joined:
                    clashes.append(
                        f"two tools have the id {tool.id!r}: one from {sources[tool.id]} and one from {toolkit.source}; "
                        f"give the toolkit a prefix"
                    )
                    continue
                joined[tool.id] = tool
                sources[tool.id] = toolkit.source
        return joined, clashes


async def _close(toolkits: Sequence[ConnectedToolkit]) -> None:
    """Close all of them, the last one first, whatever one of them raises."""
    errors: list[Exception] = []
    for toolkit in reversed(toolkits):
        try:
            await toolkit.close()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _log() -> Any:
    # Loaded only now: most programs never see a clash, and it is slow to load.
    import structlog

    return structlog.get_logger("agentflow")
