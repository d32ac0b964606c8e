"""The ports of a run: what it needs from outside, each owned here and with few methods.

Adapters live in other layers and are tried against one conformance suite a port.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio

from agentflow.run.entries import ENDED, Claim, Entry, NewRun, RunInfo, StoredStatus

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.facts import Fact

__all__ = [
    "Clock",
    "Invocation",
    "Observer",
    "Receipt",
    "Reply",
    "Sink",
    "Store",
    "SystemClock",
    "ToolCalls",
    "ToolSource",
]


@runtime_checkable
class Observer(Protocol):
    """A side channel for facts. Whatever it raises is counted, logged and dropped."""

    def accepts(self, kind: str, content: bool) -> bool:
        """Whether it wants facts of `kind`, with what nodes wrote and models said (`content`) or without."""
        ...

    def event(self, fact: Fact) -> Awaitable[None] | None:
        """Take one fact; may be async."""
        ...


class Sink(Protocol):
    """Where content goes while it is made: awaited in order, so a slow sink slows the model; its failure fails the run."""

    async def send(self, chunk: Any) -> None:
        """Take one chunk."""
        ...


class Store(Protocol):
    """Where journals live. Every method is atomic, and what it has acknowledged is never lost.

    A store object is a driver: the runs that it has claimed are driven from here, as long as it is open. When its process is gone,
    or its lease has run out, others may claim them.
    """

    async def open(self) -> None:
        """Make it ready, tables included; opening twice is nothing.

        Raises:
            StoreError: It cannot be reached, or was written by a newer version.
        """
        ...

    async def close(self) -> None:
        """Give back everything that it holds; what is still claimed becomes `interrupted`."""
        ...

    async def claim(
        self, run_id: str, *, new: NewRun | None = None, suspended: bool = False
    ) -> Claim | RunInfo | None:
        """Take the right to write to a run.

        Args:
            run_id: The run.
            new: Makes the run if there is none of that id.
            suspended: Take it also when it is suspended.

        Returns:
            The claim, of a newer epoch than all before; or the run as it is, when it has ended, is suspended, or is driven by
            somebody alive; or `None` when there is no such run.
        """
        ...

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        """Write entries, all or none, and return when they cannot be lost any more.

        A cancel does not cut it: what is to be written has happened, and whether it was written must be known. The caller gets its
        answer, and the cancel comes with whatever it awaits next, as after a shielded scope.

        Args:
            claim: The newest claim of the run.
            entries: Numbered on from the last one. One of kind `snapshot` has the number of the last entry that it covers, is
                no entry of its own, and takes the place of earlier snapshots.
            status: The run's status from now on; any but `running` gives the claim back.
            due: When a run that is suspended wants to go on.

        Raises:
            StaleClaim: Somebody has claimed the run anew; nothing was written.
            StoreError: It could not be written.
        """
        ...

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        """The entries after number `after`; if that is `None`, those from the latest snapshot on, the snapshot included."""
        ...

    async def find(
        self,
        *,
        run_id: str | None = None,
        status: StoredStatus | None = None,
        due: datetime | None = None,
        limit: int = 1000,
    ) -> list[RunInfo]:
        """Runs by id, by status, or suspended ones that are due by a time; the oldest first."""
        ...

    async def prune(
        self,
        *,
        run_id: str | None = None,
        older_than: datetime | None = None,
        statuses: Collection[StoredStatus] = ENDED,
    ) -> int:
        """Delete runs with everything that belongs to them; tells how many.

        Args:
            run_id: Only this one, whatever its status.
            older_than: Only those that were last written before.
            statuses: Only those of these statuses.
        """
        ...


class Clock(Protocol):
    """Time, for everything in a run that waits or stamps."""

    def now(self) -> datetime:
        """The time of day, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return anyio.current_time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The record that the core made of one model or tool call: metadata, no permit and nobody's id.

    Args:
        id: The effect key of the call, unique in the run.
        kind: `model` or `tool`.
        name: The model's or the tool's registered name.
        node_id: The node that called.
        usage: What it used, by name, as far as known; a name that is missing is unknown.
        partial: Whether `usage` may be less than what was really used.
        finish_reason: Why a model stopped; `None` for a tool, or when it did not get so far.
        seconds: How long it took.
        tries: How many requests it took, retries and fallbacks included.
    """

    id: str
    kind: str
    name: str
    node_id: str
    usage: Mapping[str, float] = field(default_factory=dict)
    partial: bool = False
    finish_reason: str | None = None
    seconds: float = 0.0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model call gives: the `value` that the transport parsed, and the `invocation` that tells of the call.

    `corrected` are the calls before it, of which the answers were not valid and went back to the model.
    """

    value: Any
    invocation: Invocation
    corrected: tuple[Invocation, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a tool call gives: the `value` of real work that succeeded, and the `invocation` that tells of the call."""

    value: Any
    invocation: Invocation


class ToolCalls(Protocol):
    """The tools as one visit sees them."""

    @property
    def instructions(self) -> tuple[str, ...]:
        """What a model must be told to use them, besides what they are."""
        ...

    async def invoke(
        self, tool_id: str, input: Any = None, *, call_id: str | None = None
    ) -> Receipt:
        """Run one tool and return what it gave.

        Args:
            tool_id: The id of a registered tool.
            input: Its arguments, as a mapping; `None` for none.
            call_id: Names the call within the visit, where a model has named it; default: what it asks for, and a number
                where a visit asks for the same several times.
        """
        ...

    def specs(self, names: Iterable[str] | None = None) -> tuple[Any, ...]:
        """What a model is told of the tools `names`; default: of all."""
        ...


class ToolSource(Protocol):
    """The tools of an engine."""

    @property
    def opened(self) -> bool:
        """Whether runs may use them: always, unless some lie behind a connection."""
        ...

    def bind(self, ctx: NodeContext) -> ToolCalls:
        """The tools, tied to the cancel, the budget and the facts of one visit."""
        ...

    async def open(self) -> None:
        """Connect to where tools lie elsewhere; called once, before the first run."""
        ...

    async def close(self) -> None:
        """Give those connections back; nothing where there is none."""
        ...


Authorize = Callable[..., Any]
"""A policy `(tool, input, ctx) -> bool`, plain or async."""
