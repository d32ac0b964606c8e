"""What one process is to do: which runs, on which store, how it goes on with them, and how it dies."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from agentflow.run.ports import Store
from agentflow.run.registry import load_store
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from tests.crash.death import Death, FullDisk, Instant, Write
from tests.stores.leaping import Leaping

__all__ = ["Order", "Way"]

Way = Literal["start", "recover", "answer"]
"""How a process comes to a run: it asks for it by its id, it recovers what there is, or it brings the answer to its question."""

_LEAPS: Final = 60
"""How often the time of a driver leaps that takes others for dead: in the end one of them must get to an end."""

_DEATHS: Final = {kind.__name__: kind for kind in (Write, Instant, FullDisk)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one process is to do.

    Args:
        seed: Draws the workflow and everything about it.
        url: The store.
        log: The file of the world.
        life: The number of the process.
        death: How it dies; `None` if it does not.
        way: How it comes to a run that is there.
        last: Whether it is the last one, which tells what the store holds and clears it.
        outage: Seconds that have passed, by its clock, since the last process did anything.
        driver: The name of a driver that takes all others for dead; default: an honest one.
        persistent: Whether it goes on by itself with a run that was interrupted.
        waits: Whether it then stops instead, until somebody has it go on, and recovers the run.
        flaw: What is broken in the product, by its name in `flaws`.
    """

    seed: int
    url: str
    log: str
    life: int = 1
    death: Death | None = None
    way: Way = "start"
    last: bool = False
    outage: float = 0.0
    driver: str | None = None
    persistent: bool = False
    waits: bool = False
    flaw: str | None = None

    def as_json(self) -> str:
        """The order as text."""
        death = None if self.death is None else [type(self.death).__name__, asdict(self.death)]
        return json.dumps({**asdict(self), "death": death})

    @classmethod
    def from_json(cls, text: str) -> Order:
        """The order of a text."""
        data: dict[str, Any] = json.loads(text)
        if data["death"] is not None:
            kind, fields = data["death"]
            data["death"] = _DEATHS[kind](**fields)
        return cls(**data)

    def store(self) -> Store:
        """The store, not open yet."""
        if self.driver is None:
            store: Store = load_store(self.url)
            return store
        machine, time = self.driver, Leaping(_LEAPS)
        if self.url.startswith("postgresql:"):
            return PostgresqlStore(self.url, machine=machine, time=time)
        path, _, query = self.url.removeprefix("sqlite:///").partition("?")
        relaxed = query == "durability=relaxed"
        return SqliteStore(
            path, durability="relaxed" if relaxed else "full", machine=machine, time=time
        )
