"""Test runs of DeepEval, as it stores and exports them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.logs.files import Record, Tree, number_entries, read_document
from biasgrid.catalogs.logs.tools import Score, Tool

CASES: Final = ("testCases", "test_cases", "test_results")
METRICS: Final = ("metricsData", "metrics_data")


def wrote(first: Tree) -> bool:
    return any(key in _run(first) for key in CASES)


def _run(document: Tree) -> Tree:
    inner = document.get("testRunData") or document.get("test_run_data")
    return inner if isinstance(inner, dict) else document


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each test case, with the settings of its run."""
    for path in files:
        run = _run(read_document(path))
        key = next((key for key in CASES if key in run), CASES[0])
        log = {"model": _model(run.get("hyperparameters") or {}), "name": run.get("identifier")}
        for where, tree in number_entries(path, run.get(key), key):
            yield where, {**_plain(tree), "log": log} if isinstance(tree, dict) else tree


def _model(settings: Any) -> str | None:
    found = settings.get("model") if isinstance(settings, dict) else None
    return found if isinstance(found, str) else None


def _plain(tree: Tree) -> Tree:
    """With the names that its files of older and newer releases share."""
    names = {"actualOutput": "actual_output", "expectedOutput": "expected_output"}
    return {**tree, **{name: tree[other] for name, other in names.items() if name not in tree and other in tree}}


def scores(tree: Tree) -> Mapping[str, Score]:
    """Whether each metric reached its threshold: below some, such as its bias metric, a score is better."""
    metrics = next((tree[key] for key in METRICS if tree.get(key)), ())
    return {metric.get("name", ""): _score(metric) for metric in metrics if isinstance(metric, dict)}


def _score(metric: Tree) -> Score:
    is_scored = metric.get("score") is not None and not metric.get("error")
    return (metric.get("success") if is_scored else None), metric.get("reason") or metric.get("error")


TOOL: Final = Tool(
    assessor="deepeval",
    fields={
        "prompt": "input",
        "reply": "actualOutput",
        "model": "log.model",
        "item": "name",
        "target": "expectedOutput",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
