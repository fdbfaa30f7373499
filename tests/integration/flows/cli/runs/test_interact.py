"""`biasgrid interact` and `plan` of an interaction file: mistakes, help, and figures before anything is sent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.flows import write_yaml


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(**own: Any) -> Path:
        usual = {"models": ["simulated/conforming"], "scenes": 4, "runs": 2}
        return write_yaml(tmp_path / "talks.yaml", {"interaction": usual | own})

    return write


def test_a_misspelt_model_is_reported_by_its_option_and_nothing_is_made(biasgrid, tmp_path):
    result = biasgrid("interact", "--model", "simulated/confroming", "--data", tmp_path / "data")
    assert result.is_a_mistake("--model", "`simulated/confroming`", "did you mean `conforming`?")
    assert not (tmp_path / "data").exists()


def test_everything_given_next_to_the_file_is_reported_by_its_option(biasgrid, tmp_path):
    words = ("--domain", "ofice", "--axis", "gendr", "--scenes", "office-tax-audits", "--protocol", "studdy")
    result = biasgrid("interact", "--model", "simulated/fair", *words, "--data", tmp_path)
    assert result.is_a_mistake("4 errors", "--domain", "--axis", "--scenes", "--protocol", "`study`")


def test_without_a_file_or_a_model_nothing_is_named(biasgrid):
    assert biasgrid("interact").is_a_mistake("nothing is named", "`--model`")


def test_a_model_without_its_key_is_reported_before_anything_is_sent(biasgrid, monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = biasgrid("interact", "--model", "openai/gpt-4o", "--data", tmp_path / "data")
    assert result.is_a_mistake("no key for `openai/gpt-4o`")


def test_a_chatbot_that_remembers_may_not_play_several_people(biasgrid, monkeypatch, tmp_path, chatbot):
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "bot.yaml").write_text(yaml.safe_dump({"id": "bot"} | chatbot.endpoint("session")))
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path))
    result = biasgrid("interact", "--model", "endpoint/bot", "--data", tmp_path / "data")
    assert result.is_a_mistake("`endpoint/bot` keeps its conversations itself", "`remembers: none`")
    assert chatbot.received == []


def test_help_reports_of_settings_mitigations_and_exit_codes(biasgrid):
    result = biasgrid("interact", "--help")
    text = " ".join(result.out.replace("│", " ").split())
    assert result.code == 0
    for part in ("no_interaction", "--mitigation", "How many scenes, all, or one by name", "130 interrupted"):
        assert part in text
    assert all(len(line) <= 80 for line in result.out.splitlines())


def test_a_plan_reports_plays_and_requests_by_setting(biasgrid, file, tmp_path):
    result = biasgrid("plan", file(scenes=["office-server-migration"]), "--data", tmp_path / "data")
    assert result.code == 0, result
    rows = [line.split() for line in result.out.splitlines() if line.startswith("en_us")]
    assert rows == [
        ["en_us", "no_interaction", "none", "1", "2", "2"],
        ["en_us", "no_goal", "none", "1", "2", "32"],
        ["en_us", "goal", "none", "1", "2", "32"],
    ]
    assert "in all: 6 plays, 66 requests" in result.out
    assert "Nothing was sent." in result.out
    assert not (tmp_path / "data").exists()


def test_a_plan_as_json_counts_every_model_of_a_cast(biasgrid, file, tmp_path):
    cast = {"mixed": ["openai/gpt-4o", "openai/gpt-4o-mini"]}
    path = file(models=[], casts=cast, settings=["goal"], mitigations=["reflection"], scenes=["office-tax-audit"])
    report = json.loads(biasgrid("plan", path, "--data", tmp_path, "--format", "json").out)
    models = report["whole"]["models"]
    assert {name: model["requests"] for name, model in models.items()} == {
        "openai/gpt-4o": 5 * (2 + 1),
        "openai/gpt-4o-mini": 5 * (1 + 2),
    }
    assert models["openai/gpt-4o"]["cost_usd"] > 10 * models["openai/gpt-4o-mini"]["cost_usd"]


def test_a_plan_is_of_the_models_and_the_seed_that_are_given(biasgrid, file, tmp_path):
    words = ("--data", tmp_path, "--format", "json", "--model", "simulated/fair")
    one, other = (json.loads(biasgrid("plan", file(), *words, *more).out) for more in ((), ("--seed", 5)))
    assert list(one["whole"]["models"]) == ["simulated/fair"]
    assert one["whole"]["input_tokens"] != other["whole"]["input_tokens"]


def test_options_for_scenarios_are_refused(biasgrid, file):
    assert biasgrid("plan", file(), "--samples", 3).is_a_mistake("--samples", "is for scenarios")
