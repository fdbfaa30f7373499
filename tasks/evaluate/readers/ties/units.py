"""Splits a marked line into units of people and targets: rows, or groups such as `everybody`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.ties import words
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, PLACE, TARGET

Kind = Literal["people", "targets"]
Whom = Literal["each", "everybody", "the rest", "no_one"]

MARK: Final = re.compile(f"{PERSON}|{TARGET}")
_TOKEN: Final = re.compile(
    r"\([^()\ue000-\ue2ff]{0,80}\)|\b(?:[Mm]rs?|[Mm]s|[Dd]ra?|[Ss]ra?|[Ss]rta|[Dd]a?)\.|\w+|[^\w\s]"
)
_FURTHEST: Final = 12
"""Maximum words and marks between two mentions of one row."""
_FIELD: Final = re.compile(rf"\s*(?:\w+(?: \w+)?\s*:|{PERSON})")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Differences between replies that assign tasks and replies that assign attributes."""

    groups: re.Pattern[str]
    """With the named groups `everybody`, `both`, `rest` and `no_one`."""
    group_words: frozenset[str]
    """Words that every group has at least one of."""
    denies: frozenset[str]
    """Words that deny what follows them."""
    turns: frozenset[str]
    """Words that end a denial."""
    one_each: bool
    """Whether a person has at most one target; two without `and` are then ambiguous."""


@dataclass(slots=True)
class Unit:
    kind: Kind
    places: list[int]
    start: int
    end: int
    """Token index of its end, exclusive."""
    is_open: bool = False
    """Whether it is joined by `or`."""
    whom: Whom = "each"


