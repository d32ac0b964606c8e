"""The engine of an agent: an engine of its workflow that knows the setup that holds for a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.setup import LoopSetup
from agentflow.agents.tool_watch import WatchedTools
from agentflow.run.attach import ATTACHED
from agentflow.run.engine import Engine

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.loop_result import LoopResult
    from agentflow.agents.options import Profile
    from agentflow.graph.limits import Budget
    from agentflow.graph.workflow import Workflow
    from agentflow.run.facts import Fact
    from agentflow.run.options import RunOptions
    from agentflow.run.ports import Observer, Store
    from agentflow.run.run import Run

__all__ = ["CallEngine"]


class CallEngine(Engine["LoopResult"]):
    """An engine that runs an agent's workflow by a profile.

    Args:
        workflow: The agent's workflow, of which the loop was made for the setup `own`.
        profile: What holds.
        own: The setup that the loop was made for.
        agent: Gives the agent, as long as somebody holds it.
        budget: The limits of every run.
        observers: Who gets the facts of every run.
        store: Where runs are recorded.
    """

    def __init__(
        self,
        workflow: Workflow[LoopResult],
        profile: Profile,
        *,
        own: LoopSetup,
        agent: Callable[[], Agent | None],
        budget: Budget | None = None,
        observers: Iterable[Observer | Callable[[Fact], Any]] = (),
        store: Store | None = None,
    ) -> None:
        self._own = own
        self.agent = agent
        self._profile = profile
        self._setup = profile.setup()
        super().__init__(
            workflow,
            model=profile.model,
            models=profile.models or None,
            tools=(*profile.tools, *(profile.memory.tools if profile.memory else ())),
            observers=observers,
            store=store,
            budget=budget,
            authorize=profile.authorize,
            require_authorization=profile.require_authorization,
            max_parallel_tools=profile.max_parallel_tools,
        )
        judges = [one for one in profile.guardrails if one.tool_input or one.tool_output]
        told = [one for one in profile.hooks if one.on_tool_start or one.on_tool_end]
        if judges or told:
            self.tools = WatchedTools(self.tools, judges, told)
        self.max_delegations = profile.max_delegations

    @property
    def setup(self) -> LoopSetup:
        """The setup of the profile."""
        return self._setup

    def setup_for(self, own: LoopSetup) -> LoopSetup:
        """The setup that holds for a loop: that of the profile for the agent's loop, its own for any other inside of it."""
        return self._setup if own is self._own else own

    def beside(self, workflow: Workflow[Any], tools: Iterable[Any]) -> CallEngine:
        """An engine of another workflow by the same profile, with other tools and nothing to remember; it records nothing."""
        return CallEngine(
            workflow,
            replace(self._profile, tools=tuple(tools), memory=None),
            own=self._own,
            agent=self.agent,
            budget=self.budget,
            observers=self._observers,
        )

    def call(
        self,
        input: Mapping[str, Any] | None,
        options: RunOptions,
        *,
        answers: Any = ATTACHED,
        read: bool = False,
    ) -> Run[LoopResult]:
        """A run of a call; `read` says whether somebody may read its facts."""
        return self._make(input, options, read=read, answers=answers)
