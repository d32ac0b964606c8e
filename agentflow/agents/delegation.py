"""Delegation: a task that an agent hands to another one, which works on it below the parent's run."""

from __future__ import annotations

import copy
import hashlib
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.agents.call_end import finish_reason_of, own_error, tell_end
from agentflow.agents.call_view import CallView
from agentflow.agents.child_run import ChildRun, ChildSink, child_sink, nesting
from agentflow.agents.chunk_filter import ChunkFilter
from agentflow.agents.events import FinishEvent, StartEvent
from agentflow.agents.hooks import Handoff, notify
from agentflow.agents.permission import Asked, permit
from agentflow.agents.registration import with_registered
from agentflow.agents.result import TextResult
from agentflow.agents.step import Step, message_id, steps_of
from agentflow.agents.trunk import check_context
from agentflow.errors import (
    AgentflowError,
    BudgetExceeded,
    DeliveryError,
    Divergence,
    IncompatibleRun,
    PrivateFieldMissing,
    RunCancelled,
    RunSuspended,
    StoreError,
)
from agentflow.graph.limits import Budget
from agentflow.messages.message import as_messages
from agentflow.run.decide import Bail, Suspend, unwrapped
from agentflow.run.effects import emit_limit
from agentflow.run.frame import Frame
from agentflow.run.options import check_options
from agentflow.run.signal import scope_of
from agentflow.tools.context import ToolContext
from agentflow.tools.results import result_text

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.call_engine import CallEngine
    from agentflow.agents.loop_result import LoopResult
    from agentflow.agents.options import Profile
    from agentflow.graph.workflow import Workflow
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Authorize
    from agentflow.run.run import Run

__all__ = [
    "DEEPEST",
    "Delegation",
    "SubAgentFailed",
    "check_share",
    "ends_its_caller",
    "run_below",
    "steps_above",
]

DEEPEST: Final = 5
"""How many agents may be around one: an agent that hands tasks to itself must come to an end."""

_ENDS_THE_RUN: Final = (
    DeliveryError,
    Divergence,
    IncompatibleRun,
    PrivateFieldMissing,
    StoreError,
)
"""Errors of a sub-agent that are those of the run."""


class SubAgentFailed(AgentflowError):
    """A sub-agent failed at its task; its own error is the cause."""

    code = "sub_agent_failed"


_tasks: weakref.WeakKeyDictionary[Run[Any], Counter[str]] = weakref.WeakKeyDictionary()


class Delegation:
    """The handler of a tool that hands a task to an agent.

    Args:
        agent: Who works on the tasks.
        budget: What one task may spend at most, out of what the parent has left.
    """

    def __init__(self, agent: Agent, budget: Budget | None) -> None:
        self.agent = agent
        self.budget = budget

    async def __call__(self, task: str, ctx: ToolContext) -> str:
        """Hand a task to another agent, and get its answer.

        Args:
            task: What is to be done, with everything that must be known for it.
            ctx: The call.
        """
        node, name = ctx.node, self.agent.name
        setup = getattr(node.run.engine, "setup", None)
        self._count(node)
        if setup is not None and setup.hooks:
            handoff = Handoff(agent=name, task=task)

            async def tell() -> None:
                await notify(setup.hooks, "on_handoff", handoff, CallView.of(node))

            # A task that waits for an answer is gone through again, and was told of before.
            await node.once(f"handoff:{ctx.effect_id}", tell)
        try:
            result = await run_below(
                node, self.agent, task, name=f"{name}/{ctx.effect_id}", budget=self.budget
            )
        except SubAgentFailed:
            raise
        except Exception as error:
            if ends_its_caller(error, node, self.budget):
                raise
            told = f"agent {name!r} failed: {type(error).__name__}: {error}"
            raise SubAgentFailed(told) from error
        if result.finish_reason == "bail":
            node.bail(result.object)
        return result.text if result.object is None else result_text(result.object)

    def __repr__(self) -> str:
        return repr(self.agent)

    def _count(self, node: NodeContext) -> None:
        """Count the tasks of one step, which its proof counts on."""
        most = getattr(node.run.engine, "max_delegations", None)
        made = _tasks.setdefault(node.run, Counter())
        made[node.place] += 1
        if most is not None and made[node.place] > most:
            raise SubAgentFailed(
                f"at most {most} tasks can be handed out in one step; hand out the others in the next"
            )


