"""Moves accepted entries from a review file into the user's library, after another check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, validate
from biasgrid.tasks.augment.library import Library, SceneLibrary, TemplateLibrary, check_entries
from biasgrid.tasks.augment.order import SceneWish, order_scenes
from biasgrid.tasks.augment.review import Decided, ReviewFile, SceneReviewFile
from biasgrid.warehouse.storage.atomic_file import replace_atomically

UNDECIDED = re.compile(r"(decision:)[ ]*(?:accept|'accept'|\"accept\"|''|\"\"|~|null)?[ ]*(?=#|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One accepted entry: its place in the review file, and its text as edited by the person."""

    index: int
    name: str
    entry: Mapping[str, Any]


@dataclass(slots=True)
class Review:
    """A review file as read: its accepted entries, and the ids of the others."""

    file: ReviewFile | SceneReviewFile
    document: Document
    chosen: list[Chosen] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    @property
    def kind(self) -> type[Library]:
        return SceneLibrary if isinstance(self.file, SceneReviewFile) else TemplateLibrary

    @property
    def key(self) -> str:
        """Key of its list of entries."""
        return f"{self.kind.kind}s"


def read_review(document: Document, every: bool = False) -> Review:
    """The decisions of a review; with `every`, undecided entries count as accepted. Raises UserError with every
    unknown decision and every accepted entry that is invalid, by line."""
    is_scenes = "scenes" in (document.value or {})
    file = validate(SceneReviewFile, document) if is_scenes else validate(ReviewFile, document)
    review = Review(file, document)
    entries: Sequence[Mapping[str, object]] = getattr(review.file, review.key)
    if not entries:
        raise UserError(Problem(f"holds no {review.key}", document.name, "order some with `catalog augment`"))
    mistakes: list[Problem] = []
    for index, given in enumerate(entries):
        try:
            _sort(review, index, given, every)
        except UserError as wrong:
            mistakes.extend(wrong.mistakes)
    mistakes.extend(_repeated_names(review))
    if mistakes:
        raise UserError(mistakes)
    return review


def _sort(review: Review, index: int, given: Mapping[str, object], every: bool) -> None:
    place = (review.key, index)
    decided = validate(Decided, review.document, given, place)
    decision = decided.decision or ("accept" if every else None)
    if decision == "accept":
        entry = {key: value for key, value in given.items() if key != "decision"}
        validate(review.kind.schema, review.document, entry, place)
        review.chosen.append(Chosen(index, decided.id, entry))
    elif decision == "accepted":
        review.done.append(decided.id)
    else:
        (review.rejected if decision == "reject" else review.undecided).append(decided.id)


def _repeated_names(review: Review) -> Iterator[Problem]:
    seen: set[str] = set()
    for one in review.chosen:
        if one.name in seen:
            what = f"{review.kind.kind} `{one.name}` stands twice among those accepted"
            yield Problem(what, review.document.place(review.key, one.index), "give each its own id")
        seen.add(one.name)


def find_library(review: Review, catalog: Catalog) -> Library:
    """The library that a review's entries go into; raises UserError if the catalog lacks its language, concern or
    axis."""
    file = review.file
    if isinstance(file, SceneReviewFile):
        described = file.provenance.context or f"{file.domain} scenes"
        wish = SceneWish(file.domain if file.domain in catalog.scenes else described, file.language)
        order = order_scenes(catalog, wish)
        return SceneLibrary(file.domain, file.language, order.library, order.held_out)
    names = (("language", file.language, catalog.languages), ("concern", file.concern, catalog.concerns))
    strange = [
        Problem(f"{key} `{given}` is unknown", review.document.place(key), nearest(given, known))
        for key, given, known in names
        if given not in known
    ]
    if strange:
        raise UserError(strange)
    own = (file.language, file.concern)
    held = tuple(t for t in catalog.templates if (t.language, t.concern) == own)
    return TemplateLibrary(file.concern, file.language, held)


