"""`biasgrid finetune` as a person types it, up to where something would be sent."""

import json
from pathlib import Path

import pytest

from support.paths import TUNING_CATALOG


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASGRID_CATALOG", str(TUNING_CATALOG))
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)


def test_the_files_alone_are_the_same_each_time_and_overwritten_only_by_force(biasgrid):
    result = biasgrid("finetune", "dataset", "--out", "mine", "--seed", 3)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[:3] == ["mine/train.jsonl", "mine/validation.jsonl", "mine/dataset.json"]
    first = Path("mine/train.jsonl").read_bytes()
    assert biasgrid("finetune", "dataset", "--out", "mine").is_a_mistake("`mine/train.jsonl` exists", "--force")
    assert biasgrid("finetune", "dataset", "--out", "mine", "--seed", 3, "--force").code == 0
    assert Path("mine/train.jsonl").read_bytes() == first
    assert json.loads(Path("mine/dataset.json").read_text())["train"] == len(first.splitlines())


def test_half_of_it_in_two_languages_speaks_of_no_bias_that_is_present(biasgrid):
    words = ("--variant", "half", "--language", "es_es", "--language", "en_us")
    biasgrid("finetune", "dataset", "--out", "mine", *words)
    written = Path("mine/train.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line)["messages"][-1]["content"] for line in written.splitlines()]
    assert lines
    assert not [line for line in lines if "present" in line.split(".")[0]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("openai/gpt-40",), ("`openai/gpt-40` is unknown", "`openai/gpt-4o`")),
        (("ollama/mistral",), ("`ollama/mistral` cannot be fine-tuned", "--local")),
        (("openai/gpt-4o", "--language", "ca_es"), ("no words in `ca_es`",)),
        (("openai/gpt-4o", "--suffix", "My Model"), ("`My Model` cannot be part", "--suffix")),
        (("--variant", "half", "azure/gpt-4o"), ("AZURE_OPENAI_API_KEY",)),
        (("openai/gpt-40", "--suffix", "_"), ("2 errors",)),
    ],
)
def test_mistakes_are_reported_at_once_and_nothing_is_left(biasgrid, tmp_path, words, expected):
    assert biasgrid("finetune", *words).is_a_mistake(*expected)
    assert list(tmp_path.iterdir()) == []


def test_a_model_comes_first_and_so_do_its_options(biasgrid):
    for words in (("--help",), ("model", "--help"), ("dataset", "--help")):
        assert biasgrid("finetune", *words).code == 0
    assert "MODEL | COMMAND" in biasgrid("finetune", "--help").out
    assert "--epochs" in biasgrid("finetune", "openai/gpt-4o", "--help").out
