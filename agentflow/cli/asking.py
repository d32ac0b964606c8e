"""Questions to whoever sits at the terminal, one for each request that a run waits for."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentflow.cli.answer import answer_of, choices_of
from agentflow.cli.printable import printable
from agentflow.cli.styled import Line, write_lines
from agentflow.cli.waiting import question_lines, wanted_line
from agentflow.graph.counted import counted

if TYPE_CHECKING:
    from agentflow.run.suspension import Request

__all__ = ["answers_from_terminal", "can_ask"]


def can_ask() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answers_from_terminal(requests: Sequence[Request]) -> dict[str, Any]:
    """The answers by request id, valid ones only; those that were left for later are missing.

    Ctrl-D and Ctrl-C leave everything that was not answered yet.
    """
    answers: dict[str, Any] = {}
    told = counted(len(requests), "answer")
    _write(((f"\nthe run waits for {told}; an empty line leaves it waiting", "warning"),))
    with _interruptible():
        try:
            for request in requests:
                answer = _asked(request)
                if answer is not _LATER:
                    answers[request.id] = answer
        except (EOFError, KeyboardInterrupt):
            _write(())
    return answers


_LATER: Any = object()


def _asked(request: Request) -> Any:
    from agentflow.errors import ContractError

    _write((), *question_lines(request.as_dict()))
    choices = _numbered(request.schema)
    for at, choice in enumerate(choices, 1):
        _write(((f"  {at}) {printable(choice)}", "plain"),))
    if not choices:
        _write(wanted_line(request.as_dict()))
    while True:
        text = _typed()
        if not text.strip():
            return _LATER
        if text.strip().isdecimal() and 0 < int(text) <= len(choices):
            return choices[int(text) - 1]
        try:
            return answer_of(text, request)
        except ContractError as error:
            _write(((f"  {printable(str(error))}", "error"),))


def _numbered(schema: Any) -> list[Any]:
    """Choices that are worth a list with numbers: several, and none of them a number itself."""
    choices = choices_of(schema)
    worth = len(choices) > 1 and all(isinstance(choice, str) for choice in choices)
    return choices if worth else []


def _typed() -> str:
    sys.stderr.write("> ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def _write(*lines: Line) -> None:
    write_lines(lines, sys.stderr)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C get through to whoever reads, which the handler of an event loop would prevent."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
