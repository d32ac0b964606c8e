"""Every error that agentflow raises on purpose, grouped by who has to act.

::

    AgentflowError
    ├── DefinitionError              the author: mend the definition
    ├── SpecError                    the author: this has no declarative form, or is none
    ├── ContractError                the author: a node, a route or an input broke its word
    │   └── ModelListEmpty           the author: a list of models is empty
    ├── BudgetExceeded               the owner: the run reached a hard limit
    ├── RunCancelled                 nobody: somebody asked for it
    ├── RunSuspended                 the caller: a person, or a time, has to answer first
    ├── ResumeConflict               the caller: somebody else has answered
    ├── RunInterrupted               nobody: the run stopped where it is, and can go on
    ├── IncompatibleRun              the author: the definition of today cannot go on with this run
    ├── PrivateFieldMissing          the caller: supply the private field again, nobody has kept it
    ├── RunFailed                    the caller: the run that is asked for has failed before
    ├── RunConflict                  the caller: this run id or handle means something else
    ├── ToolError
    │   ├── UnknownTool              the author: register the tool
    │   ├── ToolDenied               the owner: the policy said no
    │   └── ToolFailed               the operator: the tool's own error is the cause
    ├── OutputInvalid                the operator: a model's or a tool's output is not what was agreed
    ├── ModelError                   the operator: the provider's own error is the cause
    │   ├── ModelUnavailable         nobody: not reached, overloaded or broken; later it may work
    │   │   ├── ModelRateLimited     nobody: too much was asked in too short a time
    │   │   └── ModelTimeout         nobody: the answer, or its next piece, took too long
    │   ├── ModelDenied              the operator: the key, the rights or the credit
    │   └── ModelRequestRefused      the author: the provider does not take what was asked
    ├── StructuredOutputNotGenerated the author: let the model answer without tools
    ├── DeliveryError                the caller: the output sink failed
    ├── StoreError                   the operator: the store cannot keep its word
    │   └── StaleClaim               nobody: another driver has taken the run over
    └── Divergence                   the operator: a recorded effect was asked another question

Each class has a stable `code`. Errors of user code reach the caller as they are, with a note of workflow, node and run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from datetime import datetime

    from agentflow.graph.findings import Finding
    from agentflow.graph.workflow import Workflow
    from agentflow.run.ports import Invocation
    from agentflow.run.suspension import Request

__all__ = [
    "AgentflowError",
    "BudgetExceeded",
    "ContractError",
    "DefinitionError",
    "DeliveryError",
    "Divergence",
    "IncompatibleRun",
    "ModelDenied",
    "ModelError",
    "ModelListEmpty",
    "ModelRateLimited",
    "ModelRequestRefused",
    "ModelTimeout",
    "ModelUnavailable",
    "OutputInvalid",
    "PrivateFieldMissing",
    "ResumeConflict",
    "RunCancelled",
    "RunConflict",
    "RunFailed",
    "RunInterrupted",
    "RunSuspended",
    "SpecError",
    "StaleClaim",
    "StoreError",
    "StructuredOutputNotGenerated",
    "ToolDenied",
    "ToolError",
    "ToolFailed",
    "UnknownTool",
]


class AgentflowError(Exception):
    """The root of every error that agentflow raises on purpose."""

    code: ClassVar[str] = "agentflow"


class DefinitionError(AgentflowError):
    """The definition cannot run safely; `findings` is the complete list, warnings included.

    `workflow` is the definition as it was declared, to be drawn or looked at; it cannot be run.
    """

    code = "definition"

    def __init__(
        self,
        workflow_id: str,
        findings: tuple[Finding, ...],
        *,
        workflow: Workflow[Any] | None = None,
    ) -> None:
        self.workflow_id = workflow_id
        self.findings = findings
        self.workflow = workflow
        super().__init__(workflow_id, findings)

    def __str__(self) -> str:
        errors = sum(finding.severity == "error" for finding in self.findings)
        count = f"{errors} error{'' if errors == 1 else 's'}"
        told = (finding.as_text() for finding in self.findings)
        return "\n".join((f"workflow {self.workflow_id!r} cannot run: {count}", *told))


class SpecError(AgentflowError):
    """A file is no declarative form of a workflow, or something in a workflow has none.

    Args:
        message: What is wrong; with a workflow that could be read, findings tell it instead.
        pointer: The JSON pointer of the place, empty for the whole.
        file: The file that was read.
        line: The line in it, from 1, where that is known.
        hint: What to do.
    """

    code = "spec"

    def __init__(
        self,
        message: str,
        *,
        pointer: str = "",
        file: str | None = None,
        line: int | None = None,
        hint: str = "",
    ) -> None:
        self.message, self.hint = message, hint
        self.pointer, self.file, self.line = pointer, file, line
        super().__init__(message)

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f":{self.line}"
        if self.pointer:
            where += f"#{self.pointer}"
        said = f"{where}: {self.message}" if where else self.message
        return f"{said}; {self.hint}" if self.hint else said


class ContractError(AgentflowError):
    """A node, a route, an input or a result did not keep what the definition says."""

    code = "contract"


class ModelListEmpty(ContractError):
    """A list of models, each the fallback of the one before, holds none."""

    code = "loop_models_empty"


class OutputInvalid(AgentflowError):
    """A model's or a tool's output does not satisfy its contract."""

    code = "output_invalid"


class BudgetExceeded(AgentflowError):
    """A hard limit was reached: `limit` names it, `allowed` is its value, `used` what would have been spent."""

    code = "budget_exceeded"

    def __init__(self, limit: str, allowed: float, used: float, *, where: str = "") -> None:
        self.limit = limit
        self.allowed = allowed
        self.used = used
        self.where = where
        self.told = False
        super().__init__(limit, allowed, used)

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        return f"the limit of {self.limit}{place} is {self.allowed:.15g}; {self.used:.15g} would be used"


class RunCancelled(AgentflowError):
    """The run was cancelled; `reason` is what the canceller gave."""

    code = "cancelled"

    def __init__(self, reason: object = None) -> None:
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return "the run was cancelled" + ("" if self.reason is None else f": {self.reason}")


class RunSuspended(AgentflowError):
    """The run waits: for the answers to `requests`, or for the time `due`; `Engine.resume` goes on with it."""

    code = "run_suspended"

    def __init__(
        self, run_id: str, requests: tuple[Request, ...] = (), due: datetime | None = None
    ) -> None:
        self.run_id = run_id
        self.requests = requests
        self.due = due
        super().__init__(run_id, requests, due)

    def __str__(self) -> str:
        waits = [f"an answer to {request.key!r} ({request.id})" for request in self.requests]
        if self.due is not None:
            waits.append(f"the time {self.due.isoformat()}")
        return f"run {self.run_id} is suspended and waits for {' and '.join(waits) or 'nothing'}"


class ResumeConflict(AgentflowError):
    """The run does not wait for this answer: it was resumed by somebody else, goes on already, or has ended."""

    code = "resume_conflict"


class RunInterrupted(AgentflowError):
    """The run was stopped at its last record, and can go on: its engine was closed or drained, or its caller left."""

    code = "run_interrupted"


class IncompatibleRun(AgentflowError):
    """The definition, or the code, of today cannot go on with a run of an earlier one; the message says why."""

    code = "incompatible_run"


class PrivateFieldMissing(AgentflowError):
    """A run that goes on needs a private field, which is recorded nowhere: go on with it once more, with `private=`.

    The run is left at its last record, `interrupted`. `run_id`, `node_id` and `field` tell what needs it; `frame` is the path of
    the sub-workflow in which it does, empty for the run itself.
    """

    code = "private_field_missing"

    def __init__(self, run_id: str, node_id: str, field: str, *, frame: str = "") -> None:
        self.run_id = run_id
        self.node_id = node_id
        self.field = field
        self.frame = frame
        super().__init__(run_id, node_id, field)

    def __str__(self) -> str:
        what = f"supply it again, as in private={{{self.field!r}: …}}"
        if self.frame:
            what = "supply again the field of the run that is mapped to it, as in private={…}"
        return (
            f"node {self.node_id!r} of run {self.run_id}{self.frame} needs the private field {self.field!r}, "
            f"which is not recorded: {what}"
        )


class RunFailed(AgentflowError):
    """A run that had ended before is asked for its result, and has none; the message tells the recorded error."""

    code = "run_failed"


class RunConflict(AgentflowError):
    """A run id or a handle was used for something else than the run that owns it."""

    code = "run_conflict"


class ToolError(AgentflowError):
    """The root of what can go wrong with a tool call; `tool_id` names the tool."""

    code = "tool"

    def __init__(self, tool_id: str, message: str) -> None:
        self.tool_id = tool_id
        super().__init__(message)


class UnknownTool(ToolError):
    """No tool of that id is registered; the message lists those that are."""

    code = "unknown_tool"


class ToolDenied(ToolError):
    """The tool's own `authorize` or the engine's policy refused the call."""

    code = "tool_denied"


class ToolFailed(ToolError):
    """The tool's handler raised; its error is the `__cause__`."""

    code = "tool_failed"


