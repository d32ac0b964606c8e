"""A stored run as its journal tells it, with the definition of today or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.cli.waiting import pending

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan
    from agentflow.run.archive import JournalRecord
    from agentflow.run.entries import Entry, RunInfo
    from agentflow.run.ports import Store
    from agentflow.run.usage import Usage

__all__ = ["RunView", "Written", "run_view"]


@dataclass(frozen=True, slots=True)
class Written:
    """What was last written to a field: its stored value, by which record, and how often the field was written."""

    value: Any
    number: int
    times: int


@dataclass(frozen=True, slots=True)
class RunView:
    """A stored run.

    Args:
        info: What the store knows of it.
        records: All that happened, in order.
        plan: The definition of today, if it was given.
        state: The exact state by that definition, in its stored form; `None` without one.
    """

    info: RunInfo
    records: Sequence[JournalRecord]
    plan: Plan | None
    state: Mapping[str, Any] | None

    @property
    def written(self) -> dict[str, Written]:
        """What was last written to each field. Of one that grows that is what was added last: the journal alone cannot tell."""
        found: dict[str, Written] = {}
        for record in self.records:
            fields: Mapping[str, Any] = {}
            if record.kind == "started":
                fields = {**record.data["defaults"], **(record.data["input"] or {})}
            elif record.kind == "visit" and not record.frame:
                fields = record.data["delta"]
            elif record.kind == "migrated":
                # The new beginning: what was there before is not there any more, or is in it.
                found, fields = {}, record.data["state"]
            for name, value in fields.items():
                times = found[name].times + 1 if name in found else 1
                found[name] = Written(value, record.number, times)
        return found

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        """What it waits for, in its stored form."""
        return pending(self.records)

    @property
    def used(self) -> Mapping[str, float]:
        """What it has spent."""
        from agentflow.run.archive import spent_by

        return spent_by(self.records)

    @property
    def usage(self) -> Mapping[str, Usage]:
        """What its model calls have used, by the paths of the nodes that made them."""
        from agentflow.run.archive import usage_by

        return usage_by(self.records)


async def run_view(store: Store, info: RunInfo, plan: Plan | None) -> RunView:
    """Read a run.

    Args:
        store: Where it is.
        info: What the store knows of it.
        plan: The definition of today; for the exact state.

    Raises:
        IncompatibleRun: The definition of today cannot read it.
        StoreError: The store cannot be read.
    """
    from agentflow.run.archive import history

    entries = await store.read(info.run_id, after=0)
    return RunView(info, history(entries), plan, None if plan is None else _state(plan, entries))


def _state(plan: Plan, entries: Sequence[Entry]) -> dict[str, Any]:
    from agentflow.graph.codec import encoded
    from agentflow.run.fold import state_at

    if not entries:
        return {}
    state = state_at(plan, entries, len(entries))
    return {name: encoded(value) for name, value in dict.items(state)}
