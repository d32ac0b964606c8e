"""The branches of one visit: sub-workflows, alone or at the same time, that have all ended before the visit goes on.

What one of them comes to decides about the others here, and nowhere else: a failure stops them or is noted, a suspension lets
them finish first, and a limit, a bail or a contract error stops everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

from agentflow.errors import AgentflowError, RunCancelled
from agentflow.run.decide import UNRECOVERABLE, Bail, Suspend, merged, noted, told, unwrapped
from agentflow.run.effects import performing
from agentflow.run.signal import scope_of

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch, OnBranchError
    from agentflow.graph.plan import Plan
    from agentflow.run.context import NodeContext
    from agentflow.run.frame import Frame

__all__ = ["Branches", "Key"]

T = TypeVar("T")

Key = str | int
"""What a branch is called among its siblings: its name, or the number of its item; `""` if it has no siblings."""


class Branches:
    """The branches of one attempt of a visit.

    Args:
        ctx: The visit.
        on_branch_error: What a failing branch does.
        names: The branches in declared order, if they have names; else their numbers are their order.
    """

    def __init__(
        self, ctx: NodeContext, on_branch_error: OnBranchError = "cancel", names: Sequence[Key] = ()
    ) -> None:
        self._ctx = ctx
        self._names = names
        self._collects = on_branch_error == "collect"
        self._signal = ctx.signal.derive()
        self._waits: dict[Key, Suspend] = {}
        self._error: BaseException | None = None
        self._failures: dict[Key, dict[str, Any]] = {}
        self._recorded: set[Key] = set()

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The failures that were collected, in order: `{"branch": …, "error": …, "message": …}`."""
        return self.in_order(self._failures)

    def collected(self, key: Key) -> Literal["now", "before"] | None:
        """Whether the failure of a branch was collected, and when: a recorded one has been told of."""
        if key not in self._failures:
            return None
        return "before" if key in self._recorded else "now"

    def in_order(self, found: Mapping[Key, T]) -> list[T]:
        """What branches came to, by their keys, in the order of the branches, whichever was first."""
        keys = [name for name in self._names if name in found] or sorted(found, key=int)
        return [found[key] for key in keys]

    @property
    def stopped(self) -> bool:
        """Whether no further branch is to begin."""
        return self._signal.fired

    def stop(self, reason: object) -> None:
        """Cancel the branches that are under way."""
        self._signal.cancel(reason)

    async def run(
        self, key: Key, branch: Branch, inputs: Mapping[str, Any]
    ) -> tuple[Frame, Any] | None:
        """Run a branch, and return its frame and what it delivered; `None` if it came to no result.

        Why it did not is kept for `settle`.
        """
        if self._collects and (failed := self._ctx.record.find(self._effect_key(key))) is not None:
            self._failures[key] = failed.value
            self._recorded.add(key)
            return None
        frame = self._frame(key, branch)
        try:
            with scope_of(frame.signal):
                return frame, await frame.execute(inputs)
        except (Exception, BaseExceptionGroup, Bail, Suspend) as raised:
            error: BaseException | None = unwrapped(raised)
        else:
            # The block was left by a cancel of the frame's signal.
            error = RunCancelled(frame.signal.reason)
        if isinstance(error, Suspend):
            self._waits[key] = error
            return None
        if isinstance(error, RunCancelled):
            # What a node raised when it was stopped comes along as the cause.
            error = error.__cause__ if self.stopped else _cancelled_alone(self._ctx, frame, key)
        # The visit that was under way in it is not recorded by itself.
        spent = frame.take_spent() if frame.run.journal is not None else {}
        if self._collects and not self.stopped and _is_failure(error):
            await self._collect(key, error, spent)
        else:
            self._ctx.record.lose(spent)
            if error is not None:
                self.fail(key, error)
        del error  # This frame stands in its traceback.
        return None

    def fail(self, key: Key, error: BaseException) -> None:
        """Stop the others because of an error; of one that came because they were stopped, a note is made."""
        if not self.stopped:
            self._error = error
            self.stop(f"branch {key!r} of node {self._ctx.node_id!r} failed")
        elif self._error is not None:
            kind = type(error).__name__
            noted(self._error, f"branch {key!r} failed as well: {kind}: {told(error)}")

    def settle(self) -> None:
        """Raise what the visit ends with, if its branches have not all come to a result.

        Raises:
            BaseException: What the first branch raised that stopped the others.
            RunCancelled: The run was cancelled.
            Suspend: Some wait, and the others have ended; with the requests of all of them.
        """
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # This frame stands in its traceback.
        if self._ctx.signal.fired:
            raise RunCancelled(self._ctx.signal.reason)
        if self._waits:
            raise merged(self.in_order(self._waits))

    async def _collect(self, key: Key, error: BaseException, spent: Mapping[str, float]) -> None:
        """Note a failure; for good, so that a branch that has failed is not tried again when the visit is gone on with."""
        failure = {"branch": key, "error": type(error).__name__, "message": told(error)}
        self._failures[key] = failure
        async with performing(self._ctx, "branch", self._effect_key(key), None) as performance:
            performance.take_over(spent)
            await performance.keep(failure)

    def _effect_key(self, key: Key) -> str:
        return self._ctx.effect_key(f"branch:{self._ctx.attempt}.{key}")

    def _frame(self, key: Key, branch: Branch) -> Frame:
        ctx = self._ctx
        again = f".{ctx.attempt}" if ctx.attempt > 1 else ""
        name = "" if key == "" else f"[{key}]"
        id = f"{ctx.frame.id}/{ctx.node_id}#{ctx.visit}{again}{name}"
        frame = ctx.frame.below(ctx, branch.workflow.plan, id=id, signal=self._signal.derive())
        if branch.outputs:
            frame.added = continued(ctx.frame.plan, branch)
        return frame


def _is_failure(error: BaseException | None) -> TypeGuard[Exception]:
    return isinstance(error, Exception) and not isinstance(error, UNRECOVERABLE)


def _cancelled_alone(ctx: NodeContext, frame: Frame, key: Key) -> AgentflowError:
    """A cancel of a branch's own signal is a failure of the branch, not the end of the run."""
    workflow, reason = frame.plan.workflow.id, told(frame.signal.reason)
    where = (
        f"of node {ctx.node_id!r}" if key == "" else f"of branch {key!r} of node {ctx.node_id!r}"
    )
    return AgentflowError(f"the sub-workflow {workflow!r} {where} was cancelled: {reason}")


def continued(plan: Plan, branch: Branch) -> dict[str, list[Any]] | None:
    """The fields of a branch that go on from a surrounding field with the same reducer, with nothing added to them yet.

    Of such a field it is taken what the branch adds: the rest is there already.
    """
    found: dict[str, list[Any]] = {
        source: []
        for target, source in branch.outputs.items()
        if branch.continues(target, plan.schema)
    }
    return found or None
