"""A target file resolved: its own chatbot, overrides, and every mistake at once with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
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
