"""The first commands: a scenario from five answers, lists of what it may name, and a part of one. `biasgrid
doctor` as a person sees it.
"""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from biasgrid.tasks.connectors.simulated.panel import EVERY, ModelDirectory, Panel
from support.processes import BIASGRID, clean_environment


def plan(biasgrid: Any, *words: object) -> dict[str, Any]:
    result = biasgrid("plan", *words, "--format", "json")
    assert result.code == 0, result
    planned: dict[str, Any] = json.loads(result.out)
    return planned


def test_a_new_scenario_runs_as_it_stands(biasgrid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = biasgrid("init")
    assert (result.code, result.err) == (0, "")
    assert "biasgrid plan my-scenario.yaml" in result.out
    assert "biasgrid run my-scenario.yaml" in result.out
    written = yaml.safe_load((tmp_path / "my-scenario.yaml").read_text(encoding="utf-8"))
    assert [one["concern"] for one in written["requirements"]] == ["sexism", "ageism"]
    planned = plan(biasgrid, "my-scenario")  # without its ending
    assert list(planned["by_model"]) == ["simulated/fair", "simulated/biased"]
    assert all(row["missing"] == 0 for row in planned["power"])


def test_a_new_audit_runs_as_it_stands(biasgrid, tmp_path):
    path = tmp_path / "mine.yaml"
    result = biasgrid("init", path, "--audit")
    assert (result.code, result.err) == (0, "")
    assert f"biasgrid audit {path}" in result.out
    assert len([*(tmp_path / "mine-documents").glob("*.md")]) == 60
    planned = plan(biasgrid, path)
    assert planned["pairs"] == 60 * 16
    assert set(planned["whole"]["models"]) == {"simulated/decider-gap", "simulated/decider-fair"}
    assert biasgrid("init", path, "--audit").is_a_mistake("mine-documents", "--force")
    assert biasgrid("init", path, "--audit", "--concern", "sexism").is_a_mistake("--concern", "not for an audit")
    assert biasgrid("init", path, "--audit", "--language", "en_uk").is_a_mistake("did you mean `en_us`")


@pytest.mark.parametrize(
    ("language", "region", "line"), [("es", "es_es", "Nombre: {name}"), ("ca", "ca_es", "Nom: {name}")]
)
def test_an_audit_begins_in_spanish_and_catalan_too(biasgrid, tmp_path, language, region, line):
    path = tmp_path / "mine.yaml"
    assert biasgrid("init", path, "--audit", "--language", language).code == 0
    assert yaml.safe_load(path.read_text())["audit"]["language"] == region
    shown = biasgrid("prepare", path)
    assert (shown.code, shown.err) == (0, "")
    assert line in shown.out
    assert plan(biasgrid, path)["documents"] == 30


def test_options_answer_what_would_be_asked(biasgrid, tmp_path):
    path = tmp_path / "mine.yaml"
    words = ("--model", "fair", "--concern", "religion", "--language", "es_es", "--tolerance", "0.8")
    assert biasgrid("init", path, *words, "--templates", "9").code == 0
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    (one,) = written["requirements"]
    assert (one["concern"], one["languages"], one["tolerance"]) == ("religion", ["es_es"], 0.8)
    assert written["scenario"]["templates"] == 9
    assert biasgrid("init", path).is_a_mistake("exists", "--force")


def test_on_a_terminal_it_asks_five_questions(biasgrid, tmp_path, monkeypatch):
    answers = io.StringIO("simulated/refuser\nsexism\n\n0.7\n12\n")
    answers.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", answers)
    path = tmp_path / "mine.yaml"
    result = biasgrid("init", path)
    assert (result.code, result.out.count("]: ")) == (0, 5)
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["scenario"]["models"] == ["simulated/refuser"]
    assert written["requirements"][0]["tolerance"] == 0.7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "simulated/fare"), "did you mean `fair`?"),
        (("--concern", "sexsim"), "did you mean `sexism`?"),
        (("--concern", "ableism"), "no ready-made requirement"),
        (("--language", "en_uk"), "en_us"),
    ],
)
def test_nothing_is_written_of_what_would_not_run(biasgrid, tmp_path, words, message):
    path = tmp_path / "mine.yaml"
    assert biasgrid("init", path, *words).is_a_mistake(message)
    assert not path.exists()


