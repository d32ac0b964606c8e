"""`agentflow show`: what happened in a stored run, what it holds, and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from agentflow.cli.importing import Imports
    from agentflow.cli.run_view import RunView
    from agentflow.graph.plan import Plan
    from agentflow.run.ports import Store

__all__ = ["show"]


def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="What holds the workflow: with it the state is exact, without it, what was last written.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show values in their whole length.")
    ] = False,
) -> None:
    """Show what a run did, holds and waits for.

    Exit code 2: there is no such run or store, or TARGET is another workflow.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.output import claimed_stdout, columns_of
    from agentflow.cli.store import asked
    from agentflow.cli.styled import write_lines

    with claimed_stdout() as stdout, Imports() as imports:
        plan = None if target is None else _plan(target, imports)
        view = asked(store, lambda opened: _view(opened, run_id, plan, target or ""))
        if json:
            from agentflow.cli.run_json import run_json

            stdout.write(run_json(view) + "\n")
        else:
            from agentflow.cli.run_text import run_lines
            from agentflow.cli.store import public_url

            lines = run_lines(
                view,
                target=target or "TARGET",
                store=None if store is None else public_url(store),
                columns=columns_of(stdout),
                whole=verbose,
            )
            write_lines(lines, stdout)


def _plan(target: str, imports: Imports) -> Plan:
    from agentflow.cli.loading import load
    from agentflow.cli.single import single_engine
    from agentflow.cli.target import parse_target

    return single_engine(load(parse_target(target), imports), target).plan


async def _view(opened: Store, run_id: str, plan: Plan | None, target: str) -> RunView:
    from agentflow.cli.refusal import refuse
    from agentflow.cli.run_view import run_view
    from agentflow.cli.store import found, refuse_other
    from agentflow.errors import IncompatibleRun

    info = await found(opened, run_id)
    if plan is not None:
        refuse_other(info, plan.workflow.id, target)
    try:
        return await run_view(opened, info, plan)
    except IncompatibleRun as error:
        refuse(f"{error}; leave TARGET out to see what is stored")
