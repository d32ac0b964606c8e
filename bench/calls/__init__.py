"""Model calls: the bare SDKs of the vendors and agentflow on top of them, behind the protocol of `bench.calls.caller`."""

from __future__ import annotations

NAMES = ("floor", "agentflow")
