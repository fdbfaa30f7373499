"""Logs of HELM: `scenario_state.json` of a run, with `per_instance_stats.json` and `run_spec.json` next to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.logs.files import Record, Tree, number_entries, read_document
from biasgrid.catalogs.logs.tools import Score, Tool

STATE, STATS = "scenario_state.json", "per_instance_stats.json"
BEYOND: Final = ("model", "model_deployment", "prompt", "messages")
"""Keys of a request that are no parameters."""
MAIN: Final = "test"
"""The split that HELM reports on."""


def wrote(first: Tree) -> bool:
    return {"adapter_spec", "request_states"} <= set(first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each instance of each trial, with its statistics; of a directory, those of each run in it."""
    for path in [path for path in files if path.name == STATE] or files:
        document = read_document(path)
        entries = document.get("request_states") if isinstance(document, dict) else None
        numbered = number_entries(path, entries, "request_states")
        stats, scenario = _stats(path.with_name(STATS)), _scenario(path.with_name("run_spec.json"))
        for where, tree in _without_further_choices(numbered):
            if isinstance(tree, Problem):
                yield where, tree
            else:
                adapter = document.get("adapter_spec") or {}
                yield where, _complete(tree, stats.get(_key(tree), {}), scenario, adapter)


def _without_further_choices(entries: Iterable[Record]) -> Iterator[Record]:
    """The entries; of one request for each choice of an instance, the first."""
    last = None
    for where, tree in entries:
        is_choice = isinstance(tree, dict) and tree.get("reference_index") is not None
        key = _key(tree) if is_choice and isinstance(tree, dict) else None
        if key is None or key != last:
            yield where, tree
        last = key


def _key(tree: Tree) -> tuple[Any, ...]:
    instance = tree.get("instance") or {}
    found = tree.get("instance_id") or instance.get("id"), tree.get("train_trial_index", 0)
    return *found, str(tree.get("perturbation") or instance.get("perturbation") or "")


def _stats(path: Path) -> dict[tuple[Any, ...], Tree]:
    """Means by instance and statistic. Each metric of a run has entries of its own. Raises UserError."""
    if not path.is_file():
        remedy = "import the runs that HELM has finished"
        raise UserError(Problem(f"holds no {STATS}, where the scores stand", str(path.parent), remedy))
    found: dict[tuple[Any, ...], Tree] = {}
    for _, entry in number_entries(path, read_document(path), "instances"):
        if isinstance(entry, dict):
            means = {stat["name"]["name"]: stat.get("mean") for stat in entry.get("stats", ())}
            found.setdefault(_key(entry), {}).update(means)
    return found


def _scenario(path: Path) -> str:
    """Name and arguments of a run's scenario."""
    spec: Tree = read_document(path) if path.is_file() else {}
    name = str(spec.get("name", "")).partition(":")[0] or path.parent.name
    arguments = (spec.get("scenario_spec") or {}).get("args") or {}
    return ":".join(filter(None, (name, ",".join(f"{key}={value}" for key, value in arguments.items()))))


def _complete(tree: Tree, stats: Tree, scenario: str, adapter: Tree) -> Tree:
    instance, request = tree.get("instance") or {}, tree.get("request") or {}
    completion = _likeliest(tree)
    is_choice = tree.get("reference_index") is not None
    prompt = (instance.get("input") or {}).get("text") if is_choice else request.get("prompt")
    return {
        **tree,
        "adapter": adapter,
        "asked": request.get("messages") or prompt,
        "answered": _choice(instance, stats) if is_choice else completion.get("text"),
        "ended": (completion.get("finish_reason") or {}).get("reason"),
        "about": ", ".join((scenario, *_reported_apart(instance))),
        "correct": _correct(instance, tree.get("output_mapping") or {}),
        "parameters": {key: value for key, value in request.items() if key not in BEYOND},
        "stats": stats,
    }


def _likeliest(tree: Tree) -> Tree:
    """The completion that HELM scores, of several."""
    completions = (tree.get("result") or {}).get("completions") or [{}]
    return max(completions, key=lambda one: one.get("logprob") or 0.0)


def _choice(instance: Tree, stats: Tree) -> str | None:
    place = stats.get("predicted_index")
    return None if place is None else str(instance["references"][int(place)]["output"]["text"])


def _reported_apart(instance: Tree) -> Iterator[str]:
    """What HELM has statistics of its own for: other splits, their parts, and perturbed instances."""
    if (split := instance.get("split") or MAIN) != MAIN:
        yield split
    if part := instance.get("sub_split"):
        yield part
    if perturbation := instance.get("perturbation"):
        yield perturbation["name"]


def _correct(instance: Tree, letters: Mapping[str, str]) -> list[str]:
    """The right answers, as letters where the model was asked for one."""
    named = {text: letter for letter, text in letters.items()}
    given = (one for one in instance.get("references") or () if "correct" in (one.get("tags") or ()))
    texts = [one["output"]["text"] for one in given if isinstance(one.get("output"), dict)]
    return [named.get(text, text) for text in texts]


def scores(tree: Tree) -> Mapping[str, Score]:
    return {name: (value, None) for name, value in tree["stats"].items()}


TOOL: Final = Tool(
    assessor="helm",
    fields={
        "prompt": "asked",
        "reply": "answered",
        "model": "adapter.model",
        "item": "instance.id",
        "cluster": "instance.id",
        "concern": "about",
        "target": "correct",
        "error": "result.error",
        "finish_reason": "ended",
        "parameters": "parameters",
        "input_tokens": "stats.num_prompt_tokens",
        "output_tokens": "stats.num_output_tokens",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
