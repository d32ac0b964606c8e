"""Memories that live in an object keep every promise of their ports."""

from __future__ import annotations

import pytest

from agentflow.agents.memory import InMemoryHistory, InMemoryVectors, InMemoryWorkingMemory
from agentflow.testing import (
    MemoryCheck,
    history_suite,
    vector_index_suite,
    working_memory_suite,
)


@pytest.mark.parametrize("check", history_suite, ids=str)
async def test_a_history_in_memory_conforms(check: MemoryCheck) -> None:
    history = InMemoryHistory()
    await check(lambda: history)


@pytest.mark.parametrize("check", working_memory_suite, ids=str)
async def test_a_working_memory_in_memory_conforms(check: MemoryCheck) -> None:
    memory = InMemoryWorkingMemory()
    await check(lambda: memory)


@pytest.mark.parametrize("check", vector_index_suite, ids=str)
async def test_vectors_in_memory_conform(check: MemoryCheck) -> None:
    vectors = InMemoryVectors()
    await check(lambda: vectors)


def test_every_check_has_a_name_of_its_own_and_says_what_it_is_for() -> None:
    checks = [*history_suite, *working_memory_suite, *vector_index_suite]
    assert len({check.name for check in checks}) == len(checks) > 15
    assert all(check.promise for check in checks)
