"""What a chunk passes before it is handed out: guardrails that judge the input beside the loop, middleware, guardrails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from agentflow.agents.beside import judging_id
from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import Guardrail, judge
from agentflow.agents.middleware import Middleware, handled_once, seen_by
from agentflow.errors import ContractError
from agentflow.messages.chunk import Chunk

__all__ = ["ChunkFilter"]


class ChunkFilter:
    """Those who rewrite and judge the chunks of one call.

    Where guardrails judge the input beside the loop, nothing passes until they have let the call go on.

    Args:
        middlewares: The middlewares of the call.
        guardrails: Its guardrails.
        view: The call.
        workflow_id: The id of the run of its workflow; default: that of the call.
    """

    def __init__(
        self,
        middlewares: Sequence[Middleware],
        guardrails: Sequence[Guardrail],
        view: CallView,
        workflow_id: str | None = None,
    ) -> None:
        beside = any(one.input is not None and one.when == "beside" for one in guardrails)
        self._held = anyio.Event() if beside else None
        self._middlewares = [
            (at, one, one.chunk) for at, one in enumerate(middlewares) if one.chunk is not None
        ]
        self._guardrails = [one for one in guardrails if one.chunk is not None]
        self._view = view
        self._judging = judging_id(view.run_id if workflow_id is None else workflow_id)

    def release(self) -> None:
        """Let through what is held, and everything after it."""
        if self._held is not None:
            self._held.set()

    async def released(self) -> None:
        """Wait until something may be handed out."""
        if self._held is None or self._held.is_set():
            return
        journal = self._view.run.journal
        if journal is not None and journal.went_through(self._judging[len(self._view.run.id) :]):
            # The verdict was given before the call was interrupted, and is not asked for again.
            self._held.set()
        await self._held.wait()

    async def take(self, chunk: Any) -> Any | None:
        """The chunk as it is handed out, when it may be; `None` for one that is left out.

        Raises:
            GuardrailBlocked: A guardrail blocked it.
            MiddlewareAborted: Middleware ended the call.
            ContractError: Middleware gave something that is no chunk.
        """
        if getattr(chunk, "stage", None) is not None:
            # Said by a model that was asked for something else, such as a summary: no part of the answer.
            return None
        await self.released()
        for at, middleware, handler in self._middlewares:
            chunk = await handled_once(handler, chunk, seen_by(at, middleware, self._view))
            if chunk is None:
                return None
            if not isinstance(chunk, Chunk):
                raise ContractError(
                    f"middleware {middleware.name!r} gave {type(chunk).__name__} for a chunk; it gives a chunk, or None"
                )
        await judge(self._guardrails, "chunk", chunk, self._view)
        return chunk
