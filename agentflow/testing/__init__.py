"""The test kit: node contexts without an engine, a recorder of facts, a fixed clock, and conformance suites."""

from __future__ import annotations

from agentflow.testing.clock import FixedClock
from agentflow.testing.context import fake_context
from agentflow.testing.memories import (
    MemoryCheck,
    history_suite,
    vector_index_suite,
    working_memory_suite,
)
from agentflow.testing.providers import ProviderCheck, Scenario, provider_suite
from agentflow.testing.recorder import FactRecorder
from agentflow.testing.stores import StoreCheck, store_suite

__all__ = [
    "FactRecorder",
    "FixedClock",
    "MemoryCheck",
    "ProviderCheck",
    "Scenario",
    "StoreCheck",
    "fake_context",
    "history_suite",
    "provider_suite",
    "store_suite",
    "vector_index_suite",
    "working_memory_suite",
]
