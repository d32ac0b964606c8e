"""The agentic loop: a workflow made with `define_workflow`, checked, drawn and run like any other.

::

    admit (starts a round) -> assemble -> model -> tools -> decide -> admit, or the result

Step n is round n. When the rounds run out, the loop ends softly, at `conclude`, with what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.loop_result import LoopResult
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.graph.reducer import Reducer, append
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.messages.message import Message, as_messages, system
from agentflow.tools.execution import run_calls

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["LoopState", "build_loop"]


def _summed(current: Mapping[str, float] | None, delta: Mapping[str, float]) -> dict[str, float]:
    known = current or {}
    return {name: known.get(name, 0) + delta.get(name, 0) for name in {**known, **delta}}


def _as_list(value: object) -> object:
    """A text or a single message as a conversation; everything else is left to the validation."""
    return list(as_messages(value)) if isinstance(value, str | Message) else value


class LoopState(TypedDict):
    """The state of the loop.

    `messages` is the conversation, and its only input. `instructions` are said to the model before it, and are not part of it.
    """

    messages: Annotated[list[Message], BeforeValidator(_as_list), append]
    step: NotRequired[int]
    instructions: NotRequired[list[Message]]
    proposed: NotRequired[int]
    usage: NotRequired[Annotated[dict[str, float], Reducer(None, _summed, "sum")]]
    result: NotRequired[LoopResult]


def build_loop(
    id: str = "agent-loop",
    *,
    max_steps: int = 10,
    instructions: str | None = None,
    model: str | None = None,
    tools: Iterable[str] | None = None,
    max_output_tokens: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Workflow[LoopResult]:
    """Make an agentic loop.

    Run it with `{"messages": …}`, a text, a message or a list of messages, on an engine that has the model and the tools.

    Args:
        id: The workflow's id.
        max_steps: How many steps it may take; one that is not done by then ends with `finish_reason="max_steps"`.
        instructions: What the model is told before the conversation.
        model: The name of one of the engine's models; default: its default model.
        tools: The ids of the tools that the model is offered; default: all tools of the engine.
        max_output_tokens: How long each answer may be.
        parameters: Whatever else the provider understands, by name.

    Raises:
        DefinitionError: An argument makes no loop that could run, such as `max_steps=0`.
    """
    setup = _Setup(
        instructions, model, None if tools is None else tuple(tools), max_output_tokens, parameters
    )
    return define_workflow(
        id,
        nodes=[admit, setup.assemble(), setup.model_call(), run_tools, decide, conclude],
        state=LoopState,
        inputs=["messages"],
        optional_inputs=[],
        entry="admit",
        on_limit="conclude",
        max_rounds=max_steps,
        result=LoopResult,
        description="Let a model work with tools, step by step, until it is done.",
    )


@node(provides=["step"], starts_round=True, uses=Uses(), routes=[route.to("assemble")])
async def admit(_state: LoopState, ctx: NodeContext) -> dict[str, Any]:
    """Open the next step."""
    return {"step": ctx.round}


@dataclass(frozen=True, slots=True)
class _Setup:
    """What one loop asks its model with."""

    instructions: str | None
    model: str | None
    tools: tuple[str, ...] | None
    max_output_tokens: int | None
    parameters: Mapping[str, Any] | None

    def assemble(self) -> Node:
        own = () if self.instructions is None else (self.instructions,)

        @node(provides=["instructions"], uses=Uses(), routes=[route.to("model")])
        async def assemble(_state: LoopState, ctx: NodeContext) -> dict[str, Any]:
            """Gather what the model is told besides the conversation."""
            return {"instructions": [system(text) for text in (*own, *ctx.tools.instructions)]}

        return assemble

    def model_call(self) -> Node:
        @node(
            requires=["messages", "instructions"],
            provides=["messages", "proposed", "usage"],
            uses=Uses(model_calls=1),
            routes=[route.to("tools")],
        )
        async def model(state: LoopState, ctx: NodeContext) -> dict[str, Any]:
            """Ask the model, once."""
            reply = await ctx.model.invoke(
                [*state["instructions"], *state["messages"]],
                transport="message",
                model=self.model,
                tools=ctx.tools.specs(self.tools),
                max_output_tokens=self.max_output_tokens,
                parameters=self.parameters,
            )
            answer: Message = reply.value
            return {
                "messages": [answer],
                "proposed": len(answer.tool_calls),
                "usage": dict(reply.invocation.usage),
            }

        return model


@node(
    id="tools",
    requires=["messages"],
    provides=["messages"],
    uses=Uses(tool_calls=None),
    routes=[route.to("decide")],
)
async def run_tools(state: LoopState, ctx: NodeContext) -> dict[str, Any]:
    """Carry out what the model proposed; every call gets its result."""
    return {"messages": await run_calls(ctx, state["messages"][-1].tool_calls)}


@node(
    requires=["messages", "step", "usage", "proposed"],
    may_provide=["result"],
    routes=[route.deliver_if_ready("result"), route.to("admit")],
)
async def decide(state: LoopState) -> dict[str, Any] | None:
    """End when the model wants no more tools."""
    return {"result": _result(state, "stop")} if state["proposed"] == 0 else None


@node(
    requires=["messages", "step", "usage"],
    provides=["result"],
    routes=[route.deliver("result")],
)
async def conclude(state: LoopState) -> dict[str, Any]:
    """End with what there is, because the steps ran out."""
    return {"result": _result(state, "max_steps")}


def _result(state: LoopState, reason: Any) -> LoopResult:
    answers = [message for message in state["messages"] if message.role == "assistant"]
    return LoopResult(
        text=answers[-1].text,
        messages=tuple(state["messages"]),
        steps=state["step"],
        finish_reason=reason,
        usage=state["usage"],
    )
