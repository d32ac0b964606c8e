"""Suspension: a run that waits for an answer or a time ends its activity, and goes on when that is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.codec import decoded
from agentflow.run.journal import stored

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Request", "answer_of", "answers_for", "request_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a suspended run wants to know.

    Args:
        id: The same whenever this visit asks the same; another visit, another key or another payload has another.
        key: The name that the node gave it.
        node_id: The node that asks.
        visit: Which visit of it.
        run_id: The run that asks; in a sub-workflow, its own.
        payload: What whoever answers is to see.
        schema: The JSON Schema of the answer; `None` for anything.
    """

    id: str
    key: str
    node_id: str
    visit: int
    run_id: str
    payload: Any = None
    schema: Any = None

    def as_dict(self) -> dict[str, Any]:
        """The request in its stored form."""
        return {
            "id": self.id,
            "key": self.key,
            "node_id": self.node_id,
            "visit": self.visit,
            "run_id": self.run_id,
            "payload": stored(f"the payload of request {self.key!r}", self.payload),
            "schema": self.schema,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Request:
        """The request of a stored form."""
        return cls(**{**data, "payload": decoded(data["payload"])})


def request_of(ctx: NodeContext, key: str, payload: Any, schema: Any) -> Request:
    """The request that a visit makes.

    Raises:
        ContractError: The run has no store, or the payload cannot be stored.
    """
    if ctx.frame.run.journal is None:
        raise ContractError(
            f"node {ctx.node_id!r} suspends, but the run has no store to wait in: give the engine one, such as store='memory:'"
        )
    shape = json.dumps(stored(f"the payload of request {key!r}", payload), sort_keys=True)
    name = f"{ctx.effect_key(key)}\n{shape}"
    return Request(
        id=hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        key=key,
        node_id=ctx.node_id,
        visit=ctx.visit,
        run_id=ctx.run_id,
        payload=payload,
        schema=json_schema(schema),
    )


def json_schema(schema: Any) -> Any:
    """A schema as JSON Schema: as it is, or that of a type."""
    if schema is None or isinstance(schema, Mapping):
        return schema
    from pydantic import TypeAdapter

    from agentflow.graph.typeddict import rebuilt

    return TypeAdapter[Any](rebuilt(schema)).json_schema()


def answer_of(request: Request, schema: Any, answer: Any) -> Any:
    """An answer as the node wants it: of the type that it asked for.

    Raises:
        ContractError: It is none.
    """
    if schema is None or isinstance(schema, Mapping):
        return answer
    from agentflow.graph.contract import Contract, contract_error

    try:
        return Contract(schema).validate(answer)
    except Exception as error:
        raise contract_error(f"the answer to {request.key!r}", answer, error) from error


def answers_for(requests: tuple[Request, ...], given: Any) -> dict[str, Any]:
    """The answers by request id, each valid by its schema.

    Args:
        requests: What the run waits for.
        given: A mapping of request id to answer, or the bare answer when there is one request.

    Raises:
        ContractError: An id is unknown, a bare answer is given to several requests, or an answer is invalid.
    """
    known = {request.id: request for request in requests}
    if isinstance(given, Mapping) and given and set(given) <= set(known):
        answers = dict(given)
    elif isinstance(given, Mapping) and len(known) != 1 and set(given) - set(known):
        unknown = ", ".join(map(repr, sorted(set(given) - set(known), key=str)))
        raise ContractError(
            f"no request waits for {unknown}; there are {', '.join(known) or 'none'}"
        )
    elif len(known) == 1:
        answers = {next(iter(known)): given}
    else:
        raise ContractError(
            f"{len(known)} requests wait: give a mapping of request id to answer ({', '.join(known)})"
        )
    for id, answer in answers.items():
        _valid(known[id], answer)
    return answers


def _valid(request: Request, answer: Any) -> None:
    if request.schema is None:
        return
    import jsonschema

    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(request.schema).iter_errors(answer)
    )
    if error is not None:
        where = "/".join(map(str, error.absolute_path))
        raise ContractError(
            f"the answer to {request.key!r} ({request.id}) is invalid{f' at {where}' if where else ''}: {error.message}"
        )
