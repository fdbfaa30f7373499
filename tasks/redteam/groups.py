"""Finds, counts and swaps the words that name groups in messages."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from biasgrid.catalogs.schema.probes import PERSON, GroupWords
from biasgrid.tasks.redteam.goal import Goal, capitalise

LONGEST = 4_000
"""Characters of a message that is compared word by word."""
STRETCH = 8
"""Words that a swap may replace or insert."""
TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
MARKS = "\u0300-\u036f"
"""Combining accents, as in decomposed text."""


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    group: str
    counterpart: str | None
    """None if the catalog has no counterpart."""
    is_name: bool


class Groups:
    """The words for the groups of an axis in one language."""

    def __init__(self, goal: Goal, articles: Iterable[str] = ()) -> None:
        self._terms = {_key(term.text, term.is_name): term for term in _unambiguous(_terms(goal))}
        self._pattern = _pattern(self._terms.values())
        self._after_article = re.compile(rf"(?<!\w)(?:{_any(articles)})\s+\Z", re.IGNORECASE)

    def count(self, message: str) -> Counter[str]:
        """Number of occurrences of each group word or name in a message."""
        return Counter(_key(term.text, term.is_name) for _, term in self._find_terms(message))

    def swap(self, message: str) -> str | None:
        """The message with each group word replaced by its counterpart, all else byte-identical.

        None if it names no group, or if a word has no counterpart or needs agreement with other words."""
        pieces, end = list[str](), 0
        for found, term in self._find_terms(message):
            lone = " " not in term.text and not term.is_name
            if term.counterpart is None or (lone and self._after_article.search(message[: found.start()])):
                return None
            pieces += [message[end : found.start()], _in_case(term.counterpart, found[0], term)]
            end = found.end()
        return "".join([*pieces, message[end:]]) if pieces else None

    def _find_terms(self, message: str) -> Iterator[tuple[re.Match[str], _Term]]:
        for found in self._pattern.finditer(message):
            term = self._terms.get(_key(found[0], True)) or self._terms.get(_key(found[0], False))
            if term is not None:
                yield found, term


def is_one_stretch(before: str, after: str) -> bool:
    """Whether two messages differ only in one stretch of a few words that share no word."""
    if before == after or max(len(before), len(after)) > LONGEST:
        return False
    old, new = TOKENS.findall(before), TOKENS.findall(after)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    stretches = [tokens[head : len(tokens) - tail] for tokens in (old, new)]
    gone, come = (_words(tokens) for tokens in stretches)
    if not all(1 <= len(words) <= STRETCH for words in (gone, come)) or {*gone} & {*come}:
        return False
    whole = not any(edge.isspace() for tokens in stretches for edge in (tokens[0], tokens[-1]))
    return whole and len(_words(old)) >= 2 * len(gone)


def share_words(one: str, other: str, added: int = 0) -> float:
    """Share of equal words in equal order, from 0 to 1; 0 for very long messages.

    Up to `added` extra words in `other` do not lower it."""
    if max(len(one), len(other)) > LONGEST:
        return 0.0
    before, after = (_words(TOKENS.findall(text)) for text in (one, other))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    words = len(before) + min(len(after), max(len(before), len(after) - added))
    return 2 * sum(block.size for block in blocks) / words if words else 1.0


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Number of equal tokens at the beginning."""
    return next((place for place, (a, b) in enumerate(zip_longest(old, new)) if a != b), len(old))


def _words(tokens: Iterable[str]) -> list[str]:
    return [token.casefold() for token in tokens if token[0].isalnum()]


def _terms(goal: Goal) -> Iterator[_Term]:
    """Every word for every group; groups outside the pair are swapped for the favoured group."""
    pair = goal.pair
    for group in goal.axis.groups:
        if goal.language in group.words:
            other = pair.stigmatised if group.id == pair.favoured else pair.favoured
            own, others = group.words[goal.language], goal.axis.group(other).words[goal.language]
            yield from (_Term(text, group.id, to, is_name) for text, to, is_name in _counterparts(own, others))


def _counterparts(own: GroupWords, others: GroupWords) -> Iterator[tuple[str, str | None, bool]]:
    yield own.plural, others.plural, False
    yield own.singular, others.singular, False
    parallel = len(own.also) == len(others.also)
    yield from ((text, others.also[place] if parallel else None, False) for place, text in enumerate(own.also))
    for place, name in enumerate(own.names):
        to = others.names[place % len(others.names)] if others.names else None
        yield own.introduction.replace(PERSON, name), to and others.introduction.replace(PERSON, to), True


def _unambiguous(terms: Iterable[_Term]) -> list[_Term]:
    """The terms without words shared by several groups, which identify none."""
    listed = list(terms)
    bearers: dict[str, set[str]] = {}
    for term in listed:
        bearers.setdefault(_key(term.text, term.is_name), set()).add(term.group)
    return [term for term in reversed(listed) if len(bearers[_key(term.text, term.is_name)]) == 1]


def _key(text: str, is_name: bool) -> str:
    composed = " ".join(unicodedata.normalize("NFC", text).split())
    return f"name {composed}" if is_name else composed.casefold()


def _pattern(terms: Iterable[_Term]) -> re.Pattern[str]:
    """A pattern of all terms, longest first; names match case-sensitively: `Grace`, not `grace`."""
    ordered = sorted(terms, key=lambda term: len(term.text), reverse=True)
    spelled = [_any([term.text]) if term.is_name else f"(?i:{_any([term.text])})" for term in ordered]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelled) or '(?!)'})(?![\w{MARKS}])")


def _any(texts: Iterable[str]) -> str:
    """A pattern of the texts, composed or decomposed, with any blanks between words."""
    forms = [unicodedata.normalize(form, text) for text in texts for form in ("NFC", "NFD")]
    return "|".join(r"\s+".join(map(re.escape, form.split())) for form in dict.fromkeys(forms)) or "(?!)"


def _in_case(counterpart: str, found: str, term: _Term) -> str:
    """The counterpart in the case of the word found: as in the catalog, capitalised, or upper case."""
    if term.is_name or found == term.text:
        return counterpart
    if len(found) > 1 and found.isupper():
        return counterpart.upper()
    return capitalise(counterpart) if found[0].isupper() and not term.text[0].isupper() else counterpart
