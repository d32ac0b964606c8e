"""`agentflow compat`: which stored runs of an old definition can go on under a new one, told before it is deployed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentflow.cli.store import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentflow.cli.importing import Imports
    from agentflow.cli.styled import Line, Role
    from agentflow.graph.compat import Comparison, Verdict
    from agentflow.graph.workflow import Workflow
    from agentflow.run.ports import Store
    from agentflow.run.upgrade import Judged

__all__ = ["compat"]


def compat(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD", help="The TARGET of the definition that runs.", show_default=False
        ),
    ],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="The TARGET of the one that is to run.", show_default=False
        ),
    ],
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help=f"Judge the runs that are kept there, too; ${VARIABLE} is not looked at.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Tell what a new definition does to the stored runs of an old one: safe, migratable or breaking.

    With a store, each of its suspended and interrupted runs is judged by itself, exactly; then they decide, and not what
    might befall other runs. Nothing is run, and nothing in the store is changed.

    Exit code 0: all is safe. 1: something is breaking. 2: something cannot be read. 3: nothing is breaking, but migrations
    are needed.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.store import asked
    from agentflow.graph.compat import compared

    with claimed_stdout() as stdout, Imports() as imports:
        before, after = _definition(old, imports), _definition(new, imports)
        found = compared(before, after)
        runs = None if store is None else asked(store, lambda opened: _judged(opened, after))
        if json:
            stdout.write(_document(found, runs) + "\n")
        else:
            _write(found, runs, stdout)
    verdicts: list[Verdict] = [found.verdict] if runs is None else [run.verdict for run in runs]
    raise typer.Exit(max((_CODES[verdict] for verdict in verdicts), key=_GRAVITY.index, default=0))


_CODES: dict[Verdict, int] = {"safe": 0, "migratable": 3, "breaking": 1}
_GRAVITY = (0, 3, 1)
"""The exit codes, the best first."""

_ROLES: dict[Verdict, Role] = {"safe": "ok", "migratable": "warning", "breaking": "error"}
_ALL = 1_000_000
"""More runs than one store holds unfinished."""


def _definition(target: str, imports: Imports) -> Workflow[Any]:
    from agentflow.cli.loading import load
    from agentflow.cli.single import single_engine
    from agentflow.cli.target import parse_target

    return single_engine(load(parse_target(target), imports), target).workflow


async def _judged(store: Store, workflow: Workflow[Any]) -> list[Judged]:
    """The runs of a workflow that have not ended and are driven by nobody, and were last opened with another definition."""
    from agentflow.run.entries import Claim
    from agentflow.run.journal import Journal
    from agentflow.run.lineage import is_changed
    from agentflow.run.recorded import NOWHERE
    from agentflow.run.upgrade import judged

    suspended = await store.find(status="suspended", limit=_ALL)
    interrupted = await store.find(status="interrupted", limit=_ALL)
    found = []
    for info in sorted((*suspended, *interrupted), key=lambda info: (info.created, info.run_id)):
        # A run without an entry begins when it is asked for again, with whatever definition that is.
        if info.workflow_id != workflow.id or not info.last:
            continue
        entries = await store.read(info.run_id)
        journal = Journal(NOWHERE, Claim(info.run_id, 0, info), entries)
        if is_changed(workflow, journal.definition):
            found.append(await judged(workflow, info, entries))
    return found


def _write(found: Comparison, runs: Sequence[Judged] | None, stdout: Any) -> None:
    from agentflow.cli.styled import write_lines

    write_lines([*_lines(found), *(() if runs is None else _run_lines(runs))], stdout)


def _lines(found: Comparison) -> Iterator[Line]:
    versions = f"  {found.workflow} {found.old_version} -> {found.new_version}"
    yield (found.verdict, _ROLES[found.verdict]), (versions, "strong")
    for change in found.changes:
        yield ((f"    {change}", "plain"),)
        yield ((f"        {change.hint}", "hint"),)


def _run_lines(runs: Sequence[Judged]) -> Iterator[Line]:
    from agentflow.cli.table import table_lines
    from agentflow.graph.counted import counted

    if runs:
        yield from table_lines(
            [
                [
                    (run.verdict, _ROLES[run.verdict]),
                    (run.run_id, "strong"),
                    (run.version, "quiet"),
                    (run.reason, "plain"),
                ]
                for run in runs
            ]
        )
    counts = [
        f"{sum(run.verdict == verdict for run in runs)} {verdict}"
        for verdict in ("safe", "migratable", "breaking")
    ]
    yield ((f"{counted(len(runs), 'run')} concerned: {', '.join(counts)}", "strong"),)


def _document(found: Comparison, runs: Sequence[Judged] | None) -> str:
    import dataclasses
    import json

    document = {
        "version": 1,
        "workflow": found.workflow,
        "old_version": found.old_version,
        "new_version": found.new_version,
        "verdict": found.verdict,
        "changes": [dataclasses.asdict(change) for change in found.changes],
        "runs": None if runs is None else [dataclasses.asdict(run) for run in runs],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
