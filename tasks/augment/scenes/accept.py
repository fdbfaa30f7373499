"""Adds accepted scenes to a domain of the user's catalog, after another check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, read_text, validated
from biasgrid.catalogs.schema.scenes import Domain
from biasgrid.tasks.augment.accept import Review, asked_already
from biasgrid.tasks.augment.library_file import appended
from biasgrid.tasks.augment.review import SceneReviewFile
from biasgrid.tasks.augment.scenes.candidate import known_scenes, scene_texts
from biasgrid.tasks.augment.scenes.check import checked_scenes, scene_file
from biasgrid.tasks.augment.scenes.order import ACCEPTED, SceneOrder, scene_order


def scene_shelf(overlay: Path, domain: str) -> Path:
    """The file of a catalog for a domain's accepted scenes."""
    return overlay / "scenes" / f"{domain}{ACCEPTED}.yaml"


def order_of(file: SceneReviewFile, catalog: Catalog) -> SceneOrder:
    """The order that a review answers; raises UserError if the catalog has no such language or axis."""
    told = file.domain if file.domain in catalog.scenes else file.provenance.context or f"{file.domain} scenes"
    return scene_order(catalog, domain=told, language=file.language)


def check_chosen_scenes(
    review: Review[SceneReviewFile], document: Document, order: SceneOrder, overlay: Path | None
) -> list[str]:
    """Warnings on accepted scenes; raises UserError, by line, for catalog errors and for scenes that exist
    already."""
    asked = known_scenes(order.library, order.language.id)
    findings = checked_scenes([one.entry for one in review.chosen], order, overlay)
    mistakes: list[Problem] = []
    warnings: list[str] = []
    for one, finding in zip(review.chosen, findings, strict=True):
        where = document.place("scenes", one.index)
        texts = scene_texts(one.entry)
        mistakes.extend(Problem(error, where, "mend it here, or do not accept it") for error in finding.errors)
        mistakes.extend(asked_already(one.name, texts, asked, where, "scene"))
        near = asked.near(*texts)
        nearly = [f"scene `{one.name}` asks nearly the same as `{near}`"] if near else []
        warnings.extend(f"{where}: {told}" for told in (*finding.warnings, *nearly))
        asked.add(one.name, *texts)
    if mistakes:
        raise UserError(mistakes)
    return warnings


def with_scenes(path: Path, order: SceneOrder, domain: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The file's text with the scenes appended and its comments unchanged; raises UserError if they cannot be
    added."""
    text = appended(path, read_text(path), entries, "scenes") if path.exists() else None
    whole = text or scene_file(f"{domain}{ACCEPTED}", entries, order.held_out)
    validated(Domain, parse_document(whole, str(path)))
    return whole