def check_chosen(review: Review, library: Library, overlay: Path | None) -> list[str]:
    """Warnings on accepted entries; raises UserError, by line, for catalog errors and for entries that exist
    already."""
    findings = check_entries(library, [one.entry for one in review.chosen], overlay)
    mistakes: list[Problem] = []
    warnings: list[str] = []
    known = library.known_texts()
    for one, finding in zip(review.chosen, findings, strict=True):
        where = review.document.place(review.key, one.index)
        named, texts = f"{library.kind} `{one.name}`", library.texts(one.entry)
        mistakes.extend(Problem(error, where, "mend it here, or do not accept it") for error in finding.errors)
        if same := known.find_same(*texts):
            mistakes.append(Problem(f"{named} asks the same as `{same}`", where, "change it, or reject it"))
        near = known.find_near(*texts)
        doubles = [f"{named} asks nearly the same as `{near}`"] if near else []
        warnings.extend(f"{where}: {warning}" for warning in (*finding.warnings, *doubles))
        known.add(one.name, *texts)
    if mistakes:
        raise UserError(mistakes)
    return warnings


def with_ids(chosen: Sequence[Chosen], name: str, taken: Iterable[str], source: str) -> list[dict[str, Any]]:
    """The entries under the next free ids of their concern or domain, free in every language: the same id is the
    same question in each."""
    first = max((_number(one, name) for one in taken), default=0) + 1
    return [_with_id(one.entry, f"{name}-{number:03d}", source) for number, one in enumerate(chosen, first)]


def refuse_installed(overlay: Path) -> None:
    """Raises UserError if a directory is the installed catalog or inside it."""
    installed = Path(str(resources.files("biasgrid.catalogs"))).resolve()
    if installed in (overlay.resolve(), *overlay.resolve().parents):
        what = f"`{overlay}` belongs to the installed catalog, which is not written to"
        raise UserError(Problem(what, "--into or BIASGRID_CATALOG", "name a directory of your own"))


def _number(name: str, concern: str) -> int:
    found = re.match(rf"{re.escape(concern)}-(\d{{1,6}})(?!\d)", name)
    return int(found[1]) if found else 0


def _with_id(entry: Mapping[str, Any], name: str, source: str) -> dict[str, Any]:
    own = str(entry.get("source") or "")
    settled = {**entry, "id": name, "source": f"{own}; {source}" if own else source}
    if isinstance(entry.get("twin"), Mapping):
        settled["twin"] = {**entry["twin"], "id": f"{name}-v"}
    return {"id": name, **{key: value for key, value in settled.items() if key != "id"}}


def with_marks(review: Review, names: Sequence[str]) -> str:
    """The review's text with each accepted decision marked; raises UserError if a decision's form prevents it."""
    document = review.document
    lines = document.text.split("\n")
    for one, name in zip(review.chosen, names, strict=True):
        number = document.line((review.key, one.index, "decision")) or 0
        given = lines[number - 1]
        lines[number - 1] = UNDECIDED.sub(rf"\1 accepted  # as {name}  ", given, count=1).rstrip()
        if lines[number - 1] == given or "{" in given.partition("decision:")[0]:
            raise _unmarkable(review, one)
    marked = "\n".join(lines)
    entries = parse_document(marked, document.name).value[review.key]
    for one in review.chosen:
        if entries[one.index] != {**one.entry, "decision": "accepted"}:
            raise _unmarkable(review, one)
    return marked


def _unmarkable(review: Review, one: Chosen) -> UserError:
    where = review.document.place(review.key, one.index, "decision")
    what = f"the decision on {review.kind.kind} `{one.name}` cannot be marked as carried out"
    return UserError(Problem(what, where, "write `decision: accept` on a line of its own"))


def write(texts: Mapping[Path, str]) -> None:
    """Writes all files or none; raises UserError if one cannot be written."""
    with ExitStack() as files:
        try:
            for path, text in texts.items():
                files.enter_context(replace_atomically(path)).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            what = f"`{path}` cannot be written: {error.strerror or error}"
            raise UserError(Problem(what, remedy="check the path and its permissions")) from error
