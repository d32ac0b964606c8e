"""Files of the kit: all that is wrong with one, told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from agentflow.errors import SpecError

if TYPE_CHECKING:
    from agentflow.graph.spec.document import Document

__all__ = ["check_form", "flawed"]


def check_form(document: Document, schema: Callable[[], dict[str, Any]]) -> None:
    """See to it that a document is what its schema says.

    Raises:
        SpecError: It is not.
    """
    from agentflow.graph.spec.form import flaws

    found = flaws(document.data, schema)
    if found:
        raise flawed(
            document,
            (
                (flaw.pointer, f"{flaw.message}; {flaw.hint}" if flaw.hint else flaw.message)
                for flaw in found
            ),
        )


def flawed(document: Document, wrong: Iterable[tuple[str, str]]) -> SpecError:
    """The error for all that is wrong: JSON pointers, and what is wrong there."""
    (pointer, message), *more = wrong
    for other, said in more:
        message += f"\n{document.file or ''}#{other}: {said}"
    return SpecError(message, pointer=pointer, file=document.file)
