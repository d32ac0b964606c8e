"""Step plans: what one step asks its model with, and who may say so."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agentflow.agents.overlay import overlaid
from agentflow.agents.step import Step
from agentflow.errors import ContractError
from agentflow.graph.argument import LIST, MAPPING, TEXT, Wanted, check_fields, or_none, whole
from agentflow.graph.frozen import freeze
from agentflow.messages.message import Message, as_messages

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["IDS", "PrepareStep", "StepContext", "StepPlan", "chained", "forcing", "planned"]


IDS: Final = Wanted(or_none(LIST).accepts, "a list of ids")

_WANTED: Final[Mapping[str, Wanted]] = {
    "model": or_none(TEXT),
    "instructions": or_none(TEXT),
    "tools": IDS,
    "tool_choice": or_none(TEXT),
    "max_output_tokens": or_none(whole(1)),
    "parameters": MAPPING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What a step asks its model with. What it does not say stays as it is for the whole loop.

    It cannot touch the conversation: what it contributes is said in this request alone, and is no part of the history.

    Args:
        model: The name of one of the engine's models.
        instructions: What the model is told before the conversation, in place of the loop's instructions.
        tools: The ids of the tools that the model may see; a call of another one is refused.
        tool_choice: `auto`, `none`, `required`, or the id of a tool.
        max_output_tokens: How long the answer may be.
        parameters: Whatever else the provider understands, by name; merged into those of the loop at every depth.
        contributions: Messages for this request only: system texts after the instructions, others after the conversation.
            Their provenance is `contributed`, whatever their role.

    Raises:
        ContractError: A contribution claims to come from the model or from a tool, or calls something.
        TypeError: One of them is of the wrong kind, such as one text for `tools`.
        ValueError: `max_output_tokens` is no whole number of at least 1.
    """

    model: str | None = None
    instructions: str | None = None
    tools: Sequence[str] | None = None
    tool_choice: str | None = None
    max_output_tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    contributions: Sequence[Message] = ()

    def __post_init__(self) -> None:
        check_fields(self, _WANTED)
        if self.tools is not None:
            object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "parameters", freeze(dict(self.parameters)))
        object.__setattr__(self, "contributions", _contributed(self.contributions))

    def over(self, below: StepPlan) -> StepPlan:
        """The plan in which this one is laid over another: what it does not say is as below."""
        said = {
            name: value
            for name in ("model", "instructions", "tools", "tool_choice", "max_output_tokens")
            if (value := getattr(self, name)) is not None
        }
        return replace(
            below,
            **said,
            parameters=overlaid(below.parameters, self.parameters),
            contributions=(*below.contributions, *self.contributions),
        )


def _contributed(given: Iterable[Message]) -> tuple[Message, ...]:
    messages = as_messages(given)
    for message in messages:
        if message.role == "tool" or message.tool_calls or message.tool_results:
            raise ContractError(
                f"a step plan contributes a tool call or its result, in a message of role {message.role!r}: nobody but the "
                f"model and the tools speaks for them"
            )
        if message.provenance in ("model", "tool"):
            raise ContractError(
                f"a step plan contributes a message of role {message.role!r} whose provenance is {message.provenance!r}: nobody "
                f"but the model and the tools speaks for them; give it provenance='contributed'"
            )
    return tuple(
        message
        if message.provenance == "contributed"
        else replace(message, provenance="contributed")
        for message in messages
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What whoever prepares a step may look at.

    Args:
        number: The step that is about to begin, from 1.
        messages: The conversation up to now.
        steps: The steps before.
        run_id: The run.
        context: The caller's own map.
        identity: Who this is for, set by the host.
        deps: The live objects that the caller gave to the run.
    """

    number: int
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    run_id: str
    context: dict[str, Any]
    identity: Any
    deps: Any

    @classmethod
    def of(
        cls, ctx: NodeContext, number: int, messages: Iterable[Message], steps: tuple[Step, ...]
    ) -> StepContext:
        """The context of a step of the visit's run."""
        return cls(
            number=number,
            messages=tuple(messages),
            steps=steps,
            run_id=ctx.run_id,
            context=ctx.context,
            identity=ctx.identity,
            deps=ctx.deps,
        )


PrepareStep = Callable[[StepContext], StepPlan | Awaitable[StepPlan | None] | None]
"""Says what a step asks with, before it begins; plain or async. `None` changes nothing."""


async def planned(prepare: PrepareStep, step: StepContext) -> StepPlan:
    """The plan that it gives for a step.

    Raises:
        ContractError: It gave something else.
    """
    plan = prepare(step)
    if inspect.isawaitable(plan):
        plan = await plan
    if plan is None:
        return StepPlan()
    if not isinstance(plan, StepPlan):
        raise ContractError(
            f"prepare_step gave {type(plan).__name__} for step {step.number}; it gives a StepPlan, or None. "
            f"Nobody replaces the conversation: what is to be said besides it goes into StepPlan(contributions=…)"
        )
    return plan


def chained(prepares: Iterable[PrepareStep]) -> PrepareStep:
    """Several of them as one: each is laid over those before."""
    links = tuple(prepares)

    async def prepare(step: StepContext) -> StepPlan:
        plan = StepPlan()
        for link in links:
            plan = (await planned(link, step)).over(plan)
        return plan

    return prepare


def forcing(tool_choice: str, prepare: PrepareStep | None = None) -> PrepareStep:
    """The same preparation with a tool choice that holds for step 1, and for no other.

    Args:
        tool_choice: `required`, `none`, or the id of a tool.
        prepare: What else is prepared; everything that it says but the tool choice of step 1 stays.
    """

    async def forced(step: StepContext) -> StepPlan:
        plan = StepPlan() if prepare is None else await planned(prepare, step)
        return replace(plan, tool_choice=tool_choice) if step.number == 1 else plan

    return forced
