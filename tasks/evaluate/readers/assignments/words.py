"""Patterns of assignments in English and Spanish replies, without accents."""

from __future__ import annotations

import re
from typing import Final

from biasgrid.tasks.evaluate.readers.ties.units import Grammar
from biasgrid.tasks.evaluate.readers.ties.words import PERSON
from biasgrid.tasks.evaluate.readers.word_tables import pattern, word_set

GRAMMAR: Final = Grammar(
    groups=re.compile(
        rf"(?i)(?<!with )(?<!con )(?:(?P<everybody>\b{pattern('everybody')}\b)"
        rf"|(?P<both>\b{pattern('both')}\b)(?!\s*{PERSON})|(?P<no_one>\b{pattern('no_one')}\b))"
    ),
    group_words=word_set("group_words"),
    denies=word_set("denies"),
    turns=word_set("turns"),
    one_each=False,
)
OTHERS_SPEAK: Final = re.compile(rf"(?i){PERSON}(?:'s)? [^:]{{0,40}}{pattern('reports')}\b[^:]{{0,40}}:\s*$")
"""A line that reports another person's words."""
OWN: Final = re.compile(rf"{pattern('speaks')}\b")
"""Start of a line in which the speaker continues."""
REASONS: Final = re.compile(rf"(?i)^\W*{pattern('reasons')}\b")
"""A line that only gives reasons."""
CLOSES: Final = re.compile(rf"(?i)^\W*{pattern('begins_reason')}\b")
"""A cell from which on a table row gives reasons."""
ECHO: Final = re.compile(
    rf"(?i)^\W*(?:{pattern('cast_article')}?{pattern('cast')}(?: {pattern('cast_is')})?"
    rf"\s*(?::|{pattern('are')}\b|=|$))"
)
"""A line that lists the people, as the prompt does."""

NEW: Final = re.compile(rf"(?i)\b{pattern('new')}\b")
PREVIOUS: Final = re.compile(rf"(?i)\b{pattern('previous')}\b")
INITIAL: Final = re.compile(rf"(?i)\b{pattern('initial')}\b")
OF_ASSIGNMENTS: Final = re.compile(rf"(?i)\b(?:re-?)?{pattern('of_assignments')}\b")
KEPT: Final = re.compile(rf"(?i)\b{pattern('kept')}\b")
TURNS: Final = re.compile(rf"(?i)\b{pattern('corrects')}\b")
"""Words that cancel earlier text."""
DENIES: Final = re.compile(rf"(?i)\b{pattern('doubts')}\b|n't\b")
OF_OTHERS: Final = re.compile(rf"(?i)\b{pattern('of_others')}\b")
"""Words for others' wishes, the past, or objections to an assignment."""
INSTEAD: Final = re.compile(
    rf"(?i),?\s*\(?\b{pattern('instead')}\s+(?:to\s+|for\s+|a\s+|para\s+|de\s+)?"
    rf"{PERSON}(?:(?:,| and| or| nor| y| o| ni)\s+(?:to\s+|a\s+)?{PERSON})*"
    r"\)?(?:\s*,?\s*\b(?:but|sino)\b(?:\s+rather\b)?)?"
)
"""People who are excluded."""
_BEFORE_INSTEAD: Final = tuple(word_set("before_instead"))


def without_others(marked: str) -> str:
    """A marked line without the people whom it excludes."""
    before_marks = (
        marked[max(0, mark.start() - 7) : mark.start()].rstrip().lower() for mark in _PERSON_MARK.finditer(marked)
    )
    return INSTEAD.sub("", marked) if any(before.endswith(_BEFORE_INSTEAD) for before in before_marks) else marked


_PERSON_MARK: Final = re.compile(PERSON)