class ModelError(AgentflowError):
    """A provider failed or sent what cannot be read; its own error is the `__cause__`.

    `invocation` tells of the call as far as it came: what it used until then is in there, marked as partial. `status` is the
    HTTP status of the provider's answer, if it came to one.
    """

    code = "model"

    def __init__(
        self,
        message: str,
        *,
        invocation: Invocation | None = None,
        status: int | None = None,
    ) -> None:
        self.invocation = invocation
        self.status = status
        super().__init__(message)


class ModelUnavailable(ModelError):
    """The provider cannot be reached, is overloaded or broke down: the same request may work later, or elsewhere.

    Only then is a call tried again. `retry_after` is how many seconds the provider wants to be left alone.
    """

    code = "model_unavailable"

    def __init__(
        self,
        message: str,
        *,
        invocation: Invocation | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.retry_after = retry_after
        super().__init__(message, invocation=invocation, status=status)


class ModelRateLimited(ModelUnavailable):
    """The provider takes no more requests for now: too many, or too many tokens, in too short a time."""

    code = "model_rate_limited"


class ModelTimeout(ModelUnavailable):
    """The whole answer, or its next piece, did not come in time."""

    code = "model_timeout"


class ModelDenied(ModelError):
    """The provider does not accept the key, or the key may not do this, or the account has no credit."""

    code = "model_denied"


class ModelRequestRefused(ModelError):
    """The provider does not take the request: it knows no such model or parameter, or the input is too long for it."""

    code = "model_request_refused"


class StructuredOutputNotGenerated(AgentflowError):
    """Structured output was asked for, and the steps ended without it."""

    code = "structured_output_not_generated"


class DeliveryError(AgentflowError):
    """The output sink failed, so content was not delivered; the sink's error is the `__cause__`."""

    code = "delivery"


class Divergence(AgentflowError):
    """A recorded effect was asked for again with a different request under the same key."""

    code = "divergence"


class StoreError(AgentflowError):
    """The store cannot be reached, read or written; the driver's own error is the `__cause__`."""

    code = "store"


class StaleClaim(StoreError):
    """Another driver has claimed the run since: whatever this one does counts no more."""

    code = "stale_claim"
