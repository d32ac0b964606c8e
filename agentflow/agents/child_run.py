"""The run of a sub-agent: its parent's run, with a model, tools and a sink of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.agents.ceiling import UnderCeiling
from agentflow.agents.events import SubAgentEvent
from agentflow.agents.filtered_sink import FilteredSink
from agentflow.run.registry import NoModels

if TYPE_CHECKING:
    from agentflow.agents.call_engine import CallEngine
    from agentflow.run.model_ports import ModelSource
    from agentflow.run.ports import Authorize
    from agentflow.run.run import Run

__all__ = ["ChildRun", "ChildSink", "child_sink", "nesting"]


class ChildRun:
    """What the nodes of a sub-agent have as their run. Everything that is not here is the parent's, the same object.

    So it shares the context, the identity, the clock, the journal, the facts and the cancel of its parent, and holds nothing.

    Args:
        run: The parent's run.
        engine: The sub-agent's engine: its tools and its policies. Without a model of its own it asks the parent's.
        sink: Where what it says goes.

        ceiling: What every tool call of it must pass besides what else it must pass.

    Attributes:
        nesting: How many agents are around it.
    """

    def __init__(
        self,
        run: Run[Any],
        engine: CallEngine,
        sink: ChildSink | None,
        *,
        ceiling: Authorize | None = None,
    ) -> None:
        self._run = run
        parent: Any = run
        above = parent.ceilings if isinstance(parent, ChildRun) else ()
        # What stands above an agent stands above those that it hands tasks to.
        self.ceilings: tuple[Authorize, ...] = above if ceiling is None else (*above, ceiling)
        self.engine: Any = UnderCeiling(engine, self.ceilings) if self.ceilings else engine
        own: ModelSource = engine.models
        self.models = run.models if isinstance(own, NoModels) else own
        self.sink = sink
        self.nesting = nesting(run) + 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def nesting(run: Any) -> int:
    """How many agents are around whoever has this run."""
    return run.nesting if isinstance(run, ChildRun) else 0


class ChildSink(FilteredSink):
    """Where a sub-agent's answer goes: to its parent's sink, as events that tell whose they are.

    Args:
        parent: The parent's sink, which takes events.
        name: The name of the sub-agent.
    """

    def __init__(self, parent: Any, name: str) -> None:
        super().__init__()
        self._parent = parent
        self._name = name

    async def send(self, chunk: Any) -> None:
        """Hand a chunk on, if it passes."""
        passed = await self._passed(chunk)
        if passed is not None:
            await self.tell(passed)

    async def speak(self, chunk: Any, path: tuple[str, ...]) -> None:
        """Hand on a chunk of an agent that has taken over from this one, if it passes."""
        passed = await self._passed(chunk)
        if passed is not None:
            await self.tell(SubAgentEvent(path=path, event=passed))

    async def tell(self, event: Any) -> None:
        """Hand an event on, with the path of whoever it comes from."""
        await self._released()
        below = event.path if isinstance(event, SubAgentEvent) else ()
        inner = event.event if isinstance(event, SubAgentEvent) else event
        await self._parent.tell(SubAgentEvent(path=(self._name, *below), event=inner))


def child_sink(parent: Any, name: str) -> ChildSink | None:
    """Where a sub-agent's answer goes; nowhere, where its parent's sink takes no events."""
    return None if getattr(parent, "tell", None) is None else ChildSink(parent, name)
