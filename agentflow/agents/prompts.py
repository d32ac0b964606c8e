"""Prompts: texts by name, with blanks that are filled in when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentflow.errors import ContractError
from agentflow.graph.argument import Wanted, check_fields
from agentflow.graph.frozen import freeze

__all__ = ["Prompts"]

_TEXTS: Final = Wanted(
    lambda value: isinstance(value, Mapping) and all(isinstance(t, str) for t in value.values()),
    "a mapping of texts by name",
)
_BLANK: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts by name. A blank in a text is `{{name}}`.

    Args:
        texts: The texts, by name.

    Raises:
        TypeError: They are no mapping of texts.
    """

    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, {"texts": _TEXTS})
        object.__setattr__(self, "texts", freeze(dict(self.texts)))

    def get(self, name: str, /, **values: object) -> str:
        """The text of that name, with its blanks filled in. What is filled in is not looked at for blanks.

        Args:
            name: Of the text.
            values: What goes into the blanks, by their names.

        Raises:
            ContractError: There is no such text, or the values are not those of its blanks.
        """
        text = self.texts.get(name)
        if text is None:
            known = ", ".join(map(repr, self.texts)) or "none"
            raise ContractError(f"there is no prompt {name!r}; there are: {known}")
        blanks = set(_BLANK.findall(text))
        if blanks - values.keys():
            missing = ", ".join(map(repr, sorted(blanks - values.keys())))
            raise ContractError(f"the prompt {name!r} has blanks without a value: {missing}")
        if values.keys() - blanks:
            other = ", ".join(map(repr, sorted(values.keys() - blanks)))
            raise ContractError(
                f"the prompt {name!r} has no blank for {other}: {{{{name}}}} is one"
            )
        return _BLANK.sub(lambda blank: str(values[blank[1]]), text)
