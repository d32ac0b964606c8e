"""The suites: what engines cost in memory, when every visit is kept, and around model calls; who takes part in which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench import calls, durable, peers
from bench.calls.scenarios import CALLS
from bench.durable.scenarios import DURABLE
from bench.scenarios import SCENARIOS, Scenario

ALL: Final[Sequence[Scenario]] = (*SCENARIOS, *DURABLE, *CALLS)

TAKING_PART: Final[Mapping[str, Sequence[str]]] = {
    "peers": peers.NAMES,
    "durable": durable.NAMES,
    "calls": calls.NAMES,
}
"""The competitors of each suite, the floor first."""

NAMES: Final = tuple(dict.fromkeys((*peers.NAMES, *durable.NAMES, *calls.NAMES)))
"""All competitors."""


def suite_of(name: str) -> str:
    """A suite that a competitor takes part in."""
    return next(suite for suite, names in TAKING_PART.items() if name in names)
