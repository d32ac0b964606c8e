"""What agents remember: settings, the ports of whatever keeps it, and memories that live in an object."""

from __future__ import annotations

from agentflow.agents.memory.in_memory import (
    InMemoryHistory,
    InMemoryVectors,
    InMemoryWorkingMemory,
)
from agentflow.agents.memory.owner import Owner
from agentflow.agents.memory.ports import (
    ConversationHistory,
    Embedder,
    Match,
    Recall,
    VectorIndex,
    WorkingMemory,
)
from agentflow.agents.memory.semantic import Reach, SemanticRecall
from agentflow.agents.memory.settings import Memory, Save
from agentflow.agents.memory.turn import Thread, Turn, messages_of, text_of

__all__ = [
    "ConversationHistory",
    "Embedder",
    "InMemoryHistory",
    "InMemoryVectors",
    "InMemoryWorkingMemory",
    "Match",
    "Memory",
    "Owner",
    "Reach",
    "Recall",
    "Save",
    "SemanticRecall",
    "Thread",
    "Turn",
    "VectorIndex",
    "WorkingMemory",
    "messages_of",
    "text_of",
]