@pytest.mark.parametrize(
    ("what", "listed"),
    [
        ("models", "openai/gpt-4o-mini"),
        ("concerns", "sexism_ambiguity"),
        ("communities", "gender_age"),
        ("requirements", "langbite-parity"),
        ("respondents", "simulated/biased"),
        ("attacks", "crescendo"),
    ],
)
def test_what_a_scenario_may_name_is_listed(biasgrid, monkeypatch, what, listed):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    result = biasgrid("list", what)
    assert (result.code, result.err) == (0, "")
    assert listed in "".join(result.out.split())
    assert "secret" not in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_what_is_misspelt_is_offered_as_it_is_spelt(biasgrid):
    assert "Did you mean 'models'?" in " ".join(biasgrid("list", "modles").err.replace("│", " ").split())
    assert "Did you mean 'show'?" in " ".join(biasgrid("shwo").err.replace("│", " ").split())


def test_a_part_of_a_scenario_is_asked(biasgrid):
    few = plan(biasgrid, "starter", "--model", "fair", "--limit", 5, "--filter", "*gender*", "--filter", "ageism")
    assert {row["requirement"] for row in few["power"]} == {"genders-treated-equally", "ages-judged-alike"}
    assert max(row["templates"] for row in few["power"]) <= 5
    some = plan(biasgrid, "starter", "--model", "fair", "--templates", 12, "--filter", "politics")
    assert [row["templates"] <= 12 for row in some["power"]] == [True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--filter", "sexsim"), "did you mean `sexism`"),
        (("--limit", "5", "--templates", "6"), "leave one of the two out"),
    ],
)
def test_a_part_that_there_is_not_is_an_error(biasgrid, words, message):
    assert biasgrid("plan", "starter", *words).is_a_mistake(message)


def test_a_served_model_may_have_any_name(catalog):
    directory = ModelDirectory(Panel(catalog), "fair", {EVERY: "biased", "named": "refuser"})
    found = {name: directory.find(name).id for name in ("any/thing", "named", "constant-no", "gpt-4o-mini")}
    assert found == {
        "any/thing": "biased",
        "named": "refuser",
        "constant-no": "constant-no",
        "gpt-4o-mini": "fair",
    }
    assert EVERY not in directory.names()
    assert ModelDirectory(Panel(catalog), "fair", {}).find("any/thing") is None


@pytest.fixture(scope="module")
def catalog() -> Any:
    from biasgrid.catalogs.loading.catalog import load_catalog

    return load_catalog()


SECRET = "sk-not-to-be-shown"


def doctor(data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*BIASGRID, "doctor", "--data", str(data)]
    own = clean_environment(COLUMNS="80", NO_COLOR="1", **environment)
    return subprocess.run(command, env=own, capture_output=True, text=True, check=False)


@pytest.mark.drill
def test_a_machine_that_works_is_reported_so_in_words_within_80_columns(tmp_path):
    found = doctor(tmp_path, OPENAI_API_KEY=SECRET)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert max(map(len, found.stdout.splitlines())) <= 80
    assert "\x1b" not in found.stdout
    assert SECRET not in found.stdout
    parts = {line[6:].split("  ")[0].strip() for line in found.stdout.splitlines()}
    assert {"Python", "packages", "data", "warehouse", "runs", "catalogs", "key openai", "Prefect"} <= parts


@pytest.mark.drill
def test_what_is_broken_ends_in_exit_code_2_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    found = doctor(tmp_path / "file")
    assert found.returncode == 2
    assert "broken" in found.stdout
    assert "→ name another directory" in found.stdout
    assert "Traceback" not in found.stderr
