from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from agentflow import Budget, Fact, define_workflow, node, route
from agentflow.observers import console_progress
from agentflow.observers.live import LiveProgress
from agentflow.observers.plain import PlainProgress
from agentflow.testing import FixedClock
from tests.observers.incident import run

NAMES = ["read_logs", "search", "judge", "post", "report"]


def workflow(names: list[str]) -> Any:
    async def body(state: Any) -> None: ...

    nodes = [
        node(body, id=name, routes=[route.to(after)])
        for name, after in zip(names, [*names[1:], "end"], strict=True)
    ]
    end = node(body, id="end", routes=[route.finish(dict)])
    return define_workflow("incident", nodes=[*nodes, end])


class Watched:
    """A live table on a console without a terminal; `shots` are its pictures whenever `when` says so."""

    def __init__(self, when: Callable[[Fact], bool], *, height: int = 24, **options: Any) -> None:
        self.clock = FixedClock()
        self.shots: list[str] = []
        self._when, self._height = when, height
        self.live = LiveProgress(
            options.pop("workflow", workflow(NAMES)),
            io.StringIO(),
            console=Console(file=io.StringIO(), width=72),
            clock=self.clock.monotonic,
            **options,
        )

    def __call__(self, fact: Fact) -> None:
        self.live.event(fact)
        if self._when(fact):
            self.shots.append(self.picture())

    def picture(self, width: int = 72, *, plain: bool = False) -> str:
        console = Console(file=io.StringIO(), width=width)
        console.print(self.live.picture(self.clock.monotonic(), width, self._height, plain=plain))
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


async def test_the_table_shows_what_each_node_does_and_did() -> None:
    watched = Watched(
        lambda fact: (
            fact.kind in ("node.retried", "run.completed")
            or (fact.kind == "model.started" and fact.round == 2)
        ),
        budget=Budget(model_calls=5),
    )
    await run(watched, clock=watched.clock)
    retried, searching, inner, completed = watched.shots
    assert retried == (
        "incident  0.2 s  r-1\n"
        "↻  read_logs  0.2 s    OSError: the disk is busy\n"
        "·  search\n·  judge\n·  post\n·  report\n·  end"
    )
    assert searching == (
        "incident  round 2  3.0 s  r-1\n"
        "✓  read_logs  1.0 s\n"
        "⠋  search     2.0 s  2 visits\n"
        "·  judge\n·  post\n·  report\n·  end\n"
        "2 of 5 model calls"
    )
    assert "⠋  judge      2.0 s" in inner
    assert "✓    decide   2.0 s" in inner
    assert completed == (
        "incident  round 2  5.0 s  completed  r-1\n"
        "✓  read_logs  1.0 s\n"
        "✓  search     2.0 s  2 visits\n"
        "✓  judge      2.0 s\n"
        "✓    decide   2.0 s\n"
        "✗  post       0.0 s            ConnectionError: nobody is there\n"
        "✓  report     0.0 s\n"
        "·  end\n"
        "2 of 5 model calls"
    )


async def test_a_low_terminal_shows_the_nodes_at_work_and_counts_the_rest() -> None:
    many = [*NAMES, *(f"later_{number}" for number in range(20))]
    watched = Watched(lambda fact: fact.kind == "run.completed", height=9, workflow=workflow(many))
    await run(watched, clock=watched.clock)
    lines = watched.shots[-1].splitlines()
    assert len(lines) <= 9
    assert "   and 22 more" in lines
    assert any("report" in line for line in lines)


async def test_without_unicode_the_table_is_ascii() -> None:
    watched = Watched(lambda fact: False)
    await run(watched, clock=watched.clock)
    picture = watched.picture(plain=True)
    assert picture.isascii()
    assert "x  post" in picture


@pytest.mark.parametrize("width", [20, 30, 40])
async def test_a_narrow_terminal_gets_a_line_for_each_node(width: int) -> None:
    watched = Watched(lambda fact: False)
    await run(watched, clock=watched.clock)
    lines = watched.picture(width).splitlines()
    assert len(lines) == 9
    assert all(len(line) <= width for line in lines)


def test_a_line_is_shown_that_no_fact_tells() -> None:
    watched = Watched(lambda fact: False)
    watched.live.note("cancelling")
    assert watched.picture().splitlines()[-1] == "cancelling"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "term", "every", "kind"),
    [
        (Terminal(), "xterm", False, LiveProgress),
        (Terminal(), "dumb", False, PlainProgress),
        (Terminal(), "xterm", True, PlainProgress),
        (io.StringIO(), "xterm", False, PlainProgress),
    ],
)
def test_the_stream_decides_how_progress_is_shown(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str, every: bool, kind: type
) -> None:
    monkeypatch.setenv("TERM", term)
    with console_progress(workflow(NAMES), stream=stream, every=every) as progress:
        assert type(progress) is kind
