"""A mutant for each check, and for each turn of the proofs: break it, and an example of the reference is judged otherwise.

The examples are the bad programs of `docs/findings/`, whose reports are compared to the letter elsewhere; so a mutant that changes
one of them cannot live.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentflow.cli.main import app
from agentflow.graph import checks
from agentflow.graph.proof.box import Picture
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.visit import Expander

EXAMPLES = Path(__file__).parents[2] / "docs" / "findings"
TABLES = ("CHECKS", "CLAIMS", "PROOFS")


def programs() -> list[Path]:
    """The bad programs that `agentflow validate` judges without further options, and some more for what has no example."""
    return [
        *sorted((Path(__file__).parent / "programs").glob("*.py")),
        *(
            path
            for path in sorted(EXAMPLES.glob("*_bad.py"))
            if not path.read_text(encoding="utf-8").startswith("# $")
        ),
    ]


def report_of(path: Path) -> str:
    return CliRunner().invoke(app, ["validate", str(path)]).output


@functools.cache
def sound_reports() -> dict[Path, str]:
    return {path: report_of(path) for path in programs()}


def names() -> Iterator[tuple[str, int, str]]:
    for table in TABLES:
        for at, check in enumerate(getattr(checks, table)):
            yield table, at, f"{check.__module__.rpartition('.')[2]}.{check.__name__}"


@functools.cache
def speakers() -> dict[tuple[str, int], set[Path]]:
    """The examples in which each check has something to say."""
    found: dict[tuple[str, int], set[Path]] = {}
    with pytest.MonkeyPatch.context() as patch:
        here: list[Path] = []

        def heard(table: str, at: int, check: Callable[..., Any]) -> Callable[..., Any]:
            def listen(*args: Any) -> Iterator[Any]:
                for finding in check(*args):
                    found.setdefault((table, at), set()).add(here[-1])
                    yield finding

            return listen

        for table in TABLES:
            told = [heard(table, at, check) for at, check in enumerate(getattr(checks, table))]
            patch.setattr(checks, table, tuple(told))
        for path in programs():
            here.append(path)
            report_of(path)
    return found


@pytest.mark.parametrize(("table", "at"), [pytest.param(t, at, id=name) for t, at, name in names()])
def test_a_check_that_falls_silent_is_noticed(
    table: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = speakers().get((table, at), set())
    assert examples, "no program is judged by this check: add one to tests/proofs/programs"
    mutated = list(getattr(checks, table))
    mutated[at] = lambda *_: ()
    sound = {path: sound_reports()[path] for path in examples}
    monkeypatch.setattr(checks, table, tuple(mutated))
    assert any(report_of(path) != before for path, before in sound.items())


def forget_failures(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expander, "_fail", lambda *_: None)


def forget_what_is_required(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expander, "_require", lambda *_: True)


def take_what_may_be_provided_for_granted(patch: pytest.MonkeyPatch) -> None:
    write = Picture.write
    patch.setattr(
        Picture, "write", lambda self, box, name, *, sure: write(self, box, name, sure=True)
    )


def let_nothing_be_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Picture, "write", lambda *_, **__: None)


def take_every_condition_for_true(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Picture, "split", lambda self, condition, box, noticed: ([dict(box)], []))


def notice_no_comparison_with_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expander, "_noticed", lambda *_: lambda *_: None)


def take_one_round_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Walk, "_onward", lambda *_, **__: iter(()))


def let_no_end_be_reached(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expander, "_take", lambda *_: None)


MUTANTS = [
    forget_failures,
    forget_what_is_required,
    take_what_may_be_provided_for_granted,
    let_nothing_be_written,
    take_every_condition_for_true,
    notice_no_comparison_with_nothing,
    take_one_round_only,
    let_no_end_be_reached,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_turn_of_the_proofs_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = dict(sound_reports())
    mutant(monkeypatch)
    assert any(report_of(path) != before for path, before in sound.items())


def test_the_reports_are_the_same_when_nothing_is_broken() -> None:
    assert {path: report_of(path) for path in programs()} == sound_reports()
