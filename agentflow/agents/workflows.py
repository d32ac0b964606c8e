"""The workflows of an agent: its graph depends on few of its options, and all else is told to the nodes later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.agents.chat import chat_of
from agentflow.agents.compression import uses_of
from agentflow.agents.guarded import guarded
from agentflow.agents.loop import loop_of

if TYPE_CHECKING:
    from agentflow.agents.loop_result import LoopResult
    from agentflow.agents.options import Profile
    from agentflow.agents.setup import LoopSetup
    from agentflow.graph.workflow import Workflow

__all__ = ["Workflows"]


class Workflows:
    """The workflows of one agent, each made once.

    Args:
        id: Their id.
        own: The setup that their loops are made for.
    """

    def __init__(self, id: str, own: LoopSetup) -> None:
        self._id = id
        self._own = own
        self._known: dict[Any, Workflow[LoopResult]] = {}

    def of(self, profile: Profile) -> Workflow[LoopResult]:
        """The workflow of a profile: its graph depends on the steps, and on who stands around the loop."""
        around = None
        if profile.is_guarded:
            remembers = profile.memory is not None
            turns = profile.takes_turns
            around = (profile.max_middleware_retries, profile.judges_beside, remembers, turns)
        delegated, handing = profile.delegated_calls, profile.handing
        compressing = uses_of(profile.compressor)
        asks = "once" if profile.chats else "in a loop"
        options = (profile.steps, profile.on_max_steps, profile.sends)
        key = (asks, options, around, delegated, handing, compressing)
        known = self._known.get(key)
        if known is None:
            known = (
                chat_of(f"{self._id}-chat", self._own, sends=profile.sends, compressing=compressing)
                if profile.chats
                else loop_of(
                    self._id,
                    self._own,
                    max_steps=profile.steps,
                    on_max_steps=profile.on_max_steps,
                    tool_model_calls=delegated,
                    sends=profile.sends,
                    handing=handing,
                    compressing=compressing,
                )
            )
            if around is not None:
                retries, beside, remembers, turns = around
                known = guarded(
                    known,
                    self._own,
                    retries=retries,
                    beside=beside,
                    remembers=remembers,
                    turns=turns,
                )
            self._known[key] = known
        return known
