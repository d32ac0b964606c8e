"""Progress as a picture that keeps itself up to date, for a person at a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agentflow.observers.progress import Path, Progress, Row, spending_text

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.graph.workflow import Workflow
    from agentflow.run.facts import Fact

__all__ = ["LiveProgress"]

_GLYPHS: Final = {
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "stopped": ("■", "yellow"),
    "retrying": ("↻", "yellow"),
    "waiting": ("?", "yellow"),
}
_PLAIN_GLYPHS: Final = {
    "done": "+",
    "failed": "x",
    "stopped": "-",
    "retrying": "~",
    "waiting": "?",
}
_SPINNER, _PLAIN_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_STATES: Final = {
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "suspended": "yellow",
    "interrupted": "yellow",
}
_PER_SECOND: Final = 10
_AROUND: Final = 4
"""Lines of the picture that are no rows: title, the line of what is left out, spending, note."""


class LiveProgress:
    """An observer that shows a table of the workflow's nodes: what each does, how often it was visited, how long it took.

    Use it as a context manager. What is printed meanwhile appears above the table.

    Args:
        workflow: What is run; gives the nodes that have not been visited yet.
        stream: The terminal.
        budget: The limits of the run, to be shown beside what is spent.
        console: A console in its place.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        workflow: Workflow[Any],
        stream: TextIO,
        *,
        budget: Budget | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = str(workflow.id)
        self._max_rounds = workflow.max_rounds
        self._allowed = {} if budget is None else budget.limits()
        self._nodes = tuple(str(node.id) for node in workflow.nodes)
        self._clock = clock
        self._progress = Progress()
        self._note = ""
        # Facts come from the run's thread, the picture is drawn in another.
        self._lock = threading.Lock()
        self._live = Live(
            console=console or Console(file=stream, highlight=False),
            get_renderable=lambda: self,
            refresh_per_second=_PER_SECOND,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        # What follows is the result; it gets air.
        self._live.console.print()

    def accepts(self, kind: str, content: bool) -> bool:
        return not content and kind != "model.chunk"

    def event(self, fact: Fact) -> None:
        with self._lock:
            self._progress.take(fact, self._clock())

    def note(self, text: str) -> None:
        """Show a line that no fact tells, such as why the run is about to be cancelled."""
        with self._lock:
            self._note = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            yield self.picture(
                self._clock(), options.max_width, options.size.height, plain=options.ascii_only
            )

    def picture(self, now: float, width: int, height: int, *, plain: bool = False) -> Group:
        """The run as it is `now`, at most `height` lines, in ASCII if `plain`."""
        progress = self._progress
        rows, left_out = self._shown(height - _AROUND)
        table = Table.grid(padding=(0, 2))
        table.add_column(width=1)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(12, width // 3))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for path, row in rows:
            table.add_row(*_cells(path, row, now, plain=plain))
        lines: list[RenderableType] = [self._title(now), table]
        if left_out:
            lines.append(Text(f"   and {left_out} more", style="dim"))
        # Rounds are in the title, visits in the rows.
        elsewhere = {"rounds", "visits"} - self._allowed.keys()
        spent = spending_text(
            {name: used for name, used in progress.spent.items() if name not in elsewhere},
            self._allowed,
        )
        if spent:
            lines.append(Text(spent, style="dim"))
        if self._note and progress.ended is None:
            lines.append(Text(self._note, style="yellow"))
        return Group(*lines)

    def _title(self, now: float) -> Text:
        progress = self._progress
        parts = [(self._name, "bold")]
        if progress.round > 1:
            limit = f" of {self._max_rounds}" if self._max_rounds else ""
            parts.append((f"  round {progress.round}{limit}", ""))
        parts.append((f"  {_seconds(progress.elapsed(now))}", ""))
        if progress.state in _STATES:
            parts.append((f"  {progress.state}", _STATES[progress.state]))
        parts.append((f"  {progress.run_id}", "dim"))
        return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")

    def _shown(self, most: int) -> tuple[list[tuple[Path, Row | None]], int]:
        """The rows that find room, and how many do not: the ones at work stay, the untouched go first."""
        every = list(self._all())
        surplus = len(every) - max(1, most)
        if surplus <= 0:
            return every, 0
        order = sorted(range(len(every)), key=lambda at: _importance(every[at][1]))
        dropped = frozenset(order[:surplus])
        return [pair for at, pair in enumerate(every) if at not in dropped], surplus

    def _all(self) -> Iterator[tuple[Path, Row | None]]:
        rows = self._progress.rows
        below: dict[Path, list[Row]] = {}
        for row in rows.values():
            if len(row.path) > 1:
                below.setdefault(row.path[:1], []).append(row)
        for node in self._nodes:
            yield (node,), rows.get((node,))
            for row in sorted(below.get((node,), ()), key=lambda row: row.path[:-1]):
                yield row.path, row


def _importance(row: Row | None) -> tuple[int, float]:
    if row is None:
        return 0, 0.0
    return (1 if row.since is None else 2), row.since or 0.0


def _cells(path: Path, row: Row | None, now: float, *, plain: bool) -> tuple[Text, ...]:
    name = Text("  " * (len(path) - 1) + path[-1])
    if row is None:
        name.stylize("dim")
        return Text("·" if not plain else ".", style="dim"), name, Text(), Text(), Text()
    visits = f"{row.visits:,} visits" if row.visits > 1 else ""
    if row.since is not None:
        name.stylize("bold")
    return (
        _glyph(row, now, plain=plain),
        name,
        Text(_seconds(row.elapsed(now))),
        Text(visits, style="dim"),
        Text(row.note, style="red" if row.state == "failed" else "yellow"),
    )


def _glyph(row: Row, now: float, *, plain: bool) -> Text:
    if row.state == "running":
        frames = _PLAIN_SPINNER if plain else _SPINNER
        return Text(frames[int(now * _PER_SECOND) % len(frames)], style="cyan")
    glyph, style = _GLYPHS[row.state]
    return Text(_PLAIN_GLYPHS[row.state] if plain else glyph, style=style)


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02} s"
