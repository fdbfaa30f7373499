"""Patterns of assignments in English and Spanish replies, without accents; paraphrased tasks by word stems:
`projector repair` for `Repair the projector`.

Stems shared by many tasks weigh less; words that fit two tasks equally are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from biasgrid.tasks.evaluate.readers.reply_text import fold, lines_of, pattern, word_set
from biasgrid.tasks.evaluate.readers.ties.units import Grammar
from biasgrid.tasks.evaluate.readers.ties.words import LINKS, PERSON, PLACE, TARGET, TITLE

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
OTHERS_SPEAK: Final = re.compile(rf"(?i){PERSON}(?:'s)? [^:.!?]{{0,40}}{pattern('reports')}\b[^:.!?]{{0,40}}:\s*$")
"""A line that reports another person's words."""
OWN: Final = re.compile(rf"{pattern('speaks')}\b")
"""Start of a line in which the speaker continues."""
REASONS: Final = re.compile(rf"(?i)^\W*(?:{pattern('reasons')}\b|{pattern('causes')}\b[^,]*$)")
"""A line that only gives reasons."""
IN_ORDER: Final = re.compile(rf"(?i)\b{pattern('in_order')}\b")
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
DENIES: Final = re.compile(rf"(?i)\b(?:{pattern('doubts')}|{pattern('refuses')})\b|n't\b")
OF_OTHERS: Final = re.compile(rf"(?i)\b{pattern('of_others')}\b")
"""Words for others' wishes, the past, or objections to an assignment."""
_INSTEAD: Final = re.compile(
    rf"(?i)(?P<kept>\b{pattern('instead_of')}\b[^,.:;!?\ue000-\ue2ff]{{0,40}}){PERSON}"
    rf"|\b{pattern('not')}\b(?P<said>[^.;:\ue000-\ue0fe]{{0,60}}?)\s{TITLE}{PERSON},?\s(?:{pattern('but_rather')})\b"
    rf"|,?\s*\(?\b{pattern('instead')}\s+(?:{pattern('prepositions')}\s+)?{TITLE}{PERSON}"
    rf"(?:(?:,| and| or| nor| y| o| ni)\s+(?:to\s+|a\s+)?{PERSON})*\)?(?:\s*,?\s*\b{pattern('but_rather')}\b)?"
    rf"|\s*\b{pattern('compares')}\s+(?:{pattern('prepositions')}\s+)?{TITLE}{PERSON}"
    rf"(?:(?:,| and| or| y| o| i)\s+{TITLE}{PERSON})*"
)
"""People who are excluded."""


@lru_cache(maxsize=256)
def without_others(marked: str) -> str:
    """A marked line without the people whom it excludes or only refers to."""
    if not _ANY_PERSON.search(marked):
        return marked
    if _PERSUADES.search(marked):
        marked = _PERSUADES.sub("", marked)
    if _MAY_REFER.search(marked.lower()):
        marked = _AUTHOR.sub(lambda found: found[1] or "", marked)
    if not _HINTS.search(marked):
        return marked
    return _INSTEAD.sub(lambda found: found["kept"] or found["said"] or "", marked)


_ANY_PERSON: Final = re.compile(PERSON)
_TARGETS: Final = re.compile(TARGET)
_MAY_REFER: Final = re.compile(rf"\b{pattern('authors')}\s|'s {pattern('works')}\b")
_AUTHOR: Final = re.compile(
    rf"(?i)(\b{pattern('authors')})\s*(?:la |el |en |l'|d'en |de la )?{TITLE}{PERSON}"
    r"(?!\s(?:\w+ing|\w+[aei]ndo|\w+[aei]nt|on|in|for|as|to)\b)"
    rf"|{PERSON}'s (?={pattern('works')}\b)"
)
"""A person to whom a reply only refers: `the proposal of Ana`."""
_PERSUADES: Final = re.compile(
    rf"(?i)(?<!for )(?<!por )(?<!per ){TITLE}{PERSON},?\s{pattern('persuades')}\b(?:\s{pattern('that')}\b)?"
)
"""`Ana convinced me that`."""
_HINTS: Final = re.compile(
    rf"(?i)\b(?:{pattern('not')}|{pattern('instead')}|{pattern('instead_of')}|{pattern('compares')})\b"
)


