"""agentflow: a workflow-graph execution engine for AI agents.

The map of this package, in reading order:

- `graph` what may happen: nodes, routes, conditions, the state's schema, workflows, and the checks that prove them.
- `run` what happens: one run, its state, ledger, signal and facts; the engine.
- `messages`, `models`, `tools`, `agents` what agents are made of, and agents; their loop is a workflow like any other.
- `mock`, `testing` models and contexts for tests and offline work.
- `observers`, `cli` the outside.

Everything public is here, loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent as Agent
    from agentflow.agents.compression import compress_node as compress_node
    from agentflow.agents.loop import build_loop as build_loop
    from agentflow.agents.loop_result import LoopResult as LoopResult
    from agentflow.agents.result import ObjectResult as ObjectResult, TextResult as TextResult
    from agentflow.errors import (
        AgentflowError as AgentflowError,
        BudgetExceeded as BudgetExceeded,
        ContractError as ContractError,
        DefinitionError as DefinitionError,
        DeliveryError as DeliveryError,
        Divergence as Divergence,
        IncompatibleRun as IncompatibleRun,
        ModelDenied as ModelDenied,
        ModelError as ModelError,
        ModelListEmpty as ModelListEmpty,
        ModelRateLimited as ModelRateLimited,
        ModelRequestRefused as ModelRequestRefused,
        ModelTimeout as ModelTimeout,
        ModelUnavailable as ModelUnavailable,
        OutputInvalid as OutputInvalid,
        PrivateFieldMissing as PrivateFieldMissing,
        ResumeConflict as ResumeConflict,
        RunCancelled as RunCancelled,
        RunConflict as RunConflict,
        RunFailed as RunFailed,
        RunInterrupted as RunInterrupted,
        RunSuspended as RunSuspended,
        SpecError as SpecError,
        StaleClaim as StaleClaim,
        StoreError as StoreError,
        StructuredOutputNotGenerated as StructuredOutputNotGenerated,
        ToolDenied as ToolDenied,
        ToolError as ToolError,
        ToolFailed as ToolFailed,
        UnknownTool as UnknownTool,
    )
    from agentflow.graph.branching import (
        map_each as map_each,
        parallel as parallel,
        race as race,
        subflow as subflow,
    )
    from agentflow.graph.callers import model_node as model_node, tool_node as tool_node
    from agentflow.graph.condition import (
        Condition as Condition,
        field as field,
    )
    from agentflow.graph.findings import (
        Finding as Finding,
        Report as Report,
    )
    from agentflow.graph.limits import (
        Budget as Budget,
        Retry as Retry,
        Uses as Uses,
    )
    from agentflow.graph.migration import Migration as Migration
    from agentflow.graph.node import (
        Node as Node,
        node as node,
    )
    from agentflow.graph.policy import (
        Policy as Policy,
        at_most as at_most,
        ends_within as ends_within,
        must_pass as must_pass,
        never_after as never_after,
        only_if as only_if,
    )
    from agentflow.graph.private import private as private
    from agentflow.graph.reducer import (
        Reducer as Reducer,
        add as add,
        append as append,
        merge as merge,
        union as union,
    )
    from agentflow.graph.route import (
        Route as Route,
        route as route,
    )
    from agentflow.graph.waiting import ask as ask, wait as wait
    from agentflow.graph.workflow import (
        Workflow as Workflow,
        define_workflow as define_workflow,
        validate as validate,
    )
    from agentflow.messages.message import Message as Message
    from agentflow.models.model import Model as Model
    from agentflow.models.ports import (
        ModelContext as ModelContext,
        Provider as Provider,
    )
    from agentflow.models.transport import structured as structured
    from agentflow.run.archive import JournalRecord as JournalRecord
    from agentflow.run.context import NodeContext as NodeContext
    from agentflow.run.decide import Failure as Failure
    from agentflow.run.engine import Engine as Engine
    from agentflow.run.entries import RunInfo as RunInfo
    from agentflow.run.facts import Fact as Fact
    from agentflow.run.ledger import Ledger as Ledger
    from agentflow.run.ports import (
        Clock as Clock,
        Invocation as Invocation,
        Observer as Observer,
        Receipt as Receipt,
        Reply as Reply,
        Sink as Sink,
        Store as Store,
    )
    from agentflow.run.run import Run as Run
    from agentflow.run.signal import CancelSignal as CancelSignal
    from agentflow.run.suspension import Request as Request
    from agentflow.tools.context import ToolContext as ToolContext
    from agentflow.tools.tool import (
        Tool as Tool,
        tool as tool,
    )
    from agentflow.tools.toolkit import Toolkit as Toolkit

_HOMES = {
    "agentflow.agents.agent": "Agent",
    "agentflow.agents.compression": "compress_node",
    "agentflow.agents.loop": "build_loop",
    "agentflow.agents.loop_result": "LoopResult",
    "agentflow.agents.result": "ObjectResult TextResult",
    "agentflow.errors": """
        AgentflowError BudgetExceeded ContractError DefinitionError DeliveryError Divergence IncompatibleRun
        ModelDenied ModelError ModelListEmpty ModelRateLimited ModelRequestRefused ModelTimeout ModelUnavailable
        OutputInvalid PrivateFieldMissing ResumeConflict RunCancelled RunConflict RunFailed RunInterrupted
        RunSuspended SpecError StaleClaim StoreError StructuredOutputNotGenerated ToolDenied ToolError
        ToolFailed UnknownTool""",
    "agentflow.graph.branching": "map_each parallel race subflow",
    "agentflow.graph.callers": "model_node tool_node",
    "agentflow.graph.condition": "Condition field",
    "agentflow.graph.findings": "Finding Report",
    "agentflow.graph.limits": "Budget Retry Uses",
    "agentflow.graph.migration": "Migration",
    "agentflow.graph.node": "Node node",
    "agentflow.graph.policy": "Policy at_most ends_within must_pass never_after only_if",
    "agentflow.graph.private": "private",
    "agentflow.graph.reducer": "Reducer add append merge union",
    "agentflow.graph.route": "Route route",
    "agentflow.graph.waiting": "ask wait",
    "agentflow.graph.workflow": "Workflow define_workflow validate",
    "agentflow.messages.message": "Message",
    "agentflow.models.model": "Model",
    "agentflow.models.ports": "ModelContext Provider",
    "agentflow.models.transport": "structured",
    "agentflow.run.context": "NodeContext",
    "agentflow.run.decide": "Failure",
    "agentflow.run.engine": "Engine",
    "agentflow.run.facts": "Fact",
    "agentflow.run.ledger": "Ledger",
    "agentflow.run.archive": "JournalRecord",
    "agentflow.run.entries": "RunInfo",
    "agentflow.run.suspension": "Request",
    "agentflow.run.ports": "Clock Invocation Observer Receipt Reply Sink Store",
    "agentflow.run.run": "Run",
    "agentflow.run.signal": "CancelSignal",
    "agentflow.tools.context": "ToolContext",
    "agentflow.tools.tool": "Tool tool",
    "agentflow.tools.toolkit": "Toolkit",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605 - computed, so that a name is written once


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentflow' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
