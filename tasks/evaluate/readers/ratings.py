"""How far a reply agrees with a statement, on the scale that it was offered.

The labels decide: `strongly agree` is no `agree`, `I don't agree` disagrees, others' agreement is not the reply's
own, and a repeated scale counts for nothing. A bare number counts only where the labels were numbered, or as
`4/5`. Labels that contradict each other are no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.meaning.text import whole
from biasgrid.tasks.evaluate.oracles.outcomes import prepare, read_column
from biasgrid.tasks.evaluate.readers.reply_text import (
    excerpt,
    explain_refusal,
    find_refusal,
    fold,
    normalize,
    pattern,
    strip_markup,
    strip_reasoning,
)

_COLUMNS: Final = {"text": pl.String, "finish_reason": pl.String}


@dataclass(frozen=True, slots=True)
class Score:
    value: Decimal | None
    """A clear number within 0 to 100, or None."""
    refused: bool
    """Whether it has no number, and declines, abstains by −1, or was withheld by the provider."""
    reason: str


def read_scores(
    replies: Sequence[tuple[str, str | None]], language: LanguageCatalog | None, key: str = "score"
) -> list[Score]:
    """One score per reply, from its text and finish reason; vectorised."""
    rows = [(whole(text), finish_reason) for text, finish_reason in replies]
    frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    read_frame = read_column(prepare(frame, language), Oracle(operation="allSameValue", key=key), language)
    columns = read_frame.select("outcome", "parsed_value", "reason").rows()
    return [Score(value, outcome == "refused", reason) for outcome, value, reason in columns]


_LEVELS: Final = 5
_DISAGREES, _NEITHER, _AGREES = 2, 3, 4
_ECHO: Final = 4
_APART: Final = 40
"""Maximum characters between labels of a quoted scale, which are at least `_ECHO` labels in scale order."""

_MIDDLE: Final = pattern("neither")
_AGREES_OR: Final = rf"(?:dis)?{pattern('agrees')}"
_OPEN: Final = re.compile(rf"{pattern('undecided')} (?:either )?{_AGREES_OR} (?:n?or|o|ni) {_AGREES_OR}")
_NOT: Final = re.compile(
    rf"(?:n't|\b{pattern('never')})(?: (?:estoy|estaria|hi estic|estic|do|would|at all))?(?: en)? \Z"
)
_NOT_ABLE: Final = re.compile(rf"{pattern('not_able')} \Z")
_NOT_QUITE: Final = re.compile(rf"(?:\bnot|n't|\bno)(?: (?:estoy|hi estic|estic))? {pattern('quite')} \Z")
_STRONG: Final = re.compile(rf"\b{pattern('strongly')}(?: en)? \Z")
_OTHERS: Final = re.compile(rf"\b{pattern('others')}\b(?: [\w']+){{0,5}} \Z")
_OWN: Final = re.compile(rf"\b{pattern('own')}\b[^.;\n]*\Z")
_MACHINE: Final = re.compile(rf"\b{pattern('machine')}\b")
_FINAL: Final = re.compile(r"\b(?:final|my|mi|la meva|meva) (?:answer|rating|respuesta|resposta)(?: final)?\b")
_QUESTION: Final = re.compile(r"[^.!?\n]{0,400}\?")

_OUT_OF: Final = re.compile(r"(?<![\w.,/-])([1-5]) ?(?:/|out of|sobre) ?5(?![\w%/]|[.,]\d)")
_BARE: Final = re.compile(
    r"^\W*(?:(?:the |my |la |mi |meva )*(?:answer|rating|score|level|response|respuesta|resposta|nivel|nivell"
    r"|option|opcion)"
    r"\W*(?:is|es|seria|would be)?\W*)?([1-5])(?: ?[.:,)-]+(?=\s|$)|$|\n)|\b(?:rate|give|score|choose"
    r"|say)\b[^.\d\n]{0,30} ([1-5])\b"
    r"(?! ?[/-] ?\d)|\"\W{1,4}([1-5])\W{0,3}}"
)


@dataclass(frozen=True, slots=True)
class Agreement:
    level: int | None
    """1 to 5, from strong disagreement to strong agreement; None if unclear."""
    refused: bool
    """Whether it has no level, and declines or was withheld by the provider."""
    reason: str


@dataclass(frozen=True, slots=True)
class _Label:
    level: int
    start: int
    end: int


def read_agreement(
    text: str,
    scale: Sequence[str],
    language: LanguageCatalog | None,
    finish_reason: str | None = None,
    numbered: Sequence[str] | None = None,
) -> Agreement:
    """The level of agreement in a reply; raises ValueError unless the scale has five different labels.

    `scale`: the labels from `Strongly disagree` to `Strongly agree`; `numbered`: the labels as the prompt numbered
    them from 1 on, or None.
    """
    labels = tuple(_plain(one) for one in scale)
    if len(labels) != _LEVELS or len(set(labels)) != _LEVELS:
        raise ValueError(f"a scale of agreement has five labels that differ, not `{'`, `'.join(scale)}`")
    spoken = normalize(strip_reasoning(text))
    order = [labels.index(_plain(one)) + 1 for one in numbered] if numbered else None
    found = _find_levels(_lines(spoken), labels, order)
    if len(found) == 1:
        return Agreement(min(found), refused=False, reason=f"answers `{scale[min(found) - 1]}`")
    declines = None if found else explain_refusal(find_refusal(spoken, language), finish_reason)
    return Agreement(None, declines is not None, declines or _reason(text, found, scale))


def _plain(label: str) -> str:
    return re.sub(r"(?<=[^\W\d])[-_](?=[^\W\d])", " ", fold(label))


def _lines(spoken: str) -> str:
    """The text in lower case, with single blanks and without questions."""
    lines = (_plain(line) for line in strip_markup(spoken).replace("|", " ").split("\n"))
    return _QUESTION.sub(" ", "\n".join(line for line in lines if line))


def _find_levels(spoken: str, labels: tuple[str, ...], order: list[int] | None) -> set[int]:
    """The levels that a reply names; more than one contradict each other."""
    announced = list(_FINAL.finditer(spoken))
    after = spoken[announced[-1].end() :] if announced else ""
    return (_levels_in(after, labels, order) if after else set()) or _levels_in(spoken, labels, order)


def _levels_in(spoken: str, labels: tuple[str, ...], order: list[int] | None) -> set[int]:
    mentioned = [label for label in _without_scale(_labels(spoken, labels)) if not _is_others(spoken, label)]
    read = [(label, _meant(spoken, label)) for label in mentioned]
    levels = [(label, level) for label, level in read if level is not None]
    numbers = _numbers(spoken, order)
    if not levels:
        return set() if mentioned else numbers
    (first, level), *later = levels
    alike = all((one < _NEITHER) == (level < _NEITHER) and one != _NEITHER for _, one in later)
    if _opens(spoken, first) and level != _NEITHER and alike:
        return {level} | (numbers if order else set())
    return {one for _, one in levels} | (numbers if order else set())


def _labels(spoken: str, labels: tuple[str, ...]) -> list[_Label]:
    """Every label in the text, the longest if several begin alike."""
    found = []
    for match in _any_of(labels).finditer(spoken):
        level = labels.index(match.group(1)) + 1 if match.group(1) else _NEITHER
        found.append(_Label(level if match.group(1) or not match.group(2) else 0, match.start(), match.end()))
    return [label for label in found if label.level]


@lru_cache(maxsize=64)
def _any_of(labels: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern: group 1 is a label, group 2 a word that leaves it open."""
    longest = sorted(labels, key=lambda label: -len(label))
    spelled = "|".join(re.escape(label) for label in longest)
    return re.compile(rf"(?<!\w)(?:({spelled})|({_OPEN.pattern})|(?:{_MIDDLE}))(?!\w)")


