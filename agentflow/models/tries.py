"""The tries of a call: again at the same model, then at its fallbacks, as long as nothing of an answer was delivered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentflow.errors import ModelUnavailable
from agentflow.messages.chunk import Chunk, FinishChunk, UsageChunk
from agentflow.models.limits import admit, admit_fallback, input_tokens
from agentflow.models.request import ModelRequest
from agentflow.models.trial import Trial
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Performance

__all__ = ["Tries"]

_NO_CONTENT: Final = (UsageChunk, FinishChunk, type(None))
"""What may come of a try that is made again all the same: nothing of it was said."""


class Tries:
    """What is done to get one answer. A call takes its quota once, however many tries it needs.

    Args:
        ctx: The visit.
        request: What is asked, of the first model.
        key: The key of the call.
        performance: The effect that the call is.

    Attributes:
        sent: How many requests were sent.
        last: The try that is under way, or was last; `None` before the call was let through.
        began: When the first request was sent, on the clock of the run.
    """

    __slots__ = (
        "_ctx",
        "_delivered",
        "_further",
        "_key",
        "_performance",
        "_place",
        "_request",
        "_under_way",
        "_used",
        "began",
        "last",
        "sent",
    )

    def __init__(
        self, ctx: NodeContext, request: ModelRequest, key: str, performance: Performance
    ) -> None:
        self._ctx = ctx
        self._request = request
        self._key = key
        self._performance = performance
        self._used: dict[str, float] = {}
        self._delivered = False
        self._further: Callable[[ModelUnavailable], _Plan | None] | None = None
        self._under_way: Trial | None = None
        self._place: AbstractAsyncContextManager[None] | None = None
        self.sent = 0
        self.last: Trial | None = None
        self.began = 0.0

    async def next(self) -> Chunk | None:
        """The next chunk of the try that is answered; `None` at the end. Whoever asks closes the tries, on every way out.

        Raises:
            ModelUnavailable: The last of them failed too.
            BudgetExceeded: A limit does not allow the call, or its output.
        """
        trial = self.last or await self._begin(self._request)
        while True:
            try:
                if self._under_way is None:
                    await self._open(trial)
                chunk = await trial.next()
            except ModelUnavailable as error:
                await self.close()
                plan = None if self._delivered else self._next_plan(error)
                if plan is None:
                    raise
                self._give_up(trial, error, plan)
            else:
                self._delivered = self._delivered or not isinstance(chunk, _NO_CONTENT)
                return chunk
            if plan.delay:
                await self._ctx.run.clock.sleep(plan.delay)
            self._ctx.check_open()
            trial = await self._begin(plan.request)

    async def close(self) -> None:
        """End the try that is under way, if one is."""
        trial, self._under_way = self._under_way, None
        place, self._place = self._place, None
        try:
            if trial is not None:
                await trial.close()
        finally:
            if place is not None:
                await place.__aexit__(None, None, None)

    async def _open(self, trial: Trial) -> None:
        """Wait for a place, and send."""
        limiter = trial.request.model.limiter
        if limiter is not None:
            place = limiter.place(self._ctx.run.clock)
            await place.__aenter__()
            self._place = place
        self._under_way = trial
        self._tell_sent(trial)
        await trial.open()

    def _next_plan(self, error: ModelUnavailable) -> _Plan | None:
        if self._further is None:
            self._further = _further(self._request, self._key)
        return self._further(error)

    def usage(self) -> dict[str, float]:
        """What all of them have used, as far as that is known."""
        if self.last is None:
            return self._used
        usage = self.last.usage()
        return _sums(self._used, usage) if self._used else usage

    async def _begin(self, request: ModelRequest) -> Trial:
        """Check the limits, and take the quota with the first try."""
        before = self.last
        if before is not None and before.request.model is request.model:
            tokens = before.tokens
        else:
            tokens = None if request.model.counter is None else await input_tokens(request)
            if before is None:
                admit(self._ctx, request, tokens, self._performance)
            else:
                admit_fallback(
                    self._ctx, request, tokens, self._performance, chars=self._request.chars
                )
        if before is not None:
            self._used = _sums(self._used, before.usage())
        self.last = Trial(self._ctx, request, self._key, self._performance, tokens)
        return self.last

    def _tell_sent(self, trial: Trial) -> None:
        self.sent += 1
        if self.sent > 1:
            return
        self.began = self._ctx.run.monotonic()
        draft = trial.request.draft
        data = {"model": trial.request.model.name, "transport": draft.transport.name}
        if draft.stage is not None:
            data["stage"] = draft.stage
        emit(self._ctx, "model.started", data=data, call_id=self._key)

    def _give_up(self, trial: Trial, error: ModelUnavailable, plan: _Plan) -> None:
        trial.settle(partial=True)
        data = {
            "model": trial.request.model.name,
            "error": type(error).__name__,
            "message": str(error),
            "next": plan.request.model.name,
            "delay": plan.delay,
        }
        emit(self._ctx, "model.retried", data=data, call_id=self._key)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The next try: what is asked, and after how many seconds."""

    request: ModelRequest
    delay: float = 0.0


def _further(request: ModelRequest, key: str) -> Callable[[ModelUnavailable], _Plan | None]:
    """What follows each failure of a call, asked for one after the other."""
    fallbacks = iter(request.model.chain[1:])
    asked, failed = request, 0

    def after(error: ModelUnavailable) -> _Plan | None:
        nonlocal asked, failed
        failed += 1
        retries = asked.model.retries
        if failed <= retries.count:
            return _Plan(asked, retries.delay(failed, error, f"{key}/{asked.model.name}"))
        fallback = next(fallbacks, None)
        if fallback is None:
            return None
        asked, failed = request.at(fallback), 0
        return _Plan(asked)

    return after


def _sums(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
