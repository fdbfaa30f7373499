"""Logs of lm-evaluation-harness: its files of samples, with the file of results next to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from biasgrid.catalogs.logs.files import Record, Tree, read_document, read_lines
from biasgrid.catalogs.logs.tools import Score, Tool

NAME: Final = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT.+)")
"""Of a file of samples: its task and its moment, which is that of the file of results too."""


def wrote(first: Tree) -> bool:
    is_result = {"results", "configs", "versions"} <= set(first)
    return is_result or {"doc_id", "arguments", "resps"} <= set(first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each sample, with the task and what is stated for all under `log`."""
    for path in files:
        if not path.name.startswith("results_"):
            log = _log(path)
            yield from (
                (where, _complete(tree, log) if isinstance(tree, dict) else tree)
                for where, tree in read_lines(path)
            )


def _log(path: Path) -> Tree:
    named = NAME.fullmatch(path.stem)
    results = path.with_name(f"results_{named[2]}.json") if named else path
    config = read_document(results).get("config", {}) if named and results.is_file() else {}
    arguments = config.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    name = arguments.get("model") or arguments.get("pretrained") or config.get("model_name") or path.parent.name
    kind = config.get("model") or "lm-eval"
    return {"task": named[1] if named else path.stem, "model": name if "/" in name else f"{kind}/{name}"}


def _complete(tree: Tree, log: Tree) -> Tree:
    """With the reply: as received, or the continuation that the model finds most likely."""
    return {**tree, "log": log, "reply": _likeliest(tree) or tree.get("resps")}


def _likeliest(tree: Tree) -> list[list[str]] | None:
    arguments, given = tree.get("arguments"), tree.get("filtered_resps")
    if not isinstance(arguments, dict) or not isinstance(given, list) or len(given) < 2:
        return None
    asked = [one.get("arg_1") for one in arguments.values() if isinstance(one, dict)]
    likely = [_likelihood(one) for one in given]
    if len(asked) != len(likely) or not all(isinstance(text, str) for text in asked) or None in likely:
        return None
    best = max(range(len(likely)), key=lambda place: likely[place] or 0.0)
    return [[str(asked[best])]]


def _likelihood(pair: object) -> float | None:
    try:
        return float(pair[0])  # type: ignore[index]
    except (TypeError, ValueError, IndexError, KeyError):
        return None


def scores(tree: Tree) -> Mapping[str, Score]:
    """By metric and filter, as its results name them."""
    kept = tree.get("filter") or "none"
    return {f"{name},{kept}": (tree.get(name), None) for name in tree.get("metrics") or ()}


TOOL: Final = Tool(
    assessor="lm-eval",
    fields={
        "prompt": "arguments.gen_args_0.arg_0",
        "reply": "reply.0.0",
        "model": "log.model",
        "item": "doc_id",
        "concern": "log.task",
        "target": "target",
        "parameters": "arguments.gen_args_0.arg_1",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
