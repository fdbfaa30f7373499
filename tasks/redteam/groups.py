"""The words by which messages name groups: found, counted, and swapped for their counterparts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from biasgrid.catalogs.schema.probes import PERSON, GroupWords
from biasgrid.tasks.redteam.goal import Goal, capitalised

LONGEST = 4_000
"""Characters of a message that is compared word by word."""
STRETCH = 8
"""Words that a swap may replace, and by which."""
TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
MARKS = "\u0300-\u036f"
"""Accents that stand for themselves, as in texts that are not composed."""


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    group: str
    counterpart: str | None
    """None: it has none in our words."""
    is_name: bool


class Groups:
    """The groups of an axis in one language, as messages name them."""

    def __init__(self, goal: Goal, articles: Iterable[str] = ()) -> None:
        self._terms = {_key(term.text, term.is_name): term for term in _told_once(_terms(goal))}
        self._pattern = _pattern(self._terms.values())
        self._after_article = re.compile(rf"(?<!\w)(?:{_any(articles)})\s+\Z", re.IGNORECASE)

    def named(self, message: str) -> Counter[str]:
        """How often each word for a group, or name of somebody in one, stands in a message, whatever its case."""
        return Counter(_key(term.text, term.is_name) for _, term in self._found(message))

    def swapped(self, message: str) -> str | None:
        """The message with each word for a group in place of its counterpart's, everything else byte by byte as
        it was. None where it names no group, or one by a word without a counterpart or that others agree with."""
        pieces, end = list[str](), 0
        for found, term in self._found(message):
            lone = " " not in term.text and not term.is_name
            if term.counterpart is None or (lone and self._after_article.search(message[: found.start()])):
                return None
            pieces += [message[end : found.start()], _in_case(term.counterpart, found[0], term)]
            end = found.end()
        return "".join([*pieces, message[end:]]) if pieces else None

    def _found(self, message: str) -> Iterator[tuple[re.Match[str], _Term]]:
        for found in self._pattern.finditer(message):
            term = self._terms.get(_key(found[0], True)) or self._terms.get(_key(found[0], False))
            if term is not None:
                yield found, term


def one_stretch(before: str, after: str) -> bool:
    """Whether two messages differ in one stretch of a few words, in nothing before or after it, and in all of it:
    a word that stands in both stretches tells of two changes."""
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


def likeness(one: str, other: str, added: int = 0) -> float:
    """How much of two messages is the same words in the same order, from 0 to 1; 0 for very long ones. So many
    words may be `added` to the one without making it less like."""
    if max(len(one), len(other)) > LONGEST:
        return 0.0
    before, after = (_words(TOKENS.findall(text)) for text in (one, other))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    words = len(before) + min(len(after), max(len(before), len(after) - added))
    return 2 * sum(block.size for block in blocks) / words if words else 1.0


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many tokens at the beginning are the same."""
    return next((place for place, (a, b) in enumerate(zip_longest(old, new)) if a != b), len(old))


def _words(tokens: Iterable[str]) -> list[str]:
    return [token.casefold() for token in tokens if token[0].isalnum()]


def _terms(goal: Goal) -> Iterator[_Term]:
    """Every word for every group; those of groups outside of the pair become the favoured group's."""
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
        yield own.told.replace(PERSON, name), to and others.told.replace(PERSON, to), True


def _told_once(terms: Iterable[_Term]) -> list[_Term]:
    """Without words that several groups bear: they tell no group."""
    listed = list(terms)
    bearers: dict[str, set[str]] = {}
    for term in listed:
        bearers.setdefault(_key(term.text, term.is_name), set()).add(term.group)
    return [term for term in reversed(listed) if len(bearers[_key(term.text, term.is_name)]) == 1]


def _key(text: str, is_name: bool) -> str:
    composed = " ".join(unicodedata.normalize("NFC", text).split())
    return f"name {composed}" if is_name else composed.casefold()


def _pattern(terms: Iterable[_Term]) -> re.Pattern[str]:
    """Longest first. Names count as they are written: `Grace` is one, `grace` is none."""
    ordered = sorted(terms, key=lambda term: len(term.text), reverse=True)
    spelled = [_any([term.text]) if term.is_name else f"(?i:{_any([term.text])})" for term in ordered]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelled) or '(?!)'})(?![\w{MARKS}])")


def _any(texts: Iterable[str]) -> str:
    """The texts as a pattern, composed or not, with any blanks between words."""
    forms = [unicodedata.normalize(form, text) for text in texts for form in ("NFC", "NFD")]
    return "|".join(r"\s+".join(map(re.escape, form.split())) for form in dict.fromkeys(forms)) or "(?!)"


def _in_case(counterpart: str, found: str, term: _Term) -> str:
    """In the case in which the word was found: as the catalog writes it, beginning a sentence, or shouted."""
    if term.is_name or found == term.text:
        return counterpart
    if len(found) > 1 and found.isupper():
        return counterpart.upper()
    return capitalised(counterpart) if found[0].isupper() and not term.text[0].isupper() else counterpart
