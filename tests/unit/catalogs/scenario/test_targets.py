"""A target file resolved: its own chatbot, overrides, and every mistake at once with its place. The JSON Schemas
that editors use: fresh, and agreeing with what the loader accepts.
"""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.documents import parse_document, read_document
from biasgrid.catalogs.scenario.editor_schemas import SCHEMAS, as_text, json_schema
from biasgrid.catalogs.scenario.resolution import Given
from biasgrid.catalogs.scenario.targets import resolve_probe

CHATBOT = {
    "url": "https://bot.example.com/chat",
    "headers": {"Authorization": "Bearer ${ACME_KEY}"},
    "body": {"text": "{message}", "conversation": "{session}"},
    "reply": "data[0].text",
    "remembers": "session",
}


def list_errors(source: Path | str | dict[str, Any], given: Given | None = None) -> list[str]:
    with pytest.raises(UserError) as caught:
        resolve_probe(source, given)
    return [f"{Path(m.where).name}: {m.what}" for m in caught.value.mistakes]


def test_a_file_may_describe_its_own_chatbot_next_to_models(written):
    path = written("help desk.yaml", json.dumps({"target": {"models": ["simulated/fair"], "endpoint": CHATBOT}}))
    targets = resolve_probe(path).targets
    assert list(targets) == ["simulated/fair", "endpoint/help-desk"]
    assert targets["endpoint/help-desk"].base_url == "https://bot.example.com/chat"


def test_a_run_finds_it_again_in_what_was_recorded(monkeypatch):
    monkeypatch.setenv("ACME_KEY", "swordfish")
    resolved = resolve_probe({"target": {"endpoint": CHATBOT}, "name": "ACME · Bewerbungen"})
    assert list(resolved.targets) == ["endpoint/acme-bewerbungen"]
    again = resolve_probe(resolved.as_json())
    assert again.targets == resolved.targets
    assert again.as_json() == resolved.as_json()
    assert "${ACME_KEY}" in resolved.as_json()
    assert "swordfish" not in resolved.as_json()


def test_a_model_that_is_given_stands_in_its_place():
    given = {("target", "models"): ("--model", ["simulated/leaning"])}
    resolved = resolve_probe({"target": {"endpoint": CHATBOT}}, given)
    assert list(resolved.targets) == ["simulated/leaning"]
    assert "bot.example.com" not in resolved.as_json()


def test_its_mistakes_are_reported_together_each_with_its_line(written):
    path = written(
        "mine.yaml",
        """\
        target:
          models: [simulated/fare]
          endpoint:
            url: bot.example.com
            body: {text: "{mesage}"}
            remember: cookie
        probe: {case: 3}
        """,
    )
    mistakes = list_errors(path)
    assert [mistake.partition(":")[2].partition(":")[0] for mistake in mistakes] == ["2", "4", "5", "6", "7"]
    assert "`simulated/fare`" in mistakes[0]
    assert "{mesage}" in mistakes[2]


def test_a_key_written_out_is_refused_and_not_shown():
    chatbot = CHATBOT | {"headers": {"Authorization": "Bearer sk-1234567890abcdefghij"}}
    (mistake,) = list_errors({"target": {"endpoint": chatbot}})
    assert "looks like a key" in mistake
    assert "1234567890" not in mistake


def test_nothing_to_probe(written):
    assert "no model is named" in list_errors(written("mine.yaml", "target: {endpoint: }\n"))[0]


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
