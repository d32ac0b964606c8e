"""Owners: whose memory a call reads and writes, and who may say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentflow.agents.memory.turn import Thread
from agentflow.errors import ContractError
from agentflow.graph.argument import NAME, check_fields, or_none

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["RESERVED", "Owner", "owner_of", "owner_recorded"]

RESERVED: Final = ("resource_id", "thread_id")
"""The keys of identity and context that say whose memory it is; also the options of a call, which have the last say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose memory a call has.

    Args:
        resource_id: Whose; without it nothing is read or written.
        thread_id: Which of their conversations; without it no conversation is.

    Raises:
        TypeError: One of them is no text, or an empty one.
    """

    resource_id: str | None = None
    thread_id: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, {"resource_id": or_none(NAME), "thread_id": or_none(NAME)})

    @property
    def thread(self) -> Thread | None:
        """The conversation, if both are known."""
        if self.resource_id is None or self.thread_id is None:
            return None
        return Thread(self.resource_id, self.thread_id)


def owner_of(*sources: Any) -> Owner:
    """The owner by the first source that names each id.

    Args:
        sources: The most trusted first: mappings, or objects with attributes `resource_id` and `thread_id`.

    Raises:
        ContractError: An id is no text, or an empty one.
    """
    found: dict[str, str] = {}
    for name in RESERVED:
        for source in sources:
            value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
            if value is None:
                continue
            if not isinstance(value, str) or not value:
                # Not passed over: the next source may name somebody else.
                raise ContractError(f"{name}={value!r}: it is a text that names one, or None")
            found[name] = value
            break
    return Owner(**found)


def owner_recorded(ctx: NodeContext) -> Owner:
    """The owner of the call that a visit belongs to; below another agent, the other's, with a conversation of its own.

    Raises:
        ContractError: An id is no text, or an empty one.
    """
    frame, tag = ctx.frame, ""
    while True:
        owner: Owner | None = frame.state.get("owner")
        if owner is not None:
            break
        above = frame.above
        if above is None:
            owner = owner_of(ctx.identity, ctx.context)
            break
        if above.frame.run is not frame.run:
            # What another agent asks is no part of what its user has said.
            tag = f"/{frame.run.engine.workflow.id}{tag}"
        frame = above.frame
    if owner.thread_id is None or not tag:
        return owner
    return Owner(resource_id=owner.resource_id, thread_id=f"{owner.thread_id}{tag}")
