"""The folder of a tuned model in the lake: its training data and its card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from biasgrid.tasks.finetuning.dataset import Dataset
from biasgrid.warehouse.storage.lake import Lake

TRAIN, VALIDATION, CARD = "train.jsonl", "validation.jsonl", "card.json"


def folder_of(lake: Lake, name: str) -> Path:
    return lake.root / "tuned" / name


def write_dataset(lake: Lake, folder: Path, made: Dataset) -> None:
    """Writes both files of a dataset. Raises StorageTrouble if that fails."""
    for name, content in ((TRAIN, made.train), (VALIDATION, made.validation)):
        _write(lake, folder / name, content)


def write_card(lake: Lake, folder: Path, told: Mapping[str, Any]) -> Path:
    """Writes the card of a tuned model and returns its path. Raises StorageTrouble if that fails."""
    path = folder / CARD
    _write(lake, path, as_json(told))
    return path


def as_json(told: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(told), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _write(lake: Lake, path: Path, content: bytes) -> None:
    with lake.landing(path) as partial:
        partial.write_bytes(content)
