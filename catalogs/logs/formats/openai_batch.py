"""Output of OpenAI's Batch API, joined by `custom_id` with its input and with other lines about the requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from biasgrid.catalogs.logs.files import Record, Tree, join_by_id
from biasgrid.catalogs.logs.tools import Score, Tool

BEYOND: Final = ("model", "messages", "input", "prompt")
"""Keys of a request's body that are no parameters."""
TOKENS: Final = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
"""As the Responses API calls them, and as completions do."""


def wrote(first: Tree) -> bool:
    return "custom_id" in first and ("response" in first or "body" in first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each line with a response or an error, with the request and everything else that other files know of it."""
    return join_by_id(files, "response", _complete)


def _complete(tree: Tree, about: Tree) -> Tree:
    body = about.get("body") or {}
    response = tree.get("response") or {}
    answered = response.get("body") or {}
    text, refusal = _reply(answered)
    usage = answered.get("usage") or {}
    fault = tree.get("error") or answered.get("error")
    return {
        **about,
        **tree,
        "request": body,
        "messages": body.get("messages") or body.get("input") or body.get("prompt"),
        "answered": answered,
        "model": f"openai/{body.get('model') or answered.get('model')}",
        "parameters": {key: value for key, value in body.items() if key not in BEYOND},
        "fault": fault.get("message") or fault.get("code") if isinstance(fault, dict) else fault,
        "reply": text or refusal,
        "withheld": refusal,
        "tokens": {name: usage.get(name, usage.get(older)) for name, older in TOKENS.items()},
    }


def _reply(answered: Tree) -> tuple[str | None, str | None]:
    """Text and refusal of a completion, or of the Responses API."""
    if isinstance(answered.get("output"), list):
        parts = [part for item in answered["output"] for part in item.get("content") or ()]
        text = "".join(part["text"] for part in parts if part.get("type") == "output_text")
        return text or None, next((part.get("refusal") for part in parts if part.get("type") == "refusal"), None)
    choice = (answered.get("choices") or [{}])[0]
    message = choice.get("message") or {"content": choice.get("text")}
    return message.get("content"), message.get("refusal")


def scores(tree: Tree) -> Mapping[str, Score]:
    """A refusal is one; other scores are in lines of the user's own."""
    return {"score": ("refused" if tree["withheld"] else tree.get("score"), tree["withheld"])}


BATCH_FIELDS: Final = {
    "prompt": "messages",
    "reply": "reply",
    "model": "model",
    "item": "custom_id",
    "concern": "concern",
    "cluster": "cluster",
    "target": "target",
    "error": "fault",
    "parameters": "parameters",
}
"""Of the batches of any provider."""

TOOL: Final = Tool(
    assessor="openai-batch",
    fields=BATCH_FIELDS
    | {
        "finish_reason": "answered.choices.0.finish_reason",
        "input_tokens": "tokens.input_tokens",
        "output_tokens": "tokens.output_tokens",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
