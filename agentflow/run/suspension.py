"""Suspension: a run that waits for an answer or a time ends its activity, and goes on when that is there."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError, ResumeConflict
from agentflow.run.entries import Entry
from agentflow.run.stored import restored, stored, stored_time

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = [
    "Request",
    "Suspension",
    "answer_of",
    "answers_for",
    "last_suspension",
    "moved",
    "request_id",
    "request_of",
]


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
        due: When the run goes on without an answer, counted from when it was asked first; `None` for never.
    """

    id: str
    key: str
    node_id: str
    visit: int
    run_id: str
    payload: Any = None
    schema: Any = None
    due: datetime | None = None

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
            "due": None if self.due is None else self.due.isoformat(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Request:
        """The request of a stored form."""
        payload = restored(f"the payload of request {data['key']!r}", data["payload"])
        return cls(**{**data, "payload": payload, "due": stored_time(data.get("due"))})


@dataclass(frozen=True, slots=True)
class Suspension:
    """What a run waits for, or waited for last, by its journal.

    Args:
        requests: The requests that have no answer yet.
        due: When it wants to go on without one.
        past: The ids of all other requests that it ever made.
        open: Whether nothing has been done since.
    """

    requests: tuple[Request, ...] = ()
    due: datetime | None = None
    past: frozenset[str] = frozenset()
    open: bool = False


def last_suspension(entries: Sequence[Entry]) -> Suspension:
    """The last suspension of a whole journal.

    Raises:
        IncompatibleRun: The code of today cannot make what a request shows.
    """
    waiting: dict[str, Any] = {}
    asked: set[str] = set()
    due: str | None = None
    unchanged = False
    for entry in entries:
        if entry.kind == "suspended":
            body = json.loads(entry.body)
            waiting = {data["id"]: data for data in body["requests"]}
            asked.update(waiting)
            due, unchanged = body["due"], True
        elif entry.kind == "answered":
            waiting.pop(json.loads(entry.body)["request"], None)
        elif entry.kind == "migrated":
            requests = json.loads(entry.body)["requests"]
            waiting = {
                requests[id]["id"]: {**data, **requests[id]}
                for id, data in waiting.items()
                if id in requests
            }
            asked |= waiting.keys()
        elif entry.kind != "resumed":
            unchanged = False
    return Suspension(
        tuple(Request.from_dict(data) for data in waiting.values()),
        stored_time(due),
        frozenset(asked - waiting.keys()),
        unchanged,
    )


def moved(request: Mapping[str, Any], run_id: str, old: str, new: str) -> dict[str, Any]:
    """What is another in a stored request when the visit that makes it, or is around the one that does, has another place."""
    frame = request["run_id"].removeprefix(run_id)
    at = f"{frame}/{request['node_id']}#{request['visit']}"
    there = run_id + new + at.removeprefix(old)
    below, _, step = there.rpartition("/")
    node_id, _, visit = step.partition("#")
    id = request_id(f"{there}/{request['key']}", request["payload"])
    return {"id": id, "run_id": below, "node_id": node_id, "visit": int(visit)}


def request_of(ctx: NodeContext, key: str, payload: Any, schema: Any) -> Request:
    """The request that a visit makes.

    Raises:
        ContractError: The run has no store, or the payload cannot be stored.
    """
    if ctx.frame.run.journal is None:
        raise ContractError(
            f"node {ctx.node_id!r} suspends, but the run has no store to wait in: give the engine one, such as store='memory:'"
        )
    return Request(
        id=request_id(ctx.effect_key(key), stored(f"the payload of request {key!r}", payload)),
        key=key,
        node_id=ctx.node_id,
        visit=ctx.visit,
        run_id=ctx.run_id,
        payload=payload,
        schema=json_schema(key, schema),
    )


def request_id(effect_key: str, payload: Any) -> str:
    """The id of a request, by the visit and the name that make it, and by its payload in its stored form."""
    name = f"{effect_key}\n{json.dumps(payload, sort_keys=True)}"
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def json_schema(key: str, schema: Any) -> Any:
    """The JSON Schema of a request: as it is, or that of a type.

    Raises:
        ContractError: It is none, or the type has none.
    """
    if schema is None:
        return None
    where = f"the schema of request {key!r}"
    if not isinstance(schema, Mapping):
        try:
            return json.loads(_schema_of_type(schema))
        except Exception as error:
            raise ContractError(f"{where}: {schema!r} has no JSON Schema: {error}") from error
    import jsonschema

    try:
        plain = json.loads(json.dumps(schema))
        jsonschema.Draft202012Validator.check_schema(plain)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{where} is no JSON: {error}") from error
    except jsonschema.SchemaError as error:
        raise ContractError(f"{where} is no JSON Schema: {error.message}") from error
    return plain


@lru_cache(maxsize=256)
def _schema_of_type(type: Any) -> str:
    """The JSON Schema of a type, as text: pydantic takes a thousand times as long for it as a visit does."""
    from pydantic import TypeAdapter

    from agentflow.graph.typeddict import rebuilt

    return json.dumps(TypeAdapter[Any](rebuilt(type)).json_schema())


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


def answers_for(run_id: str, waiting: Suspension, given: Any) -> dict[str, Any]:
    """The answers by request id, each valid by its schema.

    Args:
        run_id: The run that is answered.
        waiting: What it waits for.
        given: A mapping of request id to answer, or the bare answer when there is one request.

    Raises:
        ResumeConflict: It answers a request of the run that waits no more.
        ContractError: An id is unknown, a bare answer is given to several requests, or an answer is invalid.
    """
    known = {request.id: request for request in waiting.requests}
    ids = given.keys() if isinstance(given, Mapping) else frozenset[Any]()
    if ids & waiting.past:
        # Not the answer to another request, which happens to be a mapping: nobody agrees to what they have not seen.
        late = ", ".join(map(repr, sorted(ids & waiting.past)))
        raise ResumeConflict(f"run {run_id!r} waits no more for the answer to {late}")
    if ids and ids <= known.keys():
        answers = dict(given)
    elif len(known) == 1 and not ids & known.keys():
        answers = {next(iter(known)): given}
    else:
        listed = ", ".join(f"{id!r} ({known[id].key})" for id in known) or "none"
        unknown = ", ".join(map(repr, sorted(ids - known.keys(), key=str)))
        problem = f"no request waits for {unknown}" if unknown else "which request is answered?"
        raise ContractError(
            f"run {run_id!r}: {problem}; give a mapping of request id to answer; there are: {listed}"
        )
    for id, answer in answers.items():
        _valid(known[id], answer)
    return answers


def _valid(request: Request, answer: Any) -> None:
    if request.schema is None:
        return
    import jsonschema
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    # An answer of the same process may be a model, a tuple or a date: what it says counts.
    with contextlib.suppress(PydanticSerializationError):
        answer = to_jsonable_python(answer)
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(request.schema).iter_errors(answer)
    )
    if error is not None:
        where = "/".join(map(str, error.absolute_path))
        raise ContractError(
            f"the answer to {request.key!r} ({request.id}) is invalid{f' at {where}' if where else ''}: {error.message}"
        )