def ends_its_caller(error: Exception, node: NodeContext, budget: Budget | None) -> bool:
    """Whether an error that comes out of an agent below a visit ends whoever has asked it, too."""
    match error:
        case RunCancelled():
            return node.signal.fired
        case BudgetExceeded(limit=limit):
            own = {"rounds"} if budget is None else {"rounds", *budget.limits()}
            return limit not in own or node.ledger.left(limit) <= 0
    return isinstance(error, _ENDS_THE_RUN)


async def run_below(
    ctx: NodeContext,
    agent: Agent,
    input: Any,
    *,
    name: str,
    budget: Budget | None = None,
    ceiling: Authorize | None = None,
    profile: Profile | None = None,
    sink: Callable[[Any, str], ChildSink | None] = child_sink,
) -> TextResult:
    """Run an agent below a visit: with its own state, in the same run.

    It shares the context, where the values that are there stay, and the identity; it is cancelled with the visit and not the
    other way round; it spends what the run has left, and may have a smaller share.

    Args:
        ctx: The visit.
        agent: The agent.
        input: What it is asked.
        name: Names this within the visit.
        budget: Its share.
        ceiling: What its tool calls must pass, and those of agents below it, besides what else they must pass.
        profile: What holds for it; default: its own profile.
        sink: Makes the sink for what it says, of that of the run and its name.

    Raises:
        SubAgentFailed: Agents are nested too deep.
        BudgetExceeded: A limit was reached.
        RunCancelled: The visit was cancelled, or the agent was.
        Exception: What the agent raised.
    """
    _go_deeper(ctx)
    profile = with_registered(agent.profile if profile is None else profile, agent)
    if agent.is_as_made(profile):
        made = _Made(agent, profile, agent.engine, agent.task, ceiling, sink)
        return await _run_below(ctx, made, input, name=name, budget=budget)
    engine, task = agent.made_for(profile)
    async with engine:
        made = _Made(agent, profile, engine, task, ceiling, sink)
        return await _run_below(ctx, made, input, name=name, budget=budget)


@dataclass(frozen=True, slots=True)
class _Made:
    """A sub-agent as it is run: by its own profile, or by one in which middleware is registered for it."""

    agent: Agent
    profile: Profile
    engine: CallEngine
    task: Workflow[LoopResult]
    ceiling: Authorize | None
    sink: Callable[[Any, str], ChildSink | None]


async def _run_below(
    ctx: NodeContext, made: _Made, input: Any, *, name: str, budget: Budget | None
) -> TextResult:
    agent, profile, engine = made.agent, made.profile, made.engine
    for key, value in agent.context.items():
        if key not in ctx.context:
            ctx.context[key] = copy.deepcopy(value)
    check_context(agent, profile, ctx.context)
    asked = Asked(agent=agent.name, identity=ctx.identity, context=ctx.context, run_id=ctx.run_id)
    await permit(profile.permission, asked)
    sink = made.sink(ctx.run.sink, agent.name)
    run: Any = ChildRun(ctx.run, engine, sink, ceiling=made.ceiling)
    frame = Frame(
        run, made.task.plan, id=_frame_id(ctx, name), signal=ctx.signal.derive(), above=ctx
    )
    frame.ledger = ctx.ledger.share(_share(ctx, budget))
    if ctx.run.journal is not None:
        # Before a crash, or before it was suspended: nothing resets a share either.
        frame.ledger.restore(ctx.run.journal.spent_in(frame.path))
    view = CallView(run=run, run_id=frame.id)
    messages = as_messages(input)
    if sink is not None:
        await sink.tell(StartEvent(run_id=frame.id, response_id=message_id(frame.id, 1)))
        workflow_id = f"{frame.id}/{agent.id}#1"
        sink.open(ChunkFilter(profile.middlewares, profile.guardrails, view, workflow_id))
    if profile.hooks:
        await ctx.once(f"start:{name}", lambda: notify(profile.hooks, "on_start", view))
    result: TextResult | None = None
    # What is told of an agent that is cut off together with its parent.
    error: BaseException | None = RunCancelled("its caller was cancelled")
    try:
        result, error = await _ended(ctx, frame, {"messages": list(messages)}, made)
    except Suspend:
        error = RunSuspended(ctx.run.id, ())
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await tell_end(profile.hooks, view, messages, result, error, frame.ledger)
    if sink is not None:
        # Nobody waits any more for what was held: its end is told in any case.
        sink.release()
    if result is None:
        assert error is not None
        if sink is not None and not ctx.signal.fired:
            await sink.tell(FinishEvent(finish_reason=finish_reason_of(error), error=error))
        try:
            raise error
        finally:
            del error  # This frame stands in its traceback.
    if sink is not None:
        await sink.tell(FinishEvent(finish_reason=result.finish_reason))
    return result


