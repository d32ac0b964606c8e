"""Runs as trees of OpenTelemetry spans; needs `pip install agentflow[otel]`, and an SDK that takes them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

if TYPE_CHECKING:
    from agentflow.run.facts import Fact

__all__ = ["SpanTree"]

_Key = tuple[object, ...]

_ENDS: Final = {
    "run.completed": "completed",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
    "run.suspended": "waiting",
    "run.interrupted": "interrupted",
}
_NOTED: Final = frozenset({"node.retried", "model.retried", "tool.repeated", "limit.reached"})


class SpanTree:
    """An observer that makes a span of every run, and one below it for each visit, model call, tool call and middleware.

    Give one to `observers`; it serves any number of runs. `agentflow.status` tells how each span ended: `completed`, `failed`,
    `cancelled`, `interrupted`, or `waiting` where it waits for an answer or a time. A visit has one span, also when it waits: what
    it does when the run goes on comes below the same one, if that goes on with the same observer.

    Args:
        provider: Who makes the tracer; default: the global one.
        record: `metadata` alone, because what was said is for nobody's traces; or `content` too, which is the value before and
            after each middleware, as text.
    """

    def __init__(
        self,
        provider: TracerProvider | None = None,
        *,
        record: Literal["metadata", "content"] = "metadata",
    ) -> None:
        if record not in ("metadata", "content"):
            raise ValueError(f"record={record!r}: it is 'metadata' or 'content'")
        self._tracer = trace.get_tracer("agentflow", tracer_provider=provider)
        self._record = record
        self._open: dict[_Key, Span] = {}
        self._waiting: dict[_Key, Span] = {}

    def accepts(self, kind: str, content: bool) -> bool:
        """All metadata, and of content what was asked for."""
        if content:
            return self._record == "content" and kind == "middleware.completed"
        return kind != "model.chunk"

    def span_of(self, run_id: str) -> Span:
        """The span of a run that is under way, to be given attributes; one that records nothing if there is none."""
        return self._open.get(("run", run_id), trace.INVALID_SPAN)

    def event(self, fact: Fact) -> None:
        """Begin or end a span."""
        match fact.kind:
            case "run.started" | "run.resumed":
                self._begin(_run(fact), f"workflow {fact.workflow_id}", fact, self._above(fact))
            case "node.started" if fact.attempt == 1:
                self._begin(_node(fact), f"node {fact.node_id}", fact, self._at(_run(fact)))
            case "node.committed":
                self._end(_node(fact), "completed", fact)
            case "node.failed":
                self._end(_node(fact), "failed", fact)
            case "middleware.started" | "model.started" | "tool.started" if (
                _call(fact) not in self._open
            ):
                what = fact.kind.partition(".")[0]
                name = f"{what} {fact.data.get(what)}"
                kind = SpanKind.INTERNAL if what == "middleware" else SpanKind.CLIENT
                self._begin(_call(fact), name, fact, self._at(_node(fact)), kind=kind)
            case "middleware.completed" | "model.completed" | "tool.completed":
                self._end(_call(fact), "completed", fact)
            case "middleware.failed" | "model.failed" | "tool.failed" if not fact.data.get("again"):
                self._end(_call(fact), "failed", fact)
            case kind if kind in _ENDS:
                self._end_run(fact, _ENDS[kind])
            case kind if kind in _NOTED:
                span = self._at(_node(fact)) or self._at(_run(fact))
                if span is not None:
                    span.add_event(kind, _flat(fact.data), timestamp=_nanoseconds(fact.time))

    def _begin(
        self,
        key: _Key,
        name: str,
        fact: Fact,
        above: Span | None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        if key in self._waiting:
            # It goes on, and was told of already.
            return
        self._open[key] = self._tracer.start_span(
            name,
            # Without one of ours: whatever the caller is in.
            context=None if above is None else trace.set_span_in_context(above),
            kind=kind,
            attributes=_about(fact),
            start_time=_nanoseconds(fact.time),
        )

    def _end(self, key: _Key, status: str, fact: Fact) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attribute("agentflow.status", status)
        usage = fact.data.get("usage") or {}
        span.set_attributes({f"gen_ai.usage.{name}": amount for name, amount in usage.items()})
        for name, value in (fact.content or {}).items():
            span.set_attribute(f"agentflow.middleware.{name}", str(value))
        if status == "failed":
            error, message = fact.data.get("error"), fact.data.get("message")
            span.set_attribute("error.type", str(error))
            span.set_status(Status(StatusCode.ERROR, f"{error}: {message}"))
        span.end(end_time=_nanoseconds(fact.time))
        if status == "waiting":
            self._waiting[key] = span

    def _end_run(self, fact: Fact, status: str) -> None:
        """End a run and whatever is still open in it and below it, the innermost first."""
        below = f"{fact.run_id}/"
        for key in reversed(list(self._open)):
            if key[1] == fact.run_id or str(key[1]).startswith(below):
                # What was cut short has not failed by itself.
                inner = "cancelled" if status in ("completed", "failed") else status
                self._end(key, status if key == _run(fact) else inner, fact)
        if status not in ("waiting", "interrupted"):
            for key in list(self._waiting):
                if key[1] == fact.run_id or str(key[1]).startswith(below):
                    del self._waiting[key]

    def _above(self, fact: Fact) -> Span | None:
        """The visit that a run belongs to."""
        parent = fact.parent_run_id
        if parent is None:
            return None
        where = ("node", parent, fact.data.get("parent_node"))
        for spans in (self._open, self._waiting):
            for key in reversed(list(spans)):
                if key[:3] == where:
                    return spans[key]
        return self._at(("run", parent))

    def _at(self, key: _Key) -> Span | None:
        return self._open.get(key) or self._waiting.get(key)


def _run(fact: Fact) -> _Key:
    return ("run", fact.run_id)


def _node(fact: Fact) -> _Key:
    return ("node", fact.run_id, fact.node_id, fact.visit)


def _call(fact: Fact) -> _Key:
    if fact.kind.startswith("middleware."):
        where = (fact.data["boundary"], fact.data["place"])
        return ("middleware", fact.run_id, fact.node_id, fact.visit, *where)
    return ("call", fact.run_id, fact.call_id)


def _about(fact: Fact) -> dict[str, Any]:
    told = {
        "agentflow.run_id": fact.run_id,
        "agentflow.workflow_id": fact.workflow_id,
        "agentflow.workflow_version": fact.workflow_version,
        "agentflow.node_id": fact.node_id,
        "agentflow.visit": fact.visit,
        "agentflow.round": fact.round,
        "agentflow.middleware.boundary": fact.data.get("boundary"),
        "gen_ai.request.model": fact.data.get("model"),
        "gen_ai.tool.name": fact.data.get("tool"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _flat(data: Any) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | bool | int | float) else str(value)
        for name, value in data.items()
        if value is not None
    }


def _nanoseconds(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000_000)
