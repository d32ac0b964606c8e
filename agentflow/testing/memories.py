"""The conformance suites of memory: what every adapter of one of its ports must do, wherever it keeps things.

A check asks for adapters on data that is empty at first, and looks at what they promise. ::

    @pytest.mark.parametrize("check", history_suite, ids=str)
    async def test_my_history_conforms(check, tmp_path):
        await check(lambda: MyHistory(tmp_path / "memory"))

The function may be called several times within one check; all adapters that it makes have the same data.
"""

from __future__ import annotations

from agentflow.testing.memory_check import MakeMemory, MemoryCheck
from agentflow.testing.memory_histories import history_checks
from agentflow.testing.memory_vectors import vector_checks, working_checks

__all__ = [
    "MakeMemory",
    "MemoryCheck",
    "history_suite",
    "vector_index_suite",
    "working_memory_suite",
]

history_suite: tuple[MemoryCheck, ...] = tuple(history_checks)
"""Every check of a `ConversationHistory`."""

working_memory_suite: tuple[MemoryCheck, ...] = tuple(working_checks)
"""Every check of a `WorkingMemory`."""

vector_index_suite: tuple[MemoryCheck, ...] = tuple(vector_checks)
"""Every check of a `VectorIndex`."""
