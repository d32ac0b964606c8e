"""The conformance suite of stores: what every store must do, wherever it keeps its journals.

A check asks for stores on data that is empty at first, and looks at what they promise. ::

    @pytest.mark.parametrize("check", store_suite, ids=str)
    async def test_my_store_conforms(check, tmp_path):
        await check(lambda: MyStore(tmp_path / "runs"))

The function is called once for each driver that a check needs; all of them drive the same data. What a check cannot try from inside
of one process is left to tests of your own: that a killed driver is taken over, and that a full disk loses nothing.
"""

from __future__ import annotations

from agentflow.testing.store_check import MakeStore, StoreCheck
from agentflow.testing.store_claims import claim_checks
from agentflow.testing.store_entries import entry_checks
from agentflow.testing.store_runs import run_checks

__all__ = ["MakeStore", "StoreCheck", "store_suite"]

store_suite: tuple[StoreCheck, ...] = (*claim_checks, *entry_checks, *run_checks)
"""Every check of a store."""
