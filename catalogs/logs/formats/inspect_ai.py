"""Logs of inspect-ai, as `.eval` archives or JSON."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.logs.files import Record, Tree, number_entries, parse, read_document, read_members
from biasgrid.catalogs.logs.tools import Score, Tool

ATTACHED: Final = "attachment://"
"""Begins a text that stands among the attachments of its sample."""


def wrote(first: Tree) -> bool:
    return {"version", "status", "eval"} <= set(first)


def read(files: Sequence[Path]) -> Iterator[Record]:
    """Each sample, with what is stated for all under `log`."""
    for path in files:
        yield from _archive(path) if zipfile.is_zipfile(path) else _document(path)


def _archive(path: Path) -> Iterator[Record]:
    header = next((parse(text, str(path)) for _, text in read_members(path, "header.json")), None)
    if header is None:  # of a log that was broken off
        header = next((parse(text, str(path)) for _, text in read_members(path, "_journal/start.json")), {})
    for name, text in read_members(path, "samples/"):
        where = f"{path}/{name}"
        yield where, _complete(parse(text, where), header)


def _document(path: Path) -> Iterator[Record]:
    document = read_document(path)
    for where, sample in number_entries(path, document.get("samples") or [], "samples"):
        yield where, _complete(sample, document) if isinstance(sample, dict) else sample


def _complete(sample: Tree, log: Tree) -> Tree:
    attached = sample.get("attachments") or {}
    kept = {
        key: value for key, value in sample.items() if key not in ("events", "events_data", "attachments", "store")
    }
    found: Tree = {**kept, "log": log.get("eval") or {}}
    return _resolve(found, attached) if attached else found


def _resolve(value: Any, attached: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return attached.get(value.removeprefix(ATTACHED), value) if value.startswith(ATTACHED) else value
    if isinstance(value, list):
        return [_resolve(each, attached) for each in value]
    if isinstance(value, dict):
        return {key: _resolve(each, attached) for key, each in value.items()}
    return value


def scores(sample: Tree) -> Mapping[str, Score]:
    """By scorer, and by scorer and key where a score has several values."""
    found: dict[str, Score] = {}
    for name, score in (sample.get("scores") or {}).items():
        value, reason = score.get("value"), score.get("explanation")
        if isinstance(value, dict):
            found |= {f"{name}.{key}": (each, reason) for key, each in value.items()}
        else:
            found[name] = value, reason
    return found


TOOL: Final = Tool(
    assessor="inspect-ai",
    fields={
        "prompt": "messages",
        "reply": "output.choices.0.message.content",
        "model": "log.model",
        "item": "id",
        "sample": "epoch",
        "concern": "log.task",
        "target": "target",
        "error": "error.message",
        "finish_reason": "output.choices.0.stop_reason",
        "parameters": "log.model_generate_config",
        "input_tokens": "output.usage.input_tokens",
        "output_tokens": "output.usage.output_tokens",
        "received_at": "completed_at",
    },
    wrote=wrote,
    read=read,
    scores=scores,
)
