"""What a TARGET leads to: workflows and engines, and reports of what could not be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.graph.findings import Finding, Report
from agentflow.graph.place import Place
from agentflow.graph.workflow import Workflow
from agentflow.run.engine import Engine

__all__ = ["Found", "problem"]


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a TARGET leads to.

    Args:
        name: A TARGET for it alone.
        report: Everything there is to say of it.
        value: The thing itself, as far as it came to be: a workflow that was refused can still be drawn.
    """

    name: str
    report: Report
    value: Workflow[Any] | Engine[Any] | None = None

    @classmethod
    def of(cls, name: str, value: Workflow[Any] | Engine[Any]) -> Found:
        """A workflow or an engine that was found under a name."""
        workflow = value.workflow if isinstance(value, Engine) else value
        return cls(name, workflow.report, value)

    @property
    def workflow(self) -> Workflow[Any] | None:
        """The workflow itself, or the engine's."""
        return self.value.workflow if isinstance(self.value, Engine) else self.value


def problem(name: str, code: str, message: str, hint: str, place: Place | None = None) -> Found:
    """A thing that could not be had, and why."""
    finding = Finding(code=code, message=message, hint=hint, place=place)
    return Found(name, Report("", (finding,)))
