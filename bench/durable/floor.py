"""The floor: a loop by hand that inserts and commits one row for each visit, and reads all of them to go on."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.durable.messages import message
from bench.durable.place import Sqlite
from bench.durable.raw import BODY, Write, writing

if TYPE_CHECKING:
    from bench.durable.keeper import Ask, Program, Stamp
    from bench.durable.place import Place

TITLE = "insert and commit"
DISTRIBUTION = None
LACKS: Mapping[str, str] = {"suspended": "a loop by hand has nobody to ask"}
FEWER: Mapping[str, int] = {}


_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Table:
    """What the floor writes to."""

    place: Place
    write: Write


@asynccontextmanager
async def storing(place: Place) -> AsyncIterator[Table]:
    with writing(place, "loop") as write:
        yield Table(place, write)


async def loop(store: Table, rounds: int, stamp: Stamp) -> Program:
    async def run(x: int) -> int:
        while x < rounds:
            stamp()
            x += 1
            store.write(next(_numbers))
        return x

    return run


async def line(store: Table, nodes: int) -> Program:
    async def run(x: int) -> int:
        for _ in range(nodes):
            x += 1
            store.write(next(_numbers))
        return x

    return run


async def fan(store: Table, items: int) -> Program:
    """One commit for each item: the floor makes no two of them at the same time."""

    async def run(x: int) -> int:
        results = []
        for _ in range(items):
            results.append(x + 1)
            store.write(next(_numbers))
        return sum(results)

    return run


async def talk(store: Table, turns: int, stamp: Stamp) -> Program:
    """No database at all: the messages, one after the other, are the bytes that there are to be stored."""
    assert isinstance(store.place, Sqlite)
    path = store.place.path

    async def run(x: int) -> int:
        with path.open("a", encoding="ascii") as file:
            while x < turns:
                stamp()
                x += 1
                file.write(message(x))
        return x

    return run


async def asking(store: Table) -> Ask:
    raise NotImplementedError(LACKS["suspended"])


async def leave(place: Place, rounds: int, *, talking: bool) -> None:
    assert isinstance(place, Sqlite)
    body = json.dumps({"message": message(0)}) if talking else BODY
    with closing(sqlite3.connect(place.path)) as connection:
        connection.execute("CREATE TABLE left_behind (number INTEGER PRIMARY KEY, body TEXT)")
        rows = ((number, body) for number in range(1, rounds + 1))
        connection.executemany("INSERT INTO left_behind VALUES (?, ?)", rows)
        connection.commit()


async def go_on(place: Place, rounds: int, stamp: Stamp, *, talking: bool) -> int:
    assert isinstance(place, Sqlite)
    with closing(sqlite3.connect(place.path)) as connection:
        rows = connection.execute("SELECT body FROM left_behind ORDER BY number")
        bodies = [json.loads(body) for (body,) in rows]
    stamp()
    return len(bodies) + 1
