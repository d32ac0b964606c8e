"""The one door of an effect: everything a node does to the outside, and everything it spends, passes here.

An effect has a key that does not depend on timing: the path of its visit and a name or ordinal within it. What was recorded
under a key is returned, never done again; another request under the same key is a `Divergence`, never a silent answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from anyio.lowlevel import cancel_shielded_checkpoint

from agentflow.errors import BudgetExceeded
from agentflow.graph.codec import Unstorable, encoded
from agentflow.run.call_keys import divergence
from agentflow.run.decide import UNRECOVERABLE, unwrapped
from agentflow.run.facts import limit_data
from agentflow.run.failed_effect import failure_data
from agentflow.run.stored import stored
from agentflow.run.usage import counters_of_call
from agentflow.run.visit_record import Recorded, VisitRecord, add_to

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = [
    "Performance",
    "check",
    "digest_of",
    "effect",
    "emit",
    "is_listened_to",
    "keep",
    "left",
    "performing",
]


async def effect(
    ctx: NodeContext,
    kind: str,
    key: str,
    request: Any,
    perform: Callable[[], Awaitable[Any]],
) -> Any:
    """Do an effect once for its key, and return what it gave.

    Args:
        ctx: The visit that wants it.
        kind: `once`, `model`, `tool`, `timer` …
        key: Its key within the visit, as from `NodeContext.effect_key`.
        request: What is asked, as data, or the digest of that; a different one under a recorded key is a divergence.
        perform: Does it.

    Raises:
        Divergence: The key was recorded for another request.
        RunCancelled: The run was cancelled, or is over.
    """
    async with performing(ctx, kind, key, request) as performance:
        if not performance.recorded:
            await performance.keep(await perform())
        return performance.value


async def keep(ctx: NodeContext, kind: str, key: str, request: Any, value: Any) -> None:
    """Record a value under a key, unless one is recorded; takes and raises what `effect` does."""
    async with performing(ctx, kind, key, request) as performance:
        if not performance.recorded:
            await performance.keep(value)


class Performance:
    """One effect while it is done, at once or piece by piece, as a stream is; made by `performing`.

    `recorded` tells whether its `value` is known from before. What it spends is its own until it is kept: an effect that is
    under way when the process dies is done again, and what it has spent is spent again.
    """

    __slots__ = ("_ctx", "_digest", "_key", "_kind", "_record", "_spent", "recorded", "value")
    _record: VisitRecord

    def __init__(self, ctx: NodeContext, kind: str, key: str, request: Any) -> None:
        self._ctx = ctx
        self._kind = kind
        self._key = key
        # Now, because what is asked may be changed while it is done.
        self._digest = digest_of(ctx, request)
        self._spent: dict[str, float] = {}
        self.recorded = False
        self.value: Any = None

    async def __aenter__(self) -> Self:
        ctx, key = self._ctx, self._key
        run = ctx.frame.run
        if monotonic() >= run.pause_at:
            # A visit that goes from effect to effect and never waits owes the loop a moment, as a run does between visits.
            await cancel_shielded_checkpoint()
        ctx.check_open()
        self._record = record = ctx.record
        await record.take(key)
        try:
            known = record.find(key)
            if known is not None:
                if known.digest != self._digest:
                    raise divergence(ctx, self._kind, key)
                self.recorded, self.value = True, known.value
                emit(ctx, "effect.replayed", data={"kind": self._kind, "key": key})
            elif run.journal is not None:
                run.journal.performing(ctx, self._kind, key)
        except BaseException:
            record.release(key)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, Exception):
                await self.failed(error)
        finally:
            if self._spent:
                self.lose()
            self._record.release(self._key)

    def spend(self, limit: str, amount: float = 1) -> None:
        """Take `amount` from what the node may use and from the run's ledger, before it is used.

        Raises:
            BudgetExceeded: It would be too much; nothing is counted.
        """
        ctx = self._ctx
        visits = _upwards(ctx) if limit in _SHARED else ()
        try:
            _check_shares(visits, limit, amount)
            ctx.frame.ledger.spend(limit, amount)
        except BudgetExceeded as error:
            emit_limit(ctx, error)
            raise
        add_to(self._spent, limit, amount)
        for visit in visits:
            add_to(visit.record.spent, limit, amount)

    def note(self, limit: str, amount: float) -> None:
        """Count what is known only after it was used.

        Raises:
            BudgetExceeded: The limit is passed; the amount is counted all the same.
        """
        add_to(self._spent, limit, amount)
        try:
            self._ctx.frame.ledger.note(limit, amount)
        except BudgetExceeded as error:
            emit_limit(self._ctx, error)
            raise

    def note_call(self, figures: Mapping[str, float], *, partial: bool) -> None:
        """Count what one model call has used, where it was made; limits of it are kept by `note`."""
        path = "/".join(reversed([visit.node_id for visit in _upwards(self._ctx)]))
        for name, amount in counters_of_call(path, figures, partial=partial).items():
            self.note(name, amount)

    def take_over(self, spent: Mapping[str, float]) -> None:
        """Have what was counted elsewhere recorded with this effect."""
        for limit, amount in spent.items():
            add_to(self._spent, limit, amount)

    def lose(self) -> None:
        """End without a value: what was spent is spent, and recorded with what comes next."""
        self._ctx.record.lose(self._spent)
        self._spent = {}

    async def failed(self, error: Exception) -> None:
        """Record that the effect failed, unless its error ends the run, or the run is over."""
        ctx = self._ctx
        journal = ctx.frame.run.journal
        if journal is None or self.recorded or ctx.over or ctx.signal.fired:
            return
        if isinstance(unwrapped(error), UNRECOVERABLE):
            return
        body = {
            **ctx.where,
            "key": self._key,
            "kind": self._kind,
            **failure_data(error),
            "spent": self._spent,
            "seconds": ctx.run.seconds,
        }
        self._spent = {}
        await journal.write("effect_failed", body)

    async def keep(self, value: Any) -> None:
        """Record what the effect gave; in a durable run it cannot be lost any more after that.

        Raises:
            RunCancelled: The run was cancelled meanwhile: what comes after the cancel is dropped, whatever it is.
            ContractError: The value cannot be stored.
        """
        self._ctx.check_open()
        own = self._ctx.in_own_task
        journal = self._ctx.frame.run.journal
        if journal is not None:
            told = f"node {self._ctx.node_id!r}: what the {self._kind} effect {self._key!r} gave"
            body = {
                **self._ctx.where,
                "key": self._key,
                "kind": self._kind,
                "digest": self._digest,
                "value": stored(told, value),
                "own": own,
                "spent": self._spent,
                "seconds": self._ctx.run.seconds,
            }
            await journal.write("effect", body)
        self._spent = {}
        self._record.keep(self._key, Recorded(self._kind, self._digest, value, own))
        self.value = value


def performing(ctx: NodeContext, kind: str, key: str, request: Any) -> Performance:
    """An effect that is done piece by piece, as a block of `async with`; takes and raises what `effect` does.

    The block does the effect and keeps its value, unless it is recorded already. An effect whose value was not kept when the
    block ends has not happened.
    """
    return Performance(ctx, kind, key, request)


def check(ctx: NodeContext, limit: str, amount: float = 1) -> None:
    """See whether `amount` more may be spent; spend nothing.

    Raises:
        BudgetExceeded: It would be too much for the `uses` of the node, or of one around it, or for the run's ledger.
    """
    try:
        _check_shares(_upwards(ctx) if limit in _SHARED else (), limit, amount)
        ctx.frame.ledger.check(limit, amount)
    except BudgetExceeded as error:
        emit_limit(ctx, error)
        raise


_SHARED: Final = frozenset({"model_calls", "tool_calls"})
"""What a node may have a share of, besides the run's budget."""


