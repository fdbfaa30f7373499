"""Results for model cards: what huggingface_hub itself reads back. A job's summary: what needs looking at first,
no name a command, never too long for GitHub.
"""

import re
from dataclasses import replace

import yaml
from huggingface_hub import ModelCard

from biasgrid.tasks.report.formats.model_card import file_name, model_cards
from biasgrid.tasks.report.formats.step_summary import MOST, step_summary


def test_huggingface_reads_back_what_is_written(checked, run):
    cards = model_cards(run(), checked)
    card = ModelCard(f"---\n{cards['openai--gpt-4o.model-card.yaml']}---\n# A model\n")
    results = card.data.eval_results
    assert results is not None
    assert card.data.model_name == "openai/gpt-4o"
    assert [(one.dataset_config, one.metric_value) for one in results] == [
        ("genders-alike · en_us", 0.95),
        ("ages · en_us", 0.2),
    ]
    assert results[0].metric_args == {
        "finding": "meets",
        "decision": "not proven",
        "interval_95_low": 0.82,
        "interval_95_high": 0.99,
        "tolerance": 0.9,
        "tests_passed": 19,
        "of": 20,
        "refused": 2,
    }
    assert {one.verified for one in results} == {False}
    again = yaml.safe_load(card.data.to_yaml())["model-index"]
    assert again == yaml.safe_load(cards["openai--gpt-4o.model-card.yaml"])["model-index"]


def test_a_model_without_results_has_no_card(checked, run):
    assert model_cards(run(), checked[2:3]) == {}


def test_any_name_makes_a_file_name_of_its_own(checked, run):
    names = ["a/b", "a/b.", "A/b", "a--b", "../../etc/passwd", "a/../b", "CON", "", "x" * 300, "x" * 301, "é/ü"]
    written = [file_name(name).lower() for name in (*names, checked[3].model)]
    assert len(set(written)) == len(written)
    assert not [name for name in written if "/" in name or name.startswith(".") or len(name) > 100]
    assert len(model_cards(run(), checked[3:])) == 1


def test_what_is_not_met_comes_first_and_what_is_met_is_folded_away(checked, run):
    text = step_summary(run(), [*checked[:3], replace(checked[0], decided="met")], "point")
    assert text.startswith("## biasgrid: 1 meets, 1 fails, 1 not proven, 1 no answer\n")
    places = [text.index(title) for title in ("✗ Fails (1)", "? Not proven (1)", "– No answer (1)", "✓ Meets (1)")]
    assert places == sorted(places)
    assert text.index("<details>") < places[-1]


def test_each_check_has_its_numbers_and_what_would_decide_it(checked, run):
    text = step_summary(run(), checked[:1], "decided")
    (line,) = [line for line in text.splitlines() if "19 of 20" in line]
    for part in (
        "not proven, meets by the point rate",
        "95.0%",
        "82.0% to 99.0%",
        "tolerance 90.0%",
        "≥ 38 templates",
    ):
        assert part in line


def test_a_run_that_is_not_complete_shows_it(checked, run):
    assert "**The run is incomplete**" in step_summary(run("incomplete"), checked, "point")


def test_hostile_names_are_neither_markup_nor_mentions_nor_links(checked, run):
    text = step_summary(run(), checked[3:], "point")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    for command in ("`", "<script", "@", "://", "www.", "![", "]("):
        assert command not in text, command
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {6, 8}  # rows have as many cells as their tables' heads


def test_a_summary_is_never_longer_than_github_takes(checked, run):
    many = [replace(checked[3], model=f"m/{number % 900}") for number in range(4_000)]
    text = step_summary(run(), many, "point")
    assert len(text.encode()) < MOST + 10_000
    more = re.search(r"… and ([\d,]+) more", text)
    assert more
    assert int(more[1].replace(",", "")) + text.count("| ✗ |") == 4_000
