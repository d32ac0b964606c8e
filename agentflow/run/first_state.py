"""The state that a run begins with: pure, like everything that decides its way."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.contract import contract_error
from agentflow.graph.frozen import State, freeze, write
from agentflow.run.decide import refuse

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan
    from agentflow.graph.schema import FieldSpec

__all__ = ["defaults", "first_state", "supplied"]


def defaults(plan: Plan, given: Container[str] = ()) -> dict[str, Any]:
    """The defaults of all fields that are not given, made anew, validated and frozen.

    Raises:
        ContractError: One is invalid.
    """
    values = {}
    for spec in plan.with_default:
        if spec.name not in given:
            assert spec.default is not None
            values[spec.name] = _accepted(f"the default of {spec.name!r}", spec, spec.default())
    return values


def supplied(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """The private fields that whoever goes on with a run supplies again, validated and frozen.

    Raises:
        ContractError: One is no private field of the state, or is invalid.
    """
    values = {}
    for name, value in given.items():
        if name not in plan.private:
            known = ", ".join(sorted(map(repr, plan.private))) or "none"
            raise ContractError(
                f"workflow {plan.workflow.id!r} has no private field {name!r}; there are: {known}"
            )
        where = f"private field {name!r} of workflow {plan.workflow.id!r}"
        values[name] = _accepted(where, plan.schema.fields[name], value)
    return values


def first_state(
    plan: Plan,
    input: Mapping[str, Any] | None,
    made: Mapping[str, Any] | None = None,
    *,
    lost: Container[str] = (),
) -> State:
    """The state a run starts with: defaults, then the given input, validated field by field.

    Args:
        plan: The plan.
        input: What is given.
        made: The defaults, where they were made before; default: they are made now.
        lost: Fields that need not be given, although the definition wants them.

    Raises:
        ContractError: The input is no mapping, lacks a field, has one that is not declared, or an invalid value.
    """
    workflow = plan.workflow
    given: Any = {} if input is None else input
    if type(given) is not dict and not isinstance(given, Mapping):
        raise ContractError(
            f"the input of workflow {workflow.id!r} is {type(given).__name__}; give a mapping of field to value"
        )
    values = defaults(plan, given) if made is None else dict(made)
    for name, value in dict.items(given) if isinstance(given, dict) else given.items():
        spec_of_input = plan.inputs.get(name)
        if spec_of_input is None:
            if not workflow.open_inputs or not isinstance(name, str):
                raise ContractError(_unknown_input(plan, name))
            try:
                values[name] = freeze(value)
            except Exception as error:
                raise contract_error(f"input {name!r}", value, error) from error
        elif type(value) is spec_of_input.value.exact:
            values[name] = value
        else:
            where = f"input {name!r} of workflow {workflow.id!r}"
            values[name] = _accepted(where, spec_of_input, value)
    for name in workflow.inputs:
        if name not in values and name not in lost:
            needed = ", ".join(map(repr, workflow.inputs))
            raise ContractError(
                f"the input of workflow {workflow.id!r} lacks the field {name!r} (it needs {needed})"
            )
    state = plan.state_class()
    write(state, values)
    return state


def _unknown_input(plan: Plan, name: object) -> str:
    allowed = ", ".join(map(repr, plan.inputs)) or "no input at all"
    return (
        f"workflow {plan.workflow.id!r} takes no input field {name!r}; it takes {allowed} "
        f"(declare further ones with inputs= or optional_inputs=)"
    )


def _accepted(where: str, spec: FieldSpec, value: Any) -> Any:
    try:
        return spec.value.accept(value)
    except Exception as error:
        refuse(where, spec, value, error)
