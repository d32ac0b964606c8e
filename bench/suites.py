"""The suites: what engines cost in memory, when every visit is kept, around model calls, tools and agents; who takes part in which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench import agents, calls, durable, peers, tools
from bench.agents.scenarios import AGENTS
from bench.calls.scenarios import CALLS
from bench.durable.scenarios import DURABLE
from bench.scenarios import SCENARIOS, Scenario
from bench.tools.scenarios import TOOLS

ALL: Final[Sequence[Scenario]] = (*SCENARIOS, *DURABLE, *CALLS, *TOOLS, *AGENTS)

TAKING_PART: Final[Mapping[str, Sequence[str]]] = {
    "peers": peers.NAMES,
    "durable": durable.NAMES,
    "calls": calls.NAMES,
    "tools": tools.NAMES,
    "agents": agents.NAMES,
}
"""The competitors of each suite, the floor first."""

NAMES: Final = tuple(dict.fromkeys(name for names in TAKING_PART.values() for name in names))
"""All competitors."""


def suite_of(name: str) -> str:
    """A suite that a competitor takes part in."""
    return next(suite for suite, names in TAKING_PART.items() if name in names)
