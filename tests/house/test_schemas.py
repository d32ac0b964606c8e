"""The JSON Schemas: what lies in `schemas/` is what the code says, and real documents satisfy it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentflow import Fact, node, route, validate
from agentflow.graph.codes import CODES
from agentflow.run.fact_json import fact_json
from agentflow.run.facts import FACT_KINDS
from agentflow.run.schemas import SCHEMAS
from tests.graph.spec_flows import everything
from tests.house.repository import ROOT

SCRIPT = ROOT / "scripts" / "schemas.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name](), format_checker=Draft202012Validator.FORMAT_CHECKER)


def parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a schema."""
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from parts(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from parts(part)


def test_the_files_are_what_the_code_says() -> None:
    assert script().differences() == "", "run make schemas, and read the diff"


def test_a_file_that_is_changed_gone_or_left_over_is_told(tmp_path: Path) -> None:
    for name, text in script().expected().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert script().differences(tmp_path) == ""

    changed = json.loads((tmp_path / "fact.schema.json").read_text(encoding="utf-8"))
    changed["title"] = "another"
    (tmp_path / "fact.schema.json").write_text(json.dumps(changed, indent=2), encoding="utf-8")
    assert '-  "title": "another",' in script().differences(tmp_path)

    (tmp_path / "fact.schema.json").unlink()
    (tmp_path / "old.schema.json").write_text("{}\n", encoding="utf-8")
    told = script().differences(tmp_path)
    assert "+++ schemas/fact.schema.json as the code has it" in told
    assert "--- schemas/old.schema.json" in told


def test_the_check_of_the_script_passes_and_changes_nothing() -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (ROOT / "schemas").iterdir()}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert {path.name: path.stat().st_mtime_ns for path in (ROOT / "schemas").iterdir()} == before


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_valid_and_describes_its_properties(name: str) -> None:
    schema = SCHEMAS[name]()
    Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    for part in parts(schema):
        properties = part.get("properties")
        if part.get("type") == "object" and isinstance(properties, dict):
            assert part["additionalProperties"] is False
            silent = [key for key, value in properties.items() if "description" not in value]
            assert set(silent) <= {"parent_run_id"}, part.get("title")
    for part in parts(schema):
        reference = part.get("$ref")
        if isinstance(reference, str):
            assert reference.rpartition("/")[2] in schema["$defs"]


def test_a_workflow_that_was_written_satisfies_its_schema() -> None:
    validator("workflow").validate({"$schema": "x", **everything.to_spec()})


def test_reports_satisfy_their_schema() -> None:
    broken = validate(node(print, id="1x", routes=[route.to("gone")]))
    located = validate({"id": "w", "nodes": [{"id": "a"}]})

    for report in (everything.report, broken, located):
        validator("finding").validate(json.loads(json.dumps(report.as_json())))
    assert broken.errors
    assert everything.report.waivers


def test_the_schema_of_findings_knows_every_code_and_no_other() -> None:
    codes = SCHEMAS["finding"]()["$defs"]["finding"]["properties"]["code"]["enum"]

    assert codes == list(CODES)
    assert not validator("finding").is_valid(
        {"workflow": "", "ok": True, "waivers": [], "findings": [{"code": "AF999"}]}
    )


async def test_the_facts_of_a_run_satisfy_their_schema() -> None:
    facts: list[Fact] = []
    await everything.run({"question": "anybody there?"}, observers=[facts.append])

    assert {"run.started", "route.taken", "run.completed"} <= {fact.kind for fact in facts}
    for fact in facts:
        validator("fact").validate(json.loads(json.dumps(fact_json(fact), allow_nan=False)))


def fact(**more: Any) -> Fact:
    return Fact(
        kind="run.started",
        seq=1,
        time=datetime(2026, 11, 30, tzinfo=UTC),
        run_id="r",
        workflow_id="w",
        workflow_version="1",
        **more,
    )


def test_the_set_of_kinds_of_facts_is_closed() -> None:
    data = fact_json(fact())

    for kind in FACT_KINDS:
        assert validator("fact").is_valid({**data, "kind": kind})
    assert not validator("fact").is_valid({**data, "kind": "run.paused"})
    assert not validator("fact").is_valid({**data, "more": 1})


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


def test_a_fact_is_told_whatever_is_in_it() -> None:
    looped: list[Any] = []
    looped.append(looped)
    data = fact_json(
        fact(
            data={"nan": float("nan"), "set": {1}, "odd": Odd(), "bytes": b"\xff"},
            content={"loop": looped, "half": "\ud800"},
        )
    )

    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["time"] == "2026-11-30T00:00:00+00:00"
    assert data["data"] == {"nan": "NaN", "set": [1], "odd": "<odd>", "bytes": "_w=="}
    assert "half" in data["content"]


def test_an_installed_package_has_its_schemas_without_files() -> None:
    code = (
        "import json, pathlib, builtins, io\n"
        "from agentflow.run.schemas import SCHEMAS\n"
        "print(sorted(SCHEMAS), all(len(json.dumps(make())) > 1000 for make in SCHEMAS.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "docs"
    )

    assert done.stdout.split("\n")[0] == f"{sorted(SCHEMAS)} True"
