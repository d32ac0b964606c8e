"""What every chunk of a stream passes before it is handed out: middleware, then guardrails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import Guardrail, judge
from agentflow.agents.middleware import Middleware, handled_once, seen_by
from agentflow.errors import ContractError
from agentflow.messages.chunk import Chunk

__all__ = ["ChunkFilter"]


class ChunkFilter:
    """Those who rewrite and judge the chunks of one call.

    Args:
        middlewares: The middlewares of the call.
        guardrails: Its guardrails.
        view: The call.
    """

    def __init__(
        self, middlewares: Sequence[Middleware], guardrails: Sequence[Guardrail], view: CallView
    ) -> None:
        self._middlewares = [
            (at, one, one.chunk) for at, one in enumerate(middlewares) if one.chunk is not None
        ]
        self._guardrails = [one for one in guardrails if one.chunk is not None]
        self._view = view

    async def take(self, chunk: Any) -> Any | None:
        """The chunk as it is handed out; `None` for one that is left out.

        Raises:
            GuardrailBlocked: A guardrail blocked it.
            MiddlewareAborted: Middleware ended the call.
            ContractError: Middleware gave something that is no chunk.
        """
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
