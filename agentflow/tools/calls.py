"""The tools of an engine, and the calls that a visit makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError, UnknownTool
from agentflow.graph.contract import contract_error
from agentflow.messages.tool_spec import ToolSpec
from agentflow.run.call_keys import Calls
from agentflow.run.effects import Performance, digest_of, emit, is_listened_to, performing
from agentflow.run.ports import Invocation, Receipt
from agentflow.tools.approval import approve, may_want_approval, wants_approval
from agentflow.tools.authorization import authorize, is_asked
from agentflow.tools.cache import RunCache, cache_of, key_in_cache
from agentflow.tools.connected import ConnectedToolkit, ConnectedTools
from agentflow.tools.context import ToolContext
from agentflow.tools.handler import handle, tell_completed, tell_failed
from agentflow.tools.tool import Tool
from agentflow.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["BoundTools", "Permit", "Tools", "tools_of", "unknown_tool"]


def tools_of(tools: Iterable[Tool | Toolkit | ConnectedToolkit]) -> Tools | ConnectedTools:
    """The tools of an engine, out of tools and toolkits.

    Raises:
        TypeError: One of them is no tool.
        ValueError: Two tools have the same id.
    """
    found: dict[str, Tool] = {}
    sources: dict[str, str] = {}
    instructions: list[str] = []
    chosen: list[Toolkit] = []
    connected: list[ConnectedToolkit] = []
    for item in tools:
        if isinstance(item, ConnectedToolkit):
            connected.append(item)
            continue
        if isinstance(item, Toolkit) and item.choose is not None:
            chosen.append(item)
            continue
        if not isinstance(item, Toolkit):
            _join(found, sources, (item,), "")
            continue
        _join(found, sources, item.tools, f" in {item.label}")
        if item.instructions:
            instructions.append(item.instructions)
    if not connected:
        return Tools(found, tuple(instructions), tuple(chosen))
    make = partial(Tools, chosen=tuple(chosen))
    return ConnectedTools(make, found, sources, instructions, connected)


def _join(
    found: dict[str, Tool], sources: dict[str, str], members: Iterable[Tool], source: str
) -> None:
    for tool in members:
        if not isinstance(tool, Tool):
            raise TypeError(
                f"{tool!r}{source} is no tool: its input has no contract; make it with @tool from a typed function"
            )
        # An object that can be called has no place of its own.
        where = f"{str(tool.place) or repr(tool.handler)}{source}"
        if tool.id in found and found[tool.id] is not tool:
            raise ValueError(
                f"two tools have the id {tool.id!r}: one from {sources[tool.id]} and one from {where}; "
                f"give one of them another: tool(…, id='…')"
            )
        found[tool.id] = tool
        sources[tool.id] = where


def unknown_tool(id: str, known: Iterable[str]) -> UnknownTool:
    """The error that tells which tools there are."""
    listed = ", ".join(map(repr, known)) or "none"
    return UnknownTool(id, f"there is no tool {id!r}; the tools are: {listed}")


class Tools:
    """Every tool that the nodes of an engine may call. What is not in here does not exist.

    This is a table of contracts: it authorises nothing by itself. A tool without `authorize` runs for every node that calls it,
    unless the engine has a policy, or requires that there is one.
    """

    __slots__ = ("_chosen", "_tools", "instructions")

    opened = True

    def __init__(
        self,
        tools: Mapping[str, Tool],
        instructions: tuple[str, ...] = (),
        chosen: tuple[Toolkit, ...] = (),
    ) -> None:
        self._tools = tools
        self.instructions = instructions
        self._chosen = chosen

    async def open(self) -> None:
        """Nothing to connect to: these tools are here."""

    async def close(self) -> None:
        """Nothing to give back."""

    def bind(self, ctx: NodeContext) -> BoundTools:
        """The tools, tied to the cancel, the budget and the facts of one visit.

        Raises:
            ContractError: What a toolkit chooses for the visit are no tools, or two of them have the same id.
        """
        return BoundTools(self._seen_by(ctx) if self._chosen else self, ctx)

    def _seen_by(self, ctx: NodeContext) -> Tools:
        found = dict(self._tools)
        sources = {tool.id: str(tool.place) for tool in found.values()}
        instructions = list(self.instructions)
        for toolkit in self._chosen:
            members = toolkit.tools_for(ctx)
            try:
                _join(found, sources, members, f" in {toolkit.label}")
            except (TypeError, ValueError) as error:
                raise ContractError(f"the tools of node {ctx.node_id!r}: {error}") from error
            if members and toolkit.instructions:
                instructions.append(toolkit.instructions)
        return Tools(found, tuple(instructions))

    def find(self, id: str) -> Tool:
        """The tool of that id.

        Raises:
            UnknownTool: There is none.
        """
        tool = self._tools.get(id)
        if tool is None:
            raise unknown_tool(id, self._tools)
        return tool

    def specs(self, names: Iterable[str] | None = None) -> tuple[ToolSpec, ...]:
        """What a model is told of the tools `names`; default: of all."""
        chosen = self._tools.values() if names is None else [self.find(name) for name in names]
        return tuple([tool.spec for tool in chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Permit:
    """A call that was parsed and authorised, and may now be made, once.

    Args:
        tool: The tool.
        asked: The arguments that were asked for.
        given: Those that it is made with: the same, unless whoever approved it has changed them.
        input: The same, validated.
        key: The key of the effect.
        call_id: The id that the model gave to the call.
    """

    tool: Tool
    asked: Mapping[str, Any]
    given: Mapping[str, Any]
    input: dict[str, Any]
    key: str
    call_id: str | None


class BoundTools:
    """`ctx.tools`: the tools as one attempt of one visit sees them."""

    __slots__ = ("_calls", "_ctx", "_tools")

    def __init__(self, tools: Tools, ctx: NodeContext) -> None:
        self._tools = tools
        self._ctx = ctx
        self._calls: Calls | None = None

    @property
    def instructions(self) -> tuple[str, ...]:
        """What the toolkits say to a model."""
        return self._tools.instructions

    def find(self, id: str) -> Tool:
        """The tool of that id.

        Raises:
            UnknownTool: There is none.
        """
        return self._tools.find(id)

    def specs(self, names: Iterable[str] | None = None) -> tuple[ToolSpec, ...]:
        """What a model is told of the tools `names`; default: of all."""
        return self._tools.specs(names)

    async def invoke(
        self, tool_id: str, input: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> Receipt:
        """Run one tool: parse, authorise, approve, handler, check the output, check the cancel, and only then a receipt.

        Args:
            tool_id: The id of a registered tool.
            input: Its arguments; `None` for none.
            call_id: Names the call within the visit, where a model has named it; default: what it asks for, and a number
                where a visit asks for the same several times.

        Raises:
            UnknownTool: There is no such tool.
            ContractError: The arguments do not satisfy the tool's contract; its handler was not called.
            ToolDenied: The call was not authorised, or a person refused it.
            ToolFailed: The handler failed.
            OutputInvalid: The handler gave what the tool does not promise.
            BudgetExceeded: There is no tool call left.
            RunCancelled: The run was cancelled; what the handler gave is dropped.
        """
        permit = await self.prepare(tool_id, input, call_id=call_id)
        return await self.perform(await self.approve(permit))

    async def prepare(
        self, tool_id: str, input: Mapping[str, Any] | None, *, call_id: str | None
    ) -> Permit:
        """Parse and authorise a call; raises what `invoke` raises before the handler is called."""
        ctx = self._ctx
        ctx.check_open()
        if call_id is None:
            if self._calls is None:
                self._calls = Calls(ctx, "tool")
            key = self._calls.key(digest_of(ctx, (tool_id, input or {})))
        else:
            key = self.key_of(call_id)
        try:
            tool = self._tools.find(tool_id)
            permit = Permit(tool, input or {}, input or {}, _parsed(tool, input), key, call_id)
        except (UnknownTool, ContractError) as error:
            self._tell_refused(tool_id, key, error)
            raise
        # What has been done is not asked for again: a policy of today cannot undo it.
        if is_asked(tool, ctx) and not self.is_settled(permit):
            await authorize(tool, permit.input, self._context(permit, 0))
        return permit

    async def approve(self, permit: Permit) -> Permit:
        """The permit of a call that nobody needs to agree to, or that somebody has agreed to, perhaps with other arguments.

        Raises:
            ToolDenied: It was refused.
            ContractError: The arguments that the answer gives are not the tool's.
        """
        tool = permit.tool
        if not may_want_approval(tool, self._ctx) or self.is_settled(permit):
            return permit
        told = self._context(permit, 0)
        if not await wants_approval(tool, permit.given, permit.input, told):
            return permit
        given = await approve(tool, permit.given, told)
        if given is permit.given:
            return permit
        changed = replace(permit, given=given, input=_parsed(tool, given))
        # Whoever agrees may change the arguments, but not what is allowed.
        await authorize(tool, changed.input, self._context(changed, 0))
        return changed

    def is_settled(self, permit: Permit) -> bool:
        """Whether the call was made before, and what came of it is recorded."""
        record = self._ctx.record
        if record.is_blank:
            return False
        find = record.find
        return find(permit.key) is not None or find(self.failure_key(permit)) is not None

    def failure_key(self, permit: Permit) -> str:
        """The key under which it is recorded that a proposed call has failed."""
        return f"{permit.key}:failed"

    def refuse(self, tool_id: str, call_id: str, reason: str) -> None:
        """Tell of a proposed call that could not even be read."""
        self._tell_refused(tool_id, self.key_of(call_id), ContractError(reason))

    def unknown(self, tool_id: str, call_id: str, known: Iterable[str]) -> UnknownTool:
        """Tell of a proposed call of a tool that is not there for whoever calls; gives the error for it."""
        error = unknown_tool(tool_id, known)
        self._tell_refused(tool_id, self.key_of(call_id), error)
        return error

    def key_of(self, call_id: str) -> str:
        """The key of a call that the model has named."""
        return self._ctx.effect_key(f"tool:{self._ctx.attempt}:{call_id}")

    def _tell_refused(self, tool_id: str, key: str, error: Exception) -> None:
        told = {"error": type(error).__name__, "message": str(error), "again": False}
        emit(self._ctx, "tool.failed", data={"tool": tool_id, **told}, call_id=key)

    async def perform(self, permit: Permit, *, begin: Callable[[], None] | None = None) -> Receipt:
        """Make an authorised call, or answer it from the cache; raises what `invoke` raises from the handler on.

        Args:
            permit: The call.
            begin: Called when a try begins; not when the call was made before.
        """
        # What was asked for, and not what somebody has made of it: the record is found again by that.
        request = (permit.tool.id, dict(permit.asked))
        like = key_in_cache(permit.tool, permit.input)
        async with performing(self._ctx, "tool", permit.key, request) as performance:
            if performance.recorded:
                if like is not None:
                    self._cache.keep(like, performance.value.value)
            elif like is None:
                await self._make(permit, performance, begin)
            else:
                async with self._cache.lock(like):
                    if like in self._cache:
                        await self._answer(permit, performance, self._cache.value(like))
                    else:
                        await self._make(permit, performance, begin)
                        self._cache.keep(like, performance.value.value)
            receipt: Receipt = performance.value
            return receipt

    async def _make(
        self, permit: Permit, performance: Performance, begin: Callable[[], None] | None
    ) -> None:
        def context_of(attempt: int) -> ToolContext:
            if begin is not None:
                begin()
            return self._context(permit, attempt)

        monotonic = self._ctx.run.monotonic
        began = monotonic()
        value = await handle(permit.tool, permit.given, permit.input, context_of, performance)
        seconds = monotonic() - began
        try:
            await performance.keep(Receipt(value, self._invocation(permit, seconds=seconds)))
        except BaseException as error:
            tell_failed(self._context(permit, 0), error)
            raise
        if is_listened_to(self._ctx):
            tell_completed(self._context(permit, 0), value)

    async def _answer(self, permit: Permit, performance: Performance, value: Any) -> None:
        await performance.keep(Receipt(value, self._invocation(permit, tries=0)))
        tell_completed(self._context(permit, 0), value, cached=True)

    def _invocation(self, permit: Permit, *, seconds: float = 0.0, tries: int = 1) -> Invocation:
        return Invocation(
            id=permit.key,
            kind="tool",
            name=permit.tool.id,
            node_id=self._ctx.node_id,
            seconds=seconds,
            tries=tries,
        )

    def still_to_make(self, permits: Iterable[Permit]) -> int:
        """How many handlers must be called for these calls, further tries not counted."""
        to_make: set[object] = set()
        for permit in permits:
            like = key_in_cache(permit.tool, permit.input)
            if not self.is_settled(permit) and (like is None or like not in self._cache):
                to_make.add(like or permit)
        return len(to_make)

    @property
    def _cache(self) -> RunCache:
        return cache_of(self._ctx.run)

    def _context(self, permit: Permit, attempt: int) -> ToolContext:
        return ToolContext(
            self._ctx, permit.tool.id, permit.key, call_id=permit.call_id, attempt=attempt
        )


def _parsed(tool: Tool, input: Any) -> dict[str, Any]:
    given = {} if input is None else input
    where = f"the input of tool {tool.id!r}"
    # A dict first, because an abstract class takes long to ask.
    if not isinstance(given, (dict, Mapping)):
        raise ContractError(
            f"{where} is {type(given).__name__}; give a mapping of parameter to value"
        )
    try:
        return tool.input.accept(given)
    except Exception as error:
        raise contract_error(where, dict(given), error) from error
