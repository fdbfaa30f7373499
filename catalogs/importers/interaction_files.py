"""Imported scenes and assignments as files of a catalog: with its directory as the overlay, runs ask them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from biasgrid.catalogs.importers.langbite import as_yaml
from biasgrid.catalogs.importers.result import Imported
from biasgrid.catalogs.schema.base import Frozen

LABELS = "labels follow the order of its tasks, men's first: look at each before you count on it"


def catalog_files(name: str, read: Sequence[Imported]) -> dict[str, str]:
    """YAML by the file's path in a catalog: `scenes/<name>.yaml`, `tuning/<name>.yaml`, if they hold anything."""
    scenes = [_entry(scene) for one in read for scene in one.scenes]
    examples = [_entry(example) for one in read for example in one.examples]
    sources = ", ".join(Path(one.file).name for one in read if one.scenes)
    files: dict[str, str] = {}
    if scenes:
        description = f"Imported from {sources}; {LABELS}."
        files[f"scenes/{name}.yaml"] = as_yaml({"id": name, "description": description, "scenes": scenes})
    if examples:
        files[f"tuning/{name}.yaml"] = as_yaml({"id": name, "examples": examples})
    return files


def _entry(one: Frozen) -> dict[str, Any]:
    return one.model_dump(mode="json", exclude_defaults=True)