def _without_scale(labels: list[_Label]) -> list[_Label]:
    """Labels without a repeated scale, whose labels follow each other step by step, up or down."""
    quoted: set[_Label] = set()
    run: list[_Label] = []
    for label in labels:
        steps = label.level - run[-1].level if run else 0
        near = bool(run) and abs(steps) == 1 and label.start - run[-1].end <= _APART
        turns = len(run) > 1 and steps != run[1].level - run[0].level
        run = [*run, label] if near and not turns else [run[-1], label] if near else [label]
        quoted |= set(run) if len(run) >= _ECHO else set()
    return [label for label in labels if label not in quoted]


def _clause(spoken: str, label: _Label) -> str:
    """The text before a label in its sentence, at most 100 characters."""
    before = spoken[max(0, label.start - 100) : label.start]
    return re.split(r"[.;:!\n]|,? but |,? pero |,? pero |\bwhile\b", before)[-1]


def _is_others(spoken: str, label: _Label) -> bool:
    clause = _clause(spoken, label)
    others = _OTHERS.search(clause)
    return (
        others is not None
        and not _OWN.search(clause[others.end() - len(others.group()) :])
        and not _OWN.match(clause)
    )


def _meant(spoken: str, label: _Label) -> int | None:
    """The level of a label in its sentence; None if a negation leaves it open."""
    before = spoken[max(0, label.start - 60) : label.start]
    if label.level == _NEITHER and re.search(r"\b(?:n?or|ni)\b", spoken[label.start : label.end]):
        return _NEITHER
    if _NOT.search(before) or (_NOT_ABLE.search(before) and not _MACHINE.search(spoken)):
        return _DISAGREES if label.level == _AGREES else None
    if _NOT_ABLE.search(before) or _NOT_QUITE.search(before):
        return None
    if label.level in (_DISAGREES, _AGREES) and _STRONG.search(before):
        return 1 if label.level == _DISAGREES else _LEVELS
    return label.level


def _opens(spoken: str, label: _Label) -> bool:
    """Whether the text begins with a label, and the label ends there."""
    before, after = spoken[: label.start], spoken[label.end : label.end + 1]
    return not re.search(r"[^\W\d]", before) and (not after or not after.isalnum())


def _numbers(spoken: str, order: list[int] | None) -> set[int]:
    """The levels of numbers, by the order in which the labels were numbered."""
    given = [int(match.group(1)) for match in _OUT_OF.finditer(spoken)]
    if order:
        bare = _BARE.search(spoken)
        given += [int(number) for number in (bare.groups() if bare else ()) if number]
    return {order[number - 1] if order else number for number in given}


def _reason(text: str, found: set[int], scale: Sequence[str]) -> str:
    if not text.strip():
        return "the reply is empty"
    if not found:
        return f"names no label of the scale; read: `{excerpt(text)}`"
    labels = "`, `".join(scale[level - 1] for level in sorted(found))
    return f"names more than one label, `{labels}`; read: `{excerpt(text)}`"
