"""Evaluation results in the schema of Every Eval Ever, version 0.3.0: a JSON file per model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from biasgrid.tasks.report.checks import Check, by_model, checks
from biasgrid.tasks.report.figures import escape_name
from biasgrid.tasks.report.formats.model_card import file_name
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import word_of
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

SCHEMA: Final = "0.3.0"
RANGES: Final = {"share": (0.0, 1.0), "score": (-1.0, 1.0), "points": (-100.0, 100.0)}
"""Least and greatest value by unit."""
UNSTATED: Final = "not stated"
UNKNOWN: Final = {"deployment_type": "unknown", "model_availability": "unknown"}
"""What the schema wants to know of a model, and a run does not record."""


def write_every_eval_ever(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes one file per model with measurements."""
    run = find_run(lake, run_id)
    return [write_text(out / name, page) for name, page in records(run, checks(lake, run)).items()]


def records(run: Run, found: Sequence[Check]) -> dict[str, str]:
    """JSON by file name; checks without a value are left out."""
    files = {}
    for model, own in by_model(found):
        results = [_result(check, run) for check in own if check.value is not None]
        if results:
            text = orjson.dumps(_record(run, model) | {"evaluation_results": results}, option=orjson.OPT_INDENT_2)
            files[f"{file_name(model)}.every-eval-ever.json"] = f"{text.decode()}\n"
    return files


def _record(run: Run, model: str) -> dict[str, Any]:
    name, ended = escape_name(model), run.ended_at or run.started_at
    moment = str(int(ended.timestamp()))
    stated = orjson.loads(run.scenario_resolved or "{}")
    imported = {"imported_from": str(stated["imported"].get("from"))} if stated.get("imported") else {}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"biasgrid/{name}/{moment}",
        "evaluation_timestamp": run.started_at.isoformat(),
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": "biasgrid",
            "source_type": "evaluation_run",
            "source_organization_name": UNSTATED,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "biasgrid",
            "version": str(orjson.loads(run.versions or "{}").get("biasgrid", "unknown")),
            "additional_details": {"run_id": run.run_id, "kind": run.kind} | imported,
        },
        "model_info": {
            "name": name,
            "id": name,
            "inference_platform": name.partition("/")[0],
            "additional_details": UNKNOWN,
        },
    }


def _result(check: Check, run: Run) -> dict[str, Any]:
    least, most = RANGES[check.unit]
    return {
        "evaluation_name": escape_name(check.title),
        "source_data": {"dataset_name": f"biasgrid {run.kind}", "source_type": "other"},
        "metric_config": {
            "evaluation_description": check.measure,
            "lower_is_better": not report_kind(run.kind).is_higher_better,
            "score_type": "continuous",
            "min_score": least,
            "max_score": most,
        },
        "score_details": {"score": check.value, "details": _details(check)} | _uncertainty(check),
    }


def _details(check: Check) -> dict[str, str]:
    """All values are texts, as the schema has them."""
    bar = {} if check.bar is None else {(check.bar_name or "bar").replace(" ", "_"): str(check.bar)}
    counts = {check.counts.replace(" ", "_"): str(check.counted), "of": str(check.total)}
    lost = {what.replace(" ", "_"): str(count) for what, count in check.lost.items() if count}
    groups = {"groups": check.groups} if check.groups else {}
    found = {"finding": word_of(check.finding), "decision": word_of(check.decided)}
    return found | bar | counts | lost | groups


def _uncertainty(check: Check) -> dict[str, Any]:
    if check.low is None or check.high is None:
        return {}
    interval = {"lower": check.low, "upper": check.high, "confidence_level": 0.95}
    return {"uncertainty": {"confidence_interval": interval, "num_samples": check.total}}
