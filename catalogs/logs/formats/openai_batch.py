"""Output of OpenAI's Batch API, joined by `custom_id` with its input and with other lines about the requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.logs.files import Record, Tree, read_lines
from biasgrid.catalogs.logs.tools import Score, Tool

BEYOND: Final = ("model", "messages", "input")
"""Keys of a request's body that are no parameters."""


def wrote(first: Tree) -> bool:
    return "custom_id" in first and ("response" in first or "body" in first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each line with a response or an error, with the request and everything else that other files know of it."""
    about: dict[Any, Tree] = {}
    outputs: list[Path] = []
    for path in files:
        for _, tree in read_lines(path):
            if isinstance(tree, dict) and "response" not in tree:
                about.setdefault(tree.get("custom_id"), {}).update(tree)
            elif path not in outputs:
                outputs.append(path)
    for path in outputs:
        for where, tree in read_lines(path):
            if not isinstance(tree, dict):
                yield where, tree
            elif "response" in tree:
                yield where, _complete(tree, about.get(tree.get("custom_id"), {}))


def _complete(tree: Tree, about: Tree) -> Tree:
    body = about.get("body") or {}
    response = tree.get("response") or {}
    answered = response.get("body") or {}
    message = (answered.get("choices") or [{}])[0].get("message") or {}
    fault = tree.get("error") or answered.get("error")
    return {
        **about,
        **tree,
        "request": body,
        "messages": body.get("messages") or body.get("input"),
        "answered": answered,
        "model": f"openai/{body.get('model') or answered.get('model')}",
        "parameters": {key: value for key, value in body.items() if key not in BEYOND},
        "fault": fault.get("message") or fault.get("code") if isinstance(fault, dict) else fault,
        "reply": message.get("content") or message.get("refusal"),
        "withheld": message.get("refusal"),
    }


def scores(tree: Tree) -> Mapping[str, Score]:
    """A refusal is one; other scores are in lines of the user's own."""
    return {"score": ("refused" if tree["withheld"] else tree.get("score"), tree["withheld"])}


TOOL: Final = Tool(
    assessor="openai-batch",
    fields={
        "prompt": "messages",
        "reply": "reply",
        "model": "model",
        "item": "custom_id",
        "concern": "concern",
        "cluster": "cluster",
        "target": "target",
        "error": "fault",
        "finish_reason": "answered.choices.0.finish_reason",
        "parameters": "parameters",
        "input_tokens": "answered.usage.prompt_tokens",
        "output_tokens": "answered.usage.completion_tokens",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