def check_share(budget: Budget | None) -> None:
    """Refuse what cannot be the share of a sub-agent.

    Raises:
        TypeError: It is no budget.
        ValueError: It limits seconds, which are counted of the whole run alone.
    """
    check_options({"budget": budget})
    if budget is not None and budget.seconds is not None:
        raise ValueError(
            f"Budget(seconds={budget.seconds}): a sub-agent has no seconds of its own; limit those of the whole run, "
            f"or give the node that asks it a timeout"
        )


def _share(ctx: NodeContext, budget: Budget | None) -> Budget:
    """What a sub-agent may spend besides what holds for everybody; how deep it may nest is counted from the run."""
    depth = ctx.ledger.allowed("depth")
    least = Budget(depth=None if depth is None else int(depth))
    return least if budget is None else budget.tightened(least)


async def _ended(
    ctx: NodeContext, frame: Frame, inputs: dict[str, Any], made: _Made
) -> tuple[TextResult | None, BaseException | None]:
    """What the frame of a sub-agent comes to, or raises; one that waits for an answer has not ended.

    Raises:
        Suspend: It waits.
    """
    error: BaseException
    try:
        with scope_of(frame.signal):
            loop = await frame.execute(inputs)
            return TextResult.of(loop, made.engine.workflow, frame.id, frame.ledger), None
    except (Exception, BaseExceptionGroup, Bail) as raised:
        error = own_error(unwrapped(raised))
        if isinstance(error, Suspend):
            raise error from None
    else:
        # The block was left by a cancel of the frame's own signal.
        error = RunCancelled(frame.signal.reason)
    if frame.run.journal is not None:
        # The visit that was under way in it is not recorded by itself.
        ctx.record.lose(frame.take_spent())
    try:
        return None, error
    finally:
        del error  # This frame stands in its traceback.


def _go_deeper(ctx: NodeContext) -> None:
    if nesting(ctx.run) >= DEEPEST:
        raise SubAgentFailed(
            f"{DEEPEST} agents are working on tasks of each other already; do this one without another agent"
        )
    depth, allowed = ctx.frame.depth + 1, ctx.ledger.allowed("depth")
    if allowed is not None and depth > allowed:
        error = BudgetExceeded("depth", allowed, depth, where=f"node {ctx.node_id!r}")
        emit_limit(ctx, error)
        raise error


def _frame_id(ctx: NodeContext, name: str) -> str:
    """Where a sub-agent stands below its run: the same when the visit is gone through again."""
    again = f".{ctx.attempt}" if ctx.attempt > 1 else ""
    # Names of calls are the models' own, and may hold what separates the steps of a path.
    label = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{ctx.frame.id}/{ctx.node_id}#{ctx.visit}{again}[{label}]"


def steps_above(ctx: NodeContext) -> tuple[Step, ...]:
    """The steps of the agent that has handed out the task which a visit works on; none if nobody has."""
    frame = ctx.frame
    while frame.above is not None and frame.run is frame.above.frame.run:
        frame = frame.above.frame
    if frame.above is None:
        return ()
    state: Any = frame.above.frame.state
    return steps_of(state.get("steps", ()), state.get("messages", ()))
