"""The framework's own part of a call, apart from the caller's `context`: whoever stands around the call may read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentflow.agents.memory.recording import recording_of
from agentflow.agents.progress import state_of
from agentflow.agents.step import Step, steps_of

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.call_view import CallView
    from agentflow.messages.message import Message

__all__ = ["SystemContext"]


@dataclass(frozen=True, slots=True)
class SystemContext:
    """What the framework keeps of one call. A sub-agent has its own.

    It is read from where it is kept, each time anew, so nobody can change a call through it; and no key of the caller's
    `context` is a name of something in here.

    Args:
        view: The call.
    """

    _view: CallView

    @property
    def agent(self) -> Agent:
        """The agent whose call it is."""
        engine: Any = self._view.run.engine
        found: Agent | None = engine.agent()
        assert found is not None, "an agent that is asked is there"
        return found

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation buffer: what model and tools have said in this call, or in its latest attempt; at first nothing."""
        state = state_of(self._view.run, self._view.run_id)
        return () if state is None else tuple(state["messages"][state["given"] :])

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps up to now; at first none."""
        state = state_of(self._view.run, self._view.run_id)
        return () if state is None else steps_of(state.get("steps", ()), state["messages"])

    @property
    def persistence(self) -> Literal["idle", "waiting", "writing"]:
        """How the queue stands that writes records of steps to the memory: `waiting` for more to write, at work, or `idle`."""
        found = recording_of(self._view.run, self._view.run_id)
        return "idle" if found is None else found.status
