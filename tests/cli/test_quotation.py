from __future__ import annotations

import unicodedata

from hypothesis import given, strategies as st

from agentflow.cli.excerpt import Excerpt, Mark
from agentflow.cli.formats.quotation import quotation


def quoted(*lines: str, start: int, end: int, columns: int | None = None) -> list[str]:
    shown = Excerpt(9, lines, Mark(8 + len(lines), start, end))
    return [
        "".join(text for text, _ in line) for line in quotation(shown, "error", columns=columns)
    ]


def test_the_words_in_question_are_underlined() -> None:
    assert quoted("x = node('a', 'b')", start=14, end=17) == [
        "  |",
        "9 | x = node('a', 'b')",
        "  |               ^^^",
    ]


def test_tabs_and_wide_letters_do_not_move_the_underlining() -> None:
    assert quoted("\tx = '質問', 'b'", start=11, end=14)[1:] == [
        "9 |     x = '質問', 'b'",
        "  |                 ^^^",
    ]


def test_of_many_lines_the_head_and_the_last_ones_are_quoted() -> None:
    lines = [f"line {number}" for number in range(9, 29)]
    assert [line.split(" |")[0] for line in quoted(*lines, start=0, end=4)] == [
        *["  ", " 9", "...", "24", "25", "26", "27", "28", "  "]
    ]


def test_a_line_that_is_too_long_for_the_screen_is_cut_around_the_mark() -> None:
    text = "x = [" + "'word', " * 20 + "'here', " + "'word', " * 20 + "]"
    at = text.index("'here'")
    _, line, marks = quoted(text, start=at, end=at + 6, columns=60)
    assert len(line) <= 60
    assert line.startswith("9 | …")
    assert line.endswith("…")
    assert line[marks.index("^") :].startswith("'here'")
    assert marks.count("^") == 6
    _, line, _ = quoted(text, start=0, end=1, columns=60)
    assert line.startswith("9 | x = [")


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Mn", "Me"]), min_size=1, max_size=120),
    st.data(),
)
def test_whatever_the_line_no_quotation_is_wider_than_the_screen(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    for line in quoted(text, start=start, end=end, columns=40):
        wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in line)
        assert len(line) + wide <= 40
