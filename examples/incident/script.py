"""The scripted model of the triage: it reads the evidence as a real one would, and answers by rule."""

from __future__ import annotations

import re

from agentflow.mock import MockRequest, Rule
from incident.values import NextStep

__all__ = ["SCRIPT"]


def wants(tool: str, thought: str, **arguments: str) -> NextStep:
    """A step that looks something up."""
    return NextStep(thought=thought, action="look", tool=tool, arguments=arguments)


def found(request: MockRequest, pattern: str) -> str:
    """What the evidence says, by a pattern."""
    match = re.search(pattern, request.text)
    return match[1] if match else "unknown"


HOURS = {"start": "2026-11-12T13:30:00Z", "end": "2026-11-12T15:00:00Z"}
SCRIPT = [
    Rule(
        when="Summarise",
        reply=lambda request: (
            f"{found(request, r'Summarise: (CHG-[0-9]+)')} cut the connection pool of payments to its gateway, so checkouts "
            "waited for a connection until they timed out. The rollback ended it."
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(1\)"),
        reply=wants(
            "search_log",
            "Errors begin before 14:00. What do the services say?",
            text="ERROR payments",
            **HOURS,
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(2\)"),
        reply=lambda request: wants(
            "trace", "Follow one of them.", request_id=found(request, r"request_id=(\w{8})")
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(3\)"),
        reply=lambda request: wants(
            "trace", "That id was cut short.", request_id=found(request, r"request_id=(\w{16})")
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(4\)"),
        reply=wants(
            "search_log", "The pool was exhausted. How large is it?", text="pool status", **HOURS
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(5\)"),
        reply=wants("changes", "It shrank. Who changed it?", service="payments", **HOURS),
    ),
    Rule(
        when=re.compile(r"Evidence \(6\)"),
        reply=lambda request: NextStep(
            thought="The size went down at the very time.",
            action="conclude",
            suspect=found(request, r"(CHG-\d+) \S+ config: gateway.pool.size"),
            service="payments",
        ),
    ),
]
