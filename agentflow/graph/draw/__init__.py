"""Drawings of workflows, as text that other programs turn into pictures: Mermaid, and the DOT language of Graphviz.

`picture` decides what is to be seen; `mermaid` and `dot` write it down. The same workflow gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agentflow.graph.draw import dot, mermaid
from agentflow.graph.draw.picture import picture_of
from agentflow.graph.findings import Finding

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["to_dot", "to_mermaid"]


def to_mermaid(workflow: Workflow[Any], findings: Iterable[Finding] = ()) -> str:
    """The graph as a Mermaid flowchart.

    Args:
        workflow: The workflow; it may have errors, and what is missing is drawn as missing.
        findings: What is to be marked in the picture, such as `workflow.report`.
    """
    return mermaid.text_of(picture_of(workflow, findings))


def to_dot(workflow: Workflow[Any], findings: Iterable[Finding] = ()) -> str:
    """The graph in the DOT language of Graphviz; the arguments are those of `to_mermaid`."""
    return dot.text_of(picture_of(workflow, findings))
