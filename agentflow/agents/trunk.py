"""The trunk: what every call of an agent goes through, whichever way its answer is handed out.

::

    merge options -> validate the context -> ask for permission -> resolve the model -> on_start -> run -> shape -> on_end
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.agents.call_end import own_error, tell_end
from agentflow.agents.call_view import CallView
from agentflow.agents.caller_sink import CallerSink
from agentflow.agents.chunk_filter import ChunkFilter
from agentflow.agents.hooks import notify
from agentflow.agents.log_sink import LogSink
from agentflow.agents.memory.owner import RESERVED, owner_of
from agentflow.agents.option_check import check_options
from agentflow.agents.overlay import overlaid
from agentflow.agents.permission import Asked, permit
from agentflow.agents.registration import with_registered
from agentflow.agents.result import TextResult
from agentflow.graph.contract import contract_error
from agentflow.messages.message import Message, as_messages
from agentflow.run.attach import ATTACHED
from agentflow.run.options import RunOptions, check_options as check_run_options

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.call_engine import CallEngine
    from agentflow.agents.loop_result import LoopResult
    from agentflow.agents.options import Profile
    from agentflow.run.ports import Sink
    from agentflow.run.run import Run

__all__ = ["AgentCall", "check_context", "context_of", "opened"]

_OF_THE_RUN: Final = frozenset(RunOptions.__annotations__)
_APART: Final = _OF_THE_RUN.union(RESERVED)
"""What a call says that is no option of an agent."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call of an agent, let through and ready to run.

    Args:
        profile: What holds for it.
        engine: What runs it.
        run: Its run.
        asked: The input, as messages.
        is_own: Whether the engine was made for this call.
        goes_on: Whether the call had begun before, and is answered.
    """

    profile: Profile
    engine: CallEngine
    run: Run[LoopResult]
    asked: tuple[Message, ...]
    is_own: bool
    goes_on: bool

    @property
    def view(self) -> CallView:
        """The call, as those around it see it."""
        return CallView(run=self.run, run_id=self.run.id)

    @property
    def loop_id(self) -> str:
        """The id of the run of its loop; of its first attempt, if there may be several."""
        if not self.profile.is_guarded:
            return self.run.id
        branch = "[loop]" if self.profile.judges_beside else ""
        return f"{self.run.id}/work#1{branch}"

    async def begin(self) -> None:
        """Let the run begin; it must be waited for by `ended`.

        Raises:
            Exception: What a hook raised; then nothing has begun, and the call has ended.
        """
        if self.is_own:
            await self.engine.__aenter__()
        try:
            if not self.goes_on and self.profile.hooks:
                await notify(self.profile.hooks, "on_start", self.view)
            self.run.begin()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self._tell_end(None, error)
                await self._close()
            raise

    async def ended(self) -> TextResult:
        """Wait for the run, and shape what comes of it.

        Raises:
            Exception: What the run raises.
        """
        run = self.run
        try:
            try:
                await run.settled()
            except BaseException:
                # The caller itself was cancelled: the run must not outlive its call.
                await run.stop("its caller was cancelled")
                with anyio.CancelScope(shield=True):
                    await self._tell_end(*self._outcome(self.run.outcome))
                raise
            result, error = self._outcome(self.run.last_outcome)
            await self._tell_end(result, error)
        finally:
            self._detach()
            if self.is_own:
                with anyio.CancelScope(shield=True):
                    await self._close()
        if error is not None:
            try:
                raise error
            finally:
                del error  # This frame stands in its traceback.
        assert result is not None
        return result

    async def leave(self) -> None:
        """Stop the run unless it has ended, and end the call; what came of it is known to whoever has the run."""
        await self.run.stop("its caller left")
        with anyio.CancelScope(shield=True):
            try:
                await self._tell_end(*self._outcome(self.run.outcome))
            finally:
                await self._close()

    def _detach(self) -> None:
        """Let a sink of ours lead back to the call no more, so that both are freed without the collector."""
        if isinstance(self.run.sink, CallerSink | LogSink):
            self.run.sink.close()

    async def _close(self) -> None:
        self._detach()
        if self.is_own:
            await self.engine.close()

    def _outcome(
        self, ask: Callable[[], LoopResult]
    ) -> tuple[TextResult | None, BaseException | None]:
        try:
            loop = ask()
        except BaseException as error:
            return None, own_error(error)
        run = self.run
        return TextResult.of(loop, run.workflow, run.id, run.ledger), None

    async def _tell_end(self, result: TextResult | None, error: BaseException | None) -> None:
        hooks, ledger = self.profile.hooks, self.run.ledger
        await tell_end(hooks, self.view, self.asked, result, error, ledger)


async def opened(
    agent: Agent,
    input: Any,
    options: Mapping[str, Any],
    *,
    answers: Any = ATTACHED,
    sink: Sink | None = None,
    split: Callable[[Profile, Mapping[str, Any]], None] | None = None,
    profile: Profile | None = None,
) -> AgentCall:
    """Let a call through.

    Args:
        agent: The agent.
        input: What is asked; `None` for a run that is answered.
        options: What the call says.
        answers: What a suspended run is answered.
        sink: Where the answer goes while it is made, in place of the caller's sink.
        split: Told of profile and context before anybody is asked for permission.
        profile: What holds besides; default: the agent's own.

    Raises:
        TypeError: There is no such option, or one is of the wrong kind; or the input is none.
        ContractError: The context is not what the agent asks for.
        AgentDenied: Whoever asks may not.
        RuntimeError: The agent has a store, or a sub-agent has a server of tools, and was not entered.
        ValueError: The model's string names nothing that is installed.
    """
    said = {name: value for name, value in options.items() if value is not None}
    given: Any = {name: value for name, value in said.items() if name in _OF_THE_RUN}
    base = agent.profile if profile is None else profile
    asked_for = {name: value for name, value in options.items() if name not in _APART}
    profile = base.over(asked_for) if asked_for else base
    profile = with_registered(profile, agent)
    check_run_options({"sink": given.get("sink")})
    if sink is not None:
        given["sink"] = sink
        if profile.output is not None:
            profile = replace(profile, streams=True)
    check_options({"context": given.get("context"), "observers": given.get("observers")})
    given["context"] = context = context_of(agent, profile, given.get("context"))
    if split is not None:
        split(profile, context)
    asked = Asked(
        agent=agent.name,
        identity=given.get("identity"),
        context=context,
        run_id=given.get("run_id"),
    )
    await permit(profile.permission, asked)
    engine, is_own = agent.engine_for(profile)
    below = [one.agent for one in profile.delegations]
    below += [one.agent for one in engine.setup.handoffs.values()]
    for other in below:
        if not other.engine.tools.opened:
            raise RuntimeError(
                f"agent {other.name!r} has a server of tools, so it is entered before agent {agent.name!r} is asked: "
                f"async with Agent(…) as agent"
            )
    # A run that is known already, by its id, has an input.
    is_known = answers is not ATTACHED or given.get("run_id") is not None
    messages = () if input is None and is_known else as_messages(input)
    begin: dict[str, Any] | None = None if input is None else {"messages": list(messages)}
    if begin is not None and profile.memory is not None:
        # What goes on has the memory that it began with, whoever lets it go on.
        begin["owner"] = owner_of(given.get("identity"), context, options)
    caller = None
    if sink is None and given.get("sink") is not None:
        given["sink"] = caller = CallerSink(given["sink"])
    run = engine.call(begin, given, answers=answers, read=profile.chats)
    call = AgentCall(profile, engine, run, messages, is_own, goes_on=answers is not ATTACHED)
    if caller is not None:
        caller.open(ChunkFilter(profile.middlewares, profile.guardrails, call.view))
    return call


def context_of(agent: Agent, profile: Profile, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context of one call: the agent's own with the caller's laid over it, shared with no other call.

    Raises:
        ContractError: It is not what the agent asks for.
    """
    context = overlaid(copy.deepcopy(dict(agent.context)), {} if given is None else given)
    check_context(agent, profile, context)
    return context


def check_context(agent: Agent, profile: Profile, context: Mapping[str, Any]) -> None:
    """Refuse a context that is not what the agent asks for.

    Raises:
        ContractError: It is not.
    """
    if profile.context_type is None:
        return
    from agentflow.graph.contract import Contract

    try:
        Contract(profile.context_type).validate(context)
    except Exception as error:
        raise contract_error(f"the context of agent {agent.name!r}", context, error) from error