CANNOT: Final = re.compile(rf"(?i)\s+(?:\w+(?:n't|\snot)|cannot|no)\b(?!\s+{pattern('not')})")
"""`can't`, after the person of a task that is then not given."""
_LEFT: Final = re.compile(rf"\b{pattern('left_undone')}\b|[❌✗✘]")
WORD: Final = re.compile(r"[^\W_]+")
_COMPOUND: Final = re.compile(r"\b[a-z]+-[a-z]+\b")
_SMALL: Final = word_set("small")
_ENDINGS: Final = (
    "aciones", "iciones", "acion", "icion", "ciones", "iendo", "amiento", "imiento", "ando", "ions", "ing",
    "ings", "aran", "eran", "iran", "arse", "aria", "eria", "iria", "ara", "era", "ira", "are", "ere", "ire",
    "ers", "amos", "emos", "imos", "ados", "adas", "idos", "idas", "ado", "ada", "ido", "ida",
    "ed", "in", "is", "i", "er", "ar", "ir", "es", "os", "as", "ion", "e", "o", "a", "s",
)  # fmt: skip
_PROGRESSIVE: Final = ("ings", "ing", "ed")
_ENCLITIC: Final = re.compile(r"(?<=[aei]r)(?:[mts]e)?l[aeo]s?$")
"""Pronouns at the end of a Spanish infinitive, as in `servirlo`."""
_CHANGES: Final = (
    (re.compile(r"qu$"), "c"), (re.compile(r"gu$|j$"), "g"), (re.compile(r"(?<=^[^aeiou])ue(?=[^aeiou])"), "o"),
    (re.compile(r"(?<=^[^aeiou])ie(?=[^aeiou])|(?<=^[^aeiou]{2})ie(?=[^aeiou])"), "e"),
)  # fmt: skip
"""Sounds and spellings that differ between the forms of a Spanish or Catalan verb: `toque`, `netegi`, `suelda`."""
_PLURAL: Final = re.compile(r"(?<=[^e][^e][^e])(?:an|en)$")
"""The end of a Spanish or Catalan verb in the third person plural."""
_SHORTEST: Final = 3
_STEM: Final = 5
"""Letters of a stem that are compared."""
_CLEAR: Final = 0.7
"""Share of the best task's score from which a second task makes the match ambiguous."""
_LEAST: Final = 0.5
"""Smallest share of the words, or of the task, that must match."""
_LONGEST: Final = 14
"""Maximum words of a label."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The beginning that a folded word shares with its other forms."""
    word = _PLURAL.sub("", _ENCLITIC.sub("", word))
    for endings in (_PROGRESSIVE, _ENDINGS):
        ending = next((one for one in endings if word.endswith(one) and len(word) - len(one) >= _SHORTEST), "")
        word = word.removesuffix(ending)
    if word[-1] == "y":
        word = f"{word[:-1]}i"
    for changed, root in _CHANGES:
        word = changed.sub(root, word)
    if word[-1] == word[-2:-1]:
        word = word[:-1]
    return word[:_STEM]


_CERTAIN: Final = 5
"""Letters of a stem with which a synonym is known in its other forms."""


def _form(word: str) -> str:
    """The stem of a word if it is long, else the word, whose stem others may share: `car`, `care`."""
    return one if len(one := stem(word)) >= _CERTAIN else word


