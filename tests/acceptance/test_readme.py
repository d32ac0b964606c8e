"""What the README and docs/ show is what happens: their blocks are run, their output compared."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.pages import (
    Block,
    blocks_of,
    commands_of,
    pages,
    parse_blocks,
    prints_as_shown,
    programs_of,
)
from tests.acceptance.programs import run

if TYPE_CHECKING:
    from pathlib import Path

BLOCKS = {page: blocks_of(page) for page in pages()}
PROGRAMS = [program for blocks in BLOCKS.values() for program in programs_of(blocks)]
CONSOLES = [
    (block, [other for other in blocks[:position] if other.file])
    for blocks in BLOCKS.values()
    for position, block in enumerate(blocks)
    if block.is_checked_console()
]


@pytest.mark.parametrize(
    ("block", "program"), [pytest.param(*each, id=each[0].place) for each in PROGRAMS]
)
def test_a_program_on_a_page_runs(block: Block, program: str, tmp_path: Path) -> None:
    file = tmp_path / (block.file or "block.py")
    file.parent.mkdir(exist_ok=True)
    file.write_text(program, encoding="utf-8")
    done = run([sys.executable, str(file.relative_to(tmp_path))], tmp_path)
    assert done.returncode == 0, f"{block.place} ends with {done.returncode}:\n{done.stdout}"


@pytest.mark.parametrize(
    ("block", "files"), [pytest.param(*each, id=each[0].place) for each in CONSOLES]
)
def test_a_command_on_a_page_prints_what_is_shown(
    block: Block, files: list[Block], tmp_path: Path
) -> None:
    for file in files:
        path = tmp_path / str(file.file)
        path.parent.mkdir(exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    for command in commands_of(block):
        done = run(command.line, tmp_path)
        assert prints_as_shown(done.stdout, command.expected), (
            f"{block.place}: `{command.line}` prints:\n{done.stdout}"
        )


def test_the_pages_have_programs_to_run() -> None:
    assert any(block.page == "README.md" for block, _ in PROGRAMS)


def test_a_block_keeps_its_place_its_words_and_its_text() -> None:
    text = "# Page\n\n- item\n\n  ```python file=a.py\n  x = 1\n  ```\n\n````text\n```\n````\n"
    first, second = parse_blocks(text, "page.md")
    assert first == Block("page.md", 5, ("python", "file=a.py"), "x = 1\n")
    assert (first.place, first.file) == ("page.md:5", "a.py")
    assert second == Block("page.md", 9, ("text",), "```\n")


def test_only_programs_run_and_a_continued_one_starts_with_the_one_before() -> None:
    page = "".join(
        f"```{info}\n{text}\n```\n"
        for info, text in [
            ("python", "a"),
            ("python no-run", "b"),
            ("pycon", ">>> c"),
            ("python continued", "d"),
            ("console", "$ e"),
        ]
    )
    programs = programs_of(list(parse_blocks(page, "page.md")))
    assert [text for _, text in programs] == ["a\n", "a\n\nd\n"]


def test_a_continued_block_without_a_program_before_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"page\.md:1: there is no program"):
        programs_of(list(parse_blocks("```python continued\na\n```\n", "page.md")))


def test_a_console_block_is_read_as_commands_with_their_output() -> None:
    (block,) = parse_blocks("```console check\n$ a\n1\n2\n$ b\n```\n", "page.md")
    assert [(command.line, command.expected) for command in commands_of(block)] == [
        ("a", ("1", "2")),
        ("b", ()),
    ]


def test_a_console_block_that_starts_with_output_is_refused() -> None:
    (block,) = parse_blocks("```console check\nnoise\n```\n", "page.md")
    with pytest.raises(ValueError, match="starts with"):
        commands_of(block)


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb\n", ("a", "b"), True),
        ("a\nb\nc\n", ("a", "...", "c"), True),
        ("a\nc\n", ("a", "...", "c"), True),
        ("a  \n\n", ("a",), True),
        ("", (), True),
        ("a\nb\n", ("a",), False),
        ("a.b\n", ("a?b",), False),
        ("", ("a",), False),
    ],
)
def test_output_is_compared_line_by_line(
    printed: str, expected: tuple[str, ...], same: bool
) -> None:
    assert prints_as_shown(printed, expected) is same
