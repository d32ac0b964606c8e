"""The JSON Schemas of everything that agentflow reads and writes, by name.

They are made from the code, so that an installed package has them without files of its own; `schemas/` in the repository holds
the same, for editors.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentflow.graph.finding_schema import finding_schema
from agentflow.graph.spec.policies import policy_schema
from agentflow.graph.spec.schema import workflow_schema
from agentflow.run.export import exported_run_schema
from agentflow.run.fact_json import fact_schema

__all__ = ["SCHEMAS"]


def _above(module: str, attribute: str) -> Callable[[], dict[str, Any]]:
    """What makes a schema in a layer above this one: found by name, as models and tools are."""

    def schema() -> dict[str, Any]:
        made: dict[str, Any] = getattr(importlib.import_module(module), attribute)()
        return made

    return schema


SCHEMAS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "workflow": workflow_schema,
    "policy": policy_schema,
    "finding": finding_schema,
    "fact": fact_schema,
    "run": exported_run_schema,
    "cassette": _above("agentflow.mock.cassette.schema", "cassette_schema"),
    "mock-rules": _above("agentflow.mock.rules_schema", "rules_schema"),
}
"""What makes the schema `NAME.schema.json`."""
