"""A stored run as one JSON document; values are in their stored form, which is plain JSON wherever JSON has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentflow.cli.runs import info_json

if TYPE_CHECKING:
    from agentflow.cli.run_view import RunView

__all__ = ["run_json"]


def run_json(view: RunView) -> str:
    """The document: the run, its records, its state or what was last written, its requests, its spending."""
    document: dict[str, Any] = {"version": 1, **info_json(view.info)}
    document["used"] = view.used
    document["usage"] = {
        path: {"calls": usage.calls, "partial": usage.partial, **usage.figures}
        for path, usage in view.usage.items()
    }
    document["requests"] = view.requests
    if view.state is None:
        document["written"] = {
            name: {"value": field.value, "record": field.number, "times": field.times}
            for name, field in view.written.items()
        }
    else:
        document["state"] = view.state
    document["history"] = [
        {
            "number": record.number,
            "kind": record.kind,
            "frame": record.frame,
            "node": record.node_id,
            "visit": record.visit,
            "data": record.data,
        }
        for record in view.records
    ]
    return json.dumps(document, indent=2, ensure_ascii=False)
