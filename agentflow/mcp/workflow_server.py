"""Workflows as tools of others: a server that speaks MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TextIO

import anyio

import agentflow
from agentflow.errors import RunSuspended
from agentflow.graph.argument import LIST, NAME, TEXT, Wanted, check_arguments, or_none
from agentflow.graph.limits import Budget
from agentflow.graph.workflow import Workflow
from agentflow.mcp.content import blocks_of
from agentflow.mcp.line_reader import LineReader
from agentflow.mcp.offer import Offer
from agentflow.mcp.sdk import MCPError, Server, stdio_server, types
from agentflow.mcp.steps import Steps
from agentflow.run.engine import Engine
from agentflow.run.options import check_options
from agentflow.run.run import Run

__all__ = ["WorkflowServer"]

_RUN_ID = "agentflow/run_id"
_STATUS = "agentflow/status"


_WANTED: Final = {
    "workflows": Wanted(LIST.accepts, "a list of workflows and engines"),
    "name": NAME,
    "instructions": or_none(TEXT),
}


class WorkflowServer:
    """Offers each workflow as a tool: its inputs are the arguments, its result is the answer, its steps are the progress.

    A client that cancels a call, or goes, cancels the run. A run that fails or is suspended is an error of the tool, which tells
    why; every answer tells the run's id in its `_meta`.

    Args:
        workflows: The workflows, or engines for them; the engines are entered while it serves.
        name: What clients are told that the server is called.
        instructions: What their models are told, besides what each workflow says of itself.
        budget: The limits of each run, besides its engine's own.

    Raises:
        TypeError: One of them is neither, or another argument is of the wrong kind.
        ValueError: Two have the same id, or an input has no JSON schema.
    """

    def __init__(
        self,
        workflows: Iterable[Workflow[Any] | Engine[Any]],
        *,
        name: str = "agentflow",
        instructions: str | None = None,
        budget: Budget | None = None,
    ) -> None:
        asked = {"workflows": workflows, "name": name, "instructions": instructions}
        check_arguments("WorkflowServer", _WANTED, asked)
        check_options({"budget": budget})
        self._engines: dict[str, Engine[Any]] = {}
        self._offers: dict[str, Offer] = {}
        for item in workflows:
            engine = Engine(item) if isinstance(item, Workflow) else item
            if not isinstance(engine, Engine):
                raise TypeError(f"{item!r} is neither a workflow nor an engine")
            id = engine.workflow.id
            if id in self._engines:
                raise ValueError(f"two workflows have the id {id!r}; a tool is called by it")
            self._engines[id] = engine
            self._offers[id] = Offer(engine.workflow)
        self._budget = budget
        self._stopping = False
        self._serving: anyio.CancelScope | None = None
        self._server: Server[Any] = Server(
            name,
            version=agentflow.__version__,
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that it offers."""
        return tuple(self._offers)

    async def serve_stdio(self, *, stdout: TextIO | None = None) -> None:
        """Answer one client over stdin and stdout, until it goes or `stop` is called.

        Args:
            stdout: Where answers go, in UTF-8; default: stdout, while everything else that is printed goes to stderr.
        """
        out = None if stdout is None else anyio.wrap_file(stdout)
        async with self._entered():
            lines: Any = LineReader()
            options = self._server.create_initialization_options()
            with anyio.CancelScope() as self._serving:
                async with lines, stdio_server(lines, out) as (read, write):
                    await self._server.run(read, write, options)

    @asynccontextmanager
    async def serve_http(self, port: int = 0) -> AsyncIterator[str]:
        """Answer by streamable HTTP on loopback while the block lasts; gives the address. Needs asyncio.

        Args:
            port: The port; 0 for a free one.

        Raises:
            OSError: The port cannot be listened on.
        """
        # Only now: whoever talks over pipes needs no HTTP server.
        from agentflow.mcp.listener import listening

        async with self._entered(), listening(self._server, port) as address:
            try:
                yield address
            finally:
                self._stopping = True

    def stop(self) -> None:
        """End `serve_stdio`; from its loop. Runs with a store are left where they can go on, others are cancelled."""
        self._stopping = True
        if self._serving is not None:
            self._serving.cancel()

    @asynccontextmanager
    async def _entered(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for engine in self._engines.values():
                await stack.enter_async_context(engine)
            yield

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[offer.tool for offer in self._offers.values()])

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        engine = self._engines.get(params.name)
        if engine is None:
            known = ", ".join(self._engines) or "none"
            raise MCPError(
                types.INVALID_PARAMS,
                f"there is no tool {params.name!r}; the tools are: {known}",
            )
        observers = [Steps(ctx.session)] if ctx.meta and "progress_token" in ctx.meta else []
        started = engine.start(params.arguments, budget=self._budget, observers=observers)
        async with started as run:
            try:
                content, data = self._offers[params.name].answer(await run.result())
            except anyio.get_cancelled_exc_class():
                if not self._stopping:
                    run.cancel("the client cancelled the call, or is gone")
                raise
            except Exception as error:
                return _answer(run, blocks_of(_told(run, error), ()), is_error=True)
            return _answer(run, content, data)


def _answer(
    run: Run[Any], content: list[types.ContentBlock], data: Any = None, *, is_error: bool = False
) -> types.CallToolResult:
    return types.CallToolResult(
        content=content,
        structured_content=data,
        is_error=is_error,
        _meta={_RUN_ID: run.id, _STATUS: run.status},
    )


def _told(run: Run[Any], error: Exception) -> str:
    """Why there is no result, for the model that asked and for the people behind it."""
    if not isinstance(error, RunSuspended):
        return f"run {run.id} {run.status}: {type(error).__name__}: {error}"
    if run.engine.store is None:
        return f"{error}; it has no store, so it cannot go on"
    return f"{error}; it goes on when that is there, such as by `agentflow resume`"
