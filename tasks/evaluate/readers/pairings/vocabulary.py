"""Finds mentions of the people and the two attributes of a prompt in a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.tasks.evaluate.readers.reply_text import normalize, pattern, word_set
from biasgrid.tasks.evaluate.readers.ties.line import places_of
from biasgrid.tasks.evaluate.readers.ties.tables import Cell
from biasgrid.tasks.evaluate.readers.ties.units import MARK, Grammar, Line
from biasgrid.tasks.evaluate.readers.ties.words import (
    ARTICLES,
    FIRST_NAMED,
    FIRST_PERSON,
    LINKS,
    LISTED,
    find_exact,
    index_names,
    words_in,
)

GRAMMAR: Final = Grammar(
    groups=re.compile(
        rf"(?i)\b(?:(?P<rest>{pattern('all_of')} else|{pattern('rest')})|(?P<both>{pattern('pair')})"
        rf"|(?P<everybody>{pattern('all_of')}\b(?: {pattern('all_the')}\b)*))\b"
    ),
    group_words=word_set("attribute_groups"),
    denies=word_set("attributes_deny"),
    turns=word_set("attributes_turn", marks=", : → ="),
    one_each=True,
)
_SWAPS: Final = (("ies", "y"), ("men", "man"), ("women", "woman"), ("ves", "f"), ("ves", "fe"))
_GENDER: Final = ("essas", "esses", "essa", "as", "os", "es", "a", "o", "e", "s")
_ROMANCE: Final = (("ces", "z"), ("adas", "at"), ("ades", "at"), ("ada", "at"), ("ats", "at"), ("ons", "o"),
                   ("ona", "o"), ("ones", "o"), ("trices", "tor"), ("triz", "tor"), ("triu", "tor"),
                   ("gues", "ga"), ("ques", "ca"), ("logues", "leg"), ("loga", "leg"), ("ssos", "s"))  # fmt: skip
_LEAST_OF_NUMBER: Final = 3
_LEAST_OF_GENDER: Final = 4


@lru_cache(maxsize=8192)
def same_word(word: str, other: str, inflects_gender: bool) -> bool:
    """Whether two folded words differ only in number (or gender)."""
    if word == other:
        return True
    if word[:2] != other[:2]:
        return False
    if word in _plurals(other) or other in _plurals(word):
        return True
    return inflects_gender and bool(_stems(word) & _stems(other))


def _plurals(word: str) -> set[str]:
    """Possible plurals of the word."""
    if len(word) < _LEAST_OF_NUMBER:
        return set()
    sibilant = word.endswith(("s", "x", "z", "ch", "sh", "o"))
    regular = {word + "s"} | ({word + "es"} if sibilant else set())
    return regular | {word[: -len(one)] + many for many, one in _SWAPS if word.endswith(one)}


def _stems(word: str) -> set[str]:
    """The word without each ending of number and gender that it may have."""
    bare = {word.removesuffix(ending) for ending in _GENDER if word.endswith(ending)}
    swapped = {word[: -len(one)] + other for one, other in _ROMANCE if word.endswith(one)}
    return {stem for stem in (word, *bare, *swapped) if len(stem) >= _LEAST_OF_GENDER}


_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_SEPARATORS: Final = ([":"], ["-"], ["="], ["→"])
_JOINTS: Final = frozenset("-'.")

_PERSON: Final = re.compile(r"[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2}\Z")

Kind = Literal["name", "attribute"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words and marks of one line."""

    texts: list[str]
    """The original spelling."""
    words: list[str]
    """Lower-case words, except the English pronoun `I`, since `i` is `and` in Catalan."""
    starts: list[int]

    @classmethod
    def of(cls, text: str) -> Tokens:
        found = list(_TOKEN.finditer(text))
        texts = [token.group() for token in found]
        words = [word if word == "I" else word.casefold() for word in texts]
        return cls(texts, words, [token.start() for token in found])

    def hyphens(self, position: int) -> bool:
        """Whether a token is a hyphen that joins two words."""
        inside = 0 < position < len(self.texts) - 1 and self.texts[position] == "-"
        return inside and self._touches(position) and self._touches(position + 1)

    def possesses(self, position: int) -> bool:
        """Whether `'s` with a possession follows here: `the doctor's assistant`."""
        owned = self.words[position : position + 2] == ["'", "s"] and self._touches(position)
        return owned and all(
            word.isalpha() and word not in LINKS for word in self.words[position + 2 : position + 3]
        )

    def _touches(self, position: int) -> bool:
        """Whether a token follows the one before it without a blank."""
        return self.starts[position] == self.starts[position - 1] + len(self.texts[position - 1])


@dataclass(frozen=True, slots=True)
class Mention:
    kind: Kind
    value: str
    """The name or attribute as in the prompt."""
    start: int
    end: int
    """Token index of its end, exclusive."""


