"""Checks scenes that are in no catalog yet against the catalog rules."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.catalogs.lint.rules.scene_rules import scene_findings
from biasgrid.catalogs.lint.subject import Finding, Subject
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.tasks.augment.check import Checked, by_entry
from biasgrid.tasks.augment.scenes.order import ACCEPTED, SceneOrder
from biasgrid.tasks.augment.yaml_text import comment, dumped, listed_entry

CANDIDATES = "candidates"
HEAD = "Written by models, reviewed and accepted by people; `source` has by whom and when."


def scene_file(domain: str, entries: Sequence[Mapping[str, Any]], held_out: bool = False) -> str:
    """A whole file of accepted scenes."""
    about: dict[str, Any] = {"id": domain, "description": f"Scenes of {domain.removesuffix(ACCEPTED)}."}
    if held_out:
        about["held_out"] = True
    listed = "\n".join(listed_entry(entry) for entry in entries)
    return f"{comment(HEAD)}{dumped(about)}\nscenes:\n{listed}\n"


def checked_scenes(
    entries: Sequence[Mapping[str, Any]], order: SceneOrder, overlay: Path | None = None
) -> tuple[Checked, ...]:
    """The findings of each scene, in order; the scenes are checked as a domain of their own, over the current
    catalog and its overlay."""
    if not entries:
        return ()
    text = scene_file(CANDIDATES, entries, order.held_out)
    with tempfile.TemporaryDirectory(prefix="biasgrid-") as folder:
        root = Path(folder) / "catalog"
        if overlay is not None:
            shutil.copytree(overlay, root)
        path = root / "scenes" / f"{CANDIDATES}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        reading = read_catalog(overlay=root)
        unread = [Finding("error", mistake) for mistake in reading.mistakes]
        findings = [*unread, *scene_findings(Subject(reading))]
        return by_entry(findings, parse_document(text, f"{root}/scenes/{CANDIDATES}.yaml"), "scenes")
