"""The marks that agentflow has to meet, each judged from one run's results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench import agents
from bench.harness import Results
from bench.peers import FLOOR, OURS
from bench.scenarios import HEAVY

NOISE = 1.2
"""Two equal costs differ by up to this factor between two moments of a shared machine."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: what it asks, what was found, and whether it is met; `None` when it was not measured."""

    title: str
    found: str
    met: bool | None


def marks(results: Results) -> Iterator[Mark]:
    """Every mark, in the order of the table."""
    yield times_the_floor(results, "chain", "chain of 10: at most 15x the bare loop (aim 10x)", 15)
    yield times_the_floor(results, "loop_1k", "loop of 1,000: at most 10x the bare loop", 10)
    yield times_the_floor(results, "loop_100k", "loop of 100,000: at most 10x the bare loop", 10)
    yield growth(
        results, "flat: a visit of 100,000 rounds costs as one of 1,000", "loop_100k", "loop_1k"
    )
    yield growth(
        results, "growing list: a visit costs no more at the end", "wide", "wide", ("end", "start")
    )
    yield times_the_floor(results, "fan_1k", "1,000 items: at most 3x a bare task group", 3)
    yield times_the_floor(results, "fan_10k", "10,000 items: at most 3x a bare task group", 3)
    yield growth(results, "linear: one of 10,000 items costs as one of 1,000", "fan_10k", "fan_1k")
    yield at_most(results, "prove_1k", "prove 1,000 nodes, 3,000 routes: about a second", 1_000)
    yield linear_proofs(results)
    yield at_most(results, "import", "import agentflow: under 80 ms over bare Python", 80)
    yield nothing_heavy(results)
    yield at_most(results, "first", "first small definition: under 150 ms, Python included", 150)
    yield times_the_raw(
        results, "full", "a visit, SQLite full: at most 2.5x insert and commit", 2.5
    )
    yield times_the_raw(
        results, "relaxed", "a visit, SQLite relaxed: at most 3x insert and commit", 3
    )
    yield times_the_raw(
        results, "postgresql", "a visit, PostgreSQL: at most 2x insert and commit", 2
    )
    yield shared_commits(results)
    yield stored(results)
    yield growth(
        results, "a durable visit costs no more at the end", "growing", "growing", ("end", "start")
    )
    yield nothing_held(results)
    yield times_the_floor(
        results, "call", "a run with a call, OpenAI: at most 1.5x the SDK's own work", 1.5
    )
    yield times_the_floor(
        results, "call_anthropic", "a run with a call, Anthropic: at most 2x the SDK's own work", 2
    )
    yield times_the_floor(results, "streams", "1,000 such runs at once: at most 1.5x", 1.5)
    yield third_of_the_fastest(results)


def times_the_floor(results: Results, scenario: str, title: str, limit: float) -> Mark:
    found = results.cell(scenario, OURS).ratio(results.cell(scenario, FLOOR))
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.1f}x", found <= limit)


def times_the_raw(results: Results, scenario: str, title: str, limit: float) -> Mark:
    cell = results.cell(scenario, OURS)
    found = cell.ratio(cell, "value", "raw")
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.2f}x", found <= limit)


def shared_commits(results: Results) -> Mark:
    title = "1,000 durable runs, SQLite full: at least 8x the visits per second of one alone"
    cell = results.cell("many_full", OURS)
    found = cell.ratio(cell, "alone", "value")
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.1f}x", found >= 8)


def stored(results: Results) -> Mark:
    title = "1,000 growing visits: stored bytes under 3x of the messages'"
    found = results.cell("growing", OURS).ratio(results.cell("growing", FLOOR))
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.2f}x", found < 3)


def nothing_held(results: Results) -> Mark:
    title = "10,000 suspended runs: under 1 KiB and 1 object a run in the process"
    cell = results.cell("suspended", OURS)
    kib, blocks = cell.median(), cell.median("blocks")
    if kib is None or blocks is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{kib:.2f} KiB, {blocks:.2f} objects", kib < 1 and blocks < 1)


def growth(
    results: Results,
    title: str,
    late: str,
    early: str,
    keys: tuple[str, str] = ("value", "value"),
) -> Mark:
    found = results.cell(late, OURS).ratio(results.cell(early, OURS), *keys)
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.2f} times", found <= NOISE)


def at_most(results: Results, scenario: str, title: str, limit: float) -> Mark:
    found = results.cell(scenario, OURS).median()
    if found is None:
        return Mark(title, "not measured", None)
    return Mark(title, f"{found:.0f} ms", found < limit)


def linear_proofs(results: Results) -> Mark:
    title = "proofs: near-linear from 1,000 to 30,000 nodes (at most 2x a node)"
    small, large = (results.cell(name, OURS) for name in ("prove_1k", "prove_30k"))
    if not (small.rounds and large.rounds):
        return Mark(title, "not measured", None)
    per_node = [(cell.median() or 0) / (cell.median("nodes") or 1) for cell in (small, large)]
    growth = per_node[1] / per_node[0]
    return Mark(title, f"{growth:.2f} times", growth <= 2)


def third_of_the_fastest(results: Results) -> Mark:
    title = "a step of an agent: at most a third of the fastest peer's"
    ours = results.cell("agent_step", OURS)
    peers = [name for name in agents.NAMES if name not in (FLOOR, OURS)]
    found = {name: ours.ratio(results.cell("agent_step", name)) for name in peers}
    known = {name: ratio for name, ratio in found.items() if ratio is not None}
    if not known:
        return Mark(title, "not measured", None)
    fastest = max(known, key=known.__getitem__)
    return Mark(title, f"{known[fastest]:.2f} of {fastest}", known[fastest] <= 1 / 3)


def nothing_heavy(results: Results) -> Mark:
    title = f"import agentflow loads none of {', '.join(HEAVY)}"
    cell = results.cell("import", OURS)
    if not cell.rounds:
        return Mark(title, "not measured", None)
    loaded = [name for name in HEAVY if cell.median(f"loads {name}")]
    return Mark(title, f"loads {', '.join(loaded)}" if loaded else "none", not loaded)
