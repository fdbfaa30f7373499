"""Logs of HELM: `scenario_state.json` of a run, with `per_instance_stats.json` and `run_spec.json` next to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.logs.files import Record, Tree, number_entries, read_document
from biasgrid.catalogs.logs.tools import Score, Tool

STATE, STATS = "scenario_state.json", "per_instance_stats.json"


def wrote(first: Tree) -> bool:
    return {"adapter_spec", "request_states"} <= set(first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each request, with its statistics and the run's name."""
    states = [path for path in files if path.name not in (STATS, "run_spec.json", "stats.json", "scenario.json")]
    if not states:
        raise UserError(Problem(f"holds no {STATE}", str(files[0]), f"name a run's directory or its {STATE}"))
    for path in states:
        stats, spec = _stats(path.with_name(STATS)), _spec(path.with_name("run_spec.json"))
        document = read_document(path)
        adapter = document.get("adapter_spec") or {}
        for where, tree in number_entries(path, document.get("request_states"), "request_states"):
            if isinstance(tree, Problem):
                yield where, tree
            else:
                own = {"stats": stats.get(_key(tree), {}), "spec": spec, "adapter": adapter}
                yield where, {**tree, **own, "correct": _correct(tree)}


def _key(tree: Tree) -> tuple[Any, ...]:
    instance = tree.get("instance") or {}
    found = tree.get("instance_id") or instance.get("id"), tree.get("train_trial_index", 0)
    return *found, str(tree.get("perturbation") or instance.get("perturbation") or "")


def _stats(path: Path) -> dict[tuple[Any, ...], Tree]:
    entries = read_document(path) if path.is_file() else []
    return {
        _key(entry): {stat["name"]["name"]: stat.get("mean", stat.get("sum")) for stat in entry.get("stats", ())}
        for entry in entries
    }


def _spec(path: Path) -> Tree:
    found: Tree = read_document(path) if path.is_file() else {}
    return {"name": str(found.get("name", "")).partition(":")[0] or path.parent.name}


def _correct(tree: Tree) -> str | None:
    given = (tree.get("instance") or {}).get("references") or ()
    right = (one for one in given if "correct" in (one.get("tags") or ()))
    return next((one["output"]["text"] for one in right if isinstance(one.get("output"), dict)), None)


def scores(tree: Tree) -> Mapping[str, Score]:
    return {name: (value, None) for name, value in tree["stats"].items()}


TOOL: Final = Tool(
    assessor="helm",
    fields={
        "prompt": "request.prompt",
        "reply": "result.completions.0.text",
        "model": "adapter.model",
        "item": "instance.id",
        "concern": "spec.name",
        "target": "correct",
        "error": "result.error",
        "finish_reason": "result.completions.0.finish_reason.reason",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
