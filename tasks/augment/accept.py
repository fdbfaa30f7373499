"""Moves accepted templates from a review file into the user's library, after another check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.documents import Document, validated
from biasgrid.catalogs.schema.entries import Template, TemplateEntry
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.augment.check import checked
from biasgrid.tasks.augment.review import Decided, ReviewFile, SceneReviewFile
from biasgrid.tasks.augment.similarity import Known, known


@dataclass(frozen=True, slots=True)
class Chosen:
    """One accepted template: its place in the review file, and its entry as edited by the person."""

    index: int
    name: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """Names of a review's list, of its key and of one entry."""

    key: str
    kind: type[BaseModel]
    one: str


TEMPLATES = Listed("templates", TemplateEntry, "template")
SCENES = Listed("scenes", Scene, "scene")
File = TypeVar("File", ReviewFile, SceneReviewFile)


@dataclass(slots=True)
class Review(Generic[File]):
    """A review file as read: what is accepted, and what is not."""

    file: File
    chosen: list[Chosen] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


def read_review(document: Document, every: bool = False) -> Review[ReviewFile]:
    """The decisions of a review; with `every`, undecided entries count as accepted. Raises UserError with every
    unknown decision and every accepted entry that is no template, by line."""
    review = Review(validated(ReviewFile, document))
    _sort_all(review, document, review.file.templates, TEMPLATES, every)
    return review


def read_scene_review(document: Document, every: bool = False) -> Review[SceneReviewFile]:
    """As `read_review`, for scenes."""
    review = Review(validated(SceneReviewFile, document))
    _sort_all(review, document, review.file.scenes, SCENES, every)
    return review


def _sort_all(
    review: Review[Any], document: Document, entries: Sequence[Mapping[str, object]], listed: Listed, every: bool
) -> None:
    if not entries:
        raise UserError(Problem(f"holds no {listed.key}", document.name, "order some with `catalog augment`"))
    mistakes: list[Problem] = []
    for index, given in enumerate(entries):
        try:
            _sort(review, document, index, given, listed, every)
        except UserError as wrong:
            mistakes.extend(wrong.mistakes)
    mistakes.extend(_names_twice(review, document, listed))
    if mistakes:
        raise UserError(mistakes)


def check_chosen(
    review: Review[ReviewFile], document: Document, catalog: Catalog, overlay: Path | None
) -> list[str]:
    """Warnings on accepted templates; raises UserError, by line, for catalog errors and for templates that
    exist already."""
    file = review.file
    _refuse_strange(file, document, catalog)
    held = tuple(t for t in catalog.templates if (t.language, t.concern) == (file.language, file.concern))
    findings = checked([one.entry for one in review.chosen], file.language, file.concern, overlay)
    mistakes: list[Problem] = []
    warnings: list[str] = []
    asked = known(held)
    for one, finding in zip(review.chosen, findings, strict=True):
        where = document.place("templates", one.index)
        mistakes.extend(Problem(error, where, "mend it here, or do not accept it") for error in finding.errors)
        mistakes.extend(asked_already(one.name, _texts(one.entry), asked, where))
        near = asked.near(*_texts(one.entry))
        nearly = [f"template `{one.name}` asks nearly the same as `{near}`"] if near else []
        warnings.extend(f"{where}: {told}" for told in (*finding.warnings, *nearly))
        asked.add(one.name, *_texts(one.entry))
    if mistakes:
        raise UserError(mistakes)
    return warnings


def numbered(
    chosen: Sequence[Chosen], concern: str, templates: Iterable[Template | Scene], source: str
) -> list[dict[str, Any]]:
    """The entries under the next free ids of their concern or domain, free in every language: the same id is the
    same question in each."""
    taken = [_number(template.id, concern) for template in templates]
    first = max(taken, default=0) + 1
    return [_settled(one.entry, f"{concern}-{number:03d}", source) for number, one in enumerate(chosen, first)]


def refuse_installed(overlay: Path) -> None:
    """Raises UserError if a directory is the installed catalog or inside it."""
    installed = Path(str(resources.files("biasgrid.catalogs"))).resolve()
    if installed in (overlay.resolve(), *overlay.resolve().parents):
        what = f"`{overlay}` belongs to the installed catalog, which is not written to"
        raise UserError(Problem(what, "--into or BIASGRID_CATALOG", "name a directory of your own"))


def _refuse_strange(file: ReviewFile, document: Document, catalog: Catalog) -> None:
    strange = []
    if file.language not in catalog.languages:
        what = f"language `{file.language}` is unknown"
        strange.append(Problem(what, document.place("language"), nearest(file.language, catalog.languages)))
    if file.concern not in catalog.concerns:
        what = f"concern `{file.concern}` is unknown"
        strange.append(Problem(what, document.place("concern"), nearest(file.concern, catalog.concerns)))
    if strange:
        raise UserError(strange)


def _sort(
    review: Review[Any],
    document: Document,
    index: int,
    given: Mapping[str, object],
    listed: Listed,
    every: bool,
) -> None:
    at = (listed.key, index)
    decided = validated(Decided, document, given, at)
    decision = decided.decision or ("accept" if every else None)
    if decision == "accept":
        entry = {key: value for key, value in given.items() if key != "decision"}
        validated(listed.kind, document, entry, at)
        review.chosen.append(Chosen(index, decided.id, entry))
    elif decision == "accepted":
        review.done.append(decided.id)
    else:
        (review.rejected if decision == "reject" else review.undecided).append(decided.id)


def _names_twice(review: Review[Any], document: Document, listed: Listed) -> Iterator[Problem]:
    seen: set[str] = set()
    for one in review.chosen:
        if one.name in seen:
            where = document.place(listed.key, one.index)
            what = f"{listed.one} `{one.name}` stands twice among those accepted"
            yield Problem(what, where, "give each its own id")
        seen.add(one.name)


def asked_already(
    name: str, texts: Sequence[str], asked: Known, where: str, one: str = "template"
) -> Iterator[Problem]:
    """An error if an entry with the same words exists."""
    same = asked.same(*texts)
    if same:
        what = f"{one} `{name}` asks the same as `{same}`"
        yield Problem(what, where, "change it, or reject it")


def _texts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (str(entry["prompt"]), *map(str, entry.get("paraphrases") or ()))


def _number(name: str, concern: str) -> int:
    found = re.match(rf"{re.escape(concern)}-(\d{{1,6}})(?!\d)", name)
    return int(found[1]) if found else 0


def _settled(entry: Mapping[str, Any], name: str, source: str) -> dict[str, Any]:
    own = str(entry.get("source") or "")
    settled = {**entry, "id": name, "source": f"{own}; {source}" if own else source}
    if isinstance(entry.get("twin"), Mapping):
        settled["twin"] = {**entry["twin"], "id": f"{name}-v"}
    return {"id": name, **{key: value for key, value in settled.items() if key != "id"}}
