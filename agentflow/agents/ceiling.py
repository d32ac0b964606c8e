"""Ceilings: what the tool calls of an agent must pass because of who has given it its task."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.agents.call_engine import CallEngine
    from agentflow.run.ports import Authorize

__all__ = ["UnderCeiling"]


class UnderCeiling:
    """An engine with further policies over its tools. Everything else is the engine's.

    Args:
        engine: The engine.
        ceilings: The policies; each must say yes, and the engine's own too.
    """

    def __init__(self, engine: CallEngine, ceilings: Sequence[Authorize]) -> None:
        self._engine = engine
        self._policies = [*ceilings] if engine.authorize is None else [*ceilings, engine.authorize]
        # A ceiling lets nothing pass that had to be allowed by somebody who knows the tool.
        self._speaks = engine.authorize is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def authorize(self, tool: Any, input: dict[str, Any], ctx: Any) -> Any:
        """The first verdict that is not a yes, or a yes."""
        if not self._speaks and self._engine.require_authorization and tool.authorize is None:
            return False
        for policy in self._policies:
            verdict: Any = policy(tool, input, ctx)
            if inspect.isawaitable(verdict):
                verdict = await verdict
            if verdict is not True:
                return verdict
        return True
