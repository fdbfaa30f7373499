"""Filters a model's replies for review: well-formed, sound by the catalog check, and new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.candidate import Candidate, read_candidate
from biasgrid.tasks.augment.library import Library, check_entries, library_of_order
from biasgrid.tasks.augment.order import Order, Part, SceneOrder
from biasgrid.tasks.connectors.json_objects import RejectedText, read_objects

KEYED = ("affirmed", "agreed", "denied", "disagreed")


@dataclass(frozen=True, slots=True)
class Filtered:
    """Entries for review with warnings of the catalog check, and refused ones; no part of a reply is lost."""

    entries: tuple[Mapping[str, Any], ...]
    warnings: tuple[tuple[str, ...], ...]
    refused: tuple[RejectedText, ...]

    @property
    def reverse_keyed(self) -> tuple[int, int]:
        """Number of yes-or-no questions whose unbiased answer is to agree, and number of all."""
        by_value = [entry for entry in self.entries if entry.get("oracle") in KEYED]
        return sum(bool(entry.get("reverse_keyed")) for entry in by_value), len(by_value)


def filter_replies(
    replies: Iterable[tuple[Part, str]], order: Order | SceneOrder, overlay: Path | None = None
) -> Filtered:
    """The candidates in the replies, named `new-01` and so on in the order in which they were written."""
    library = library_of_order(order)
    fresh = list(_without_doubles(_read(replies, order), library))
    candidates = [found for found in fresh if isinstance(found, Candidate)]
    named = [_with_id(found.entry, number) for number, found in enumerate(candidates, 1)]
    findings = check_entries(library, named, overlay)
    kept = [index for index, finding in enumerate(findings) if not finding.errors]
    return Filtered(
        tuple(named[index] for index in kept),
        tuple(findings[index].warnings for index in kept),
        tuple(_rejections(fresh, [finding.errors for finding in findings])),
    )


def _read(replies: Iterable[tuple[Part, str]], order: Order | SceneOrder) -> Iterator[Candidate | RejectedText]:
    for part, text in replies:
        for found in read_objects(text):
            yield found if isinstance(found, RejectedText) else read_candidate(found, order, part)


def _without_doubles(
    read: Iterable[Candidate | RejectedText], library: Library
) -> Iterator[Candidate | RejectedText]:
    """Candidates that differ from the library and from earlier candidates."""
    known = library.known_texts()
    for found in read:
        if isinstance(found, RejectedText):
            yield found
            continue
        texts = library.texts(found.entry)
        same, near = known.find_same(*texts), known.find_near(*texts)
        if same or near:
            how = f"asks the same as `{same}`" if same else f"asks nearly the same as `{near}`"
            yield RejectedText(found.text, how)
            continue
        known.add(excerpt(texts[0], 80), *texts)
        yield found


def _rejections(
    fresh: Sequence[Candidate | RejectedText], errors: Sequence[tuple[str, ...]]
) -> Iterator[RejectedText]:
    of_candidates = iter(errors)
    for each in fresh:
        if isinstance(each, RejectedText):
            yield each
        elif wrong := next(of_candidates):
            yield RejectedText(each.text, "; ".join(wrong))


def _with_id(entry: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The entry with an id until acceptance, and its twin's id."""
    name = f"new-{number:02d}"
    named: dict[str, Any] = {"id": name, **entry}
    if "twin" in entry:
        named["twin"] = {"id": f"{name}-v", **entry["twin"]}
    return named
