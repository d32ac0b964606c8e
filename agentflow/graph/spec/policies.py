"""Policies as data: those of a workflow, and those in a file of their own, whose owner need not be that of the workflows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from agentflow.errors import SpecError
from agentflow.graph.findings import Finding
from agentflow.graph.json_schema import DIALECT, Data, list_of, object_of, text
from agentflow.graph.place import Place
from agentflow.graph.policy import Policy
from agentflow.graph.spec.conditions import Find, condition_of
from agentflow.graph.spec.document import Document, document_of
from agentflow.graph.spec.form import flaws
from agentflow.graph.spec.names import Imports, NotFound, StandIns
from agentflow.graph.spec.pointer import below
from agentflow.graph.spec.schema import condition_definition, policy_definition

__all__ = ["Demand", "PolicyFile", "policy_of", "policy_schema", "read_policies"]

_PATTERN = "workflow"


def policy_of(data: Mapping[str, Any], file: str | None, pointer: str, find: Find) -> Policy:
    """The policy that `data` describes, which satisfies the schema.

    Args:
        data: The policy.
        file: Where it was declared.
        pointer: Where in that.
        find: Is asked for the enum member of a name at a JSON pointer.
    """
    kind: Any
    ((kind, demand),) = data.items()
    options = dict(demand)
    where = below(pointer, kind)
    if "when" in options:
        options["condition"] = condition_of(options.pop("when"), below(where, "when"), find)
    for other in ("before", "later"):
        if other in options:
            options["other"] = options.pop(other)
    return Policy(kind=kind, place=Place(file, pointer=pointer), **options)


@dataclass(frozen=True, slots=True)
class Demand:
    """A policy of a file.

    Args:
        policy: The policy.
        pattern: A pattern of the ids of the workflows that it is about, such as `refund*`; `None` for all that have the
            nodes that it guards.
    """

    policy: Policy
    pattern: str | None = None

    def names(self, workflow_id: str) -> bool:
        """Whether a workflow is one of those that it names; each is, if it names none."""
        return self.pattern is None or fnmatchcase(workflow_id, self.pattern)


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """What a policy file says: its demands, or, if it cannot be used, why."""

    demands: tuple[Demand, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_policies(path: str | os.PathLike[str], *, no_import: bool = False) -> PolicyFile:
    """The policies of a JSON or YAML file; never raises for what is wrong with it.

    Args:
        path: The file.
        no_import: Whether to import nothing; a member of an enum in a condition is then no value that any field has.
    """
    file = os.fspath(path)
    try:
        document = document_of(path, wanted="the list 'policies'")
    except SpecError as error:
        place = Place(file, error.line, error.pointer or None)
        return PolicyFile(findings=(_unusable(error.message, error.hint, place),))
    wrong = [
        _unusable(flaw.message, flaw.hint, Place(file, pointer=flaw.pointer))
        for flaw in flaws(document.data, policy_schema)
    ]
    return PolicyFile(findings=tuple(wrong)) if wrong else _read(document, no_import=no_import)


def _read(document: Document, *, no_import: bool) -> PolicyFile:
    names = StandIns() if no_import else Imports()
    wrong: list[Finding] = []

    def member(name: str, pointer: str) -> Any:
        try:
            return names.member(name)
        except NotFound as error:
            place = Place(document.file, pointer=pointer)
            wrong.append(_unusable(error.message, error.hint, place))
            return StandIns().member(name)

    demands = []
    for at, data in enumerate(document.data["policies"]):
        policy = {name: value for name, value in data.items() if name != _PATTERN}
        pointer = below("", "policies", at)
        demands.append(
            Demand(policy_of(policy, document.file, pointer, member), data.get(_PATTERN))
        )
    return PolicyFile(findings=tuple(wrong)) if wrong else PolicyFile(tuple(demands))


def _unusable(message: str, hint: str, place: Place) -> Finding:
    return Finding(code="AF009", message=message, hint=hint, place=place)


def policy_schema() -> Data:
    """The JSON Schema (draft 2020-12) of a policy file: what `schemas/policy.schema.json` holds."""
    policy = policy_definition()
    policy["properties"] = {
        _PATTERN: text(
            "A pattern of the ids of the workflows that it is about, with * and ?; default: all that have the nodes it guards.",
            minLength=1,
        ),
        **policy["properties"],
    }
    properties = {
        "$schema": text("The address of this schema, for editors; it has no other use."),
        "policies": list_of(
            {"$ref": "#/$defs/policy"}, "What must hold on every path of the workflows."
        ),
    }
    return {
        "$schema": DIALECT,
        **object_of(
            "policy file",
            "Policies for workflows that are defined elsewhere, as `agentflow validate --policy` takes them.",
            properties,
            required=("policies",),
        ),
        "$defs": {"policy": policy, "condition": condition_definition()},
    }
