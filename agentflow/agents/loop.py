"""The agentic loop: a workflow made with `define_workflow`, checked, drawn and run like any other.

::

    admit (starts a round) [-> compress] -> assemble -> model -> tools -> decide -> admit, or the result

Step n is round n. When the rounds run out, the loop ends softly, at `conclude`, with what there is; or `answer` asks the model
for its last word before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from agentflow.agents.acting import Acting
from agentflow.agents.asking import Asking
from agentflow.agents.compressing import compressed
from agentflow.agents.compression import Compressor, uses_of
from agentflow.agents.deciding import Deciding
from agentflow.agents.handing_over import HandingOver, HandingState, handed_over
from agentflow.agents.instructions import Instructions, Retriever
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import LoopState
from agentflow.agents.max_steps import resolve_steps
from agentflow.agents.option_check import check_options
from agentflow.agents.setup import LoopSetup
from agentflow.agents.step_plan import IDS, PrepareStep, StepPlan, forcing
from agentflow.agents.stop import StopWhen, as_conditions
from agentflow.agents.structured_step import as_structured
from agentflow.graph.condition import field
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.tools.repeats import RepeatLimit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["LoopState", "OnMaxSteps", "admit", "asked", "build_loop", "loop_of"]

OnMaxSteps = Literal["stop", "answer", "raise"]
"""What happens when the steps run out: the loop ends with what there is; the model is asked for its last word, without
tools, in one more call; or the run fails with `BudgetExceeded`."""


def build_loop(
    id: str = "agent-loop",
    *,
    max_steps: int | None = None,
    on_max_steps: OnMaxSteps = "stop",
    stop_when: StopWhen | Iterable[StopWhen] | None = None,
    prepare_step: PrepareStep | None = None,
    instructions: Instructions | None = None,
    markdown: bool = False,
    retriever: Retriever | None = None,
    output: Any = None,
    model: str | None = None,
    tools: Iterable[str] | None = None,
    tool_choice: str | None = None,
    max_output_tokens: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    repeat_limit: RepeatLimit | None = None,
    tool_model_calls: int | None = 0,
    compressor: Compressor | None = None,
    compress_above_chars: int = 20_000,
) -> Workflow[LoopResult]:
    """Make an agentic loop.

    Run it with `{"messages": …}`, a text, a message or a list of messages, on an engine that has the model and the tools.

    Args:
        id: The workflow's id.
        max_steps: How many steps it may take; default: 10, or 1,000 with a `stop_when`. It is the loop's `max_rounds`, so
            that the number of model calls is proved.
        on_max_steps: What happens when they have run out: `stop` ends with `finish_reason="max_steps"`, `answer` asks the
            model once more before, without tools, and `raise` fails with `BudgetExceeded`.
        stop_when: Conditions of which any ends the loop, asked after each step that would be followed by another.
        prepare_step: Says what one step asks with, before it begins.
        instructions: What the model is told before the conversation: a text, or a function of an `InstructionContext`, asked
            once a run.
        markdown: Whether it is told to answer in Markdown.
        retriever: Finds what belongs to the current question, asked once a run.
        output: The type of the structured output that the answer must be; tools may be called before. An answer that is not
            valid goes back to the model, as a further step, as often as `structured(type, corrections=1)` says.
        model: The name of one of the engine's models; default: its default model.
        tools: The ids of the tools that the model is offered; default: all tools of the engine.
        tool_choice: What the model must call in step 1: `required`, or the id of a tool.
        max_output_tokens: How long each answer may be.
        parameters: Whatever else the provider understands, by name.
        repeat_limit: How often the model may make the same tool call; default: as often as it likes.
        tool_model_calls: How many model calls the tools of one step may make, such as those that ask another agent; `None` for
            any number.
        compressor: Makes a long conversation shorter before the model is asked, at the node `compress`; the conversation itself
            stays what it is. Default: nobody.
        compress_above_chars: How long it may be, in characters, before it is.

    Raises:
        DefinitionError: An argument makes no loop that could run, such as `max_steps=0`.
        TypeError: An argument is of the wrong kind, or no schema can be made of `output`.
        ValueError: There is no such `on_max_steps`.
    """
    check_options(
        {
            "on_max_steps": on_max_steps,
            "prepare_step": prepare_step,
            "instructions": instructions,
            "markdown": markdown,
            "retriever": retriever,
            "tool_choice": tool_choice,
            "repeat_limit": repeat_limit,
            "compressor": compressor,
            "compress_above_chars": compress_above_chars,
        }
    )
    IDS.check("tools", tools)
    conditions, wanted = as_conditions(stop_when), as_structured(output)
    plan = StepPlan(
        model=model,
        tools=None if tools is None else tuple(tools),
        max_output_tokens=max_output_tokens,
        parameters={} if parameters is None else parameters,
    )
    setup = LoopSetup(
        instructions=instructions,
        markdown=markdown,
        retriever=retriever,
        plan=plan,
        prepare_step=prepare_step if tool_choice is None else forcing(tool_choice, prepare_step),
        stop_when=conditions,
        output=wanted,
        corrections=0 if wanted is None else wanted.corrections,
        repeat_limit=repeat_limit,
        compressor=compressor,
        compress_above_chars=compress_above_chars,
    )
    steps = resolve_steps(agent=max_steps, stops=bool(conditions))
    return loop_of(
        id,
        setup,
        max_steps=steps,
        on_max_steps=on_max_steps,
        tool_model_calls=tool_model_calls,
        compressing=uses_of(compressor),
    )


def loop_of(
    id: str,
    setup: LoopSetup,
    *,
    max_steps: int,
    on_max_steps: OnMaxSteps = "stop",
    tool_model_calls: int | None = 0,
    sends: int = 1,
    handing: Uses | None = None,
    compressing: Uses | None = None,
) -> Workflow[LoopResult]:
    """The loop of a setup; raises as `build_loop` does.

    A step may send its model request up to `sends` times. `handing` is what an agent may spend that takes the conversation over,
    if any can: then `handoff` stands between `tools` and `decide`. `compressing` is what whoever makes the conversation shorter may
    spend, if anybody does: then `compress` stands before `assemble`.
    """
    asking, acting, deciding = Asking(setup), Acting(setup), Deciding(setup)
    nodes = [*asked(setup, sends, compressing), _decided(deciding)]
    state: type[LoopState] = LoopState
    if handing is None:
        nodes.insert(-1, _acted(acting, tool_model_calls))
    else:
        over, state = HandingOver(setup, acting), HandingState
        nodes[-1:-1] = [_acted_or_handed(over, tool_model_calls), handed_over(over, handing)]
    on_limit: str | None = None
    if on_max_steps == "answer":
        nodes.append(_last_word(asking, sends))
        on_limit = "answer"
    if on_max_steps != "raise":
        nodes.append(_concluded(deciding))
        on_limit = on_limit or "conclude"
    return define_workflow(
        id,
        nodes=nodes,
        state=state,
        inputs=["messages"],
        optional_inputs=["feedback"],
        entry="admit",
        on_limit=on_limit,
        max_rounds=max_steps,
        result=LoopResult,
        description="Let a model work with tools, step by step, until it is done.",
    )


@node(
    requires=["messages"],
    provides=["step", "given"],
    starts_round=True,
    uses=Uses(),
    routes=[route.to("assemble")],
)
async def admit(state: LoopState, ctx: NodeContext) -> dict[str, Any]:
    """Open the next step."""
    return {"step": ctx.round, "given": state.get("given", len(state["messages"]))}


def asked(setup: LoopSetup, sends: int, compressing: Uses | None) -> list[Node]:
    """The nodes that open a step, put a model request together and send it, up to `sends` times; the last is the one that asks."""
    asking = Asking(setup)
    opening: Node = admit
    before = [opening]
    if compressing is not None:
        before = [
            replace(opening, routes=(route.to("compress"),)),
            compressed(setup, compressing),
        ]
    return [
        *before,
        node(
            asking.assemble,
            requires=["messages", "step"],
            provides=["request"],
            uses=Uses(),
            routes=[route.to("model")],
        ),
        node(
            asking.model,
            requires=["messages", "request"],
            provides=["messages", "steps"],
            uses=Uses(model_calls=sends),
            routes=[route.to("tools")],
        ),
    ]


def _acted(acting: Acting, model_calls: int | None) -> Node:
    return node(
        acting.tools,
        requires=["messages", "steps"],
        provides=["messages"],
        may_provide=["bailed"],
        uses=Uses(model_calls=model_calls, tool_calls=None),
        routes=[route.to("decide")],
    )


def _acted_or_handed(handing: HandingOver, model_calls: int | None) -> Node:
    return node(
        handing.tools,
        requires=["messages", "steps"],
        provides=["messages", "handing"],
        may_provide=["bailed"],
        uses=Uses(model_calls=model_calls, tool_calls=None),
        routes=[route.to("decide", when=field("handing").is_none()), route.to("handoff")],
    )


def _decided(deciding: Deciding) -> Node:
    return node(
        deciding.decide,
        requires=["messages", "steps", "given"],
        may_provide=["result", "messages", "corrected"],
        uses=Uses(),
        routes=[route.deliver_if_ready("result"), route.to("admit")],
    )


def _last_word(asking: Asking, sends: int) -> Node:
    return node(
        asking.answer,
        requires=["messages", "request"],
        provides=["messages", "steps"],
        uses=Uses(model_calls=sends),
        routes=[route.to("conclude")],
    )


def _concluded(deciding: Deciding) -> Node:
    return node(
        deciding.conclude,
        requires=["messages", "steps", "given"],
        provides=["result"],
        uses=Uses(),
        routes=[route.deliver("result")],
    )
