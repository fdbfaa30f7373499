"""Compares names of people and words of groups as replies spell them, without case and accents."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from biasgrid.catalogs.schema.scenes import People

WORD = re.compile(r"\w+")


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """The words of a text, separated by blanks, without case and accents, which replies may omit."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return f" {' '.join(WORD.findall(bare))} "


def words_in(text: str, words: Iterable[str]) -> Iterator[str]:
    """The words that occur in a text."""
    return (word for word in words if plain(word) in plain(text))


def inseparable(first: str, second: str) -> bool:
    """Whether one of two attributes contains the other."""
    return plain(first).strip() in plain(second) or plain(second).strip() in plain(first)


def alike(name: str, group: str, others: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Conflicts of a name with `others` (names of the axis so far, with their groups), each with its remedy."""
    spelled = plain(name)
    if spelled in others:
        what = f"name `{name}` of group `{group}` is one of group `{others[spelled]}`, too"
        yield what, "keep it with one of them"
    for other, owner in others.items():
        if spelled != other and (spelled in other or other in spelled):
            what = f"name `{name}` of group `{group}` and `{other.strip()}` of `{owner}` hold one another"
            yield what, "replace one of them"


@dataclass(frozen=True)
class PeopleNames:
    """The names of all people of the catalog, by axis and language."""

    people: Mapping[str, People]

    @cached_property
    def names(self) -> dict[tuple[str, str], dict[str, str]]:
        """Normalized names of people, mapped to their spelling."""
        return {
            (people.id, language): {
                plain(name): name
                for group in people.groups.values()
                for names in group[language].names.values()
                for name in names
            }
            for people in self.people.values()
            for language in people.languages
        }

    @cached_property
    def beginnings(self) -> dict[tuple[str, str], frozenset[str]]:
        """First words of these names, for a fast check that a text contains none."""
        return {
            spoken: frozenset(word for words in names for word in words.split()[:1])
            for spoken, names in self.names.items()
        }

    def find(self, axis: str, language: str, text: str) -> str | None:
        """A person of the axis named in a text, which would be read as an answer; None if there is none."""
        bare = plain(text)
        if self.beginnings.get((axis, language), frozenset()).isdisjoint(bare.split()):
            return None
        return next((name for words, name in self.names[axis, language].items() if words in bare), None)
