"""Tools that are watched: guardrails judge their calls, and hooks are told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import Guardrail, GuardrailBlocked, JudgedCall, judge
from agentflow.agents.hooks import Hooks, ToolEnd, ToolStart, notify
from agentflow.errors import ToolDenied
from agentflow.run.decide import Suspend
from agentflow.run.ports import Receipt, ToolSource

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["WatchedTools"]


class WatchedTools:
    """The tools of an engine, with guardrails and hooks around every call.

    Args:
        tools: The tools.
        guardrails: Those of the call.
        hooks: Those of the call.
    """

    def __init__(
        self, tools: ToolSource, guardrails: Sequence[Guardrail], hooks: Sequence[Hooks]
    ) -> None:
        self._tools = tools
        self._guardrails = guardrails
        self._hooks = hooks

    @property
    def opened(self) -> bool:
        """Whether runs may use them."""
        return self._tools.opened

    async def open(self) -> None:
        """Connect to where tools lie elsewhere."""
        await self._tools.open()

    async def close(self) -> None:
        """Give those connections back."""
        await self._tools.close()

    def bind(self, ctx: NodeContext) -> Any:
        """The tools, tied to the cancel, the budget and the facts of one visit."""
        return _WatchedCalls(self._tools.bind(ctx), ctx, self._guardrails, self._hooks)


class _WatchedCalls:
    """`ctx.tools`, with guardrails and hooks around every call; everything else is as without them."""

    def __init__(
        self,
        tools: Any,
        ctx: NodeContext,
        guardrails: Sequence[Guardrail],
        hooks: Sequence[Hooks],
    ) -> None:
        self._tools = tools
        self._ctx = ctx
        self._guardrails = guardrails
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tools, name)

    @property
    def instructions(self) -> tuple[str, ...]:
        told: tuple[str, ...] = self._tools.instructions
        return told

    def specs(self, names: Iterable[str] | None = None) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self._tools.specs(names)
        return found

    async def invoke(
        self, tool_id: str, input: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> Receipt:
        permit = await self.prepare(tool_id, input, call_id=call_id)
        return await self.perform(await self.approve(permit))

    async def prepare(
        self, tool_id: str, input: Mapping[str, Any] | None, *, call_id: str | None
    ) -> Any:
        permit = await self._tools.prepare(tool_id, input, call_id=call_id)
        # Before anybody is asked to approve what is not to be made.
        if not self._is_settled(permit):
            await self._judge("tool_input", JudgedCall(tool=tool_id, input=permit.input))
        return permit

    async def approve(self, permit: Any) -> Any:
        approved = await self._tools.approve(permit)
        if approved is not permit:
            # Whoever agrees may change the arguments, but not what passes.
            await self._judge("tool_input", JudgedCall(tool=approved.tool.id, input=approved.input))
        return approved

    async def perform(self, permit: Any, **options: Any) -> Receipt:
        view, id = CallView.of(self._ctx), permit.tool.id
        # What was made before is not made again, so nobody is told of it again.
        hooks = () if self._is_settled(permit) else self._hooks
        start = ToolStart(tool=id, call_id=permit.call_id, input=permit.input)

        async def tell_start() -> None:
            await notify(hooks, "on_tool_start", start, view)

        if hooks:
            # A call that waits for an answer is gone through again, and was told of before.
            await self._ctx.once(f"on_tool_start:{permit.key}", tell_start)
        try:
            receipt: Receipt = await self._tools.perform(permit, **options)
            judged = JudgedCall(tool=id, input=permit.input, output=receipt.value)
            await self._judge("tool_output", judged)
        except Suspend:
            # It has not ended.
            raise
        except BaseException as error:
            if self._ctx.run.parting is not None:
                # Nor has this one: it is made again when the run goes on.
                raise
            end = ToolEnd(tool=id, call_id=permit.call_id, error=error)
            with anyio.CancelScope(shield=True):
                await notify(hooks, "on_tool_end", end, view)
            raise
        end = ToolEnd(tool=id, call_id=permit.call_id, output=receipt.value)
        await notify(hooks, "on_tool_end", end, view)
        return receipt

    async def _judge(self, boundary: Any, call: JudgedCall) -> None:
        try:
            await judge(self._guardrails, boundary, call, CallView.of(self._ctx), ctx=self._ctx)
        except GuardrailBlocked as blocked:
            # A denial, as any other: the model is told, and may do something else.
            raise ToolDenied(call.tool, f"tool {call.tool!r}: {blocked}") from blocked

    def _is_settled(self, permit: Any) -> bool:
        find = self._ctx.record.find
        return find(permit.key) is not None or find(f"{permit.key}:failed") is not None
