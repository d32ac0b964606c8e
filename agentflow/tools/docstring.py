"""Docstrings in the styles of Google, NumPy and Sphinx: what a tool does, and what its parameters are.

They are read by griffe, in the style that it recognises. The text before the first section that tells of parameters, values
or errors is what the tool does; the notes in it stay.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

from agentflow.graph.calling import routine_of

__all__ = ["Docstring", "docstring_of"]

_QUIET = {style: {"warnings": False} for style in ("google", "numpy", "sphinx")}


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says: the text before its first section, and its parameters by name."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def docstring_of(function: object) -> Docstring:
    """The docstring of a function, taken apart; empty when it has none.

    Behind a partial it is that of the function, and of an object that can be called that of `__call__`.
    """
    text = inspect.getdoc(routine_of(function)) or ""
    # One paragraph has no sections: most tools need no parser.
    if "\n" not in text:
        return Docstring(text)
    import griffe

    read: Any = griffe.parse_auto
    sections = read(griffe.Docstring(text), default="google", per_style_options=_QUIET)
    described: dict[str, str] = {}
    said: list[str] = []
    over = False
    for section in sections:
        match section:
            case griffe.DocstringSectionText() if not over:
                said.append(section.value.strip("\n"))
            case griffe.DocstringSectionAdmonition() if not over:
                said.append(_note(section))
            case griffe.DocstringSectionParameters():
                over = True
                for each in section.value:
                    words = " ".join(each.description.split())
                    described.setdefault(each.name.lstrip("*").strip(), words)
            case _:
                over = True
    return Docstring("\n\n".join(filter(None, said)), described)


def _note(section: Any) -> str:
    kind = str(section.value.kind).replace("-", " ").capitalize()
    title = section.title or kind
    head = title if title.lower().startswith(kind.lower()) else f"{kind}: {title}"
    return f"{head.removesuffix(':')}:\n{textwrap.indent(section.value.contents, '    ')}"
