"""Tuning data: assignments labelled for implicit bias, as chats, split by scene, and their folder in the lake."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import orjson

from biasgrid.catalogs.choices import Variant
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, dev_scenes, dev_texts, tuning_examples
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.interactions import Understanding
from biasgrid.warehouse.storage.lake import Lake

TRAIN, VALIDATION, CARD = "train.jsonl", "validation.jsonl", "card.json"


@dataclass(frozen=True)
class Dataset:
    """Tuning data, byte-identical for the same catalog, variant, languages and seed."""

    variant: Variant
    languages: tuple[str, ...]
    seed: int
    train: bytes
    """JSON lines in training order: `{"messages": [system, user, assistant]}`."""
    validation: bytes
    """JSON lines of scenes that are not in `train`."""
    dev: tuple[str, ...]
    """Ids of the validation scenes, and of texts without a scene."""

    @cached_property
    def sha256(self) -> str:
        """Hash of both files."""
        parts = (hashlib.sha256(part).digest() for part in (self.train, self.validation))
        return hashlib.sha256(b"".join(parts)).hexdigest()

    @property
    def card(self) -> dict[str, Any]:
        """Metadata without the lines."""
        return {
            "variant": self.variant,
            "languages": list(self.languages),
            "seed": self.seed,
            "train": len(self.train.splitlines()),
            "validation": len(self.validation.splitlines()),
            "dev_scenes": list(self.dev),
            "sha256": self.sha256,
        }


def dataset(catalog: Catalog, variant: Variant, languages: Sequence[str], seed: int) -> Dataset:
    """The examples of a variant in some languages. Raises UserError if one has no wording of interactions."""
    dev = dev_scenes(catalog, seed) | dev_texts(catalog, seed)
    found = [one for language in dict.fromkeys(languages) for one in tuning_examples(catalog, language, seed)]
    wanted = [one for one in found if variant == "full" or one.presence == "absent"]
    Random(f"tuning order/{seed}").shuffle(wanted)  # noqa: S311 - no secret
    return Dataset(
        variant,
        tuple(dict.fromkeys(languages)),
        seed,
        lines(catalog, [one for one in wanted if _scene_of(one) not in dev]),
        lines(catalog, [one for one in wanted if _scene_of(one) in dev]),
        tuple(sorted(dev & {_scene_of(one) for one in wanted})),
    )


def _scene_of(example: TuningExample) -> str:
    """The scene of an example, or the id of its text if it has none."""
    return example.scene or example.id.rsplit("/", 2)[0]


def lines(catalog: Catalog, examples: Iterable[TuningExample]) -> bytes:
    """One chat per example as JSON lines, in OpenAI's fine-tuning format."""
    chats = (chat(one, catalog.interaction[one.language].understanding) for one in examples)
    return b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in chats)


def chat(example: TuningExample, wording: Understanding) -> dict[str, list[dict[str, str]]]:
    asked = fill_placeholders(wording.question, {"goal": example.goal, "assignment": example.assignment})
    answer = fill_placeholders(wording.answer[example.presence], {"reason": example.reason})
    # a text without a scene has no goal: strip the empty place
    texts = (("system", wording.system), ("user", asked.strip()), ("assistant", answer))
    return {"messages": [{"role": role, "content": content} for role, content in texts]}


def tuned_folder(lake: Lake, name: str) -> Path:
    """The folder of a tuned model: its training data and its card."""
    return lake.root / "tuned" / name


def write_dataset(lake: Lake, folder: Path, tuned_on: Dataset) -> None:
    """Writes both files of a dataset. Raises StorageTrouble if that fails."""
    for name, content in ((TRAIN, tuned_on.train), (VALIDATION, tuned_on.validation)):
        _write(lake, folder / name, content)


def write_card(lake: Lake, folder: Path, card: Mapping[str, Any]) -> Path:
    """Writes the card of a tuned model and returns its path. Raises StorageTrouble if that fails."""
    path = folder / CARD
    _write(lake, path, as_json(card))
    return path


def as_json(card: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(card), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _write(lake: Lake, path: Path, content: bytes) -> None:
    with lake.landing(path) as partial:
        partial.write_bytes(content)
