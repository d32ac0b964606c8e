"""Gaps: what is not known of a state whose types were not imported, and what must not be concluded from that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from agentflow.errors import SpecError
from agentflow.graph.codes import CODES
from agentflow.graph.schema import FieldSpec

__all__ = ["Gap"]

_PRESENCE = tuple(code for code in CODES if code.startswith("AF20"))
"""Findings that fields may be missing: wrong when it is not known which are there from the start."""

_REDUCERS = ("AF128", "AF214")
"""Findings that nothing joins what several give: wrong when it is not known which fields have reducers."""

_READ = ("AF210", "AF211", "AF212")
"""Findings that nothing reads a field: wrong when it is not known what a sub-workflow is given."""

_VALUES = ("AF302", "AF701")
"""Findings that values are not covered, and that a waiver is for nothing: wrong when it is not known what a field may hold."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """What is not known of a state.

    Args:
        doubts: The codes of findings that may be wrong because of it, each with the reason.
        presence: Whether it is unknown which fields are there from the start.
        defaults: The fields that are known to have a default, which itself is not known.
    """

    doubts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    presence: bool = False
    defaults: Mapping[str, FieldSpec] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, what: str, *, presence: bool = False, defaults: Iterable[str] = ()) -> Gap:
        """The gap that `what` leaves."""
        codes = _VALUES + _PRESENCE if presence else _VALUES
        if presence or defaults:
            codes += _REDUCERS
        reason = _REASON.format(what)
        known = {name: _there(name) for name in defaults}
        return cls(dict.fromkeys(codes, reason), presence, known)

    def beside(self, workflows: Iterable[str]) -> Gap:
        """The gap with what besides is not known where sub-workflows take what they want from fields of the same names."""
        doubts = {code: _REASON.format(name) for name in workflows for code in _READ}
        return dataclasses.replace(self, doubts={**self.doubts, **doubts})


_REASON = "{} was not imported, so this may be wrong"


def _there(name: str) -> FieldSpec:
    def default() -> Any:
        raise SpecError(f"the default of {name!r} was not imported")

    return FieldSpec(name, Any, default=default)
