"""Sub-tasks: work that a node or a tool hands to agents below its run, each with a handle, inside of limits."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from agentflow.agents.child_run import nesting
from agentflow.agents.delegation import check_share, run_below
from agentflow.errors import BudgetExceeded, RunCancelled
from agentflow.graph.argument import (
    FUNCTION,
    LIST,
    check_arguments,
    or_none,
    whole,
    with_methods,
)
from agentflow.graph.excerpt import excerpt
from agentflow.graph.limits import Budget
from agentflow.run.decide import Bail, Suspend
from agentflow.run.effects import emit_limit
from agentflow.tools.context import ToolContext

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agentflow.agents.agent import Agent
    from agentflow.agents.result import TextResult
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Authorize
    from agentflow.run.run import Run

__all__ = ["Backend", "Order", "SubTask", "SubTasks", "Subagents"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One sub-task, as a backend gets it.

    Args:
        ctx: The visit that it belongs to.
        agent: Who works on it.
        task: What is to be done.
        name: Its name within the visit, the same when that is gone through again.
        budget: What it may spend at most.
        ceiling: What every tool call of it must pass besides.
    """

    ctx: NodeContext
    agent: Agent
    task: Any
    name: str
    budget: Budget | None
    ceiling: Authorize | None


class Backend(Protocol):
    """Where sub-tasks are worked on."""

    async def perform(self, order: Order) -> TextResult:
        """Work on one; raises what it fails with."""
        ...


class BelowTheRun:
    """Works on sub-tasks below the run that they belong to, in its record, its budget and its cancel."""

    async def perform(self, order: Order) -> TextResult:
        return await run_below(
            order.ctx,
            order.agent,
            order.task,
            name=order.name,
            budget=order.budget,
            ceiling=order.ceiling,
        )


_WANTED: Final = {
    "agents": replace(LIST, told="a list of agents"),
    "depth": whole(1),
    "ceiling": replace(or_none(FUNCTION), told="a function (tool, input, ctx)"),
    "backend": or_none(with_methods("an object with an async method perform(order)", "perform")),
}


class Subagents:
    """Agents that sub-tasks can be given to.

    Args:
        agents: The agents, told apart by their names.
        depth: How many agents may work below each other.
        ceiling: A policy `(tool, input, ctx) -> bool` that every tool call of a sub-task must pass, also those of agents
            below it, besides what else they must pass.
        backend: Where they are worked on; default: below the run that they belong to.

    Raises:
        TypeError: One of them is of the wrong kind.
        ValueError: Two agents have the same name, or the depth is none.
    """

    def __init__(
        self,
        agents: Iterable[Agent],
        *,
        depth: int = 3,
        ceiling: Authorize | None = None,
        backend: Backend | None = None,
    ) -> None:
        given = {"agents": agents, "depth": depth, "ceiling": ceiling, "backend": backend}
        check_arguments("Subagents", _WANTED, given)
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            if not callable(getattr(agent, "as_tool", None)):
                raise TypeError(f"Subagents(agents=[{excerpt(agent)}]): it is no agent")
            if agent.name in self._agents:
                raise ValueError(f"two agents have the name {agent.name!r}")
            self._agents[agent.name] = agent
        self._depth = depth
        self._ceiling = ceiling
        self._backend = BelowTheRun() if backend is None else backend

    @asynccontextmanager
    async def open(self, ctx: NodeContext | ToolContext) -> AsyncIterator[SubTasks]:
        """Let a visit begin sub-tasks in the block, which ends when all of them have.

        Leaving it with an error cancels them. A failure that nobody has awaited is raised at its end.

        Args:
            ctx: The context of the node, or of a tool call of one; its `uses` says how many model calls it may make, sub-tasks
                counted.
        """
        visit = ctx.node if isinstance(ctx, ToolContext) else ctx
        error: BaseException | None = None
        async with anyio.create_task_group() as group:
            tasks = SubTasks(self, visit, group)
            try:
                yield tasks
            except (Exception, Suspend, Bail) as raised:
                # Raised below, where it does not come out as a group.
                error = raised
                group.cancel_scope.cancel()
        if error is not None:
            raise error
        tasks.settle()

    def order(self, ctx: NodeContext, agent: str, task: Any, budget: Budget | None) -> Order:
        """A sub-task, if it may be begun.

        Raises:
            LookupError: There is no such agent.
            BudgetExceeded: It would be too deep.
        """
        found = self._agents.get(agent)
        if found is None:
            known = ", ".join(map(repr, self._agents)) or "none"
            raise LookupError(f"there is no agent {agent!r}; the agents are: {known}")
        around = nesting(ctx.run) + 1
        if around > self._depth:
            error = BudgetExceeded("depth", self._depth, around, where=f"node {ctx.node_id!r}")
            emit_limit(ctx, error)
            raise error
        counts = _begun.setdefault(ctx.run, Counter())
        place = (ctx.place, ctx.attempt)
        counts[place] += 1
        return Order(
            ctx=ctx,
            agent=found,
            task=task,
            name=f"subtask/{agent}/{counts[place]}",
            budget=budget,
            ceiling=self._ceiling,
        )

    async def perform(self, order: Order) -> TextResult:
        """Have a sub-task worked on."""
        return await self._backend.perform(order)


_begun: weakref.WeakKeyDictionary[Run[Any], Counter[Any]] = weakref.WeakKeyDictionary()


class SubTasks:
    """The sub-tasks of one block."""

    def __init__(self, service: Subagents, ctx: NodeContext, group: TaskGroup) -> None:
        self._service = service
        self._ctx = ctx
        self._group = group
        self._tasks: list[SubTask] = []

    def start(self, agent: str, task: Any, *, budget: Budget | None = None) -> SubTask:
        """Begin a sub-task, and go on.

        Args:
            agent: The name of the agent.
            task: What is to be done: a text, or messages.
            budget: What it may spend at most, out of what the run has left.

        Raises:
            LookupError: There is no such agent.
            TypeError: The budget is none.
            ValueError: It limits seconds, which only a run has.
            BudgetExceeded: It would be too deep.
        """
        check_share(budget)
        made = SubTask(self._service, self._service.order(self._ctx, agent, task, budget))
        self._tasks.append(made)
        self._group.start_soon(made.run)
        return made

    def settle(self) -> None:
        """Raise the first failure that nobody has been told of."""
        for task in self._tasks:
            task.settle()


class SubTask:
    """The handle of a sub-task: `await` it for its `TextResult`, or for what it failed with.

    Args:
        service: Who has it worked on.
        order: What it is.
    """

    def __init__(self, service: Subagents, order: Order) -> None:
        self._service = service
        self._order = order
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._result: TextResult | None = None
        self._error: BaseException | None = None
        self._told = False

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self._order.agent.name

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    def cancel(self) -> None:
        """Cancel it alone; whoever awaits it gets `RunCancelled`."""
        self._told = True
        self._scope.cancel()

    def __await__(self) -> Generator[Any, Any, TextResult]:
        return self._outcome().__await__()

    async def run(self) -> None:
        """Work on it; what it fails with is for those who await it."""
        try:
            with self._scope:
                self._result = await self._service.perform(self._order)
        except (Exception, Suspend, Bail) as error:
            self._error = error
        else:
            if self._result is None:
                self._error = RunCancelled("the sub-task was cancelled")
        finally:
            self._ended.set()

    async def _outcome(self) -> TextResult:
        await self._ended.wait()
        self._told = True
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def settle(self) -> None:
        """Raise what it failed with, unless somebody was told."""
        if self._error is not None and not self._told:
            raise self._error
