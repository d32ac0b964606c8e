"""Background tasks: tool calls that go on while the model does something else, and the stream that owns them."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import anyio

from agentflow.graph.limits import Uses
from agentflow.graph.node import node
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.tools.context import ToolContext
from agentflow.tools.results import result_text
from agentflow.tools.tool import Tool

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agentflow.agents.call_engine import CallEngine
    from agentflow.run.context import NodeContext
    from agentflow.run.run import Run

__all__ = ["BackgroundTask", "BackgroundTasks", "TaskStatus", "tasks_of"]

TaskStatus = Literal["running", "completed", "failed", "cancelled"]
"""How a background task stands."""


class BackgroundTask:
    """One tool call in the background.

    Args:
        id: Its name, for the model.
        tool_id: The tool.
        perform: Makes the call, and gives its value.

    Attributes:
        status: How it stands.
        value: What it gave, as text; or why it failed.
        told: Whether the model has been told how it ended.
    """

    def __init__(
        self, id: str, tool_id: str, perform: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        self.id = id
        self.tool_id = tool_id
        self.status: TaskStatus = "running"
        self.value = ""
        self.told = False
        self._perform = perform
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Make the call; its failure is its result, and nobody's error."""
        try:
            with self._scope:
                self.value = result_text(await self._perform())
                self.status = "completed"
        except Exception as error:
            self.value = str(error)
            self.status = "failed"
        finally:
            if self.status == "running":
                self.status = "cancelled"

    def cancel(self) -> None:
        """Have it interrupted at its next wait; one that has ended stays as it is."""
        self._scope.cancel()

    @property
    def report(self) -> str:
        """How it stands, as the model is told."""
        said = f"{self.id} ({self.tool_id}) "
        match self.status:
            case "running":
                return f"{said}is running"
            case "cancelled":
                return f"{said}was cancelled"
            case "failed":
                return f"{said}has failed: {self.value}"
            case "completed":
                return f"{said}has completed: {self.value}"


class BackgroundTasks:
    """The background tasks of one stream, which sees all of them to their end.

    Args:
        group: Where they run.
    """

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._tasks: dict[str, BackgroundTask] = {}
        self._ended: deque[BackgroundTask] = deque()
        self._running = 0
        self._closed = False
        self._changed = anyio.Event()

    def own(self, run: Run[Any]) -> None:
        """Own what is begun in a run from now on."""
        _owners[run] = self

    def start(self, tool: Tool, arguments: Mapping[str, Any], ctx: ToolContext) -> BackgroundTask:
        """Begin a call of a tool.

        Args:
            tool: The tool.
            arguments: Its arguments, validated.
            ctx: The call that asks for it.

        Raises:
            RuntimeError: The stream is about to be left.
        """
        if self._closed:
            raise RuntimeError("the stream is being left, and begins no background task any more")
        task = BackgroundTask(
            f"task-{len(self._tasks) + 1}", tool.id, _performance(tool, arguments, ctx.node)
        )
        self._tasks[task.id] = task
        self._running += 1
        self._group.start_soon(self._run, task)
        return task

    async def _run(self, task: BackgroundTask) -> None:
        try:
            await task.run()
        finally:
            self._running -= 1
            if task.status != "cancelled":
                self._ended.append(task)
            self._changed.set()

    def find(self, id: str) -> BackgroundTask:
        """The task of that id.

        Raises:
            LookupError: There is none.
        """
        task = self._tasks.get(id)
        if task is None:
            listed = ", ".join(self._tasks) or "none"
            raise LookupError(f"there is no background task {id!r}; the tasks are: {listed}")
        return task

    async def next_ended(self) -> BackgroundTask | None:
        """The task that has ended next and that the model was not told of, in the order of their ends; `None` when all have.

        Those that were cancelled are waited for, and not told.
        """
        while True:
            while self._ended:
                task = self._ended.popleft()
                if not task.told:
                    return task
            if not self._running:
                return None
            self._changed = anyio.Event()
            await self._changed.wait()

    def close(self) -> None:
        """Cancel all of them, and begin none any more; whoever has the group waits for them."""
        self._closed = True
        for task in self._tasks.values():
            task.cancel()


_owners: weakref.WeakKeyDictionary[Run[Any], BackgroundTasks] = weakref.WeakKeyDictionary()


def tasks_of(ctx: ToolContext) -> BackgroundTasks:
    """The background tasks of the stream that a tool call belongs to.

    Raises:
        RuntimeError: Nobody would see a task to its end.
    """
    run: Any = ctx.node.run
    owner = _owners.get(run)
    if owner is None:
        raise RuntimeError(
            "background tasks belong to a stream, which sees them to their end: ask the agent with "
            "async with agent.stream_text(…), and not below another agent"
        )
    return owner


def _performance(
    tool: Tool, arguments: Mapping[str, Any], ctx: NodeContext
) -> Callable[[], Coroutine[Any, Any, Any]]:
    """A call of a tool as a run of its own: it outlives the visit that has asked for it, and the run too."""
    run = ctx.run
    asking: Any = run.engine
    # Whoever had to agree has agreed to its beginning.
    approved = replace(tool, needs_approval=False)

    async def perform() -> Any:
        engine: CallEngine = asking.beside(_workflow(approved, arguments), [approved])
        async with engine:
            return await engine.run(
                {},
                context=run.context,
                identity=run.identity,
                deps=run.deps,
                signal=run.signal,
            )

    return perform


def _workflow(tool: Tool, arguments: Mapping[str, Any]) -> Workflow[Any]:
    async def work(_: Any, ctx: NodeContext) -> dict[str, Any]:
        receipt = await ctx.tools.invoke(tool.id, arguments)
        return {"value": receipt.value}

    made = node(
        work,
        id="work",
        provides=["value"],
        uses=Uses(model_calls=None, tool_calls=None),
        routes=[route.deliver("value")],
        description="Make one tool call.",
    )
    return define_workflow(f"background-{tool.id}", nodes=[made], inputs=[])
