"""Lineage: what a journal says of the definition that it was written by, so that another one can take the run over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.manifest import reducer_name

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["definition_data", "is_changed"]


def definition_data(workflow: Workflow[Any]) -> dict[str, Any]:
    """What is recorded of a definition: what it takes to read the entries of its runs without it."""
    return {
        "version": workflow.version,
        "fingerprint": workflow.fingerprint,
        "entry": workflow.entry,
        "reducers": {
            name: reducer_name(spec.reducer)
            for name, spec in workflow.schema.fields.items()
            if spec.reducer is not None
        },
        # Of a field with a reducer these write lists of pieces, and all others one piece.
        "gathering": [node.id for node in workflow.nodes if node.branches],
    }


def is_changed(workflow: Workflow[Any], recorded: Mapping[str, Any]) -> bool:
    """Whether what was recorded is another definition, or another version of the same."""
    before = recorded["version"], recorded["fingerprint"]
    return before != (workflow.version, workflow.fingerprint)
