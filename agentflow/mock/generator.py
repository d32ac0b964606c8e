"""Generators: functions of the request that rules name, in files and elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentflow.mock.request import MockRequest
from agentflow.mock.sample import by_schema
from agentflow.mock.web.summary import summary_of_request

__all__ = ["GENERATORS", "echoed"]


def echoed(request: MockRequest) -> str:
    """A reply for rules: what was said since the last answer."""
    return request.text


GENERATORS: Mapping[str, Callable[[MockRequest], Any]] = {
    "echo": echoed,
    "schema": by_schema,
    "summary": summary_of_request,
}
"""What a rule of a file can name as its `generator`."""
