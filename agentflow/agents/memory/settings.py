"""Memory: what an agent remembers from one call to the next, where that is kept, and when it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from agentflow.agents.memory.ports import ConversationHistory, Recall, WorkingMemory
from agentflow.graph.argument import WAIT, check_fields, or_none, whole, with_methods

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agentflow.agents.memory.owner import Owner
    from agentflow.agents.memory.turn import Turn
    from agentflow.tools.tool import Tool

__all__ = ["Memory", "Save", "as_memory"]

Save = Literal["finish", "step", "step_and_wait", "never"]
"""When something is written.

- `finish`: a turn, when it has ended well
- `step`: besides, a record of what each step has said, beside the loop
- `step_and_wait`: the same, and the next step begins when the record is kept
- `never`: memory is read only
"""

_DEBOUNCE: Final = 0.2

_WANTED: Final = {
    "turns": whole(0),
    "working": or_none(with_methods("a WorkingMemory", "get", "put")),
    "working_type": or_none(with_methods("a pydantic model", "model_validate")),
    "recall": or_none(with_methods("a Recall, such as SemanticRecall(…)", "add", "search")),
    "debounce": WAIT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What an agent remembers. It holds nothing of a call, and may be shared by agents.

    Args:
        history: Keeps conversations.
        turns: How many of the latest turns of a conversation are told to the model.
        working: Keeps what the agent knows of a resource; it is told with the instructions.
        working_type: The pydantic model of that, by which the model updates it, with the tool `update_working_memory`.
        recall: Finds earlier turns by what they say; they are told before the latest ones.
        save: When something is written.
        debounce: Seconds that a record of a step waits for others, to be written together with them.

    Raises:
        TypeError: `history` or another part is none.
        ValueError: A number is out of range, there is no such `save`, or of `working` and `working_type` one is missing.

    Attributes:
        tools: What the model is offered because of it.
    """

    history: ConversationHistory
    turns: int = 20
    working: WorkingMemory | None = None
    working_type: type[BaseModel] | None = None
    recall: Recall | None = None
    save: Save = "finish"
    debounce: float = _DEBOUNCE
    tools: tuple[Tool, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        if not callable(getattr(self.history, "load", None)):
            raise TypeError(
                f"history={self.history!r} keeps no conversations: give InMemoryHistory(), or another ConversationHistory"
            )
        check_fields(self, _WANTED)
        if self.save not in get_args(Save):
            said = ", ".join(map(repr, get_args(Save)))
            raise ValueError(f"save={self.save!r}: it is one of {said}")
        if (self.working is None) != (self.working_type is None):
            raise ValueError(
                "working= keeps a working memory, and working_type= says what is in it: give both, or none"
            )
        if self.working is not None and self.working_type is not None and self.writes:
            # Only now: a memory without it needs no tools.
            from agentflow.agents.memory.working import updating

            object.__setattr__(self, "tools", (updating(self.working, self.working_type),))

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return self.save != "never"

    @property
    def records_steps(self) -> bool:
        """Whether the steps of a turn are recorded before it has ended."""
        return self.save in ("step", "step_and_wait")

    async def read(self, owner: Owner, query: str) -> Sequence[Turn]:
        """The turns that are told to the model: those that were found by the query, then the latest; none of them twice.

        Args:
            owner: Whose.
            query: What is asked.
        """
        if owner.resource_id is None:
            return ()
        thread = owner.thread
        latest: Sequence[Turn] = ()
        if thread is not None and self.turns:
            latest = await self.history.load(thread, last=self.turns)
        if self.recall is None or not query.strip():
            return latest
        found = await self.recall.search(owner.resource_id, owner.thread_id, query)
        known = {turn.id for turn in latest}
        wanted = [id for id in dict.fromkeys(found) if id not in known]
        earlier = await self.history.find(owner.resource_id, wanted) if wanted else ()
        return (*earlier, *latest)

    async def keep(self, owner: Owner, turn: Turn) -> None:
        """Make a turn a part of the history; doing it again changes nothing."""
        thread = owner.thread
        if thread is None:
            return
        await self.history.append(thread, turn)
        if self.recall is not None:
            await self.recall.add(thread, turn)

    async def forget(self, resource_id: str, thread_id: str | None = None) -> None:
        """Delete what is kept of a resource: everything, or one conversation with those of sub-agents below it.

        The working memory belongs to no conversation, and goes with everything only.

        Args:
            resource_id: Whose.
            thread_id: Which conversation; default: all, and the working memory.
        """
        if self.recall is not None:
            # First: what was found must still be there.
            await self.recall.forget(resource_id, thread_id)
        await self.history.forget(resource_id, thread_id)
        if self.working is not None and thread_id is None:
            await self.working.drop(resource_id)


def as_memory(given: Any) -> Memory | None:
    """What was given as memory; `None` for `False`, which is to have none.

    Raises:
        TypeError: It is neither.
    """
    if given is False:
        return None
    if not isinstance(given, Memory):
        raise TypeError(f"memory={given!r}: give Memory(history=…), or False for none")
    return given
