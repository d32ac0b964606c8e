"""The suites: what engines cost in memory, when every visit is kept, around model calls and tools; who takes part in which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench import calls, durable, peers, tools
from bench.calls.scenarios import CALLS
from bench.durable.scenarios import DURABLE
from bench.scenarios import SCENARIOS, Scenario
from bench.tools.scenarios import TOOLS

ALL: Final[Sequence[Scenario]] = (*SCENARIOS, *DURABLE, *CALLS, *TOOLS)

TAKING_PART: Final[Mapping[str, Sequence[str]]] = {
    "peers": peers.NAMES,
    "durable": durable.NAMES,
    "calls": calls.NAMES,
    "tools": tools.NAMES,
}
"""The competitors of each suite, the floor first."""

NAMES: Final = tuple(dict.fromkeys((*peers.NAMES, *durable.NAMES, *calls.NAMES, *tools.NAMES)))
"""All competitors."""


def suite_of(name: str) -> str:
    """A suite that a competitor takes part in."""
    return next(suite for suite, names in TAKING_PART.items() if name in names)
