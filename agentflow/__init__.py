"""agentflow: a workflow-graph execution engine for AI agents.

The map of this package, in reading order:

- `graph` what may happen: nodes, routes, conditions, the state's schema, workflows, and the checks that prove them.
- `run` what happens: one run, its state, ledger, signal and facts; the engine.
- `messages`, `models`, `tools`, `agents` what agents are made of; the agentic loop is a workflow like any other.
- `mock`, `testing` models and contexts for tests and offline work.
- `observers`, `cli` the outside.

Everything public is here, loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from agentflow.errors import (
        AgentflowError as AgentflowError,
    )
    from agentflow.errors import (
        BudgetExceeded as BudgetExceeded,
    )
    from agentflow.errors import (
        ContractError as ContractError,
    )
    from agentflow.errors import (
        DefinitionError as DefinitionError,
    )
    from agentflow.errors import (
        DeliveryError as DeliveryError,
    )
    from agentflow.errors import (
        Divergence as Divergence,
    )
    from agentflow.errors import (
        ModelError as ModelError,
    )
    from agentflow.errors import (
        OutputInvalid as OutputInvalid,
    )
    from agentflow.errors import (
        RunCancelled as RunCancelled,
    )
    from agentflow.errors import (
        RunConflict as RunConflict,
    )
    from agentflow.errors import (
        StructuredOutputNotGenerated as StructuredOutputNotGenerated,
    )
    from agentflow.errors import (
        ToolDenied as ToolDenied,
    )
    from agentflow.errors import (
        ToolError as ToolError,
    )
    from agentflow.errors import (
        ToolFailed as ToolFailed,
    )
    from agentflow.errors import (
        UnknownTool as UnknownTool,
    )
    from agentflow.graph.condition import (
        Condition as Condition,
    )
    from agentflow.graph.condition import (
        field as field,
    )
    from agentflow.graph.findings import (
        Finding as Finding,
    )
    from agentflow.graph.findings import (
        Report as Report,
    )
    from agentflow.graph.kinds import subflow as subflow
    from agentflow.graph.limits import (
        Budget as Budget,
    )
    from agentflow.graph.limits import (
        Retry as Retry,
    )
    from agentflow.graph.limits import (
        Uses as Uses,
    )
    from agentflow.graph.node import (
        Node as Node,
    )
    from agentflow.graph.node import (
        node as node,
    )
    from agentflow.graph.reducer import (
        Reducer as Reducer,
    )
    from agentflow.graph.reducer import (
        add as add,
    )
    from agentflow.graph.reducer import (
        append as append,
    )
    from agentflow.graph.reducer import (
        merge as merge,
    )
    from agentflow.graph.reducer import (
        union as union,
    )
    from agentflow.graph.route import (
        Route as Route,
    )
    from agentflow.graph.route import (
        route as route,
    )
    from agentflow.graph.workflow import (
        Workflow as Workflow,
    )
    from agentflow.graph.workflow import (
        define_workflow as define_workflow,
    )
    from agentflow.graph.workflow import (
        validate as validate,
    )
    from agentflow.run.context import NodeContext as NodeContext
    from agentflow.run.decide import Failure as Failure
    from agentflow.run.engine import Engine as Engine
    from agentflow.run.facts import Fact as Fact
    from agentflow.run.ledger import Ledger as Ledger
    from agentflow.run.ports import (
        Clock as Clock,
    )
    from agentflow.run.ports import (
        Invocation as Invocation,
    )
    from agentflow.run.ports import (
        Observer as Observer,
    )
    from agentflow.run.ports import (
        Receipt as Receipt,
    )
    from agentflow.run.ports import (
        Reply as Reply,
    )
    from agentflow.run.ports import (
        Sink as Sink,
    )
    from agentflow.run.run import Run as Run
    from agentflow.run.signal import CancelSignal as CancelSignal

_HOMES = {
    "agentflow.errors": """
        AgentflowError BudgetExceeded ContractError DefinitionError DeliveryError Divergence ModelError OutputInvalid
        RunCancelled RunConflict StructuredOutputNotGenerated ToolDenied ToolError ToolFailed UnknownTool""",
    "agentflow.graph.condition": "Condition field",
    "agentflow.graph.findings": "Finding Report",
    "agentflow.graph.kinds": "subflow",
    "agentflow.graph.limits": "Budget Retry Uses",
    "agentflow.graph.node": "Node node",
    "agentflow.graph.reducer": "Reducer add append merge union",
    "agentflow.graph.route": "Route route",
    "agentflow.graph.workflow": "Workflow define_workflow validate",
    "agentflow.run.context": "NodeContext",
    "agentflow.run.decide": "Failure",
    "agentflow.run.engine": "Engine",
    "agentflow.run.facts": "Fact",
    "agentflow.run.ledger": "Ledger",
    "agentflow.run.ports": "Clock Invocation Observer Receipt Reply Sink",
    "agentflow.run.run": "Run",
    "agentflow.run.signal": "CancelSignal",
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
