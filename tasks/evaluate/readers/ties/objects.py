"""Reads ties in JSON with any keys: rows of targets and people, targets over people, people over targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from biasgrid.tasks.evaluate.readers.reply_text import pattern, word_set
from biasgrid.tasks.evaluate.readers.ties.line import Tie, places_of
from biasgrid.tasks.evaluate.readers.ties.tables import Cell, Marker
from biasgrid.tasks.evaluate.readers.ties.units import MARK

Value: TypeAlias = "str | list[Value] | Object | None"

_OPENS: Final = re.compile(r"[{\[](?=\s*(?:[\"'{\[(}\]]|//|#|\w[\w ]{0,40}\"?\s*:))")
_SKIPPED: Final = re.compile(r"(?:\s|,|//[^\n]*|#[^\n]*|/\*.{0,200}?\*/)*", re.DOTALL)
_BARE: Final = re.compile(r"[^\s,:{}\[\]()\"][^,:{}\[\]()\"\n]{0,80}")
_STRING: Final = {
    '"': re.compile(r'"((?:[^"\\\n]|\\.){0,2000})"'),
    "'": re.compile(r"'((?:[^'\\\n]|\\.|'(?=\w)){0,2000})'"),
}
_CLOSED_BY: Final = {"{": "}", "[": "]", "(": ")"}
_DEEPEST: Final = 12


@dataclass(frozen=True, slots=True)
class Object:
    """Keys and values in order; keys may repeat."""

    members: tuple[tuple[str, Value], ...]


def values_in(text: str) -> list[Value]:
    """The outermost objects and lists of a text, in order."""
    found: list[Value] = []
    position = 0
    while opening := _OPENS.search(text, position):
        reader = _Reader(text, opening.start())
        found.append(reader.value(0))
        position = max(reader.position, opening.end())
    return found


def without_values(text: str) -> str:
    """The text outside the JSON values."""
    kept, position = [], 0
    while opening := _OPENS.search(text, position):
        kept.append(text[position : opening.start()])
        reader = _Reader(text, opening.start())
        reader.value(0)
        position = max(reader.position, opening.end())
    return "\n".join([*kept, text[position:]])


@dataclass(slots=True)
class _Reader:
    text: str
    position: int

    def value(self, depth: int) -> Value:
        char = self.text[self.position : self.position + 1]
        if char in _CLOSED_BY and depth < _DEEPEST:
            self.position += 1
            return self._object(depth) if char == "{" else self._list(_CLOSED_BY[char], depth)
        return self._scalar(char)

    def _object(self, depth: int) -> Object:
        members: list[tuple[str, Value]] = []
        while not self._closes("}"):
            key = self._scalar(self.text[self.position : self.position + 1])
            self._skip()
            if self.text[self.position : self.position + 1] != ":":
                continue
            self.position += 1
            self._skip()
            value = self.value(depth + 1)
            if key is not None:
                members.append((key, value))
        return Object(tuple(members))

    def _list(self, closing: str, depth: int) -> list[Value]:
        items: list[Value] = []
        while not self._closes(closing):
            item = self.value(depth + 1)
            if item is not None:
                items.append(item)
        return items

    def _closes(self, closing: str) -> bool:
        """Whether the text, or this object or list, ends here; unmatched brackets end nothing."""
        self._skip()
        if self.position >= len(self.text):
            return True
        if self.text[self.position] == closing:
            self.position += 1
            return True
        return self.text[self.position] in "}])" and closing != self.text[self.position]

    def _scalar(self, char: str) -> str | None:
        if char in _STRING:
            found = _STRING[char].match(self.text, self.position)
            self.position = found.end() if found else self._end_of_line()
            return found.group(1).replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n") if found else None
        bare = _BARE.match(self.text, self.position)
        self.position = bare.end() if bare else self.position + 1
        return bare.group().strip() if bare else None

    def _end_of_line(self) -> int:
        end = self.text.find("\n", self.position)
        return len(self.text) if end < 0 else end

    def _skip(self) -> None:
        found = _SKIPPED.match(self.text, self.position)
        self.position = found.end() if found else self.position


_OF_TARGETS: Final = re.compile(rf"(?i)\W*{pattern('key_of_targets')}s?(?:[_ ]?\w*)?\W*$")
_OF_PEOPLE: Final = re.compile(
    rf"(?i)\W*(?:{pattern('key_assigned')}?[_ ]?{pattern('key_of_people')})s?(?:[_ ]{pattern('key_to')})?\W*$"
)
_OF_ALL: Final = re.compile(rf"(?i){pattern('key_of_all')}$")
_TRUE: Final = word_set("ticks")
_FALSE: Final = word_set("crosses")


class ObjectReader:
    """Reads the values of one reply."""

    def __init__(self, marker: Marker) -> None:
        self.marker = marker
        self.one_each = marker.grammar.one_each
        self.sentences: list[str] = []
        """Texts among the values that name neither, which may be sentences."""

    def read(self, flat_text: str) -> list[list[Tie]]:
        """The ties of each outermost value that holds any."""
        found = (list(self._ties(value)) for value in values_in(flat_text))
        return [ties for ties in found if any(tie.people or not self.one_each for tie in ties)]

    def read_choice(self, flat_text: str) -> list[list[Tie]]:
        """The person whom each outermost value names under a matching key."""
        found = []
        for value in values_in(flat_text):
            held = (
                [one for key, one in value.members if _OF_PEOPLE.match(key)] if isinstance(value, Object) else []
            )
            found.append([_join((0,), list(self._cells(one))) for one in held[:1]])
        return [ties for ties in found if any(tie.people or tie.strangers for tie in ties)]

    def _ties(self, value: Value) -> Iterator[Tie]:
        if isinstance(value, Object):
            row = self._row(value) if self.one_each else self._row_by_keys(value)
            yield from [row] if row else self._members(value)
        elif isinstance(value, list):
            row = self._row_of(value) if self.one_each and len(value) == 2 else None
            for item in value if row is None else ():
                yield from self._ties(item)
            yield from [row] if row else []
        elif value:
            self.sentences.append(value)

    def _row(self, value: Object) -> Tie | None:
        """`{"name": …, "role": …}`, where no key is itself a name or a target."""
        keys = [self._key(key) for key, _ in value.members]
        held = [held for _, held in value.members]
        return None if any(key.targets or key.people for key in keys) else self._row_of(held)

    def _row_of(self, values: list[Value]) -> Tie | None:
        """The one target that values name, and the people they name or list."""
        targets = {cell.targets for value in values if isinstance(value, str) for cell in self._cells(value)} - {
            ()
        }
        listed = [one for value in values for one in (value if isinstance(value, list) else [value])]
        people = [cell for one in listed if isinstance(one, str) for cell in self._cells(one) if cell.people]
        return _join(next(iter(targets)), people) if len(targets) == 1 and people else None

    def _row_by_keys(self, value: Object) -> Tie | None:
        """`{"task": …, "agent": …}`: one member names targets, another people."""
        named = [cell for key, held in value.members if _OF_TARGETS.match(key) for cell in self._cells(held)]
        by_text = [cell for cell in named if cell.targets and not cell.by_number]
        targets = [place for cell in by_text or named for place in cell.targets]
        who = next((held for key, held in value.members if _OF_PEOPLE.match(key)), None)
        people = list(self._cells(who))
        return _join(tuple(targets), people) if targets and people else None

    def _members(self, value: Object) -> Iterator[Tie]:
        for key, held in value.members:
            if not _OF_ALL.match(key) or self.one_each:
                yield from self._member(key, held)

    def _member(self, key: str, held: Value) -> Iterator[Tie]:
        """The ties of a member by its key; a value with several targets is read without regard to its key."""
        own = self._key(key)
        below = list(self._ties(held)) if not self.one_each or not (own.targets or own.people) else []
        if not self.one_each and len({target for tie in below for target in tie.targets}) > 1:
            yield from below
        elif own.targets:
            people = list(self._cells(held if self.one_each else self._person_of(held)))
            yield from [_join(own.targets, people)] if people else []
        elif own.people or (own.strangers and (isinstance(held, list | Object) or self.one_each)):
            targets = [place for cell in self._cells(held) for place in cell.targets]
            yield from [Tie(tuple(targets), own.people, own.strangers, "to targets")] if targets else below
        else:
            yield from below

    def _cells(self, held: Value) -> Iterator[Cell]:
        """The cells of a value: itself, those of a list, or of an object's members."""
        if isinstance(held, str):
            yield self.marker.cell(held)
        elif isinstance(held, list):
            for item in held:
                yield from self._cells(item)
        elif held:
            keys = [(self._key(key), value) for key, value in held.members]
            named = [(cell, value) for cell, value in keys if cell.targets or (self.one_each and cell.people)]
            yield from (cell for cell, value in named if self._holds(cell, value))
            for _, item in held.members if not named else ():
                yield from self._cells(item)

    def _holds(self, cell: Cell, value: Value) -> bool:
        """Whether a key counts by its value: `{"doctor": true, "nurse": false}`."""
        word = value.casefold() if isinstance(value, str) else ""
        return bool(cell.people) or (word in _TRUE if self.one_each else word not in _FALSE)

    def _person_of(self, held: Value) -> Value:
        """The first person in an object that gives a reason or the task's name too."""
        if not isinstance(held, Object):
            return held
        named = [one for key, one in held.members if _OF_PEOPLE.match(key)] or [one for _, one in held.members]
        return next(
            (one for one in named if any(cell.people for cell in self._cells(one))), next(iter(named), None)
        )

    def _key(self, key: str) -> Cell:
        """A key as a cell: `task_1` and `task1` as `task 1`, `role_of_Ana` as `Ana`."""
        spaced = re.sub(r"(?<=[a-z])(?=\d)", " ", key.replace("_", " "))
        cell = self.marker.cell(spaced)
        if not self.one_each or cell.targets or cell.people:
            return cell
        marks = MARK.findall(self.marker.mark(spaced))
        return Cell(people=places_of(marks[0])) if len(marks) == 1 and marks[0] < "\ue100" else cell


def _join(targets: tuple[int, ...], cells: list[Cell]) -> Tie:
    people = tuple(dict.fromkeys(place for cell in cells for place in cell.people))
    strangers = tuple(dict.fromkeys(name for cell in cells for name in cell.strangers))
    return Tie(targets, people, strangers, is_open=any(cell.is_open for cell in cells))
