"""Filters a model's replies for review: well-formed, sound by the catalog check, and new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.candidate import Candidate, candidate
from biasgrid.tasks.augment.check import Checked, checked
from biasgrid.tasks.augment.order import Order, Part
from biasgrid.tasks.augment.scenes.candidate import known_scenes, scene_candidate, scene_texts
from biasgrid.tasks.augment.scenes.check import checked_scenes
from biasgrid.tasks.augment.scenes.order import SceneOrder, ScenePart
from biasgrid.tasks.augment.similarity import Known, known
from biasgrid.tasks.connectors.json_objects import RejectedText, read_objects

KEYED = ("affirmed", "agreed", "denied", "disagreed")


@dataclass(frozen=True, slots=True)
class Sifted:
    """Entries for review with warnings of the catalog check, and refused ones; no part of a reply is lost."""

    entries: tuple[Mapping[str, Any], ...]
    warnings: tuple[tuple[str, ...], ...]
    refused: tuple[RejectedText, ...]

    @property
    def reverse_keyed(self) -> tuple[int, int]:
        """How many of the questions that one agrees to or not are fairly answered by agreeing; and of how many."""
        by_value = [entry for entry in self.entries if entry.get("oracle") in KEYED]
        return sum(bool(entry.get("reverse_keyed")) for entry in by_value), len(by_value)


def sift(replies: Iterable[tuple[Part, str]], order: Order, overlay: Path | None = None) -> Sifted:
    """The candidates in the replies, named `new-01` and so on in the order in which they were written."""
    read = [found for part, text in replies for found in _read(text, order, part)]
    fresh = list(_not_asked_yet(read, known(order.library), _texts))
    check = partial(checked, language=order.language.id, concern=order.concern.id, overlay=overlay)
    return sound(fresh, check)


def sift_scenes(
    replies: Iterable[tuple[ScenePart, str]], order: SceneOrder, overlay: Path | None = None
) -> Sifted:
    """As `sift`, for scenes."""
    found = [one for _, text in replies for one in read_objects(text)]
    read = [one if isinstance(one, RejectedText) else scene_candidate(one, order) for one in found]
    fresh = list(_not_asked_yet(read, known_scenes(order.library, order.language.id), scene_texts))
    return sound(fresh, partial(checked_scenes, order=order, overlay=overlay))


def sound(
    fresh: Sequence[Candidate | RejectedText], check: Callable[[Sequence[Mapping[str, Any]]], Sequence[Checked]]
) -> Sifted:
    """Candidates without errors in the catalog check."""
    candidates = [found for found in fresh if isinstance(found, Candidate)]
    named = [_named(found.entry, number) for number, found in enumerate(candidates, 1)]
    findings = check(named)
    kept = [index for index, finding in enumerate(findings) if not finding.errors]
    return Sifted(
        tuple(named[index] for index in kept),
        tuple(findings[index].warnings for index in kept),
        tuple(_refused(fresh, [finding.errors for finding in findings])),
    )


def _read(text: str, order: Order, part: Part) -> Iterator[Candidate | RejectedText]:
    for found in read_objects(text):
        yield found if isinstance(found, RejectedText) else candidate(found, order, part)


def _not_asked_yet(
    read: Iterable[Candidate | RejectedText],
    asked: Known,
    texts_of: Callable[[Mapping[str, Any]], tuple[str, ...]],
) -> Iterator[Candidate | RejectedText]:
    """Candidates that differ from the library and from earlier candidates."""
    for found in read:
        if isinstance(found, RejectedText):
            yield found
            continue
        texts = texts_of(found.entry)
        same, near = asked.same(*texts), asked.near(*texts)
        if same or near:
            how = f"asks the same as `{same}`" if same else f"asks nearly the same as `{near}`"
            yield RejectedText(found.text, how)
            continue
        asked.add(excerpt(texts[0], 80), *texts)
        yield found


def _texts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (entry["prompt"], *entry.get("paraphrases", ()))


def _refused(
    fresh: Sequence[Candidate | RejectedText], errors: Sequence[tuple[str, ...]]
) -> Iterator[RejectedText]:
    found_wrong = iter(errors)
    for each in fresh:
        if isinstance(each, RejectedText):
            yield each
        elif wrong := next(found_wrong):
            yield RejectedText(each.text, "; ".join(wrong))


def _named(entry: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The entry with an id until acceptance, and its twin's id."""
    name = f"new-{number:02d}"
    named: dict[str, Any] = {"id": name, **entry}
    if "twin" in entry:
        named["twin"] = {"id": f"{name}-v", **entry["twin"]}
    return named
