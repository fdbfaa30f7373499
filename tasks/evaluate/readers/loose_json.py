"""JSON as models write it: fenced, with prose around it, single quotes, trailing commas, comments, cut off.

Never fails and never goes back: what cannot be read is skipped, a string that is cut off is dropped. What is not
written as a string, a number or a word of JSON is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

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
    """Keys and values in their order; a key may stand twice."""

    members: tuple[tuple[str, Value], ...]


def values_in(text: str) -> list[Value]:
    """The outermost objects and lists of a text, in their order."""
    found: list[Value] = []
    position = 0
    while opening := _OPENS.search(text, position):
        reader = _Reader(text, opening.start())
        found.append(reader.value(0))
        position = max(reader.position, opening.end())
    return found


def without_values(text: str) -> str:
    """What stands around them."""
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
        """Whether the text ends here, or this object or list; a stray bracket ends nothing."""
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
