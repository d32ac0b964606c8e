"""`agentflow replay`: recorded runs made again by today's code, every effect answered from the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentflow.cli.run_options import (
    GRACE,
    BudgetOption,
    GraceOption,
    JsonOption,
    ModelOption,
    PrivateOption,
    QuietOption,
    TimeoutOption,
    VerboseOption,
)
from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentflow.cli.recorded import Recorded
    from agentflow.cli.styled import Line
    from agentflow.run.engine import Engine
    from agentflow.run.options import ResumeOptions
    from agentflow.run.replay import Replayed
    from agentflow.run.run import Run

__all__ = ["replay"]


def replay(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE|FOLDER... TARGET",
            help="Runs of the store, exported runs, or folders of them; then what holds the workflow.",
            show_default=False,
        ),
    ],
    from_node: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="NODE", help="Go live from the first visit of this node, in a fork."
        ),
    ] = None,
    private: PrivateOption = None,
    store: StoreOption = None,
    model: ModelOption = None,
    budget: BudgetOption = None,
    timeout: TimeoutOption = None,
    grace: GraceOption = GRACE,
    json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Make recorded runs again by the code of today, and tell the first difference of each.

    Nothing outside is done: models, tools, times and people answer as they did. With --from the rest of one run is really
    done, as a new run that is not kept, and the options of `run` apply to it.

    Exit code 0: all are the same. 1: some differ. 2: something cannot be read.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import perform
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.recorded import recorded_runs
    from agentflow.cli.run_input import check_private, private_of
    from agentflow.cli.run_options import bound_engine, job_of

    if len(words) < 2:
        raise typer.BadParameter("name a run or a file, then the TARGET", param_hint="TARGET")
    *sources, target = words
    with claimed_stdout() as stdout, Imports() as imports:
        given = private_of(private)
        engine = bound_engine(target, imports, store=None, model=model)
        check_private(engine.workflow, given)
        runs = recorded_runs(sources, store, engine.workflow.id, target)
        if from_node is None:
            found = _replayed(engine, runs, given)
            if json:
                stdout.write(_document(found) + "\n")
            else:
                _write(found, stdout)
            raise typer.Exit(0 if all(one.same for one in found) else 1)
        start = _live(engine, runs, from_node)
        job = job_of(
            engine,
            start,
            target=target,
            store=None,
            budget=budget,
            timeout=timeout,
            grace=grace,
            private=given,
        )
        code = perform(job, stdout, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(code)


def _replayed(
    engine: Engine[Any], runs: Sequence[Recorded], private: dict[str, Any]
) -> list[Replayed]:
    import anyio

    from agentflow.run.registry import opened
    from agentflow.run.replay import replay as again

    engine.store = None

    async def all_of_them() -> list[Replayed]:
        # A server of tools is not called, but asked what its tools take.
        async with opened(engine.tools):
            return [await again(engine, one.info, one.entries, private=private) for one in runs]

    return anyio.run(all_of_them)


def _live(engine: Engine[Any], runs: Sequence[Recorded], node: str) -> Any:
    """What begins the fork of the only run, in a store that goes with the process."""
    from agentflow.run.export import adopt
    from agentflow.stores.memory import MemoryStore

    if len(runs) != 1:
        message = f"one run goes live at a time; there are {len(runs)}"
        raise typer.BadParameter(message, param_hint="--from")
    (run,) = runs
    at = run.before(node)
    engine.store = store = MemoryStore()

    async def start(options: ResumeOptions) -> Run[Any]:
        if not await store.find(run_id=run.info.run_id):
            await adopt(store, run.info, run.entries)
        return await engine.fork(run.info.run_id, at=at, **options)

    return start


def _write(found: Sequence[Replayed], stdout: Any) -> None:
    from agentflow.cli.styled import write_lines

    write_lines(_lines(found), stdout)


def _lines(found: Sequence[Replayed]) -> Iterator[Line]:
    from agentflow.graph.counted import counted

    for one in found:
        visits = counted(one.visits, "visit")
        if one.difference is None:
            yield ("same    ", "ok"), (one.run_id, "strong"), (f"  {visits}", "quiet")
            continue
        yield ("differs ", "error"), (one.run_id, "strong"), (f"  after {visits}", "quiet")
        difference = one.difference
        where = f"{difference.frame}/{difference.node_id}#{difference.visit}"
        place = where if difference.node_id else "the end of the run"
        yield ((f"    at {place}: {difference.what}", "plain"),)
        yield ("    expected ", "quiet"), (difference.expected, "plain")
        yield ("    got      ", "quiet"), (difference.got, "plain")
    different = sum(not one.same for one in found)
    yield ((f"{counted(len(found), 'run')} replayed, {different} different", "strong"),)


def _document(found: Sequence[Replayed]) -> str:
    import dataclasses
    import json

    runs = [
        {
            "run_id": one.run_id,
            "same": one.same,
            "visits": one.visits,
            "difference": None if one.difference is None else dataclasses.asdict(one.difference),
        }
        for one in found
    ]
    return json.dumps({"version": 1, "runs": runs}, indent=2, ensure_ascii=False)
