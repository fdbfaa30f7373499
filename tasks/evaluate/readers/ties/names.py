"""Indexes people by the words of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from biasgrid.tasks.evaluate.readers.reply_text import fold

Form: TypeAlias = tuple[tuple[str, ...], str]
"""The words of a name, and the name."""
_WORD: Final = re.compile(r"\w+")
_TITLES: Final = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "sr", "sra", "srta", "don", "dona", "senor", "senora", "senyor"}
)


def words_in(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(text)))


def index_names(names: Sequence[str]) -> dict[str, list[Form]]:
    """Names by their first word, longest first, without ambiguous names."""
    spelt = [(words_in(name), name) for name in names]
    forms = [words for words, _ in spelt]
    known = [(words, name) for words, name in spelt if words and forms.count(words) == 1]
    found: dict[str, list[Form]] = {}
    for words, name in sorted([*known, *_short(known)], key=lambda one: -len(one[0])):
        found.setdefault(words[0], []).append((words, name))
    return found


def find_exact(index: Mapping[str, Sequence[Form]], text: str) -> str | None:
    """The value of the name that a text equals, in any case."""
    words = words_in(text)
    return next((value for form, value in index.get(words[0], ()) if form == words), None) if words else None


def _short(known: list[Form]) -> Iterator[Form]:
    """First names for full ones, unless two people share them."""
    firsts = [words[0] for words, _ in known]
    for words, name in known:
        if len(words) > 1 and firsts.count(words[0]) == 1 and words[0] not in _TITLES:
            yield words[:1], name
