"""No path, no link and no race leads out of the folder that files are confined to."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentflow.tools.files import Folder, PathRefused

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders of POSIX")

SECRET = "the secret outside"


class Place:
    """A folder, and a secret beside it; links of every kind lead from one to the other."""

    def __init__(self, above: Path) -> None:
        self.above = above
        self.root, self.outside = above / "root", above / "outside"
        (self.root / "sub" / "in").mkdir(parents=True)
        (self.outside / "in").mkdir(parents=True)
        for place in (self.outside, self.outside / "in"):
            (place / "file").write_text(SECRET, encoding="utf-8")
        for place in (self.root, self.root / "sub", self.root / "sub" / "in"):
            (place / "file").write_text("inside", encoding="utf-8")
            (place / "up").symlink_to("..")
            (place / "away").symlink_to(self.outside)
            (place / "secret").symlink_to(self.outside / "file")
            (place / "relative").symlink_to("../" * 5 + str(self.outside / "file")[1:])
            (place / "within").symlink_to("file")
            (place / "lost").symlink_to(self.outside / "new")
        os.link(self.outside / "file", self.root / "second name")

    def told(self, folder: Folder, path: str) -> str:
        """Everything that is told of a path, whatever is asked."""
        asks: list[Callable[[], Any]] = [
            lambda: folder.list(path),
            lambda: folder.read(path),
            lambda: folder.search("s", path),
            lambda: folder.search("s", path, names=path),
            lambda: folder.write(path, "written"),
        ]
        said = []
        for ask in asks:
            try:
                said.append(repr(ask()))
            except (PathRefused, OSError) as error:
                said.append(f"{type(error).__name__}: {error}")
        return "\n".join(said)

    def around(self) -> dict[str, str]:
        """What lies outside."""
        return {
            str(path.relative_to(self.above)): path.read_text(encoding="utf-8")
            for path in sorted(self.above.rglob("*"))
            if path.is_file() and self.root not in path.parents
        }


NAMES = [
    *("sub", "in", "file", "up", "away", "secret", "relative", "within", "lost", "second name"),
    *("..", ".", "", "new", "~", "root", "outside", "..\\", "%2e%2e", "\0", "...", " ..", "\uff0f"),
]
PATHS = st.builds(
    lambda start, names, end: start + "/".join(names) + end,
    st.sampled_from(["", "", "", "/", "./", "//", "../", "{above}/", "{root}/"]),
    st.lists(st.sampled_from(NAMES), max_size=6),
    st.sampled_from(["", "", "/", "/."]),
)


@contextmanager
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as above:
        yield Place(Path(above).resolve())


@given(paths=st.lists(PATHS, min_size=1, max_size=4))
@settings(max_examples=60)
def test_no_path_leads_out(paths: list[str]) -> None:
    with place() as here:
        folder, before = Folder(here.root), here.around()
        for path in paths:
            given_path = path.format(above=here.above, root=here.root)
            assert SECRET not in here.told(folder, given_path)
        assert here.around() == before


@given(path=st.text(max_size=30))
@settings(max_examples=40)
def test_any_text_is_a_path_inside_or_refused(path: str) -> None:
    with place() as here:
        before = here.around()
        assert SECRET not in here.told(Folder(here.root), path)
        assert here.around() == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../outside/file", "has a step up"),
        ("sub/../../outside/file", "has a step up"),
        ("sub/..", "has a step up"),
        ("/etc/passwd", "is absolute"),
        ("away/file", "'away' is a link"),
        ("sub/up/file", "'sub/up' is a link"),
        ("secret", "'secret' is a link"),
        ("within", "'within' is a link"),
        ("second name", "has further names"),
        ("a\0b", "a character that no name has"),
    ],
)
def test_a_way_out_is_refused_with_the_reason(path: str, message: str) -> None:
    with place() as here, pytest.raises(PathRefused, match=message):
        Folder(here.root).read(path)


def test_a_link_is_neither_written_through_nor_replaced() -> None:
    with place() as here:
        folder = Folder(here.root)
        for path in ("secret", "lost", "away/new", "up/new"):
            with pytest.raises(PathRefused, match="link"):
                folder.write(path, "mine")
        assert (here.outside / "file").read_text(encoding="utf-8") == SECRET
        assert not (here.outside / "new").exists()
        assert (here.root / "lost").is_symlink()


def test_a_root_that_is_a_link_is_followed_once() -> None:
    with place() as here:
        door = here.above / "door"
        door.symlink_to(here.root)
        folder = Folder(door)
        door.unlink()
        door.symlink_to(here.outside)
        assert folder.read("file").text == "inside"


def swapped(here: Place) -> None:
    """Put a link to the outside in place of a folder, and of a file."""
    (here.root / "sub").rename(here.above / "aside")
    (here.root / "sub").symlink_to(here.outside)


DOINGS: list[Callable[[Folder], Any]] = [
    lambda folder: folder.read("sub/in/file"),
    lambda folder: folder.list("sub/in"),
    lambda folder: folder.search("s"),
    lambda folder: folder.write("sub/in/file", "mine"),
    lambda folder: folder.write("sub/in/new/file", "mine"),
]
CALLS = ["open", "stat", "scandir", "mkdir", "replace", "fstat", "read"]


class Race:
    """Calls one function of the system, and does something before one of the calls."""

    def __init__(self, real: Callable[..., Any], moment: int, then: Callable[[], None]) -> None:
        self.real = real
        self.moment = moment
        self.then = then
        self.made = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.made += 1
        if self.made == self.moment:
            self.then()
        return self.real(*args, **options)


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.parametrize("call", CALLS)
def test_a_link_that_is_put_in_place_at_any_moment_leads_nowhere(
    doing: Callable[[Folder], Any], call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each single call to the system, the folder on the way becomes a link to the outside."""

    def swap(here: Place) -> None:
        monkeypatch.undo()
        swapped(here)

    for moment in range(1, 12):
        with place() as here:
            folder, before = Folder(here.root), here.around()
            race = Race(getattr(os, call), moment, partial(swap, here))
            monkeypatch.setattr(os, call, race)
            try:
                said = repr(doing(folder))
            except (PathRefused, OSError) as error:
                said = str(error)
            monkeypatch.undo()
            assert SECRET not in said
            around = here.around().items()
            assert {name: text for name, text in around if not name.startswith("aside")} == before
        if race.made < moment:
            return
    raise AssertionError("there were more moments than were tried")


def test_somebody_who_swaps_without_end_gains_nothing() -> None:
    with place() as here:
        folder, over = Folder(here.root), threading.Event()
        link, aside = here.above / "link", here.above / "aside"
        link.symlink_to(here.outside)

        def swap() -> None:
            while not over.is_set():
                (here.root / "sub").rename(aside)
                link.rename(here.root / "sub")
                (here.root / "sub").rename(link)
                aside.rename(here.root / "sub")

        racing = threading.Thread(target=swap)
        racing.start()
        said: set[str] = set()
        try:
            for _ in range(300):
                try:
                    said.add(folder.read("sub/in/file").text)
                except (PathRefused, OSError) as error:
                    said.add(type(error).__name__)
        finally:
            over.set()
            racing.join()
        refused = {"PathRefused", "FileNotFoundError", "NotADirectoryError"}
        assert said <= {"inside"} | refused
        assert folder.read("sub/in/file").text == "inside"
