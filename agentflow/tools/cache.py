"""The cache of a run: what tools that say so have given for the same arguments, as long as the run is in memory.

A call that is answered from here is recorded like any other, under its own key, so that going through the run again finds the
same. Failures are never kept.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import anyio

from agentflow.graph.codec import Unstorable, encoded

if TYPE_CHECKING:
    from agentflow.run.run import Run
    from agentflow.tools.tool import Tool

__all__ = ["CacheKey", "RunCache", "cache_of", "key_in_cache"]

CacheKey = tuple["Tool", str]
"""A tool and its arguments, defaults filled in."""


def key_in_cache(tool: Tool, input: dict[str, Any]) -> CacheKey | None:
    """Under which key a call is found again; `None` where it is made every time."""
    if tool.cache is None:
        return None
    try:
        return tool, json.dumps(encoded(input), sort_keys=True)
    except Unstorable:
        # A live object among the arguments: nobody can say whether another one is the same.
        return None


class RunCache:
    """What was given in one run. Equal calls at the same time wait for the first of them."""

    __slots__ = ("_locks", "_values")

    def __init__(self) -> None:
        self._values: dict[CacheKey, Any] = {}
        self._locks: defaultdict[CacheKey, anyio.Lock] = defaultdict(anyio.Lock)

    def __contains__(self, key: CacheKey) -> bool:
        return key in self._values

    def lock(self, key: CacheKey) -> anyio.Lock:
        """The lock under which a call is looked up and made."""
        return self._locks[key]

    def value(self, key: CacheKey) -> Any:
        """A copy of what was given: whoever gets it may change it."""
        return copy.deepcopy(self._values[key])

    def keep(self, key: CacheKey, value: Any) -> None:
        """Keep what a call gave, unless it cannot be copied: then the call is made every time."""
        if key in self._values:
            return
        try:
            self._values[key] = copy.deepcopy(value)
        except Exception:
            # Copying runs code of the value's class, which may raise whatever it likes.
            return


_caches: Final[WeakKeyDictionary[Run[Any], RunCache]] = WeakKeyDictionary()


def cache_of(run: Run[Any]) -> RunCache:
    """The cache of a run, which goes with it."""
    cache = _caches.get(run)
    if cache is None:
        cache = _caches[run] = RunCache()
    return cache
