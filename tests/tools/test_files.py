"""Files of one folder: listed, read, searched and written; what is no text, too large or no file is refused with the reason."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentflow import ToolFailed
from agentflow.testing import fake_context
from agentflow.tools.files import FileText, Folder, Listed, PathRefused, file_tools
from agentflow.tools.results import result_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "docs" / "deep").mkdir(parents=True)
    (place / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (place / "docs" / "b.md").write_text("# Two\r\nand two more", encoding="utf-8")
    (place / "docs" / "deep" / "c.txt").write_text("nothing", encoding="utf-8")
    return place


@pytest.mark.parametrize("path", [".", "", "./", ".//."])
def test_a_folder_is_listed_by_name(root: Path, path: str) -> None:
    listing = Folder(root).list(path)
    assert listing.entries == (Listed("a.txt", "file", 14), Listed("docs", "folder"))
    assert listing.whole


def test_what_is_no_file_is_listed_as_what_it_is(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"\xff")).touch()
    kinds = {each.name: (each.kind, each.bytes) for each in Folder(root).list().entries}
    assert kinds["link"] == ("link", None)
    assert kinds["pipe"] == ("other", None)
    assert kinds["\\udcff"] == ("file", 0)


def test_lines_are_read_by_number(root: Path) -> None:
    folder = Folder(root)
    assert folder.read("./a.txt") == FileText("one\ntwo\nthree", 1, 3, 3)
    assert folder.read("a.txt", first_line=2) == FileText("two\nthree", 2, 3, 3)
    assert folder.read("a.txt", first_line=2, lines=1) == FileText("two", 2, 2, 3)
    assert folder.read("docs//b.md").text == "# Two\r\nand two more"


@pytest.mark.parametrize(("first_line", "lines"), [(0, None), (4, None), (1, 0)])
def test_lines_that_are_not_there_are_told(root: Path, first_line: int, lines: int | None) -> None:
    with pytest.raises(ValueError, match=r"'a\.txt' has lines 1 to 3"):
        Folder(root).read("a.txt", first_line=first_line, lines=lines)


def test_a_long_file_is_given_in_parts_and_the_parts_are_the_file(root: Path) -> None:
    folder, text = Folder(root, most=20), "".join(f"line {n}\n" for n in range(30))
    (root / "long.txt").write_text(text, encoding="utf-8")
    at, parts = 1, []
    while at <= 30:
        part = folder.read("long.txt", first_line=at)
        assert len(part.text) <= 20
        parts.append(part.text)
        at = part.last_line + 1
    assert "\n".join(parts) + "\n" == text


def test_a_line_that_has_no_room_is_cut_and_told(root: Path) -> None:
    (root / "wide.txt").write_text("x" * 50, encoding="utf-8")
    assert Folder(root, most=20).read("wide.txt") == FileText("x" * 20, 1, 1, 1, whole_line=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n", "is no text in UTF-8"),
        (b"a\0b", "is no text in UTF-8"),
        ("Grüße".encode("latin-1"), "is no text in UTF-8"),
        (b"x" * 101, "has more than 100 bytes"),
    ],
)
def test_what_is_no_text_or_too_large_is_refused(root: Path, content: bytes, message: str) -> None:
    (root / "odd").write_bytes(content)
    with pytest.raises(PathRefused, match=message):
        Folder(root, largest=100).read("odd")


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("no.txt", FileNotFoundError, "'no.txt'"),
        ("no/a.txt", FileNotFoundError, "'no'"),
        ("a.txt/b", NotADirectoryError, "'a.txt'"),
        ("docs", PathRefused, r"'docs' is no file \(folder\)"),
        ("docs/", PathRefused, "is the path of a folder"),
        (".", PathRefused, "is the path of a folder"),
        ("pipe", PathRefused, r"'pipe' is no file \(other\)"),
        ("x" * 300, OSError, "name too long"),
    ],
)
def test_what_is_no_file_is_told_by_its_path_in_the_folder(
    root: Path, path: str, error: type[Exception], message: str
) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(error, match=f"(?i){message}") as caught:
        Folder(root).read(path)
    assert str(root) not in str(caught.value)


def test_a_text_is_found_with_its_file_and_line(root: Path) -> None:
    found = Folder(root).search("two")
    assert [(each.path, each.line, each.text) for each in found.matches] == [
        ("a.txt", 2, "two"),
        ("docs/b.md", 2, "and two more"),
    ]
    assert (found.files, found.whole) == (3, True)
    folder = Folder(root)
    assert [each.path for each in folder.search("two", "docs").matches] == ["docs/b.md"]
    assert [each.path for each in folder.search("two", names="*.txt").matches] == ["a.txt"]
    assert [each.path for each in folder.search("o", names="docs/*.txt").matches] == [
        "docs/deep/c.txt"
    ]


def test_a_search_passes_over_what_cannot_be_read(root: Path) -> None:
    (root / "image").write_bytes(b"two\0")
    (root / "large").write_bytes(b"two" * 100)
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    os.link(root / "a.txt", root / "other name")
    assert [each.path for each in Folder(root, largest=200).search("two").matches] == ["docs/b.md"]
    both = Folder(root, largest=200, hard_links="allow").search("two", names="*[te]*").matches
    assert [each.path for each in both] == ["a.txt", "other name"]


def test_a_search_ends_when_it_is_told_to_and_when_there_is_too_much(root: Path) -> None:
    (root / "many.txt").write_text("two\n" * 1_000, encoding="utf-8")
    found = Folder(root).search("two", names="many*")
    assert (len(found.matches), found.whole) == (200, False)
    stopped = Folder(root).search("two", stop=lambda: True)
    assert (stopped.matches, stopped.files, stopped.whole) == ((), 0, False)
    (root / "wide.txt").write_text("two" + "x" * 1_000, encoding="utf-8")
    assert len(Folder(root).search("two", names="wide*").matches[0].text) == 400


@pytest.mark.parametrize("text", ["", "a\nb"])
def test_only_a_text_within_a_line_can_be_searched_for(root: Path, text: str) -> None:
    with pytest.raises(ValueError, match="a text that stands in a line"):
        Folder(root).search(text)


def test_a_file_is_written_whole_and_its_rights_stay(root: Path) -> None:
    folder = Folder(root)
    made = folder.write("new/deep//n.txt", "Grüße\n")
    assert (made.path, made.bytes, made.created) == ("new/deep/n.txt", 8, True)
    assert (root / "new/deep/n.txt").read_text(encoding="utf-8") == "Grüße\n"
    (root / "a.txt").chmod(0o640)
    assert not folder.write("a.txt", "x").created
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in root.iterdir()) == ["a.txt", "docs", "new"]


def test_a_write_that_fails_leaves_the_file_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        Folder(root).write("a.txt", "new")
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
    assert sorted(each.name for each in root.iterdir()) == ["a.txt", "docs"]


def test_a_further_name_of_a_file_keeps_what_it_had(root: Path, tmp_path: Path) -> None:
    os.link(root / "a.txt", tmp_path / "outside.txt")
    with pytest.raises(PathRefused, match="has further names"):
        Folder(root).read("a.txt")
    assert Folder(root, hard_links="allow").read("a.txt", lines=1).text == "one"
    Folder(root).write("a.txt", "new")
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("docs", "x", r"is no file \(folder\), and is not replaced"),
        ("docs/", "x", "is the path of a folder"),
        ("n.txt", "x" * 101, "has 101 bytes; at most 100 are written"),
        ("n.txt", "\ud800", "cannot be written as UTF-8"),
        ("n\ud800", "x", "is no text that a file could be called by"),
    ],
)
def test_what_cannot_be_written_is_refused(root: Path, path: str, text: str, message: str) -> None:
    with pytest.raises(PathRefused, match=message):
        Folder(root, largest=100).write(path, text)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"largest": 0}, ValueError),
        ({"most": 0}, ValueError),
        ({"hard_links": "maybe"}, ValueError),
        ({"root": "no such place"}, NotADirectoryError),
        ({"root": ""}, NotADirectoryError),
    ],
)
def test_a_folder_that_makes_no_sense_is_refused(
    root: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Folder(**{"root": root, **options})


def test_where_files_cannot_be_confined_there_is_no_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(NotImplementedError, match="cannot be confined to a folder here"):
        Folder(root)


async def test_the_tools_do_it_for_models(root: Path) -> None:
    tools = file_tools(root, access="write")
    ctx = fake_context(tools=[tools])
    assert [spec.name for spec in ctx.tools.specs()] == [
        "list_files",
        "read_file",
        "search_files",
        "write_file",
    ]
    listed = await ctx.tools.invoke("list_files")
    assert result_text(listed.value) == (
        '{"entries":[{"name":"a.txt","kind":"file","bytes":14},'
        '{"name":"docs","kind":"folder","bytes":null}],"whole":true}'
    )
    await ctx.tools.invoke("write_file", {"path": "n.txt", "text": "two\n"})
    read = await ctx.tools.invoke("read_file", {"path": "n.txt"})
    assert read.value == FileText("two", 1, 1, 1)
    found = await ctx.tools.invoke("search_files", {"text": "two", "names": "*.txt"})
    assert [each.path for each in found.value.matches] == ["a.txt", "n.txt"]
    with pytest.raises(ToolFailed, match=r"PathRefused: '\.\./a' has a step up"):
        await ctx.tools.invoke("read_file", {"path": "../a"})
    assert [each.parallel for each in tools.tools] == [True, True, True, False]


def test_the_tool_that_writes_is_there_only_if_it_is_asked_for(root: Path) -> None:
    names = [each.id for each in file_tools(Folder(root), prefix="notes_").tools]
    assert names == ["notes_list_files", "notes_read_file", "notes_search_files"]
    with pytest.raises(ValueError, match="it is 'read' or 'write'"):
        file_tools(root, access="all")  # type: ignore[arg-type]
