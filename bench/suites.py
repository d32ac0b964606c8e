"""The two suites: what engines cost in memory, and what they cost when every visit is kept; who takes part in which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench import durable, peers
from bench.durable.scenarios import DURABLE
from bench.scenarios import SCENARIOS, Scenario

ALL: Final[Sequence[Scenario]] = (*SCENARIOS, *DURABLE)

TAKING_PART: Final[Mapping[str, Sequence[str]]] = {
    "peers": peers.NAMES,
    "durable": durable.NAMES,
}
"""The competitors of each suite, the floor first."""

NAMES: Final = tuple(dict.fromkeys((*peers.NAMES, *durable.NAMES)))
"""All competitors."""


def suite_of(name: str) -> str:
    """A suite that a competitor takes part in."""
    return next(suite for suite, names in TAKING_PART.items() if name in names)
