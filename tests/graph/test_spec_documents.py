"""Documents: files and mappings as plain data, or one clear error that says where and why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import SpecError, Workflow
from agentflow.graph.spec.document import DEEPEST, document_of
from agentflow.graph.spec.pointer import below


def written(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def error_of(path: Any) -> SpecError:
    with pytest.raises(SpecError) as caught:
        document_of(path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("2026-11-30", "2026-11-30"),
        ("12:30", "12:30"),
        ("010", 10),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        ("-2.5", -2.5),
        (".inf", ".inf"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("=", "="),
        ("==", "=="),
    ],
)
def test_a_yaml_scalar_is_what_json_would_make_of_it(
    tmp_path: Path, text: str, value: object
) -> None:
    found = document_of(written(tmp_path, f"on: {text}", "a.yaml")).data["on"]

    assert found == value
    assert type(found) is type(value)


def test_yaml_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    text = "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a\n"

    assert document_of(written(tmp_path, text, "a.yml")).data == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    ("name", "text", "pointer", "line"),
    [
        ("a.json", '{"nodes": [{"id": 1, "id": 2}]}', "/nodes/0", None),
        ("a.yaml", "nodes:\n  - id: 1\n    id: 2\n", "/nodes/0", 3),
        ("a.yaml", "a/b:\n  {x: 1, x: 2}\n", "/a~1b", 2),
    ],
)
def test_a_key_that_is_there_twice_is_refused(
    tmp_path: Path, name: str, text: str, pointer: str, line: int | None
) -> None:
    path = written(tmp_path, text, name)
    error = error_of(path)

    assert (error.pointer, error.file, error.line) == (pointer, str(path), line)
    assert "is there twice" in error.message


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{", "the file is no JSON: Expecting property name"),
        ("a.json", '{"a": NaN}', "NaN is no JSON"),
        ("a.json", "[1]", "the file holds a list, not an object"),
        ("a.json", "", "the file is no JSON"),
        ("a.json", "[" * 100_000, "values nest more than"),
        ("a.json", f'{{"a": {"9" * 5000}}}', "the file is no JSON: Exceeds the limit"),
        ("a.json", '{"a": 1e999}', "inf is no number of JSON"),
        ("a.json", b"\xff", "the file is no text in UTF-8"),
        ("a.yaml", "", "the file holds nothing, not an object"),
        ("a.yaml", "a: [1\nb: }", "the file is no YAML of JSON data: while parsing"),
        ("a.yaml", "a: 1\n---\nb: 1", "expected a single document"),
        ("a.yaml", "1: a", "the key 1 is a number: put it in quotes"),
        ("a.yaml", "[x]: a", "the key ['x'] is a list: put it in quotes"),
        ("a.yaml", "a: !!python/name:os.system", "could not determine a constructor"),
        ("a.yaml", "a: !!set {x}", "could not determine a constructor"),
        ("a.yaml", "a: !!int x", "invalid literal for int"),
        ("a.yaml", "a: !!bool x", "'x' is no boolean"),
        ("a.yaml", "a: !!map [x]", "it is no mapping"),
        ("a.yaml", "a: &a [*a]", "hold themselves"),
        ("a.yaml", "a: &a {b: *a}", "hold themselves"),
        ("a.yaml", "[" * 5000, "values nest more than"),
        ("a.yaml", "\x00", "special characters are not allowed"),
        ("a.toml", "", "name it with one of .json, .yaml, .yml"),
        ("a", "", "the file's name does not tell its format"),
    ],
)
def test_a_file_that_is_no_document_says_why(
    tmp_path: Path, name: str, text: str | bytes, reason: str
) -> None:
    path = written(tmp_path, text, name)
    error = error_of(path)

    assert error.file == str(path)
    assert reason in str(error)


def test_a_few_lines_of_yaml_that_stand_for_billions_of_values_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 12)]

    assert "more than 1000000 values" in str(
        error_of(written(tmp_path, "\n".join(lines), "a.yaml"))
    )


def test_a_file_that_is_not_there_or_is_a_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()

    assert "cannot be read: No such file" in str(error_of(tmp_path / "a.json"))
    assert "cannot be read: Is a directory" in str(error_of(tmp_path / "folder.json"))


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert document_of(written(tmp_path, b'\xef\xbb\xbf{"a": 1}', "a.json")).data == {"a": 1}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (5, "5 is no specification; give a mapping, or the path of a file"),
        ({1: 2}, "the key 1 is a number, not text"),
        ({"a": [(1, 2)]}, "#/a/0: (1, 2) is a tuple, which JSON does not have"),
        ({"a": {"b": float("nan")}}, "#/a/b: nan is no number of JSON"),
    ],
)
def test_a_mapping_that_is_no_json_data_says_why(source: Any, reason: str) -> None:
    assert str(error_of(source)) == reason
    with pytest.raises(SpecError):
        Workflow.from_spec(source)


def test_a_mapping_that_holds_itself_is_refused() -> None:
    looped: dict[str, Any] = {}
    looped["a"] = looped

    assert error_of(looped).pointer == "/a" * (DEEPEST + 1)


@given(st.lists(st.text(max_size=3)))
def test_a_pointer_leads_back_to_its_parts(parts: list[str]) -> None:
    steps = below("", *parts).split("/")[1:]

    assert [step.replace("~1", "/").replace("~0", "~") for step in steps] == parts
