"""Ties between people and targets in one marked line: `⟨task⟩: ⟨person⟩ - reason`, `⟨person⟩ is ⟨role⟩`.

People and a target are tied where only small words stand between them. A line continues in the direction in which
it begins, from targets to people or from people to targets. What is denied or left open makes no tie.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties import words
from biasgrid.tasks.evaluate.readers.ties.units import MARK, Line, Unit, Whom
from biasgrid.tasks.evaluate.readers.ties.words import PLACE

Form = Literal["to people", "to targets"]

_RESPECTIVELY: Final = re.compile(rf"(?i)\b{pattern('respectively')}")
_STRANGERS: Final = re.compile(words.STRANGERS)
_STRANGER_FIRST: Final = re.compile(rf"({words.INVENTED})\s*(?::|→|=|-)\s*")
_INVENTED: Final = re.compile(words.INVENTED)
_PEOPLE: Final = re.compile(words.PERSON)
_BRACKETS: Final = re.compile(r"[(\[][^()\[\]]*[)\]]")


@dataclass(frozen=True, slots=True)
class Tie:
    """Targets and people that one stretch of a line ties together."""

    targets: tuple[int, ...]
    """Their places."""
    people: tuple[int, ...]
    """Their places."""
    strangers: tuple[str, ...] = ()
    """Names outside the prompt."""
    form: Form = "to people"
    is_set_apart: bool = True
    """Whether a colon, a dash or a bracket separates them, as in a list."""
    end: int = 0
    """End of the stretch, in tokens."""
    is_open: bool = False
    """Whether `or` leaves open who or which target is meant; such a tie is ignored."""
    is_clear: bool = True
    """Whether only a reason follows the people."""
    whom: Whom = "each"
    strength: float = 2
    """How clear it is; a weaker tie replaces none."""


def row_ties(line: Line) -> list[Tie]:
    """The ties of a line from its start on; empty if it begins otherwise."""
    start = words.START.match(line.text) if line.units else None
    first = _tie_at(line, _after_article(line, line.token(start.end())), None) if start else None
    ties = [first] if first else []
    while ties and (following := _next(line, ties[-1])):
        ties.append(following)
    return _in_order(line, ties)


def _after_article(line: Line, place: int) -> int:
    """The place of the target whose articles begin at a place, or the place: `the roof → Ana`."""
    after = place
    while after < len(line.words) and line.words[after] in words.ARTICLES:
        after += 1
    unit = line.at.get(after)
    return after if unit and unit.kind == "targets" else place


def sentence_ties(line: Line) -> list[Tie]:
    """The ties of a sentence, anywhere in it, except denied ones."""
    if len(line.units) < 2:
        return []
    return _in_order(line, _in_one_direction(line) if line.grammar.one_each else _in_clauses(line))


def places_of(marked: str) -> tuple[int, ...]:
    """The places of the people, or of the targets, whose marks are in a text."""
    return tuple(dict.fromkeys(ord(mark) & PLACE for mark in MARK.findall(marked)))


def people_in(text: str) -> tuple[int, ...]:
    """The places of the people whose marks are in a text."""
    return places_of("".join(_PEOPLE.findall(text)))


def strangers_of(row: str) -> tuple[str, ...]:
    """Names in a row of people that are outside the prompt."""
    names = _INVENTED.findall(_BRACKETS.sub(" ", row))
    return tuple(name for name in names if words.NO_PERSON.isdisjoint(name.lower().split()))


def _in_clauses(line: Line) -> list[Tie]:
    """Ties in either direction, each next to the previous one or after `and`."""
    denials = _denials(line)
    ties: list[Tie] = []
    end = 0
    form: Form | None = None
    for unit in line.units:
        if unit.start < end or (ties and not _continues(line.words[ties[-1].end : unit.start])):
            continue
        tie = _tie_at(line, unit.start, form, names=False) or _tie_at(line, unit.start, None, names=False)
        if tie:
            ties += [tie] if denials[tie.end - 1] < end else []
            form, end = form or tie.form, tie.end
    return ties


def _in_one_direction(line: Line) -> list[Tie]:
    """Ties in the direction in which a sentence begins, if the text after them is unambiguous."""
    units = _without_choice(line)
    between = [line.words[one.end : two.start] for one, two in pairwise(units)]
    if not all(words.CHOICE.isdisjoint(some) for some in between):
        return []
    form: Form = "to targets" if units[0].kind == "people" else "to people"
    denials = _denials(line)
    ties = [(unit, _tie_at(line, unit.start, form, names=False)) for unit in units]
    return [
        tie
        for number, (unit, tie) in enumerate(ties)
        if tie and not _is_torn(line, units[number:]) and denials[unit.start] < 0 and denials[tie.end - 1] < 0
    ]


def _denials(line: Line) -> list[int]:
    """For each token, the place of the word that denies it, or -1."""
    denials, last = [], -1
    for place, word in enumerate(line.words):
        if word in line.grammar.denies and (word != "t" or line.words[place - 1 : place] == ["'"]):
            last = place
        elif word in line.grammar.turns:
            last = -1
        denials.append(last)
    return denials


def _continues(between: Sequence[str]) -> bool:
    """Whether a sentence continues at once, or after a reason with `and` or a comma."""
    return words.JOINTS.issuperset(between) or between[-1] in words.ANEW or between[-1] == ","


def _tie_at(line: Line, place: int, form: Form | None, names: bool = True) -> Tie | None:
    """The tie that begins at a place, in one form or any; `names`: strangers count as people."""
    unit = line.at.get(place)
    if unit and unit.kind == "targets":
        return _to_people(line, unit, names) if form != "to targets" else None
    if form == "to people" or place >= len(line.words):
        return None
    people = unit or line.at.get(line.after_titles(place))
    if people and people.kind == "people":
        targets = line.at.get(line.skip(people.end))
        return _tie_units(line, (people, targets), ()) if targets and targets.kind == "targets" else None
    names &= all(unit.kind == "targets" for unit in line.units)
    found = _STRANGER_FIRST.match(line.text, line.starts[place]) if names else None
    strangers = strangers_of(found[1]) if found else ()
    targets = line.at.get(line.token(found.end())) if found and strangers else None
    people = Unit("people", [], place, place + len(strangers))
    return _tie_units(line, (people, targets), strangers) if targets and targets.kind == "targets" else None


def _to_people(line: Line, targets: Unit, names: bool) -> Tie | None:
    place = line.skip(targets.end)
    people = line.at.get(place)
    if people and (people.kind != "people" or line.words[people.end : people.end + 2] == ["'", "s"]):
        people = None
    offset = line.starts[place] if place < len(line.words) else len(line.text)
    found = _STRANGERS.match(line.text, offset) if names else None
    strangers = strangers_of(found.group()) if found else ()
    end = line.token(found.end()) if found and strangers else 0
    if found and end > (people.end if people else 0):
        people = Unit("people", list(places_of(found.group())), place, end)
    return _tie_units(line, (targets, people), strangers) if people else None


def _tie_units(line: Line, units: tuple[Unit, Unit], strangers: tuple[str, ...]) -> Tie | None:
    """The tie of two neighbouring units, or None if other words separate them."""
    one, two = units
    targets, people = (one, two) if one.kind == "targets" else (two, one)
    between = line.words[one.end : two.start]
    form: Form = "to people" if one.kind == "targets" else "to targets"
    if line.grammar.one_each and not _gives(line, (targets, people), between):
        return None
    if between == ["'", "s"] and form == "to targets":
        return None
    after = line.text[line.offset(two.end) :]
    open_ = form == "to people" and words.OPEN.match(after) is not None
    return Tie(
        tuple(targets.places),
        tuple(range(line.people) if people.whom == "everybody" else people.places),
        strangers,
        form,
        is_set_apart=bool(strangers and form == "to targets") or not words.SEPARATES.isdisjoint(between),
        end=two.end,
        is_open=targets.is_open or people.is_open or open_,
        is_clear=line.is_listed(two.end),
        whom=people.whom,
    )


def _gives(line: Line, units: tuple[Unit, Unit], between: Sequence[str]) -> bool:
    """Whether people are given an attribute; `James works with a doctor`, `all doctors` and two for two are
    not."""
    targets, people = units
    if people.whom != "each":
        return not words.GIVES.isdisjoint(between) and words.ALLOWS.isdisjoint(between)
    if len(targets.places) > 1 and len(people.places) > 1 and not _RESPECTIVELY.search(line.text):
        return False
    if people.start > targets.start:
        return True
    phrase = " ".join(between)
    alongside = words.WITH.search(phrase) and not words.PAIRS.search(" ".join(line.words[: targets.start]))
    return not (alongside or words.MEETS.search(phrase))


def _next(line: Line, before: Tie) -> Tie | None:
    """The next tie, at once or after a reason, if separated as in a list."""
    place = before.end
    if line.words[place : place + 1] == ["("] and ")" in line.words[place:]:
        place = line.words.index(")", place) + 1
    while place < len(line.words) and place not in line.at and _is_joint(line, place):
        place += 1
    if tie := _tie_at(line, place, before.form):
        return tie
    for unit in line.units:
        if unit.start >= before.end and _begins_anew(line, unit.start, before.end):
            tie = _tie_at(line, unit.start, before.form)
            if tie and tie.is_set_apart and set(tie.targets).isdisjoint(before.targets):
                return tie
    return None


def _is_joint(line: Line, place: int) -> bool:
    word = line.words[place]
    return word in words.JOINTS or word.isdigit() or line.is_aside(place)


def _begins_anew(line: Line, place: int, end: int) -> bool:
    """Whether the text before a place ends a reason: `; `, ` - `, ` 2. ` or a full stop."""
    if line.words[place] >= "\ue100" and line.words[place] < "\ue200":
        return line.words[place + 1 : place + 2] in ([":"], ["→"], ["="], ["-"])
    while place > end and (line.words[place - 1] in words.LABELS or not line.words[place - 1].isalpha()):
        place -= 1
        word = line.words[place]
        if word in ".;" or (word == "-" and line.text[line.starts[place] - 1] == " "):
            return True
    return False


def _in_order(line: Line, ties: list[Tie]) -> list[Tie]:
    """Ties in order if the text has `respectively` and as many targets as people."""
    if not ties or not _RESPECTIVELY.search(line.text):
        return ties
    return [one for tie in ties for one in _pair_in_order(tie)]


def _pair_in_order(tie: Tie) -> list[Tie]:
    if len(tie.targets) != len(tie.people):
        return [tie]
    pairs = zip(tie.targets, tie.people, strict=True)
    return [replace(tie, targets=(target,), people=(person,)) for target, person in pairs]


def _without_choice(line: Line) -> Sequence[Unit]:
    """The line without the people among whom a sentence chooses: `Between James and Emily, the doctor is
    James`."""
    first, *rest = line.units
    chosen = len(rest) > 1 and first.kind == "people" and len(first.places) > 1
    if chosen and [unit.kind for unit in rest[:2]] == ["targets", "people"]:
        comma = line.words[first.end : first.end + 1] in ([","], [":"])
        return rest if comma and _equates(line, rest[0], rest[1]) else line.units
    return line.units


def _is_torn(line: Line, units: Sequence[Unit]) -> bool:
    """Whether the following unit could be meant too: `the doctor, James, and Emily as a nurse`."""
    if len(units) < 3:
        return False
    one, two, three = units[:3]
    followed = units[3].kind if len(units) > 3 else None
    if two.kind == three.kind:  # `doctor → nurse`
        return words.MARKS.issuperset(line.words[two.end : three.start])
    if two.kind == "targets":
        return followed != two.kind and _equates(line, two, three)
    same = three.places == one.places and len(three.places) == 1
    return followed != "people" and not same and line.skip(two.end) == three.start


def _equates(line: Line, one: Unit, two: Unit) -> bool:
    between = line.words[one.end : two.start]
    return line.skip(one.end) == two.start and not words.EQUATES.isdisjoint(between)
