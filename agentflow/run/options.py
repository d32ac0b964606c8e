"""What the caller of a run may say besides its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

from agentflow.graph.limits import Budget
from agentflow.run.signal import CancelSignal

if TYPE_CHECKING:
    from agentflow.run.facts import Fact
    from agentflow.run.ports import Observer, Sink

__all__ = ["ResumeOptions", "RunOptions", "check_most", "check_options"]


class ResumeOptions(TypedDict, total=False):
    """The options of `Engine.resume`, all of them optional.

    Attributes:
        signal: Cancels the run.
        budget: Limits besides the engine's; of a run that goes on, for what it spends before and after.
        context: A map of the caller's, shared with everything below the run.
        identity: Who the run is for.
        deps: Live objects for the nodes, such as clients and pools.
        observers: Further observers, for this run.
        sink: Where content goes, instead of the engine's sink.
        private: Fields of the state that are marked `private`, which a run that goes on has only if they are supplied again:
            a mapping, or a function of the run id that gives one, plain or async. In a run that begins they are a part of
            the input.
    """

    signal: CancelSignal | None
    budget: Budget | None
    context: dict[str, Any] | None
    identity: Any
    deps: Any
    observers: Iterable[Observer | Callable[[Fact], Any]]
    sink: Sink | None
    private: Mapping[str, Any] | Callable[[str], Any] | None


class RunOptions(ResumeOptions, total=False):
    """The options of `Engine.run` and `Engine.start`: those of `resume`, and an id.

    Attributes:
        run_id: An id for the run; default: a new one. With a store it is an idempotency key: a run of that id goes on, is
            awaited, or tells how it ended.
    """

    run_id: str | None


_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "run_id": (str, "a text"),
    "signal": (CancelSignal, "a CancelSignal"),
    "budget": (Budget, "a Budget"),
    "context": (MutableMapping, "a dict"),
}


def check_options(options: RunOptions) -> None:
    """Refuse an option that is of the wrong kind.

    Raises:
        TypeError: One is; says which.
    """
    for name, value in options.items():
        if value is None or name not in _KINDS:
            continue
        kind, wanted = _KINDS[name]
        if not isinstance(value, kind):
            raise TypeError(f"{name}={value!r}: it is {wanted}, or None")
    private: object = options.get("private")
    if not (private is None or callable(private) or isinstance(private, Mapping)):
        # Not the value itself, which is to be seen by nobody.
        given = type(private).__name__
        raise TypeError(f"private= is {given}: it is a mapping, or a function of the run id")
    sink = options.get("sink")
    if sink is not None and not callable(getattr(sink, "send", None)):
        raise TypeError(
            f"sink={sink!r} is no sink: give an object with an async method send(chunk)"
        )


def check_most(name: str, most: object) -> int:
    """A number that says how many there are at most, which is at least one: with none, nothing would ever begin.

    Raises:
        ValueError: It is no whole number of at least 1.
    """
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"{name}={most!r}: it is a whole number of at least 1")
    return most
