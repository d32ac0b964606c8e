"""What a docstring says of a tool reaches the model, in whichever of three styles it is written."""

from __future__ import annotations

import functools
import logging
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import ToolContext, tool
from agentflow.tools.docstring import Docstring, docstring_of


def google(query: str, limit: int = 10) -> list[str]:
    """Search the archive.

    Gives the newest first.

    Args:
        query: What to look for; words are combined
            with "and".
        limit (int): How many: at most.

    Returns:
        The titles.
    """
    return [query] * limit


def numpy(query: str, limit: int = 10) -> list[str]:
    """Search the archive.

    Gives the newest first.

    Parameters
    ----------
    query : str
        What to look for; words are combined
        with "and".
    limit : int, optional
        How many: at most.

    Returns
    -------
    list of str
        The titles.
    """
    return [query] * limit


def sphinx(query: str, limit: int = 10) -> list[str]:
    """Search the archive.

    Gives the newest first.

    :param query: What to look for; words are combined
        with "and".
    :param int limit: How many: at most.
    :returns: The titles.
    """
    return [query] * limit


def object_that_is_called() -> Any:
    class Search:
        """Not this.

        Args:
            query: Nor this.
        """

        def __call__(self, query: str, limit: int = 10) -> list[str]:
            return [query] * limit

    Search.__call__.__doc__ = google.__doc__
    return Search()


@pytest.mark.rule("R314")
@pytest.mark.parametrize(
    "function",
    [google, numpy, sphinx, functools.partial(google), object_that_is_called()],
    ids=["google", "numpy", "sphinx", "partial", "object"],
)
def test_the_model_is_told_the_same_in_every_style(function: Any) -> None:
    made = tool(function, id="search")
    assert made.description == "Search the archive.\n\nGives the newest first."
    described = {
        name: schema["description"] for name, schema in made.parameters["properties"].items()
    }
    assert described == {
        "query": 'What to look for; words are combined with "and".',
        "limit": "How many: at most.",
    }


def test_what_is_said_of_the_context_is_not_shown() -> None:
    @tool
    def look(word: str, context: ToolContext) -> str:
        """Look.

        Args:
            word: What to look for.
            context: Who asks.
        """
        return word

    assert list(look.parameters["properties"]) == ["word"]
    assert "Who asks" not in str(look.spec)


def test_notes_before_the_first_section_belong_to_the_description() -> None:
    def noted() -> None:
        """Do it: now.

        Note:
            It costs
            a lot.

        Raises:
            ValueError: Never.

        Arguments:
            *words: Many
              words.

              And a blank line.
            last: The last: with a colon.

        Note:
            Read by people only.
        """

    told = docstring_of(noted)
    assert told.description == "Do it: now.\n\nNote:\n    It costs\n    a lot."
    assert told.parameters == {
        "words": "Many words. And a blank line.",
        "last": "The last: with a colon.",
    }


def test_a_note_in_the_style_of_numpy_keeps_its_title() -> None:
    def noted(x: int) -> None:
        """Look.

        Notes
        -----
        It is slow.

        Parameters
        ----------
        x : int
            How far.
        """

    assert docstring_of(noted) == Docstring("Look.\n\nNotes:\n    It is slow.", {"x": "How far."})


def test_without_a_docstring_nothing_is_told() -> None:
    assert docstring_of(lambda: 1) == Docstring()


@given(
    st.lists(
        st.sampled_from(
            [
                "Args:",
                "    x: y",
                "    : :",
                "Returns:",
                "----",
                "Parameters",
                ":param x:",
                ":returns:",
                "",
                "```",
                "  - a",
            ]
        ),
        max_size=8,
    )
)
def test_no_docstring_is_too_broken_to_be_read(lines: list[str]) -> None:
    def function() -> None: ...

    function.__doc__ = "\n".join(lines)
    assert isinstance(docstring_of(function), Docstring)


def test_reading_says_nothing_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for function in (google, numpy, sphinx):
            docstring_of(function)
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


def test_a_docstring_of_one_line_loads_no_parser() -> None:
    program = """
import sys
from agentflow import tool
@tool
def look(word: str) -> str:
    "Look."
    return word
assert look.description == "Look."
assert "griffe" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
