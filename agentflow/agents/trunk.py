"""The trunk: what every call of an agent goes through, whichever way its answer is handed out.

::

    merge options -> validate the context -> ask for permission -> resolve the model -> run -> shape
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.agents.overlay import overlaid
from agentflow.agents.permission import Asked, permit
from agentflow.agents.result import TextResult
from agentflow.errors import RunCancelled, RunInterrupted, RunSuspended
from agentflow.graph.contract import contract_error
from agentflow.messages.message import as_messages
from agentflow.run.attach import ATTACHED
from agentflow.run.options import RunOptions

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.call_engine import CallEngine
    from agentflow.agents.loop_result import LoopResult
    from agentflow.agents.options import Profile
    from agentflow.run.ports import Sink
    from agentflow.run.run import Run

__all__ = ["AgentCall", "finish_reason_of", "opened"]

_OF_THE_RUN: Final = frozenset(RunOptions.__annotations__) | {
    *("signal", "budget", "context", "identity", "deps", "observers", "sink", "private")
}


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call of an agent, let through and ready to run.

    Args:
        engine: What runs it.
        run: Its run.
        is_own: Whether the engine was made for this call.
    """

    engine: CallEngine
    run: Run[LoopResult]
    is_own: bool

    async def begin(self) -> None:
        """Let the run begin; it must be waited for by `ended`."""
        if self.is_own:
            await self.engine.__aenter__()
        self.run.begin()

    async def ended(self) -> TextResult:
        """Wait for the run, and shape what comes of it.

        Raises:
            Exception: What the run raises.
        """
        run = self.run
        try:
            await run.settled()
        except BaseException:
            # The caller itself was cancelled: the run must not outlive its call.
            await run.stop("its caller was cancelled")
            raise
        finally:
            if self.is_own:
                with anyio.CancelScope(shield=True):
                    await self.engine.close()
        return TextResult(
            loop=run.outcome(),
            workflow=run.workflow,
            run_id=run.id,
            total_usage=run.ledger.usage,
            usage_by_path=run.ledger.usage_by_path,
        )


async def opened(
    agent: Agent,
    input: Any,
    options: Mapping[str, Any],
    *,
    answers: Any = ATTACHED,
    sink: Sink | None = None,
) -> AgentCall:
    """Let a call through.

    Args:
        agent: The agent.
        input: What is asked; `None` for a run that is answered.
        options: What the call says.
        answers: What a suspended run is answered.
        sink: Where the answer goes while it is made, in place of the caller's sink.

    Raises:
        TypeError: There is no such option, or one is of the wrong kind; or the input is none.
        ContractError: The context is not what the agent asks for.
        AgentDenied: Whoever asks may not.
        ValueError: The model's string names nothing that is installed.
    """
    given: Any = {name: value for name, value in options.items() if name in _OF_THE_RUN}
    profile = agent.profile.over({n: v for n, v in options.items() if n not in _OF_THE_RUN})
    if sink is not None:
        given["sink"] = sink
        if profile.output is not None:
            profile = replace(profile, streams=True)
    given["context"] = context = _context(agent, profile, given.get("context"))
    asked = Asked(
        agent=agent.name,
        identity=given.get("identity"),
        context=context,
        run_id=given.get("run_id"),
    )
    await permit(profile.permission, asked)
    engine, is_own = agent.engine_for(profile)
    begin = None if input is None else {"messages": list(as_messages(input))}
    return AgentCall(engine, engine.call(begin, given, answers=answers), is_own)


def _context(agent: Agent, profile: Profile, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context of one call: the agent's own with the caller's laid over it, shared with no other call.

    Raises:
        ContractError: It is not what the agent asks for.
    """
    context = overlaid(copy.deepcopy(dict(agent.context)), {} if given is None else given)
    if profile.context_type is None:
        return context
    from agentflow.graph.contract import Contract

    try:
        Contract(profile.context_type).validate(context)
    except Exception as error:
        raise contract_error(f"the context of agent {agent.name!r}", context, error) from error
    return context


def finish_reason_of(error: BaseException) -> str:
    """Why a call that raised has ended."""
    match error:
        case RunCancelled():
            return "cancelled"
        case RunSuspended():
            return "suspended"
        case RunInterrupted():
            return "interrupted"
    return "error"
