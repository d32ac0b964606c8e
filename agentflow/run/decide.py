"""What next: pure functions of a plan, a state and an outcome. No I/O, no clock, nothing awaited.

A run is deterministic given the results of its effects because everything that decides its way is here.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from agentflow.errors import (
    BudgetExceeded,
    ContractError,
    DeliveryError,
    Divergence,
    IncompatibleRun,
    PrivateFieldMissing,
    RunCancelled,
    RunConflict,
    StoreError,
)
from agentflow.graph.contract import contract_error, private_error
from agentflow.graph.frozen import State, thaw
from agentflow.graph.reducer import append

if TYPE_CHECKING:
    from datetime import datetime

    from agentflow.graph.plan import Plan, PlanNode, PlanRoute
    from agentflow.graph.schema import FieldSpec
    from agentflow.run.suspension import Request

__all__ = [
    "Bail",
    "Failure",
    "choose_route",
    "final_value",
    "fresh_values",
    "join",
    "merged",
]


class Bail(BaseException):
    """Ends the run with a value, through every `except Exception` on the way. Never seen outside of the kernel."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(value)


class Suspend(BaseException):
    """Ends the activity of a run, in the same way: it waits for answers, or for a time.

    Args:
        requests: What it asks.
        due: When it goes on without an answer.
        refused: Why an answer that was given is none, so that it is asked for again.
    """

    def __init__(
        self,
        requests: tuple[Request, ...],
        due: datetime | None = None,
        refused: ContractError | None = None,
    ) -> None:
        self.requests = requests
        self.due = due
        self.refused = refused
        super().__init__(requests, due)


@dataclass(frozen=True, slots=True)
class Failure:
    """What an error node is told: the type of the error, its message, and the node that failed."""

    type: str
    message: str
    node_id: str


def told(value: object) -> str:
    """The text of an error or a reason, whatever its `__str__` does: telling must not fail where the run would not."""
    try:
        return str(value)
    except Exception as error:
        return f"({type(value).__name__} without text: its __str__ raised {type(error).__name__})"


def noted(error: BaseException, note: str) -> None:
    """Add a note to an error, if it takes any: a frozen dataclass takes none."""
    with contextlib.suppress(Exception):
        error.add_note(note)


UNRECOVERABLE = (
    BudgetExceeded,
    ContractError,
    DeliveryError,
    Divergence,
    IncompatibleRun,
    PrivateFieldMissing,
    RunCancelled,
    RunConflict,
    StoreError,
)
"""Errors that no retry and no error node may turn into a success."""

STOPPED = (IncompatibleRun, PrivateFieldMissing, StoreError)
"""Errors that decide nothing: a durable run is left at its last record, and can go on."""


def refuse(where: str, spec: FieldSpec, value: Any, error: Exception) -> NoReturn:
    """Raise the `ContractError` for a value that is none of a field."""
    if spec.private:
        # The message is recorded and shown to observers; the cause is told by whatever logs the error.
        raise private_error(where, error) from None
    raise contract_error(where, value, error) from error


def fresh_values(node: PlanNode, update: Any) -> dict[str, Any]:
    """The validated, frozen values of an update; nothing is committed yet.

    Raises:
        ContractError: The update is no mapping, names an undeclared field, lacks a provided one, or a value is invalid.
    """
    if update is None:
        update = {}
    elif type(update) is not dict:
        update = _read(node, update)
    values: dict[str, Any] = {}
    exact = node.exact
    for name, value in update.items():
        if exact.get(name) is type(value):
            values[name] = value
            continue
        spec = node.writes.get(name)
        if spec is None:
            raise ContractError(_undeclared(node, name))
        try:
            values[name] = spec.delta.accept(value)
        except Exception as error:
            refuse(f"{_name(node)}, field {name!r}", spec, value, error)
    for name in node.provides:
        if name not in values:
            raise ContractError(
                f"{_name(node)} provides the field {name!r}, but its update does not hold it"
            )
    return values


def _read(node: PlanNode, update: Any) -> dict[Any, Any]:
    if not isinstance(update, Mapping):
        if inspect.isawaitable(update):
            _close(update)
        raise ContractError(
            f"{_name(node)} returned {type(update).__name__}; a node returns a mapping of the fields it changes, or None"
        )
    try:
        return dict(update.items())
    except Exception as error:
        raise ContractError(
            f"{_name(node)} returned {type(update).__name__}, a mapping that cannot be read: "
            f"{type(error).__name__}: {told(error)}"
        ) from error


def _undeclared(node: PlanNode, name: object) -> str:
    declared = ", ".join(map(repr, node.writes)) or "nothing"
    return (
        f"{_name(node)} returned the field {name!r}, which it does not declare (it declares {declared}); "
        f"return only the fields that the node changes, and name them in provides or may_provide"
    )


