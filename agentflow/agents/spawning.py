"""Spawned agents: light ones, derived from another for a single use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

from agentflow.agents.agent import Agent
from agentflow.agents.hooks import Hooks
from agentflow.agents.instructions import InstructionContext
from agentflow.agents.step_plan import StepContext, StepPlan
from agentflow.graph.argument import (
    FLAG,
    FUNCTION,
    LIST,
    TEXT,
    check_arguments,
    instance,
    or_none,
)
from agentflow.graph.calling import is_async
from agentflow.models.resolution import names_provider

if TYPE_CHECKING:
    from agentflow.agents.instructions import Instructions
    from agentflow.agents.options import CallOptions
    from agentflow.agents.result import TextResult
    from agentflow.agents.stream import AgentStream

__all__ = ["SpawnScope", "Spawned", "spawn"]


_WANTED: Final = {
    "parent": instance(Agent, "an agent"),
    "prompt": TEXT,
    "tools": replace(or_none(LIST), told="a list of the ids of tools"),
    "inherit": FLAG,
    "setup": replace(or_none(FUNCTION), told="a function of a SpawnScope"),
}


@dataclass(slots=True, kw_only=True)
class SpawnScope:
    """What listens to one spawned agent, and to no other; `setup` adds to it.

    Args:
        hooks: Who is told.
        observers: Who gets the facts.
        middlewares: Who rewrites what passes.
    """

    hooks: list[Hooks] = field(default_factory=list)
    observers: list[Any] = field(default_factory=list)
    middlewares: list[Any] = field(default_factory=list)


class Spawned:
    """A spawned agent, which answers once.

    Args:
        agent: What was derived.
        model: Its model, which lives as long as the call.
    """

    def __init__(self, agent: Agent, model: str) -> None:
        self.agent = agent
        self._model = model
        self._used = False

    async def generate_text(self, input: Any, **options: Unpack[CallOptions]) -> TextResult:
        """Ask it, and wait for the answer; as `Agent.generate_text`.

        Raises:
            RuntimeError: It was asked before.
        """
        return await self.agent.generate_text(input, **self._once(options))

    def stream_text(self, input: Any, **options: Unpack[CallOptions]) -> AgentStream:
        """Ask it, and take the answer while it is made; as `Agent.stream_text`.

        Raises:
            RuntimeError: It was asked before.
        """
        return self.agent.stream_text(input, **self._once(options))

    def _once(self, options: CallOptions) -> CallOptions:
        if self._used:
            raise RuntimeError(
                f"agent {self.agent.name!r} was spawned for a single use; spawn another"
            )
        self._used = True
        return {"model": self._model, **options}


def spawn(
    parent: Agent,
    *,
    model: str,
    prompt: str = "",
    tools: Iterable[str] | None = None,
    inherit: bool = True,
    setup: Callable[[SpawnScope], object] | None = None,
) -> Spawned:
    """Derive a light agent from another one, for a single use: it has no session, no memory and no store.

    It has its parent's tools, guardrails and policies, for what is forbidden to the parent stays so; but nothing that
    stands around the parent's calls. For tasks that belong to a run, with a handle and limits, there is `Subagents`.

    Args:
        parent: The agent that it is derived from.
        model: Its model, as `"provider:model"`.
        prompt: What it is told besides.
        tools: The ids of those tools that its model sees; default: all. This permits nothing.
        inherit: Whether it is told what the parent is told: instructions, Markdown, and what a retriever finds.
        setup: Called once, with the scope that its own listeners are added to.

    Raises:
        TypeError: One of the others is of the wrong kind.
        ValueError: The model is not named as `"provider:model"`, or is none that is installed.
    """
    asked = {"parent": parent, "prompt": prompt, "tools": tools, "inherit": inherit, "setup": setup}
    check_arguments("spawn", _WANTED, asked)
    given: object = model
    if not isinstance(given, str) or not all(given.partition(":")):
        raise ValueError(
            f"model={given!r}: a spawned agent names its model 'provider:model', such as 'openai:gpt-5-mini'"
        )
    if not names_provider(given):
        raise ValueError(f"model={given!r}: no provider {given.partition(':')[0]!r} is installed")
    scope = SpawnScope()
    if setup is not None:
        setup(scope)
    profile = parent.profile
    told: dict[str, Any] = {}
    if inherit:
        told = {
            "markdown": profile.markdown,
            "retriever": profile.retriever,
            "prompts": profile.prompts,
            "headers": profile.headers,
        }
    agent = Agent(
        f"{parent.name}-spawned",
        _instructions(profile.instructions, prompt) if inherit else prompt,
        None,
        profile.tools,
        context=parent.context,
        observers=scope.observers,
        hooks=scope.hooks,
        middlewares=scope.middlewares,
        prepare_step=None if tools is None else _showing(tuple(tools)),
        models=profile.models,
        parameters=profile.parameters,
        context_type=profile.context_type,
        guardrails=profile.guardrails,
        permission=profile.permission,
        authorize=profile.authorize,
        require_authorization=profile.require_authorization,
        max_parallel_tools=profile.max_parallel_tools,
        max_delegations=profile.max_delegations,
        **told,
    )
    return Spawned(agent, model)


def _showing(names: tuple[str, ...]) -> Callable[[StepContext], StepPlan]:
    return lambda _: StepPlan(tools=names)


def _instructions(parents: Instructions | None, prompt: str) -> Instructions | None:
    """What the parent is told, and then the prompt."""
    if not parents or not prompt:
        return parents or prompt
    if isinstance(parents, str):
        return f"{parents}\n\n{prompt}"
    asked: Callable[[InstructionContext], Any] = parents

    def joined(said: str | None) -> str:
        return f"{said}\n\n{prompt}" if said else prompt

    if is_async(asked):

        async def waiting(context: InstructionContext) -> str:
            return joined(await asked(context))

        return waiting
    return lambda context: joined(asked(context))
