"""Models that answer by rules, in process or behind a socket: for tests, demonstrations and work without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.mock.cassette.drift import CassetteDrifted, RepliesUnused
from agentflow.mock.cassette.recording_model import RecordingModel
from agentflow.mock.cassette.replaying_model import ReplayingModel
from agentflow.mock.chunking import Chunking
from agentflow.mock.fault import Fault, MalformedAnswer, Refused
from agentflow.mock.generator import echoed
from agentflow.mock.model import MockModel, echo
from agentflow.mock.reply import MockCall, MockReply, call, calls
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import NoRuleMatches, Rule, ScriptExhausted
from agentflow.mock.rules_file import RulesFile, read_rules
from agentflow.mock.sample import NoSample, by_schema, sample
from agentflow.mock.server.mock_server import MockServer
from agentflow.mock.server.serving import Served
from agentflow.mock.usage import word_usage
from agentflow.mock.web.source import web_summary
from agentflow.mock.web.summary import summarize
from agentflow.mock.wire.quirk import Quirk
from agentflow.tools.web.target import TargetRefused

__all__ = [
    "CassetteDrifted",
    "Chunking",
    "Fault",
    "GuardedFetch",
    "MalformedAnswer",
    "MockCall",
    "MockModel",
    "MockReply",
    "MockRequest",
    "MockServer",
    "NoRuleMatches",
    "NoSample",
    "Quirk",
    "RecordingModel",
    "Refused",
    "ReplayingModel",
    "RepliesUnused",
    "Rule",
    "RulesFile",
    "ScriptExhausted",
    "Served",
    "TargetRefused",
    "by_schema",
    "call",
    "calls",
    "echo",
    "echoed",
    "read_rules",
    "sample",
    "summarize",
    "web_summary",
    "word_usage",
]

if TYPE_CHECKING:
    from agentflow.tools.web.fetch import GuardedFetch


def __getattr__(name: str) -> Any:
    # The one thing here that speaks HTTP to others; whoever only wants a model does not load a client for it.
    if name == "GuardedFetch":
        from agentflow.tools.web.fetch import GuardedFetch

        return GuardedFetch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
