"""The JSON Schemas that editors use: fresh, and agreeing with what the loader accepts."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from biasgrid.catalogs.loading.documents import parse_document, read_document
from biasgrid.catalogs.scenario.editor_schemas import SCHEMAS, as_text, json_schema

CATALOGS = Path(str(resources.files("biasgrid.catalogs")))
OF_FOLDER = {
    "concerns": "concern",
    "communities": "communities",
    "contexts": "context",
    "augmentation": "augmentation",
    "attacks": "attacks",
    "languages": "language",
    "probes": "probe",
    "probing": "probing",
    "requirements": "requirements",
    "respondents": "respondent",
    "scenarios": "scenario",
    "templates": "templates",
}


def read_shipped() -> Iterator[tuple[str, Path]]:
    yield "models", CATALOGS / "models.yaml"
    for folder, name in OF_FOLDER.items():
        yield from ((name, path) for path in sorted((CATALOGS / folder).rglob("*.yaml")))


def list_refusals(name: str, value: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(json_schema(name)).iter_errors(value)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_what_the_code_gives(name):
    committed = (CATALOGS / "json_schemas" / f"{name}.json").read_text(encoding="utf-8")
    assert committed == as_text(name), "run `make schemas`"


def test_no_schema_is_left_over():
    assert {path.stem for path in (CATALOGS / "json_schemas").iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(json_schema(name))


@pytest.mark.parametrize(("name", "path"), [pytest.param(*each, id=each[1].stem) for each in read_shipped()])
def test_every_shipped_file_validates(name, path):
    assert list_refusals(name, read_document(path).value) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scenario", "scenario: {models: [a/b], tolerence: 1}\nrequirements: starter"),
        ("scenario", "scenario: {models: []}\nrequirements: starter"),
        ("requirements", "id: x\nrequirements: [{name: a, concern: b, languages: [en_us], tolerance: 1.5}]"),
        ("requirements", "id: x\nrequirements: [{name: a, concern: b, languages: [English]}]"),
        ("templates", "language: en_us\nconcern: sexism\ntemplates: [{id: a, promt: x}]"),
        ("templates", "language: en_us\nconcern: sexism\ntemplates: [{id: a, library: x}]"),
    ],
)
def test_an_editor_marks_what_the_loader_would_refuse(name, text):
    assert list_refusals(name, parse_document(text, "mine").value)


def test_numbers_may_stand_for_words_as_in_the_loader():
    text = "id: x\nrequirements: [{name: a, concern: b, languages: [en_us], communities: {en_us: [20, 30]}}]"
    assert list_refusals("requirements", parse_document(text, "mine").value) == []


def test_every_key_of_a_scenario_states_what_it_means():
    keys = json_schema("scenario")["$defs"]["ScenarioSettings"]["properties"]
    assert {name for name, key in keys.items() if "description" not in key} <= {"models"}
