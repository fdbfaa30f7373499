"""Which stereotype a message of a bias probe is about, and what it asks: known by the catalog's words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import (
    PERSON,
    AttributePair,
    CounterfactualWording,
    GroupWords,
    ProbeAxis,
    Statement,
    every_pair,
)

PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Known:
    """A pair of the catalog in one language."""

    axis: str
    pair: str
    language: str
    favoured: GroupWords
    stigmatised: GroupWords
    attributes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Associating:
    """Names to be given one of two things; `own` are the favoured group's."""

    known: Known
    own: tuple[str, ...]
    others: tuple[str, ...]
    offered: tuple[str, str]
    """What the stereotype gives to the favoured group, and to the other."""
    order: tuple[str, ...]
    """All names as the message has them."""


@dataclass(frozen=True, slots=True)
class Stating:
    known: Known
    kind: Statement
    scale: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """Somebody to be rated. A name may be typical of groups on several axes."""

    belongs: tuple[tuple[Known, bool], ...]
    """The pairs that the person is of, and whether as one of the stigmatised."""
    better: str


Probed = Associating | Stating | Rating


class ProbeRecogniser:
    """Of one catalog. Looks the words up when it is first asked."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, text: str) -> Probed | None:
        """What a message asks; None where it is none of a probe's that the catalog knows."""
        return self._stated(text) or self._rated(text) or self._decided(text) or self._associated(text)

    @cached_property
    def _known(self) -> tuple[Known, ...]:
        return tuple(
            known for axis, pair in every_pair(self._catalog.probes) for known in _in_languages(axis, pair)
        )

    @cached_property
    def _statements(self) -> Mapping[str, Stating]:
        return {
            _filled(text, known): Stating(known, kind, wording.scale)
            for known in self._known
            if (wording := self._catalog.probing.get(known.language))
            for kind, texts in wording.statements.items()
            for text in texts
        }

    def _stated(self, text: str) -> Stating | None:
        found = [said for said in self._statements if said in text]
        return self._statements[max(found, key=len)] if found else None

    def _rated(self, text: str) -> Rating | None:
        for language, wording in self._catalog.probing.items():
            for form in wording.counterfactuals:
                person = _person_in(form, text)
                if person is not None:
                    return self._of_person(person, language, form)
        return None

    def _of_person(self, person: str, language: str, form: CounterfactualWording) -> Rating | None:
        belongs = tuple(
            (known, is_stigmatised)
            for known in self._known
            if known.language == language
            for is_stigmatised, words in ((False, known.favoured), (True, known.stigmatised))
            if any(_told(words, name) == person for name in words.names)
        )
        return Rating(belongs, form.better) if belongs else None

    def _decided(self, text: str) -> Associating | None:
        for language, wording in self._catalog.probing.items():
            for form in wording.decisions:
                if form.positive in text and form.negative in text:
                    return self._among(text, language, (form.positive, form.negative))
        return None

    def _associated(self, text: str) -> Associating | None:
        folded = text.casefold()
        for known in self._known:
            if all(attribute.casefold() in folded for attribute in known.attributes):
                found = _people(known, text, known.attributes)
                if found is not None:
                    return found
        return None

    def _among(self, text: str, language: str, offered: tuple[str, str]) -> Associating | None:
        """Of the pairs whose people stand in a message, that which tells most of them."""
        found = [
            own
            for known in self._known
            if known.language == language
            if (own := _people(known, text, offered)) is not None
        ]
        return max(found, key=lambda own: (len(own.known.favoured.told), len(own.order)), default=None)


def _in_languages(axis: ProbeAxis, pair: AttributePair) -> Iterator[Known]:
    for language, attributes in pair.attributes.items():
        sides = [axis.group(name).words.get(language) for name in (pair.favoured, pair.stigmatised)]
        if sides[0] and sides[1]:
            yield Known(axis.id, pair.id, language, sides[0], sides[1], attributes)


def _filled(text: str, known: Known) -> str:
    parts = {
        "favoured": known.favoured.plural,
        "stigmatised": known.stigmatised.plural,
        "positive": known.attributes[0],
        "negative": known.attributes[1],
    }
    return PLACE.sub(lambda place: parts.get(place[1], place[0]), text)


def _told(words: GroupWords, name: str) -> str:
    return words.told.replace(PERSON, name)


def _person_in(form: CounterfactualWording, text: str) -> str | None:
    head, _, tail = form.prompt.partition("{person}")
    again = tail.partition("{person}")[0]
    if not text.startswith(head):
        return None
    person = text[len(head) :].partition(again)[0] if again else text[len(head) :]
    return person if text == form.prompt.replace("{person}", person) else None


def _people(known: Known, text: str, offered: tuple[str, str]) -> Associating | None:
    """The people of a pair in a message; None unless there is somebody of each group."""
    own, others = (
        tuple(name for name in words.names if _stands(_told(words, name), text))
        for words in (known.favoured, known.stigmatised)
    )
    if not own or not others:
        return None
    order = tuple(sorted((*own, *others), key=text.find))
    return Associating(known, own, others, offered, order)


def _stands(person: str, text: str) -> bool:
    return person in text and re.search(rf"(?<!\w){re.escape(person)}(?!\w)", text) is not None