def join(node: PlanNode, state: State, values: dict[str, Any]) -> dict[str, Any]:
    """The new values of fields, deltas joined with what the state holds.

    `append` works in place, so it comes last, when nothing can fail any more.
    """
    joined = dict(values)
    for name, delta in values.items():
        spec = node.writes[name]
        if spec.reducer is not None and spec.reducer is not append:
            where = f"{_name(node)}, field {name!r}, reducer {spec.reducer}"
            try:
                joined[name] = spec.joined(dict.get(state, name), delta)
            except Exception as error:
                refuse(where, spec, delta, error)
    for name, delta in values.items():
        spec = node.writes[name]
        if spec.reducer is append:
            joined[name] = spec.joined(dict.get(state, name), delta)
    return joined


def choose_route(node: PlanNode, state: State) -> PlanRoute:
    """The first route that matches the state.

    Raises:
        ContractError: None matches, or a condition raised or gave no `bool`.
    """
    for route in node.routes:
        test = route.test
        if test is None:
            return route
        try:
            matched = test(state)
        except Exception as error:
            raise ContractError(
                f"{_name(node)}: the condition of the route {route.route} raised {type(error).__name__}: {told(error)}"
            ) from error
        if matched is True:
            return route
        if matched is not False:
            if inspect.isawaitable(matched):
                _close(matched)
            raise ContractError(
                f"{_name(node)}: the condition of the route {route.route} gave {type(matched).__name__}; it must give True or False"
            )
    tried = "; ".join(str(route.route) for route in node.routes)
    raise ContractError(f"{_name(node)}: no route matches the state (tried: {tried})")


def final_value(plan: Plan, node: PlanNode, route: PlanRoute, state: State) -> Any:
    """The result that a route ends the run with, checked against the result contract.

    Raises:
        ContractError: The delivered field is absent, the finish function raised or is async, or the value is invalid.
    """
    if route.field is not None:
        if route.field not in state:
            raise ContractError(
                f"{_name(node)} delivers the field {route.field!r}, which does not exist"
            )
        return checked_result(plan, dict.__getitem__(state, route.field))
    assert route.function is not None
    try:
        value = route.function(state)
    except Exception as error:
        raise ContractError(
            f"{_name(node)}: the finish function raised {type(error).__name__}: {told(error)}"
        ) from error
    if inspect.isawaitable(value):
        _close(value)
        raise ContractError(
            f"{_name(node)}: the finish function gave an awaitable; it must be synchronous"
        )
    return checked_result(plan, value)


def checked_result(plan: Plan, value: Any) -> Any:
    """A value as the result of a run: the caller's own to change, and valid by the result contract."""
    try:
        return plan.result.validate(thaw(value))
    except Exception as error:
        raise contract_error(
            f"the result of workflow {plan.workflow.id!r}", value, error
        ) from error


def missing(node: PlanNode, name: str) -> ContractError:
    """The error for a required field that does not exist."""
    return ContractError(f"{_name(node)} requires the field {name!r}, which does not exist")


def handler_of(
    node: PlanNode, error: BaseException, failure: Failure | None, handled: frozenset[int]
) -> PlanNode | None:
    """The error node that takes a failure over; `None` if none may.

    An error node is entered once a round at most, and its own failure is the caller's.

    Args:
        node: The node that has failed.
        error: What it raised.
        failure: What it was entered for, if it is an error node.
        handled: The error nodes that were entered in this round.
    """
    handler = node.on_error
    if failure is not None or handler is None or handler.index in handled:
        return None
    return None if isinstance(error, UNRECOVERABLE) else handler


def unwrapped(error: BaseException) -> BaseException:
    """The error that decides, out of an exception group: what ends the process, a bail, then what no one may recover from."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = list(_leaves(error))
    for kind in (KeyboardInterrupt, SystemExit, Bail, *UNRECOVERABLE):
        for leaf in inner:
            if isinstance(leaf, kind):
                return leaf
    waits = [leaf for leaf in inner if isinstance(leaf, Suspend)]
    # What else went wrong beside will go wrong again, or not, when the visit is made again.
    return merged(waits) if waits else error


def merged(waits: Sequence[Suspend]) -> Suspend:
    """One suspension that waits for all that several wait for, and for the first of their times."""
    requests = {request.id: request for wait in waits for request in wait.requests}
    due = min((wait.due for wait in waits if wait.due is not None), default=None)
    refused = next((wait.refused for wait in waits if wait.refused is not None), None)
    return Suspend(tuple(requests.values()), due, refused)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _name(node: PlanNode) -> str:
    return f"node {node.id!r}"


def _close(awaitable: Any) -> None:
    # A coroutine that is never awaited would warn, and hide the error that matters.
    if inspect.iscoroutine(awaitable):
        awaitable.close()
