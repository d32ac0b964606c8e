"""A node context without an engine: a node is an ordinary function, and this is all it needs to be tested as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from typing import TYPE_CHECKING, Any

from agentflow.graph.limits import Budget, Uses
from agentflow.graph.node import node
from agentflow.graph.plan import PlanNode
from agentflow.graph.route import route
from agentflow.graph.workflow import define_workflow
from agentflow.run.context import NodeContext
from agentflow.run.decide import Failure
from agentflow.run.engine import Engine
from agentflow.run.facts import Fact, Facts, as_observer
from agentflow.run.first_state import first_state
from agentflow.run.frame import Frame
from agentflow.run.loop import Body, Latch, current_loop
from agentflow.run.ports import Authorize, Clock, Observer, Sink
from agentflow.run.signal import CancelSignal

if TYPE_CHECKING:
    import anyio

__all__ = ["fake_context"]


def fake_context(
    state: Mapping[str, Any] | None = None,
    *,
    model: Any = None,
    models: Mapping[str, Any] | None = None,
    tools: Iterable[Any] = (),
    context: dict[str, Any] | None = None,
    identity: Any = None,
    deps: Any = None,
    observers: Iterable[Observer | Callable[[Fact], Any]] = (),
    sink: Sink | None = None,
    signal: CancelSignal | None = None,
    budget: Budget | None = None,
    uses: Uses | None = None,
    authorize: Authorize | None = None,
    require_authorization: bool = False,
    clock: Clock | None = None,
    failure: Failure | None = None,
    node_id: str = "node",
    run_id: str = "fake-run",
    visit: int = 1,
    attempt: int = 1,
) -> NodeContext:
    """A node context for a unit test, with real models, tools, limits and facts behind it, and no run.

    In an async test the node is awaited as it is: `await my_node(state, fake_context(model=…))`. In a plain test
    `ctx.sync` works too: each of its calls gets an event loop of its own.

    Args:
        state: What the state of the run holds.
        model: As in `Engine`, like `models`, `tools`, `authorize`, `require_authorization` and `clock`.
        context: As in `Engine.run`, like `identity`, `deps`, `observers`, `sink`, `signal` and `budget`.
        uses: What the visit may spend.
        failure: What an error node is told.
        node_id: The id of the node, like `run_id`, `visit` and `attempt` as the node is to see it.
    """
    workflow = define_workflow("fake", nodes=[node(_end, id="fake", routes=[route.finish(dict)])])
    engine = Engine(
        workflow,
        model=model,
        models=models,
        tools=tools,
        authorize=authorize,
        require_authorization=require_authorization,
        clock=clock,
    )
    run = engine.start(
        state,
        run_id=run_id,
        signal=signal,
        budget=budget,
        context=context,
        identity=identity,
        deps=deps,
        sink=sink,
    )
    observing = [*observers]
    if observing:
        run.bus = Facts([as_observer(item) for item in observing], run.clock, _LoopOfTheMoment())
    frame = Frame(run, workflow.plan, id=run.id, signal=run.signal)
    frame.state = first_state(workflow.plan, state)
    frame.round = 1
    planned = PlanNode(node(_end, id=node_id, uses=uses), 0, workflow.schema)
    return NodeContext(frame, planned, visit, attempt, failure)


async def _end(_state: Mapping[str, Any]) -> None:
    """Do nothing."""


class _LoopOfTheMoment:
    """The loop that is running when it is asked for something; a context may be made where none is."""

    def spawn(self, body: Body, context: Context) -> None:
        current_loop().spawn(body, context)

    def scope(self) -> anyio.CancelScope:
        return current_loop().scope()

    def latch(self) -> Latch:
        return current_loop().latch()

    def post(self, call: Callable[[], object]) -> None:
        current_loop().post(call)
