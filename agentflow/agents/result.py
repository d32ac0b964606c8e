"""The results of an agent's calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from agentflow.agents.loop_result import FinishReason, LoopResult
from agentflow.agents.step import Step
from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall
from agentflow.run.usage import Usage

if TYPE_CHECKING:
    from agentflow.graph.bounds import Bounds
    from agentflow.graph.workflow import Workflow
    from agentflow.run.ledger import Ledger

__all__ = ["ObjectResult", "TextResult"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextResult:
    """What a call of an agent has come to.

    Args:
        loop: What its loop has come to.
        workflow: The workflow that was run.
        run_id: The run.
        total_usage: What all model calls of the run have used, those of sub-agents and of earlier attempts included.
        usage_by_path: The same, by the nodes that have called, as in `tools/research/model`.
    """

    loop: LoopResult
    workflow: Workflow[Any]
    run_id: str
    total_usage: Usage
    usage_by_path: Mapping[str, Usage]

    @classmethod
    def of(
        cls, loop: LoopResult, workflow: Workflow[Any], run_id: str, ledger: Ledger
    ) -> TextResult:
        """The result of a loop, with what its ledger tells."""
        by_path = ledger.usage_by_path
        return cls(
            loop=loop,
            workflow=workflow,
            run_id=run_id,
            total_usage=Usage.total(by_path.values()),
            usage_by_path=by_path,
        )

    @property
    def text(self) -> str:
        """What the model said last."""
        return self.loop.text

    @property
    def object(self) -> Any:
        """The structured output, if it was asked for; or the value of the tool that ended the loop."""
        return self.loop.object

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, the input included. Every tool call in it has its result."""
        return self.loop.messages

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """What was said since the input."""
        return self.loop.new_messages

    @property
    def steps(self) -> tuple[Step, ...]:
        """The model calls, each with the tool calls that it brought and their results."""
        return self.loop.steps

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of all steps, in order."""
        return self.loop.tool_calls

    @property
    def finish_reason(self) -> FinishReason:
        """Why it ended."""
        return self.loop.finish_reason

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the agents that the conversation was handed to, one after the other; the last of them has answered.

        Empty where the agent that was asked has answered itself.
        """
        return self.loop.path

    @property
    def usage(self) -> Usage:
        """What the agent's own steps have used, and those of agents that have taken over."""
        return Usage.total(
            Usage(calls=1, figures=record.usage, told=dict.fromkeys(record.usage, 1))
            for record in self.loop.records
        )

    @property
    def cost(self) -> float | None:
        """US dollars of the whole run; `None` unless every call has told what it cost."""
        return self.total_usage.known("cost")

    @property
    def bounds(self) -> Bounds:
        """The proved worst case of the run, as it was known before it began."""
        return self.workflow.bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectResult(TextResult, Generic[T]):
    """The same, with a structured output of the type that was asked for."""

    @classmethod
    def holding(cls, made: TextResult) -> Self:
        """The result of a call that has asked for a structured output."""
        return cls(**{each.name: getattr(made, each.name) for each in fields(made)})

    @property
    def object(self) -> T:
        """The structured output."""
        value: T = self.loop.object
        return value
