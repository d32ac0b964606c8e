"""The command `python -m bench`: choose scenarios and competitors, measure, print one table."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.durable.server import serving
from bench.harness import competitor, measure
from bench.marks import marks
from bench.peers import FLOOR, OURS
from bench.scenarios import Scenario
from bench.suites import ALL, NAMES
from bench.table import as_json, render

REPEATS = 3
QUICK_REPEATS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 only with `--check` and a missed mark."""
    options = parser().parse_args(arguments)
    names = (FLOOR, OURS) if options.quick else options.peers
    chosen = [s for s in ALL if s.id in options.scenarios]
    repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS)
    progress = terminal_progress()
    with served(chosen) as (scenarios, absent):
        competitors = [competitor(name, progress) for name in names]
        results = measure(scenarios, competitors, repeats, progress)
    progress("")
    results = dataclasses.replace(results, absent=absent)
    judged = list(marks(results))
    print(render(results, judged, repeats))
    if options.json:
        document = json.dumps(as_json(results, judged, repeats), indent=2)
        options.json.write_text(document + "\n", encoding="utf-8")
    return int(options.check and any(mark.met is False for mark in judged))


@contextmanager
def served(chosen: Sequence[Scenario]) -> Iterator[tuple[Sequence[Scenario], Sequence[str]]]:
    """The scenarios that can be measured while the block lasts, and lines about those that cannot, for want of a server."""
    if not any(scenario.server for scenario in chosen):
        yield chosen, ()
        return
    with serving() as reason:
        if reason is None:
            yield chosen, ()
        else:
            yield (
                [scenario for scenario in chosen if not scenario.server],
                [f"n/a {scenario.title}: {reason}" for scenario in chosen if scenario.server],
            )


def parser() -> argparse.ArgumentParser:
    ids = [scenario.id for scenario in ALL]
    made = argparse.ArgumentParser(
        prog="python -m bench", description="agentflow beside a bare loop and its peers."
    )
    made.add_argument(
        "--quick", action="store_true", help="only the bare loop and agentflow, under a minute"
    )
    made.add_argument(
        "--repeats", type=positive, metavar="N", help="rounds of measuring; default 3, quick 2"
    )
    made.add_argument(
        "--scenarios",
        type=names_of(ids),
        default=ids,
        metavar="A,B",
        help=f"some of {', '.join(ids)}",
    )
    made.add_argument(
        "--peers",
        type=names_of(NAMES),
        default=NAMES,
        metavar="A,B",
        help=f"some of {', '.join(NAMES)}",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="also write every number here")
    made.add_argument("--check", action="store_true", help="exit with 1 when a mark is missed")
    return made


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of rounds; give 1 or more")
    return number


def names_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)} is not one of {', '.join(known)}"
            )
        return names

    return parse


def terminal_progress() -> Callable[[str], None]:
    """One line that rewrites itself on a terminal; silence elsewhere, where it would only be noise."""
    if not sys.stderr.isatty():
        return lambda text: None

    def show(text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    return show
