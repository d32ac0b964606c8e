"""The proved worst case of each workflow, for people and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentflow.cli.examination import Examination
from agentflow.cli.styled import Line

__all__ = ["bounds_json", "bounds_lines"]


def bounds_lines(examination: Examination) -> Iterator[Line]:
    """The worst case of each workflow, one below the other."""
    for workflow in examination.workflows_seen:
        yield ("worst case of ", "plain"), (workflow.id, "strong")
        if workflow.report.ok:
            for line in workflow.bounds().as_text().splitlines():
                yield ((f"  {line}", "plain"),)
        else:
            yield (("  not known, because there are errors", "warning"),)
        yield ()


def bounds_json(examination: Examination) -> list[dict[str, Any]]:
    """The worst case of each workflow; `bounds` is `null` for one that has errors."""
    return [
        {
            "workflow": workflow.id,
            "bounds": workflow.bounds().as_dict() if workflow.report.ok else None,
        }
        for workflow in examination.workflows_seen
    ]
