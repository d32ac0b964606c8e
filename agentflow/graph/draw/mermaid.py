"""Pictures in Mermaid's flowchart language.

Names are made so that no word of the language can be among them. Texts stand in quotes, and in them every character that could
end the quotes, start a markup or be taken for HTML is written as its number, which Mermaid turns back into the character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentflow.graph.draw.picture import Figure, FigureKind, Group, Line, LineKind, Picture

__all__ = ["text_of"]

_BRACKETS: dict[FigureKind, tuple[str, str]] = {
    "start": ("((", "))"),
    "node": ("[", "]"),
    "round": ("[[", "]]"),
    "end": ("([", "])"),
    "missing": ("{{", "}}"),
    "failure": (">", "]"),
    "turn": ("((", "))"),
    "note": ("[", "]"),
}
_ARROWS: dict[LineKind, str] = {"route": "-->", "error": "-.->", "limit": "-.->", "note": "-.-"}
_DASHES: dict[LineKind, str] = {"error": "7 4", "limit": "1 4"}
_CLASSES = {
    "found_error": "stroke:#c62828,stroke-width:3px,fill:#ffebee,color:#000",
    "found_warning": "stroke:#ef6c00,stroke-width:3px,fill:#fff3e0,color:#000",
    "found_info": "stroke:#1565c0,stroke-width:3px,fill:#e3f2fd,color:#000",
    "found_note": "stroke:#9e9e9e,fill:#fffde7,color:#000",
}
_SPECIAL = re.compile(
    r"[^A-Za-z0-9 _.,()'=!?/\u00a0-\U0010ffff-]"
    # An underscore inside of a word is no markup.
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    # The words of a statement that Mermaid looks for anywhere in a line, quoted or not.
    r"|(?<=direction) "
    # What starts a list.
    r"|^(?:-|[0-9](?=[0-9]*[.)]))"
)


def text_of(picture: Picture) -> str:
    """The picture as a flowchart, its last line ended."""
    classes: dict[str, list[str]] = {}
    lines = ["flowchart TD"]
    lines += _items(picture.items, "    ", classes)
    lines += [f"    {_line(line)}" for line in picture.lines]
    for kind, dashes in _DASHES.items():
        places = [str(at) for at, line in enumerate(picture.lines) if line.kind == kind]
        if places:
            lines.append(f"    linkStyle {','.join(places)} stroke-dasharray:{dashes}")
    for name, style in _CLASSES.items():
        if name in classes:
            lines.append(f"    classDef {name} {style}")
            lines.append(f"    class {','.join(classes[name])} {name}")
    return "\n".join(lines) + "\n"


def _items(
    items: Iterable[Figure | Group], indent: str, classes: dict[str, list[str]]
) -> Iterator[str]:
    for item in items:
        kind = "note" if isinstance(item, Figure) and item.kind == "note" else item.mark
        if kind is not None:
            classes.setdefault(f"found_{kind}", []).append(item.name)
        if isinstance(item, Group):
            yield f'{indent}subgraph {item.name}["{_text(item.lines)}"]'
            yield from _items(item.items, f"{indent}    ", classes)
            yield f"{indent}end"
        else:
            left, right = _BRACKETS[item.kind]
            yield f'{indent}{item.name}{left}"{_text(item.lines)}"{right}'


def _line(line: Line) -> str:
    label = f'|"{_text((line.label,))}"|' if line.label else ""
    return f"{line.source} {_ARROWS[line.kind]}{label} {line.target}"


def _text(lines: Iterable[str]) -> str:
    text = "<br/>".join(
        _SPECIAL.sub(lambda found: f"#{ord(found.group())};", line) for line in lines
    )
    # Mermaid knows no empty text.
    return text or " "
