"""Files for models: one folder of this machine, and no way out of it."""

from __future__ import annotations

from agentflow.tools.files.folder import FileText, Folder, Listed, Listing, Written
from agentflow.tools.files.path import PathRefused
from agentflow.tools.files.search import Found, Match
from agentflow.tools.files.toolkit import file_tools

__all__ = [
    "FileText",
    "Folder",
    "Found",
    "Listed",
    "Listing",
    "Match",
    "PathRefused",
    "Written",
    "file_tools",
]
