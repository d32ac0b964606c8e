"""Models that answer by rules, in process or behind a socket: for tests, demonstrations and work without a network."""

from __future__ import annotations

from agentflow.mock.chunking import Chunking
from agentflow.mock.fault import Fault, MalformedAnswer, Refused
from agentflow.mock.model import MockModel, echo
from agentflow.mock.reply import MockCall, MockReply, call, calls
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import NoRuleMatches, Rule, ScriptExhausted
from agentflow.mock.server.mock_server import MockServer
from agentflow.mock.server.serving import Served
from agentflow.mock.usage import word_usage

__all__ = [
    "Chunking",
    "Fault",
    "MalformedAnswer",
    "MockCall",
    "MockModel",
    "MockReply",
    "MockRequest",
    "MockServer",
    "NoRuleMatches",
    "Refused",
    "Rule",
    "ScriptExhausted",
    "Served",
    "call",
    "calls",
    "echo",
    "word_usage",
]