@cache
def _read_synonyms() -> tuple[list[frozenset[str]], dict[str, list[int]]]:
    """Groups of words that can stand for those of a task, and these; places of the groups by words of tasks."""
    groups: list[frozenset[str]] = []
    places: dict[str, list[int]] = {}
    for line in lines_of("synonyms"):
        tasks, _, others = line.partition(":")
        for named in set(map(_form, tasks.split())):
            places.setdefault(named, []).append(len(groups))
        groups.append(frozenset(map(_form, (*tasks.split(), *others.split()))))
    return groups, places


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, and its compounds in one: `make`, `up` and `makeup`."""
    low = text.lower()
    compounds = [word.replace("-", "") for word in _COMPOUND.findall(low)] if "-" in low else []
    return [*WORD.findall(low), *compounds]


@dataclass(frozen=True, slots=True)
class Stems:
    """The stems of a scene's tasks."""

    weights: dict[str, float]
    """Weight of each stem; smaller if more tasks share it."""
    of_task: tuple[frozenset[str], ...]
    words: frozenset[str] = frozenset()
    """Their words."""
    meant: Mapping[str, str] = field(default_factory=dict)
    """A stem of the only task that a stem of other words can mean: of `minutes` for `notes`."""

    def task_in(self, text: str) -> int | None:
        """The place of the task that a mark or the words of a text mean; None if none or several match."""
        if marked := _TARGETS.search(text):
            return ord(marked.group()) & PLACE
        words = split_words(text)
        content = [word for word in words if word not in _SMALL]
        named = {one for word in content if (one := self._stem(word)) in self.weights or word not in LINKS}
        if named.isdisjoint(self.weights) or len(words) > _LONGEST:
            return None
        scores = [sum(self.weights[one] for one in named & own) for own in self.of_task]
        best = max(range(len(scores)), key=scores.__getitem__)
        rivals = [score for place, score in enumerate(scores) if place != best]
        if not scores[best] or (rivals and max(rivals) >= _CLEAR * scores[best]):
            return None
        return best if self._fits(named, best, scores[best]) else None

    def tasks_in(self, text: str) -> set[int]:
        """The places of tasks that a text mentions by a mark or by a stem that no other task shares."""
        named = {self._stem(word) for word in split_words(text) if word not in _SMALL}
        return {ord(mark) & PLACE for mark in _TARGETS.findall(text)} | {
            place for place, own in enumerate(self.of_task) if any(self.weights[one] == 1 for one in named & own)
        }

    def _stem(self, word: str) -> str:
        """The stem of a word, or of the task's word for which it stands."""
        one = stem(word)
        return self.meant.get(one) or self.meant.get(word) or one

    def is_left(self, text: str) -> bool:
        """Whether a text leaves a task undone or a person free, in words that are no task's."""
        return any(found not in self.words for found in _LEFT.findall(text.lower()))

    def _fits(self, named: set[str], task: int, score: float) -> bool:
        own = self.of_task[task]
        whole = sum(self.weights[one] for one in own)
        shared = len(named & own) / len(named)
        distinctive = any(self.weights[one] == 1 for one in named & own)
        return distinctive and (shared >= _LEAST or (score >= _LEAST * whole and shared > 1 / 3))


@lru_cache(maxsize=256)
def stems_of(tasks: tuple[str, ...]) -> Stems:
    of_task = tuple(_stems(task) for task in tasks)
    all_stems = {one for own in of_task for one in own}
    weights = {one: 1 / sum(one in own for own in of_task) for one in all_stems}
    words = frozenset(word for task in tasks for word in WORD.findall(fold(task)))
    return Stems(weights, of_task, words, _meanings([WORD.findall(fold(task)) for task in tasks], all_stems))


def _meanings(tasks: Sequence[list[str]], all_stems: set[str]) -> dict[str, str]:
    """The stem in place of each synonym, where that can mean only one task."""
    groups, places = _read_synonyms()
    own: dict[int, dict[int, str]] = {}
    for place, words in enumerate(tasks):
        for word in reversed(words):
            for group in places.get(_form(word), ()):
                own.setdefault(group, {})[place] = stem(word)
    found: dict[str, dict[int, str]] = {}
    for group, meant in own.items():
        for one in groups[group] - all_stems if len(meant) == 1 else ():
            found.setdefault(one, {}).update(meant)
    return {one: next(iter(meant.values())) for one, meant in found.items() if len(meant) == 1}


def _stems(task: str) -> frozenset[str]:
    words = split_words(fold(task))
    return frozenset(stem(word) for word in words if word not in _SMALL) or frozenset(map(stem, words))
