"""Recognises the stereotype and the question of a bias probe's message by the catalog's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

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
from biasgrid.catalogs.schema.respondents import Leaning
from biasgrid.tasks.connectors.simulated.fault_injection import Chance

PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair of the catalog in one language."""

    axis: str
    pair: str
    language: str
    favoured: GroupWords
    stigmatised: GroupWords
    attributes: tuple[str, str]
    rest: tuple[GroupWords, ...] = ()
    """The axis's other groups, to which the stereotype gives nothing."""


@dataclass(frozen=True, slots=True)
class AssociationQuestion:
    """Names to be matched with one of two attributes; `own` are the favoured group's."""

    known: KnownPair
    own: tuple[str, ...]
    others: tuple[str, ...]
    offered: tuple[str, str]
    """The attribute that the stereotype gives to the favoured group, and the other one."""
    order: tuple[str, ...]
    """All names in the order of the message."""
    rest: tuple[tuple[str, ...], ...] = ()
    """Those of each further group."""


@dataclass(frozen=True, slots=True)
class StatementQuestion:
    known: KnownPair
    kind: Statement
    scale: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RatingQuestion:
    """A person to be rated; a name may be typical of groups on several axes."""

    belongs: tuple[tuple[KnownPair, bool], ...]
    """The pairs of the person's groups, and whether it is the stigmatised group."""
    better: str


ProbeQuestion = AssociationQuestion | StatementQuestion | RatingQuestion


