"""What a run, or a sub-workflow of it, begins with: the input and the defaults, recorded once, without what is private.

A default is made anew for every run, by a function that may read a clock. So it is recorded with the input, and a run
that goes on has the values that it began with. Private fields are recorded nowhere; whoever goes on supplies them again.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentflow.errors import AgentflowError, ContractError, IncompatibleRun, PrivateFieldMissing
from agentflow.graph.frozen import write
from agentflow.run.decide import missing
from agentflow.run.effects import effect
from agentflow.run.first_state import defaults as defaults_of, first_state
from agentflow.run.lineage import definition_data
from agentflow.run.redo import field_again
from agentflow.run.stored import restored, stored

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.graph.plan import Plan, PlanNode
    from agentflow.run.frame import Frame
    from agentflow.run.journal import Journal

__all__ = [
    "began_with",
    "defaults_key",
    "first_state_of",
    "inner_began_with",
    "missed",
    "private_fields",
    "private_of",
    "started_body",
    "stored_input",
    "whole_input",
]


def started_body(run_id: str, plan: Plan, input: Any) -> dict[str, Any]:
    """The entry of a run that begins: its input, and the defaults of all fields that the input does not give.

    Raises:
        ContractError: One of them has no stored form, or a default is invalid; names the field.
    """
    given = input if isinstance(input, Mapping) else {}
    return {
        "input": stored_input(run_id, plan, input),
        "defaults": _stored_defaults(plan, defaults_of(plan, given)),
        "definition": definition_data(plan.workflow),
    }


def stored_input(run_id: str, plan: Plan, input: Any) -> Any:
    """An input as it is recorded, and compared with that of whoever asks for the same run: without what is private.

    Raises:
        ContractError: It has no stored form.
    """
    # What the definition does not take is refused when the run begins; that is recorded like any other end.
    given = dict(input) if isinstance(input, Mapping) else input
    if plan.private and input is not None:
        # The secret may be in a field that is misspelt.
        taken = plan.inputs.keys() - plan.private
        given = (
            {name: given[name] for name in given if name in taken} if type(given) is dict else {}
        )
    return stored(f"the input of run {run_id!r}", given)


def _stored_defaults(plan: Plan, made: Mapping[str, Any]) -> dict[str, Any]:
    where = f"of workflow {plan.workflow.id!r}"
    return {
        name: stored(f"the default of field {name!r} {where}", value)
        for name, value in made.items()
        if name not in plan.private
    }


async def private_fields(given: Any, run_id: str) -> Mapping[str, Any]:
    """The private fields that a caller supplies, as a mapping or by a function of the run id, plain or async.

    Raises:
        ContractError: They are no mapping.
        Exception: What the function raises.
    """
    if callable(given):
        given = given(run_id)
        if inspect.isawaitable(given):
            given = await given
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ContractError(
            f"the private fields of run {run_id!r} are {type(given).__name__}; give a mapping of field to value"
        )
    return given


def private_of(plan: Plan, input: Any, private: Mapping[str, Any]) -> dict[str, Any]:
    """All private fields that a caller gives, in the input or apart from it."""
    given = input if isinstance(input, Mapping) else {}
    return {**{name: given[name] for name in given if name in plan.private}, **private}


def whole_input(input: Any, private: Mapping[str, Any]) -> Any:
    """The input with the private fields that are given apart from it."""
    if not private or not (input is None or isinstance(input, Mapping)):
        return input
    return {**(input or {}), **private}


def began_with(plan: Plan, started: Mapping[str, Any]) -> State:
    """The state that a recorded run began with.

    Raises:
        IncompatibleRun: The definition of today does not take it.
    """
    given = started["input"]
    input = None if given is None else restored("the input", given)
    return _first_state(plan, input, _recorded_defaults(plan, started, input))


def inner_began_with(plan: Plan, input: Mapping[str, Any], recorded: Mapping[str, Any]) -> State:
    """The state that a sub-workflow of a recorded run began with.

    Args:
        plan: Its definition.
        input: What it was given.
        recorded: Its defaults, as far as they are recorded.

    Raises:
        IncompatibleRun: The definition of today does not take it.
    """
    return _first_state(plan, input, {**defaults_of(plan, input), **recorded})


async def first_state_of(
    journal: Journal, frame: Frame, input: Mapping[str, Any] | None, *, began: bool
) -> State:
    """The state that a frame begins with, the same however often it is gone through again.

    Args:
        journal: The journal of the run.
        frame: The frame.
        input: What it is given.
        began: Whether it had begun before the run was claimed here.

    Raises:
        ContractError: The input is not what the definition takes.
        IncompatibleRun: It was, and is no more.
    """
    if frame.above is None and journal.migrated:
        # The snapshot of the migration says all but what is private; what the run once began with is not asked for.
        state = frame.plan.state_class()
        recorded = frame.plan.schema.fields.keys() - frame.plan.private
        write(state, {**defaults_of(frame.plan, recorded), **frame.run.supplied})
        return state
    if frame.above is None:
        assert journal.started is not None
        defaults = _recorded_defaults(frame.plan, journal.started, input)
    else:
        defaults = await _defaults_below(frame, input)
    if began:
        state = _first_state(frame.plan, input, defaults)
    else:
        lost = frame.plan.private if journal.resumed else ()
        state = first_state(frame.plan, input, defaults, lost=lost)
    if frame.above is None and journal.resumed:
        write(state, frame.run.supplied)
    return state


def _first_state(plan: Plan, input: Mapping[str, Any] | None, defaults: dict[str, Any]) -> State:
    try:
        return first_state(plan, input, defaults, lost=plan.private)
    except ContractError as error:
        raise IncompatibleRun(f"the input of the run does not fit any more: {error}") from error


def _recorded_defaults(plan: Plan, started: Mapping[str, Any], input: Any) -> dict[str, Any]:
    found = {name: field_again(plan, name, data) for name, data in started["defaults"].items()}
    # A field that has got a default since begins with it.
    given = {*found, *(input if isinstance(input, Mapping) else ())}
    return {**defaults_of(plan, given), **found}


def defaults_key(path: str) -> str:
    """The name of the effect under which the defaults of a sub-workflow are recorded."""
    return f"defaults:{path}"


async def _defaults_below(frame: Frame, input: Mapping[str, Any] | None) -> dict[str, Any]:
    """The defaults of a sub-workflow; recorded as an effect of its node where they may differ each time."""
    plan, above = frame.plan, frame.above
    assert above is not None
    made = defaults_of(plan, input or ())
    changing = {spec.name for spec in plan.with_default if not (spec.constant or spec.private)}
    changing &= made.keys()
    if not changing:
        return made

    async def make() -> dict[str, Any]:
        _stored_defaults(plan, made)
        return {name: made[name] for name in sorted(changing)}

    key = above.effect_key(defaults_key(frame.path))
    return {**made, **await effect(above, "defaults", key, None, make)}


def missed(frame: Frame, node: PlanNode, name: str) -> AgentflowError:
    """The error for a required field that does not exist; where it may be supplied again, the run can go on."""
    journal = frame.run.journal
    if journal is not None and journal.resumed and name in frame.plan.private:
        return PrivateFieldMissing(frame.run.id, node.id, name, frame=frame.path)
    return missing(node, name)
