"""Every store keeps every promise of the port."""

from __future__ import annotations

import pytest

from agentflow.testing.stores import StoreCheck, store_suite
from tests.stores.conftest import MakeStore


@pytest.mark.parametrize("check", store_suite, ids=str)
async def test_a_store_conforms(check: StoreCheck, make_store: MakeStore) -> None:
    await check(make_store)


def test_every_check_has_a_name_of_its_own_and_says_what_it_is_for() -> None:
    assert len({check.name for check in store_suite}) == len(store_suite) > 30
    assert all(check.promise for check in store_suite)