class ProbeRecogniser:
    """Recogniser of one catalog; reads its words at the first query."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, text: str) -> ProbeQuestion | None:
        """The probe question of a message, or None."""
        return (
            self._find_statement(text)
            or self._find_rating(text)
            or self._find_decision(text)
            or self._find_association(text)
        )

    @cached_property
    def _known(self) -> tuple[KnownPair, ...]:
        return tuple(
            known for axis, pair in every_pair(self._catalog.probes) for known in _in_languages(axis, pair)
        )

    @cached_property
    def _statements(self) -> Mapping[str, StatementQuestion]:
        return {
            _fill_statement(text, known): StatementQuestion(known, kind, wording.scale)
            for known in self._known
            if (wording := self._catalog.probing.get(known.language))
            for kind, texts in wording.statements.items()
            for text in texts
        }

    def _find_statement(self, text: str) -> StatementQuestion | None:
        found = [statement for statement in self._statements if statement in text]
        return self._statements[max(found, key=len)] if found else None

    def _find_rating(self, text: str) -> RatingQuestion | None:
        for language, wording in self._catalog.probing.items():
            for form in wording.counterfactuals:
                person = _find_person(form, text)
                if person is not None:
                    return self._of_person(person, language, form)
        return None

    def _of_person(self, person: str, language: str, form: CounterfactualWording) -> RatingQuestion | None:
        spoken = [known for known in self._known if known.language == language]
        belongs = tuple(
            (known, is_stigmatised)
            for known in spoken
            for is_stigmatised, words in ((False, known.favoured), (True, known.stigmatised))
            if _is_of(words, person)
        ) or tuple((known, False) for known in spoken if any(_is_of(words, person) for words in known.rest))
        return RatingQuestion(belongs, form.better) if belongs else None

    def _find_decision(self, text: str) -> AssociationQuestion | None:
        for language, wording in self._catalog.probing.items():
            for form in wording.decisions:
                if form.positive in text and form.negative in text:
                    return self._among(text, language, (form.positive, form.negative))
        return None

    def _find_association(self, text: str) -> AssociationQuestion | None:
        folded = text.casefold()
        for known in self._known:
            if all(attribute.casefold() in folded for attribute in known.attributes):
                found = _find_people(known, text, known.attributes)
                if found is not None:
                    return found
        return None

    def _among(self, text: str, language: str, offered: tuple[str, str]) -> AssociationQuestion | None:
        """The pair with most people in a message."""
        found = [
            own
            for known in self._known
            if known.language == language
            if (own := _find_people(known, text, offered)) is not None
        ]
        return max(
            found, key=lambda own: (len(own.known.favoured.introduction), len(own.own + own.others)), default=None
        )


def _in_languages(axis: ProbeAxis, pair: AttributePair) -> Iterator[KnownPair]:
    for language, attributes in pair.attributes.items():
        sides = [axis.group(name).words.get(language) for name in (pair.favoured, pair.stigmatised)]
        if sides[0] and sides[1]:
            others = [group.words for group in axis.groups if group.id not in {pair.favoured, pair.stigmatised}]
            rest = tuple(words[language] for words in others if language in words)
            yield KnownPair(axis.id, pair.id, language, sides[0], sides[1], attributes, rest)


def _fill_statement(text: str, known: KnownPair) -> str:
    parts = {
        "favoured": known.favoured.plural,
        "stigmatised": known.stigmatised.plural,
        "positive": known.attributes[0],
        "negative": known.attributes[1],
    }
    return PLACE.sub(lambda place: parts.get(place[1], place[0]), text)


def _introduce(words: GroupWords, name: str) -> str:
    return words.introduction.replace(PERSON, name)


def _is_of(words: GroupWords, person: str) -> bool:
    return any(_introduce(words, name) == person for name in words.names)


def _find_person(form: CounterfactualWording, text: str) -> str | None:
    head, _, tail = form.prompt.partition("{person}")
    again = tail.partition("{person}")[0]
    if not text.startswith(head):
        return None
    person = text[len(head) :].partition(again)[0] if again else text[len(head) :]
    return person if text == form.prompt.replace("{person}", person) else None


def _find_people(known: KnownPair, text: str, offered: tuple[str, str]) -> AssociationQuestion | None:
    """The people of a pair in a message; None unless both groups are named."""
    own, others = (_find_names(words, text) for words in (known.favoured, known.stigmatised))
    if not own or not others:
        return None
    rest = tuple(names for words in known.rest if (names := _find_names(words, text)))
    order = tuple(sorted((*own, *others, *(name for names in rest for name in names)), key=text.find))
    return AssociationQuestion(known, own, others, offered, order, rest)


def _find_names(words: GroupWords, text: str) -> tuple[str, ...]:
    return tuple(name for name in words.names if _is_named(_introduce(words, name), text))


def _is_named(person: str, text: str) -> bool:
    return person in text and re.search(rf"(?<!\w){re.escape(person)}(?!\w)", text) is not None


FAIR_RATING: Final = 70
STATEMENTS: Final[tuple[Statement, ...]] = ("stereotype", "anti", "reversed")


def probe_reply(leaning: Leaning, probed: ProbeQuestion, chance: Chance) -> str:
    """Follows the stereotype with probability .5 + strength / 2; answers statements by its leaning."""
    if isinstance(probed, RatingQuestion):
        return _rating(probed, leaning, chance)
    strength = leaning.strength(probed.known.axis, probed.known.pair)
    if isinstance(probed, StatementQuestion):
        return _agreement(probed, leaning, strength)
    own, other = probed.offered if _is_stereotypical(chance, strength) else probed.offered[::-1]
    given = {name: own if name in probed.own else other for name in probed.order}
    for number, names in enumerate(probed.rest):  # to which the stereotype gives nothing
        given |= dict.fromkeys(names, probed.offered[chance.uniform(f"further group {number}") < 0.5])
    if "JSON" in chance.message:
        return json.dumps(given, ensure_ascii=False)
    return "\n".join(f"{name} - {attribute}" for name, attribute in given.items())


def _is_stereotypical(chance: Chance, strength: float) -> bool:
    return chance.uniform("association") < 0.5 + strength / 2


def _agreement(probed: StatementQuestion, leaning: Leaning, strength: float) -> str:
    """The answer to a statement; without a leaning, stereotypes and their opposites are both denied."""
    disagrees, agrees = probed.scale[0], probed.scale[3]
    by_strength = "stereotype" if strength > 0 else "anti" if strength < 0 else "reversed"
    supported = {"nothing": ("reversed",), "everything": STATEMENTS}.get(leaning.states, (by_strength,))
    return agrees if probed.kind in supported else disagrees


def _rating(probed: RatingQuestion, leaning: Leaning, chance: Chance) -> str:
    """A rating by the person's group for which the leaning is strongest."""
    strengths = [
        (leaning.strength(known.axis, known.pair), is_stigmatised) for known, is_stigmatised in probed.belongs
    ]
    strength, is_stigmatised = max(strengths, key=lambda own: (abs(own[0]), own[1]))
    lower = _is_stereotypical(chance, strength) is (probed.better == "higher")
    moved = -leaning.shift if lower else leaning.shift
    return json.dumps({"score": float(FAIR_RATING + (moved if is_stigmatised else 0))})
