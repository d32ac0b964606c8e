"""What the agent of the triage works with: values that never change."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Evidence", "Incident", "NextStep", "Report"]


class Frozen(BaseModel):
    """The base of the values below."""

    model_config = ConfigDict(frozen=True)


class Incident(Frozen):
    """The alert that opened the incident."""

    id: str
    endpoint: str
    symptom: str
    start: datetime
    end: datetime


class Evidence(Frozen):
    """Something that was found out, and how."""

    source: str
    finding: str


class NextStep(Frozen):
    """What the model wants to do next: look something up, or name its suspect."""

    thought: str
    action: Literal["look", "conclude"]
    tool: str = ""
    arguments: dict[str, str] = {}
    suspect: str = ""
    service: str = ""


class Report(Frozen):
    """The result of the triage."""

    incident: str
    cause: str | None
    summary: str
    errors_before: str
    errors_during: str
    errors_after: str
    evidence: tuple[str, ...]
