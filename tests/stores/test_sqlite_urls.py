"""SQLite URLs: what they name, and what they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.run.entries import Claim
from agentflow.run.registry import load_store
from agentflow.stores.sqlite import SqliteStore, from_url
from agentflow.testing.store_check import new_run


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_relative_url_names_a_file_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = load_store("sqlite:///runs.db")
    monkeypatch.chdir("/")
    await store.open()
    await store.close()
    assert (tmp_path / "runs.db").exists()


async def test_an_absolute_url_names_any_file_and_may_quote_it(tmp_path: Path) -> None:
    store = load_store(f"sqlite:///{tmp_path}/two%20words%3F.db?durability=relaxed&lease=5")
    await store.open()
    assert isinstance(await store.claim("run", new=new_run()), Claim)
    await store.close()
    assert (tmp_path / "two words?.db").exists()


async def test_nothing_but_the_file_is_left_behind(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.db")
    await store.open()
    assert len(names_in(tmp_path)) == 4
    await store.close()
    assert names_in(tmp_path) == ["runs.db"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:", "names no file"),
        ("sqlite:runs.db", "names no file"),
        ("sqlite://runs.db", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "memory:"),
        ("sqlite:///runs.db?durability=some", "neither full nor relaxed"),
        ("sqlite:///runs.db?lease=0", "no positive number"),
        ("sqlite:///runs.db?lease=inf", "no positive number"),
        ("sqlite:///runs.db?lease=soon", "no positive number"),
        ("sqlite:///runs.db?mode=ro", "there are durability, lease"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_url(url)


def test_a_durability_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="'full' and 'relaxed'"):
        SqliteStore("runs.db", durability="none")  # type: ignore[arg-type]


def test_a_store_tells_what_it_is() -> None:
    assert repr(SqliteStore("runs.db")) == "<SqliteStore SQLite store runs.db>"
