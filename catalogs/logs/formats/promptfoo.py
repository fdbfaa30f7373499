"""Results of promptfoo, as JSON or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.logs.files import Record, Tree, number_entries, read_document, read_first, read_lines
from biasgrid.catalogs.logs.tools import Score, Tool

CHATS: Final = ("chat", "completion", "responses", "messages", "text")
"""Parts of a provider's id that name the API that is asked, and not which model."""
LONGEST: Final = 80
"""Letters of a test's name."""
FAULT: Final = 2
"""`failureReason` of a result whose request failed; 1: an assertion failed."""


def wrote(first: Tree) -> bool:
    results = first.get("results")
    return {"promptIdx", "testIdx", "gradingResult"} <= set(first) or (
        isinstance(results, dict) and "results" in results and "stats" in results
    )


def read(files: Sequence[Path]) -> Iterator[Record]:
    for path in files:
        first = read_first(path) or {}
        own = read_lines(path)
        if "promptIdx" not in first:
            results = read_document(path).get("results")
            own = number_entries(path, results.get("results") if isinstance(results, dict) else results, "results")
        yield from ((where, _complete(tree) if isinstance(tree, dict) else tree) for where, tree in own)


def _complete(tree: Tree) -> Tree:
    provider = tree.get("provider") or {}
    parts = [part for part in str(provider.get("id", "")).split(":") if part not in CHATS]
    response = tree.get("response") or {}
    fault = tree.get("error") if tree.get("failureReason") == FAULT else response.get("error")
    return {
        **tree,
        "model": provider.get("label") or "/".join(parts),
        "test": tree.get("vars"),
        "item": (tree.get("testCase") or {}).get("description") or _name(tree.get("vars")),
        "fault": fault,
        "received_ms": response.get("latencyMs", tree.get("latencyMs")),
    }


def _name(variables: Any) -> str | None:
    """A test without a description, by its variables."""
    values = variables.values() if isinstance(variables, dict) else ()
    return ", ".join(str(value) for value in values)[:LONGEST] or None


def scores(tree: Tree) -> Mapping[str, Score]:
    """Whether all assertions passed; then the metrics that a test names."""
    grading = tree.get("gradingResult") or {}
    found: dict[str, Score] = {"success": (tree.get("success"), grading.get("reason"))}
    return found | {name: (value, None) for name, value in (tree.get("namedScores") or {}).items()}


TOOL: Final = Tool(
    assessor="promptfoo",
    fields={
        "prompt": "prompt.raw",
        "reply": "response.output",
        "model": "model",
        "item": "item",
        "cluster": "test",
        "error": "fault",
        "finish_reason": "response.finishReason",
        "parameters": "prompt.config",
        "input_tokens": "response.tokenUsage.prompt",
        "output_tokens": "response.tokenUsage.completion",
        "cost_usd": "cost",
        "latency_ms": "received_ms",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
