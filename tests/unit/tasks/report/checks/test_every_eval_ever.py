"""Results in the schema of Every Eval Ever: what it requires, and the schema itself, where it is given."""

import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from biasgrid.tasks.report.formats.every_eval_ever import records

SCHEMA = os.environ.get("BIASGRID_EVERY_EVAL_EVER")
REQUIRED = {
    *("schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library"),
    "evaluation_results",
}


def test_scores_intervals_and_verdicts_are_those_of_the_checks(checked, run):
    files = records(run(), checked)
    record = json.loads(files["openai--gpt-4o.every-eval-ever.json"])
    assert record.keys() >= REQUIRED
    assert record["model_info"]["id"] == "openai/gpt-4o"
    assert record["model_info"]["additional_details"].keys() == {"deployment_type", "model_availability"}
    first, second = record["evaluation_results"]
    assert first["score_details"] == {
        "score": 0.95,
        "details": {
            "finding": "meets",
            "decision": "not proven",
            "tolerance": "0.9",
            "tests_passed": "19",
            "of": "20",
            "refused": "2",
        },
        "uncertainty": {
            "confidence_interval": {"lower": 0.82, "upper": 0.99, "confidence_level": 0.95},
            "num_samples": 20,
        },
    }
    assert second["score_details"]["score"] == 0.2
    assert not first["metric_config"]["lower_is_better"]


def test_more_success_of_attacks_is_worse(checked, run):
    files = records(run(kind="redteam"), checked)
    [record] = [json.loads(text) for name, text in files.items() if name.startswith("openai--gpt-4o.")]
    assert {one["metric_config"]["lower_is_better"] for one in record["evaluation_results"]} == {True}


def test_a_model_without_results_and_an_interval_without_an_end_are_left_out(checked, run):
    assert records(run(), [replace(checked[0], value=None)]) == {}
    [text] = records(run(), [replace(checked[0], high=None)]).values()
    assert "uncertainty" not in text


@pytest.mark.skipif(not SCHEMA, reason="BIASGRID_EVERY_EVAL_EVER names no file with eval.schema.json")
def test_the_schema_itself_accepts_every_file(checked, run):
    schema = json.loads(Path(str(SCHEMA)).read_text())
    for kind in ("benchmark", "probe", "redteam", "interaction", "audit"):
        for text in records(run(kind=kind), checked).values():
            jsonschema.validate(json.loads(text), schema)
