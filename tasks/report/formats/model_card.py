"""Evaluation results as the metadata of a Hugging Face model card has them (`model-index`): a file per model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from biasgrid.tasks.report.checks import Check, by_model, checks
from biasgrid.tasks.report.figures import escape_name
from biasgrid.tasks.report.verdicts import word_of
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

LONGEST = 80
TASK = "text-generation"
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_USUAL = re.compile(r"[a-z0-9.]+(-[a-z0-9.]+)*(/[a-z0-9.]+(-[a-z0-9.]+)*)+")
"""A name that becomes no other one's file name, even on disks that ignore case."""


def write_model_cards(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes one file per model with measurements."""
    run = find_run(lake, run_id)
    return [write_text(out / name, page) for name, page in model_cards(run, checks(lake, run)).items()]


def model_cards(run: Run, found: Sequence[Check]) -> dict[str, str]:
    """YAML by file name. What has no value is left out: the Hub's format knows no missing one."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    cards = {}
    for model, own in by_model(found):
        results = [_result(check, run) for check in own if check.value is not None]
        if results:
            index = {"model-index": eval_results_to_model_index(escape_name(model), results)}
            cards[f"{file_name(model)}.model-card.yaml"] = yaml.safe_dump(
                index, sort_keys=False, allow_unicode=True
            )
    return cards


def file_name(model: str) -> str:
    """Of a model, whatever is in its name; two models never have the same."""
    usual = model.replace("/", "--")
    plain = _UNSAFE.sub("-", usual).strip(".-")[:LONGEST]
    digest = sha256(model.encode(errors="surrogatepass")).hexdigest()
    return plain if plain == usual and _USUAL.fullmatch(model) else f"{plain}-{digest[:8]}"


def _result(check: Check, run: Run) -> EvalResult:
    """`verified` is the Hub's word for what it has measured itself: never true of ours."""
    from huggingface_hub import EvalResult

    return EvalResult(
        task_type=TASK,
        dataset_type="biasgrid",
        dataset_name=f"biasgrid {run.kind}",
        dataset_config=escape_name(check.title),
        dataset_split="test",
        dataset_revision=run.run_id,
        metric_type=check.measure.replace(" ", "_"),
        metric_name=check.measure,
        metric_value=check.value,
        metric_args=dict(_arguments(check)),
        verified=False,
    )


def _arguments(check: Check) -> Iterator[tuple[str, Any]]:
    yield from {"finding": word_of(check.finding), "decision": word_of(check.decided)}.items()
    yield from _skip_missing({"groups": check.groups or None})
    yield from _skip_missing({"interval_95_low": check.low, "interval_95_high": check.high})
    yield from _skip_missing({(check.bar_name or "bar").replace(" ", "_"): check.bar})
    yield from {check.counts.replace(" ", "_"): check.counted, "of": check.total}.items()
    yield from ((what.replace(" ", "_"), count) for what, count in check.lost.items() if count)


def _skip_missing(values: Mapping[str, float | str | None]) -> Iterator[tuple[str, float | str]]:
    yield from ((key, value) for key, value in values.items() if value is not None)
