"""Models: providers, the calls that reach them, and the transports that read their answers."""

from __future__ import annotations

from agentflow.models.limiter import Limiter
from agentflow.models.model import Model
from agentflow.models.ports import ModelContext, Provider
from agentflow.models.price import Price
from agentflow.models.retries import Retries
from agentflow.models.transport import Preparation, Transport, structured

__all__ = [
    "Limiter",
    "Model",
    "ModelContext",
    "Preparation",
    "Price",
    "Provider",
    "Retries",
    "Transport",
    "structured",
]