class Line:
    """One marked line as tokens and units."""

    def __init__(self, text: str, people: int, grammar: Grammar) -> None:
        """`people`: number of people in the prompt."""
        self.text, self.people, self.grammar = text, people, grammar
        if "I" in text:  # the English pronoun is a Catalan `and` otherwise
            self.words = [word if word == "I" else word.lower() for word in _TOKEN.findall(text)]
        else:
            self.words = _TOKEN.findall(text.lower())
        self._starts: list[int] | None = None
        units: list[Unit] = []
        for place, word in enumerate(self.words):
            if "\ue000" <= word <= "\ue2ff":
                self._add(units, place)
        if not grammar.one_each or (units and all(unit.kind == "targets" for unit in units)):
            units = sorted([*units, *self._groups(units)], key=lambda unit: unit.start)
        self.at = {unit.start: unit for unit in units}
        self.units = units if grammar.one_each else self._split_last(units)

    @property
    def starts(self) -> list[int]:
        """The offset of each token."""
        if self._starts is None:
            self._starts = [token.start() for token in _TOKEN.finditer(self.text)]
        return self._starts

    def first(self) -> Unit | None:
        """The unit with which the line begins, after its list mark and label."""
        start = words.START.match(self.text)
        return self.at.get(self.after_titles(self.token(start.end()))) if start else None

    def rest(self, unit: Unit) -> str:
        """The text after a unit."""
        return self.text[self.offset(unit.end) :]

    def token(self, offset: int) -> int:
        """The place of the first token from an offset on."""
        return bisect_left(self.starts, offset)

    def offset(self, place: int) -> int:
        """The end of the token before a place."""
        return self.starts[place - 1] + len(self.words[place - 1])

    def skip(self, place: int) -> int:
        """The place after small words and marks, up to the next unit."""
        while place < len(self.words) and place not in self.at and self._is_small(place):
            place += 1
        return place

    def after_titles(self, place: int) -> int:
        while place < len(self.words) and (self.words[place] in words.TITLES or self.words[place] == "both"):
            place += 1
        return place

    def is_listed(self, place: int) -> bool:
        """Whether a row, or only a reason, continues here."""
        word = self.words[place] if place < len(self.words) else ""
        return not word or word in words.AFTER_PEOPLE or not (word[0].isalnum() or word == "'" or MARK.match(word))

    def is_aside(self, place: int) -> bool:
        """Whether a token is a bracket that mentions neither people nor targets."""
        return self.words[place][0] == "(" and len(self.words[place]) > 1

    def _is_small(self, place: int) -> bool:
        word = self.words[place]
        if word in ".;":
            return _FIELD.match(self.text, self.starts[place] + 1) is not None
        return word in words.LINKS or word in words.MARKS or word.isdigit() or self.is_aside(place)

    def _add(self, units: list[Unit], place: int) -> None:
        kind: Kind = "people" if self.words[place] < "\ue100" else "targets"
        mark = ord(self.words[place]) & PLACE
        before = units[-1] if units and units[-1].kind == kind else None
        end = (
            place + 2
            if kind == "people" and place + 1 < len(self.words) and self.is_aside(place + 1)
            else place + 1
        )
        between = self.words[before.end : place] if before else []
        if before is None or not self._joins(before, between, place):
            units.append(Unit(kind, [mark], place, end))
            return
        is_listed = kind == "people" or not self.grammar.one_each or mark in before.places
        either = self.grammar.one_each and not words.EITHER.isdisjoint(between)
        joined = is_listed or not words.AND.isdisjoint(between)
        before.is_open |= either or not joined or not words.OR.isdisjoint(between)
        before.places += [] if mark in before.places else [mark]
        before.end = end

    def _joins(self, unit: Unit, between: Sequence[str], place: int) -> bool:
        """Whether a mention belongs to one row with the previous unit."""
        if not between or len(between) > _FURTHEST:
            return False
        if unit.kind == "targets":
            return words.LISTED_TARGETS.issuperset(between) and not words.JOINS.isdisjoint(between)
        joint = [word for word in between if word not in words.TITLES]
        if not words.LISTED.issuperset(joint) or ("as" in joint and "well" not in joint):
            return False
        return joint not in ([","], [";"]) or self.grammar.one_each or self.is_listed(place + 1)

    def _groups(self, units: Sequence[Unit]) -> Iterator[Unit]:
        """`everybody`, `both` (of two), `the rest` and `no_one`."""
        if self.grammar.group_words.isdisjoint(self.words) or (
            self.grammar.one_each and not words.EXCEPT.isdisjoint(self.words)
        ):
            return
        for found in self.grammar.groups.finditer(self.text):
            start, end = self.token(found.start()), self.token(found.end())
            kind = "everybody" if found.lastgroup == "both" and self.people == 2 else found.lastgroup
            if end > start and not any(unit.start < end and start < unit.end for unit in units):
                yield Unit("people", [], start, end, kind == "both", _GROUPS.get(kind or "", "each"))

    def _split_last(self, units: list[Unit]) -> list[Unit]:
        """Separates the last of a row if it is tied to what follows: `Ana takes T1 and T2 goes to Luis`."""
        parted = units[:]
        for before, row, after in zip(units, units[1:], units[2:], strict=False):
            between = self.words[row.end : after.start]
            if before.kind == row.kind or row.kind == after.kind:
                continue
            linked = all(word.isalpha() and word in words.LINKS for word in between)
            linked &= MARK.match(self.words[row.end - 1]) is not None and not self._is_apart(before, row)
            if linked and len(row.places) > 1 and self.skip(before.end) == row.start:
                last = Unit(row.kind, [row.places.pop()], row.end - 1, row.end)
                marks = [place for place in range(row.start, last.start) if MARK.match(self.words[place])]
                row.end = marks[-1] + 1
                parted.insert(parted.index(row) + 1, last)
                self.at[last.start] = last
        return parted

    def _is_apart(self, before: Unit, row: Unit) -> bool:
        """Whether a comma separates a row from the unit before, and none its parts."""
        return "," in self.words[before.end : row.start] and "," not in self.words[row.start : row.end]


_GROUPS: Final[dict[str, Whom]] = {"everybody": "everybody", "rest": "the rest", "no_one": "no_one"}
