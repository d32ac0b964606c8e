"""`agentflow serve`: workflows for others to call, until Ctrl-C or until the client goes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from agentflow.cli.run_options import BudgetOption, ModelOption
from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from agentflow.cli.importing import Imports
    from agentflow.mcp import WorkflowServer
    from agentflow.run.engine import Engine
    from agentflow.run.signal import CancelSignal

__all__ = ["serve"]


def serve(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...",
            help="module:attribute, file.py, file.py:attribute, or a JSON or YAML file: workflows and engines.",
            show_default=False,
        ),
    ],
    mcp: Annotated[
        bool, typer.Option("--mcp", help="As tools, by the Model Context Protocol.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Answer by streamable HTTP on this port of loopback, 0 for a free one; default: over stdin and stdout.",
        ),
    ] = None,
    model: ModelOption = None,
    budget: BudgetOption = None,
    store: StoreOption = None,
) -> None:
    """Offer workflows to others: `agentflow serve --mcp flows.py`.

    Each workflow is a tool with its inputs as arguments and its result as answer. A client that cancels a call cancels the run. A run that
    is suspended or fails is an error of the tool that tells the run's id; `agentflow resume` goes on with one that is stored.

    Over stdin and stdout it serves the client that started it, until that goes. With --port it prints its address on stdout and
    serves whoever asks on this machine. With a store, runs under way are left where they can go on when it ends.

    Exit code 0: the client has gone, or it was ended by Ctrl-C or SIGTERM. 1: the port is taken, or something that the
    workflows need cannot be reached. 2: bad usage, or the extra is missing.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.interrupt import interrupts
    from agentflow.cli.output import claimed_stdout
    from agentflow.run.signal import CancelSignal

    if not mcp:
        raise typer.BadParameter("say how: --mcp is the one way for now", param_hint="--mcp")
    stopped = CancelSignal()
    with claimed_stdout() as stdout, Imports() as imports:
        server = _server(_engines(targets, imports, store=store, model=model), budget)
        with interrupts(stopped, lambda _: None):
            _serve(server, stopped, stdout, port)


def _engines(
    targets: list[str],
    imports: Imports,
    *,
    store: str | None,
    model: str | None,
) -> list[Engine[Any]]:
    """The engines that targets lead to, each bound to the store and the model that the user names."""
    import os

    from agentflow.cli.loading import load
    from agentflow.cli.model import bind_model
    from agentflow.cli.single import engines_of
    from agentflow.cli.store import VARIABLE, make_store
    from agentflow.cli.target import parse_target

    engines = [
        engine for target in targets for engine in engines_of(load(parse_target(target), imports))
    ]
    for engine in engines:
        named = store or (os.environ.get(VARIABLE) if engine.store is None else None)
        if named:
            engine.store = make_store(named)
        if model is not None:
            bind_model(engine, model, imports)
    return engines


def _server(engines: list[Engine[Any]], budget: list[str] | None) -> WorkflowServer:
    from agentflow.cli.budget import budget_of
    from agentflow.cli.refusal import refuse

    try:
        from agentflow.mcp import WorkflowServer

        return WorkflowServer(engines, budget=budget_of(budget or ()))
    except (ImportError, ValueError) as error:
        refuse(str(error))


def _serve(server: WorkflowServer, stopped: CancelSignal, stdout: TextIO, port: int | None) -> None:
    import anyio

    from agentflow.cli.refusal import refuse
    from agentflow.errors import AgentflowError

    if isinstance(stdout, io.TextIOWrapper):
        # JSON is in UTF-8 and its lines end in one way, whatever the terminal thinks of that.
        stdout.reconfigure(encoding="utf-8", newline="\n")

    async def stop() -> None:
        await stopped.wait()
        server.stop()

    async def over_pipes() -> None:
        failed: list[Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(stop)
            try:
                await _until_gone(server, stdout)
            except Exception as error:
                # Out of the group it would come in a bundle.
                failed.append(error)
            group.cancel_scope.cancel()
        if failed:
            raise failed[0]

    async def over_http() -> None:
        async with server.serve_http(port or 0) as address:
            stdout.write(f"{address}\n")
            # Whoever started it may wait for this line.
            stdout.flush()
            await stopped.wait()

    try:
        anyio.run(over_pipes if port is None else over_http)
    except OSError as error:
        if port is None:
            raise
        refuse(f"cannot listen on port {port}: {error.strerror or error}", 1)
    except AgentflowError as error:
        refuse(str(error), 1)


async def _until_gone(server: WorkflowServer, stdout: TextIO) -> None:
    try:
        await server.serve_stdio(stdout=stdout)
    except* BrokenPipeError:
        # The client reads no more: it has gone without closing our stdin.
        pass
