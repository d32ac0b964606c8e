"""Tools: an argument of the wrong kind is refused where it is given, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentflow import Toolkit, tool
from agentflow.tools import CallResults, RepeatLimit, ToolOutput


def look() -> int:
    """Look at something."""
    return 3


WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (tool, {"fn": look, "description": 3}, "tool 'look'(description=3): give a text, or None"),
    (tool, {"fn": look, "kind": 3}, "tool 'look'(kind=3): give a text, or None"),
    (tool, {"fn": look, "parallel": "no"}, "tool 'look'(parallel='no'): give True or False"),
    (tool, {"fn": look, "timeout": "3"}, "tool 'look': timeout='3'; it is seconds above 0"),
    (tool, {"fn": look, "timeout": True}, "tool 'look': timeout=True; it is seconds above 0"),
    (tool, {"fn": look, "approval_timeout": [3]}, "tool 'look': approval_timeout=[3]; it is"),
    (Toolkit, {"tools": "look"}, "a toolkit: 'look' is no list of tools"),
    (Toolkit, {"tools": {"look": look}}, "a toolkit: {'look': "),
    (Toolkit, {"tools": [], "instructions": 3}, "Toolkit(instructions=3): give a text"),
    (Toolkit, {"tools": [], "name": 3}, "Toolkit(name=3): give a text"),
    (ToolOutput, {"text": 3}, "ToolOutput(text=3): give a text"),
    (ToolOutput, {"files": "a.png"}, "ToolOutput(files='a.png'): give a list of FileParts"),
    (ToolOutput, {"files": ["a.png"]}, "ToolOutput(files=('a.png',)): give a list of FileParts"),
    (CallResults, {"calls": "abc"}, "CallResults(calls='abc'): give a list"),
    (CallResults, {"calls": ["abc"]}, "CallResults(['abc']): give answer.tool_calls"),
    (RepeatLimit, {"warn": "3"}, "RepeatLimit(warn='3'): give a whole number"),
    (RepeatLimit, {"stop": float("nan")}, "RepeatLimit(stop=nan): give a whole number"),
    (RepeatLimit, {"free": "look"}, "RepeatLimit(free='look'): give a list of ids"),
    (RepeatLimit, {"free": 3}, "RepeatLimit(free=3): give a list of ids"),
]


@pytest.mark.parametrize(("made", "given", "told"), WRONG)
def test_an_argument_of_the_wrong_kind_is_refused_by_its_name(
    made: Callable[..., Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(told)}"):
        made(**given)
