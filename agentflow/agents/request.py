"""The request of a step, but for the conversation: what its model is told and offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentflow.agents.step_plan import StepPlan
from agentflow.graph.frozen import Lasting
from agentflow.messages.message import Message, system
from agentflow.messages.sanitising import prompted

__all__ = ["StepRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest(Lasting):
    """What one step asks its model with.

    Args:
        told: The loop's instructions, as they were resolved when it began.
        plan: What holds for this step.
    """

    told: tuple[Message, ...] = ()
    plan: StepPlan = field(default_factory=StepPlan)

    def __post_init__(self) -> None:
        object.__setattr__(self, "told", tuple(self.told))

    def asking(self, conversation: Sequence[Message], *, feedback: str | None) -> list[Message]:
        """The messages as the model gets them: instructions, feedback, conversation, and what is contributed.

        Args:
            conversation: What was said.
            feedback: What was wrong with an earlier attempt.
        """
        plan = self.plan
        first = self.told if plan.instructions is None else (system(plan.instructions),)
        last = () if not feedback else (system(feedback, provenance="notice"),)
        added = plan.contributions
        if not added:
            return [*first, *last, *conversation]
        asked = [
            *first,
            *(message for message in added if message.role == "system"),
            *last,
            *conversation,
            *(message for message in added if message.role != "system"),
        ]
        # The conversation has been seen to; what is contributed may have the role of an answer.
        return prompted(asked)