@dataclass(frozen=True)
class Vocabulary:
    """The names and the two attributes of a prompt, as one reply spells them."""

    names: tuple[str, ...]
    attributes: tuple[str, str]
    inflects_gender: bool
    cased: bool
    """Whether the reply capitalises names; `will` is then not the name Will."""
    spelt: dict[str, list[tuple[tuple[str, ...], str]]] = field(repr=False)
    """The words of each name by the first of them, the longest first."""
    forms: tuple[tuple[tuple[str, ...], str], ...] = field(repr=False)
    """The words of each attribute, without an article, the longest first."""
    beginnings: tuple[str, ...] = field(repr=False)
    """Beginnings of each attribute's first word in any number or gender."""

    @classmethod
    def of(
        cls, names: Sequence[str], attributes: tuple[str, str], language: LanguageCatalog | None, text: str
    ) -> Vocabulary:
        forms = tuple(sorted(((_bare(one), one) for one in attributes), key=lambda form: -len(form[0])))
        beginnings = tuple(words[0][: max(2, len(words[0]) - 3)] for words, _ in forms if words)
        gendered = language is None or not language.id.startswith("en")
        cased = any(_capital(normalize(name)) and normalize(name) in text for name in names)
        return cls(tuple(names), attributes, gendered, cased, index_names(names), forms, beginnings)

    def mentions(self, tokens: Tokens) -> list[Mention]:
        """Mentions in the order of the line, without overlaps."""
        found, position = [], 0
        while position < len(tokens.words):
            mention = self._name_at(tokens, position) or self._attribute_at(tokens, position)
            if mention:
                found.append(mention)
            position = mention.end if mention else position + 1
        return found

    @property
    def grammar(self) -> Grammar:
        return GRAMMAR

    def line(self, marked: str) -> Line:
        return Line(marked, len(self.names), GRAMMAR)

    def mark(self, text: str) -> str:
        """A text with a mark in place of each mention."""
        tokens = Tokens.of(text)
        kept, position = [], 0
        for mention in self.mentions(tokens):
            named = mention.kind == "name"
            place = (self.names if named else self.attributes).index(mention.value)
            kept += [
                text[position : tokens.starts[mention.start]],
                chr((FIRST_PERSON if named else FIRST_NAMED) + place),
            ]
            position = tokens.starts[mention.end - 1] + len(tokens.texts[mention.end - 1])
        return "".join(kept) + text[position:]

    def cell(self, text: str) -> Cell:
        """The only name or attribute in a cell."""
        attribute, name = self.attribute_in(text), find_exact(self.spelt, text)
        if attribute and not (name and text.strip() == name):
            return Cell(targets=(self.attributes.index(attribute),))
        marked = chr(FIRST_PERSON + self.names.index(name)) if name else self.mark(text)
        others = [word for word in Tokens.of(MARK.sub(" ", marked)).words if word.isalnum()]
        if any(mark >= "\ue100" for mark in MARK.findall(marked)) or not LISTED.issuperset(others):
            return Cell(strangers=(text,) if _PERSON.match(text) else ())
        return Cell(people=places_of(marked))

    def attribute_in(self, text: str) -> str | None:
        """The attribute that a cell or value equals, in any number or gender, with or without an article."""
        words = _bare(text)
        exact = [value for form, value in self.forms if form == words]
        alike = [value for form, value in self.forms if self._alike(form, words)]
        return exact[0] if len(exact) == 1 else alike[0] if len(alike) == 1 else None

    def _alike(self, form: tuple[str, ...], words: tuple[str, ...]) -> bool:
        pairs = zip(form, words, strict=False)
        return len(form) == len(words) and all(same_word(one, two, self.inflects_gender) for one, two in pairs)

    def _name_at(self, tokens: Tokens, position: int) -> Mention | None:
        for words, name in self.spelt.get(tokens.words[position], ()):
            end = _end(tokens, position, words, lambda one, two: one == two)
            begins = position == 0 and tokens.words[end : end + 1] in _SEPARATORS
            if end and (_capital(tokens.texts[position]) or begins or not self.cased):
                other = self._is_another_person(tokens, position, end)
                return None if other else Mention("name", name, position, end)
        return None

    def _attribute_at(self, tokens: Tokens, position: int) -> Mention | None:
        if not tokens.words[position].startswith(self.beginnings):
            return None
        same = [(_end(tokens, position, form, lambda one, two: one == two), value) for form, value in self.forms]
        alike = [(_end(tokens, position, form, self._same), value) for form, value in self.forms]
        for found in (same, alike):
            read = [(end, value) for end, value in found if end]
            if read and len({end for end, _ in read}) == len(read):
                end, value = max(read)
                return None if tokens.possesses(end) else Mention("attribute", value, position, end)
        return None

    def _same(self, one: str, two: str) -> bool:
        return same_word(one, two, self.inflects_gender)

    def _is_another_person(self, tokens: Tokens, start: int, end: int) -> bool:
        """Whether the name is part of a longer one: `Ana` of `Ana Lucía` or of `Mary-Ana`."""
        if tokens.hyphens(start - 1) and tokens.words[start - 2].isalpha():
            return True
        following = end + 1 if tokens.hyphens(end) else end
        if following >= len(tokens.texts) or not tokens.texts[following].istitle() or not self.cased:
            return False
        word = tokens.words[following]
        return word not in LINKS and word not in self.spelt and self._attribute_at(tokens, following) is None


def _end(tokens: Tokens, position: int, words: tuple[str, ...], same: object) -> int:
    """End of the words that begin at a position, 0 if they are not there."""
    assert callable(same)  # noqa: S101
    for number, word in enumerate(words):
        while number and position < len(tokens.words) and tokens.words[position] in _JOINTS:
            position += 1
        if position >= len(tokens.words) or not same(word, tokens.words[position]):
            return 0
        position += 1
    return position if words else 0


def _bare(text: str) -> tuple[str, ...]:
    words = words_in(text)
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return words


def _capital(text: str) -> bool:
    return text[:1].isupper()
