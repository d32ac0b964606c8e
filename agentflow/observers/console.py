"""Progress of a run for whoever sits before it: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from agentflow.observers.plain import PlainProgress

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.graph.workflow import Workflow
    from agentflow.observers.live import LiveProgress

__all__ = ["console_progress"]


@contextmanager
def console_progress(
    workflow: Workflow[Any],
    *,
    stream: TextIO | None = None,
    budget: Budget | None = None,
    every: bool = False,
) -> Iterator[LiveProgress | PlainProgress]:
    """An observer that shows how one run of `workflow` goes, while the block lasts.

    On a terminal it draws a table of nodes that keeps itself up to date; elsewhere it writes a line for what happens, less
    often the more often it happens. Give it to `Engine(observers=…)`, or to one run.

    Args:
        workflow: What will be run.
        stream: Where to show it; default: stderr, so that stdout is free for the result.
        budget: The limits of the run, to be shown beside what is spent.
        every: Write plain lines, and one for every fact.
    """
    to = sys.stderr if stream is None else stream
    if every or not to.isatty() or os.environ.get("TERM") == "dumb":
        yield PlainProgress(to, every=every)
        return
    # rich is loaded only for a terminal.
    from agentflow.observers.live import LiveProgress

    with LiveProgress(workflow, to, budget=budget) as live:
        yield live
