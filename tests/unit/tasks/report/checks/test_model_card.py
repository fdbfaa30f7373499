"""Results for model cards: what huggingface_hub itself reads back."""

import yaml
from huggingface_hub import ModelCard

from biasgrid.tasks.report.formats.model_card import file_name, model_cards


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
        "finding": "met",
        "decision": "undecided",
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