def _upwards(ctx: NodeContext) -> list[NodeContext]:
    """The visit, and those that the sub-workflows around it belong to: a node spends what is spent below it."""
    visits = [ctx]
    while (above := visits[-1].frame.above) is not None:
        visits.append(above)
    return visits


def left(ctx: NodeContext, limit: str) -> float:
    """How much may still be spent, by the run and by the node and those around it; infinity where nothing is limited."""
    shares = [_share(visit, limit) - visit.record.spent.get(limit, 0) for visit in _upwards(ctx)]
    return max(0.0, min(ctx.ledger.left(limit), *shares))


def _share(ctx: NodeContext, limit: str) -> float:
    """How much of a limit one visit may spend."""
    if ctx.uses is None or limit not in _SHARED:
        return math.inf
    allowed: float | None = getattr(ctx.uses, limit)
    return math.inf if allowed is None else allowed


def _check_shares(visits: Iterable[NodeContext], limit: str, amount: float) -> None:
    for visit in visits:
        allowed = _share(visit, limit)
        if allowed == math.inf:
            continue
        used = visit.record.spent.get(limit, 0) + amount
        if used > allowed:
            where = f"one visit of node {visit.node_id!r}"
            raise BudgetExceeded(limit, allowed, used, where=where)


def is_listened_to(ctx: NodeContext) -> bool:
    """Whether anybody gets the facts of a visit, so that what is costly to tell is worth making."""
    return ctx.frame.run.bus is not None


def emit(
    ctx: NodeContext,
    kind: str,
    *,
    data: Mapping[str, Any] | None = None,
    content: Any = None,
    call_id: str | None = None,
) -> None:
    """Tell observers and readers of something that happened in a visit; nothing is made when nobody listens."""
    facts = ctx.frame.run.bus
    if facts is not None:
        facts.emit(
            kind,
            ctx.frame,
            data=data,
            content=content,
            node_id=ctx.node_id,
            visit=ctx.visit,
            attempt=ctx.attempt,
            call_id=call_id,
        )


def emit_limit(ctx: NodeContext, error: BudgetExceeded) -> None:
    """Tell that a limit was reached."""
    emit(ctx, "limit.reached", data=limit_data(error))


def digest(request: Any, *, exact: bool = False) -> str:
    """A digest of a request.

    Args:
        request: What is asked, as data.
        exact: Whether it must be the same in every process.
    """
    text = _canonical(request) if exact else repr(request)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Digest(str):
    """The digest of a request, which stands for it: whoever needs it twice works it out once."""

    __slots__ = ()


def digest_of(ctx: NodeContext, request: Any) -> Digest:
    """The digest of what an effect of a visit asks for, as data; or of which a digest is given."""
    if isinstance(request, Digest):
        return request
    return Digest(digest(request, exact=ctx.frame.run.journal is not None))


_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def _canonical(request: Any) -> str:
    try:
        return json.dumps(encoded(request), sort_keys=True)
    except Unstorable:
        # A live object among the arguments: told by what it says of itself, but not by where it lies in memory.
        return _ADDRESS.sub("", repr(request))
