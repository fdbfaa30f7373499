"""Results of Anthropic's message batches, joined by `custom_id` with their requests and with lines about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from biasgrid.catalogs.logs.files import Record, Tree, join_by_id
from biasgrid.catalogs.logs.formats.openai_batch import BATCH_FIELDS
from biasgrid.catalogs.logs.tools import Score, Tool

BEYOND: Final = ("model", "messages", "system")
"""Keys of a request's parameters that are none of the model's."""


def wrote(first: Tree) -> bool:
    return "custom_id" in first and ("result" in first or "params" in first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each result, with the request and everything else that other files know of it."""
    return join_by_id(files, "result", _complete)


def _complete(tree: Tree, about: Tree) -> Tree:
    asked, result = about.get("params") or {}, tree.get("result") or {}
    message = result.get("message") or {}
    texts = [part.get("text") or "" for part in message.get("content") or () if part.get("type") == "text"]
    system = [{"role": "system", "content": asked["system"]}] if asked.get("system") else []
    return {
        **about,
        **tree,
        "messages": [*system, *(asked.get("messages") or ())] or None,
        "message": message,
        "model": f"anthropic/{asked.get('model') or message.get('model')}",
        "parameters": {key: value for key, value in asked.items() if key not in BEYOND},
        "fault": None if message else _fault(result),
        "reply": "".join(texts) if message else None,
    }


def _fault(result: Tree) -> str:
    """Why there is no message: the error's own words, else that it was canceled or has expired."""
    error: Tree = result.get("error") or {}
    inner: Tree = error.get("error") or error
    return str(inner.get("message") or result.get("type") or "no result")


def scores(tree: Tree) -> Mapping[str, Score]:
    """A refusal is one; other scores are in lines of the user's own."""
    refused = tree["message"].get("stop_reason") == "refusal"
    return {"score": ("refused" if refused else tree.get("score"), None)}


TOOL: Final = Tool(
    assessor="anthropic-batch",
    fields=BATCH_FIELDS
    | {
        "finish_reason": "message.stop_reason",
        "input_tokens": "message.usage.input_tokens",
        "output_tokens": "message.usage.output_tokens",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
