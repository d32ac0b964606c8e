"""Models that answer by rules, in process: for tests, demonstrations and work without a network."""

from __future__ import annotations

from agentflow.mock.chunking import Chunking
from agentflow.mock.model import MockModel, echo
from agentflow.mock.reply import MockCall, MockReply, call, calls
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import NoRuleMatches, Rule, ScriptExhausted

__all__ = [
    "Chunking",
    "MockCall",
    "MockModel",
    "MockReply",
    "MockRequest",
    "NoRuleMatches",
    "Rule",
    "ScriptExhausted",
    "call",
    "calls",
    "echo",
]
