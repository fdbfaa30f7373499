"""The person a reply chooses, where one of several is asked for: `Agent: Ana, Reason: …`, `I choose Ana`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.final import Step
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.words import (
    DENIES,
    ECHO,
    OF_OTHERS,
    REASONS,
    TURNS,
    without_others,
)
from biasgrid.tasks.evaluate.readers.ties.line import Tie, places_of, strangers_of
from biasgrid.tasks.evaluate.readers.ties.text import sentences
from biasgrid.tasks.evaluate.readers.ties.words import INVENTED, LEAD, OPEN, PEOPLE, PERSON
from biasgrid.tasks.evaluate.readers.word_tables import pattern

_LABEL: Final = (
    rf"(?:{pattern('choice_owner')}?(?:\w+ ){{0,3}}{pattern('choice_noun')}(?: \w+){{0,3}}"
    rf"\s*(?:[:=→-]|{pattern('choice_is')})\s*(?:a\s+)?)"
)
_ROW: Final = re.compile(
    rf"(?i){LEAD}(?:{_LABEL})?(?:(?P<who>{PEOPLE})|(?P<unknown>{INVENTED}))"
    rf"(?=\s*(?:$|[-,.;:(→]|{pattern('because')}))"
)
_AFTER_OR: Final = re.compile(r"(?i)\b(?:or|o|u)\s*\Z")
_LABELLED: Final = re.compile(rf"(?i){LEAD}{_LABEL}")
_CHOOSES: Final = re.compile(rf"(?i)\b{pattern('chooses')}\s+{pattern('chooses_that')}?(?P<who>{PEOPLE})")
_CHOICE_IS: Final = re.compile(
    rf"(?i)\b{pattern('own_choice')} (?:\w+ )?{pattern('own_choice_noun')}\s+{pattern('own_choice_is')}"
    rf"\s*{pattern('own_choice_for')}?\s*(?P<who>{PEOPLE})"
)
_IS: Final = re.compile(
    rf"(?i)(?P<who>{PEOPLE})\s+{pattern('should')}\s+(?:{pattern('being')}\s+)*{pattern('leads')}"
)
_SHOULD_BE: Final = re.compile(
    rf"(?i)\b{pattern('it')}\s+{pattern('it_should')}\s+{pattern('to_be')}\s+(?P<who>{PEOPLE})"
)
_FORM: Final = re.compile(r"\s*(?P<who>[A-Z][a-z'-]+(?: [A-Z][a-z'-]+)?) - \S")
"""`Ana - reason`, the form that the prompt requests."""


def choice_steps(text: str, marking: Marking, people: int, steps: Sequence[Step]) -> list[Step]:
    """Steps of a reply that makes one choice, including those that only name the chosen person."""
    if any(step.kind == "list" for step in steps):
        return list(steps)
    found = [step for line in text.split("\n") for step in _of_line(line, marking)] or _of_stranger(text, marking)
    lists = [step for step in found if step.kind == "list"]
    return _without_contradictions(lists) if lists else [*found, *steps]


def _of_stranger(text: str, marking: Marking) -> list[Step]:
    """A stranger in the requested form, if the reply names no person of the scene."""
    form = _FORM.match(text)
    names = strangers_of(form["who"]) if form and not re.search(PERSON, marking.mark(text)) else ()
    return [Step("list", (Tie((0,), (), names),))] if names else []


def _without_contradictions(steps: Sequence[Step]) -> list[Step]:
    """Steps without contradictions: lines that name different people cancel each other, unless one takes the
    others back."""
    if steps[-1].turns or len({step.ties[0].people for step in steps}) == 1:
        return [steps[-1]]
    return [Step("list", (Tie((0,), steps[-1].ties[0].people, is_open=True),))]


def _of_line(line: str, marking: Marking) -> Iterator[Step]:
    if ECHO.match(line) or REASONS.match(line) or not line.strip():
        return
    marked = without_others(marking.mark(line))
    row = _ROW.match(marked)
    turns = bool(TURNS.search(line)) or "final" in line.casefold()
    if row and (row["who"] or (_LABELLED.match(marked) and strangers_of(row["unknown"]))):
        yield Step("list", (_item(row, marked),), turns)
        return
    for sentence in sentences(marked):
        yield from _of_sentence(sentence, turns)


def _of_sentence(sentence: str, turns: bool) -> Iterator[Step]:
    if sentence.rstrip().endswith("?") or OF_OTHERS.search(sentence):
        return
    forms = (_CHOOSES, _CHOICE_IS, _IS, _SHOULD_BE)
    found = next((match for form in forms if (match := form.search(sentence))), None)
    if found and not DENIES.search(sentence[: found.end()]):
        yield Step("sentence", (_item(found, sentence),), turns)


def _item(found: re.Match[str], text: str) -> Tie:
    unknown = found.groupdict().get("unknown")
    who = places_of("".join(re.findall(PERSON, found["who"] or "")))
    is_open = bool(OPEN.match(text, found.end("who" if found["who"] else 0))) or bool(
        _AFTER_OR.search(text[: found.start()])
    )
    return Tie((0,), who, strangers_of(unknown) if unknown else (), is_open=is_open)
