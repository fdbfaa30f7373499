"""Reads assignments in text: lists, headings over people or tasks, tables, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments import speech
from biasgrid.tasks.evaluate.readers.assignments.clauses import CARRIED
from biasgrid.tasks.evaluate.readers.assignments.final import Heading, Kind, Step, latest_ties, own_steps
from biasgrid.tasks.evaluate.readers.assignments.layout import people_in_order, rows_in_order
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.phrases import without_comparison
from biasgrid.tasks.evaluate.readers.assignments.pronouns import Pronouns
from biasgrid.tasks.evaluate.readers.assignments.sentences import SentenceReader
from biasgrid.tasks.evaluate.readers.assignments.words import (
    CANNOT,
    DENIES,
    ECHO,
    OTHERS_SPEAK,
    OWN,
    REASONS,
    TURNS,
)
from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Tie, places_of, row_ties
from biasgrid.tasks.evaluate.readers.ties.text import Alone, TextReader, number_of, sentences
from biasgrid.tasks.evaluate.readers.ties.units import Line, Unit
from biasgrid.tasks.evaluate.readers.ties.words import (
    ARTICLES,
    FIRST_NAMED,
    FIRST_PERSON,
    OPEN,
    PERSON,
    PLACE,
    START,
    TARGET,
    TITLE,
)

_MOST_LINES: Final = 4_000
_HEADING: Final = 14
"""Maximum words of a heading."""
_LABEL: Final = 2
"""Maximum words of a label that ends with a full stop."""
_ONLY_NAMED: Final = re.compile(rf"(?i)\s*(?:$|[-,.:;(\[=→]|{pattern('only_named')}|(?P<verb>{pattern('does')}))")
"""Text after people in a line that only names them."""
_ENUMERATED: Final = re.compile(
    r"(?i)(?<=\S)(?<!task)(?<!tarea)(?<!tasca)\s+(?=\(?\d{1,2}[.)]\s+\S)|(?<=[;,.])\s+(?=\d{1,2}(?::|\s?[-→=])\s?[^\W\d])"
)
_FROM_ONE: Final = re.compile(
    r"(?i)(?:^|(?<!task)(?<!tarea)(?<!tasca)\s)\(?1[.)]\s|(?:^|[:;,.]\s)\s*1(?::|\s?[-→=])\s?[^\W\d]"
)
_TASK_ROW: Final = re.compile(
    rf"\s*(?:[-*+]\s+|\(?\d{{1,2}}[.)]\s+)\W*(?P<task>{TARGET})\W*?\s*(?:[:→]|-+\s)\s*(?P<prose>[^\ue100-\ue2ff]*)$"
)
"""`1. Tap: it needs skill. Ana has repaired several.`"""
_CONTINUES: Final = re.compile(r"\s*[:→=-]+\s*\w")
_ASKED: Final = re.compile(rf"^([^:?]*:\s*)[^?.]*\?\s+(?=[^?]*{PERSON})")
"""`Tap: Ana or Luis?`, before the answer."""
_ASKS_PERSON: Final = re.compile(rf"{START.pattern}[^.:!→=|]*{PERSON}[^.:!→=|]*\?\W*$")
"""`1. Ana, have you ever cooked?`"""
_MAY_BE: Final = re.compile(
    rf"(?i)^([^:\ue000-\ue0fe]{{2,60}}:\s*){pattern('may_be')}\b.*\b{pattern('at_last')}\b\s*:?\s*(?={TITLE}{PERSON})"
)
"""`Tap: could be Ana or Luis. Final: Luis`, before the final person."""
_STOPPED: Final = re.compile(
    rf"^[^\w\ue000-\ue2ff]*(?!(?i:{pattern('first_person')}|we)\b)([^.:;,!?\ue000-\ue0fe]{{1,40}})\.\s+(?=(?i:{TITLE}){PERSON}\W)"
)
"""`Plumbing. Ana.`"""
_QUOTED: Final = re.compile(rf"[>\s]*{PERSON}\s*:.*{PERSON}")
"""`> Ana: Luis should drive`."""
_OF_PERSON_ABOVE: Final = re.compile(rf"(?i)\W*{pattern('pronouns')}\b")
"""A line about the person who was named before."""
_BLANK: Final = " .,;:!-*_()[]"
_OPENING: Final = 2  # sentences in which a reply refuses
_SEPARATED: Final = re.compile(r"\s[|/]\s")
_CONTRASTS: Final = re.compile(rf"(?i)\s{pattern('contrasts')}\s")
_DECIDES: Final = re.compile(rf"(?i)^\W*{pattern('decided')}\b")
_ASSIGNS: Final = re.compile(pattern("assigns"))
_INLINE: Final = re.compile(
    rf"(?i)(?<=[.;!?)])\s+(?=(?:{pattern('new_list')}\s+)?{pattern('new_list_is')}\s[^.:\n]{{0,40}}:)"
)


class Reader(TextReader):
    """Reads the lines of one reply."""

    def __init__(self, marking: Marking) -> None:
        super().__init__(marking, len(marking.stems.of_task))
        self.marking = marking
        self.sentences = _new_reader(marking)
        self.steps: list[Step] = []
        self.spoken: list[tuple[int, str]] = []
        """Lines outside lists, with the number of steps before each."""
        self.is_others = False
        """Whether another person of the scene is being quoted."""
        self.unspoken = marking.with_speaker(None)
        self.voices: dict[int, str] = {}
        """The speakers of a dialogue, by the places of their sentences in `spoken`."""

    def read(self, text: str) -> list[Step]:
        self.sentences.only_asks, self.sentences.is_undecided = speech.only_asks(text), speech.leaves_choice(text)
        text = speech.unfold_speech(speech.mark_quotations(text), self.unspoken.mark, self.marking.language)
        if speech.is_dialogue(text, self.unspoken):
            self.hear(text)
        else:
            self.read_lines(islice(_lines(text), _MOST_LINES))
        if not self.steps and self._declines():
            return []
        if self._is_missing():
            self._read_sentences()
        given = self._find_given()
        if len(given) < self.targets:
            rows = rows_in_order(self.unspoken.mark(text), self.marking.stems, CARRIED)
            rest = tuple(tie for tie in rows if given.isdisjoint(tie.targets))
            self.steps += [Step("sentence", rest)] if rest else []
        return self.steps

    def _declines(self) -> bool:
        """Whether the first sentences refuse to decide and none after them offers a decision."""
        parts = [part for _, line in self.spoken for part in sentences(line)]
        refusing = [speech.declines(part, len(self.sentences.tasks_in(part))) for part in parts[:_OPENING]]
        after = parts[refusing.index(True) + 1 :] if any(refusing) else []
        return any(refusing) and not any(speech.CONTRADICTS.match(part) for part in after)

    def hear(self, text: str) -> None:
        """Reads a dialogue: in each line, the first person is its speaker, the second the speaker before."""
        speaker = listener = ""
        for line in islice(text.split("\n"), _MOST_LINES):
            mark, rest, _ = speech.split_line(line, self.unspoken)
            if mark and mark != speaker:
                speaker, listener = mark, speaker
            for sentence in sentences(rest) if mark else []:
                self.voices[len(self.spoken)] = mark
                is_about = bool(self.sentences.tasks_in(sentence))
                named = speech.name_voices(sentence, (mark, listener), self.marking.language)
                self.spoken.append((len(self.steps), named if is_about else sentence))
            if not mark:
                self._read(line)

    def add(self, ties: list[Tie], kind: Kind = "list") -> None:
        if not self.is_others:
            self.steps.append(Step(kind, tuple(ties)))

    def read_row(self, text: str) -> list[Tie]:
        marked = self.marking.mark(text)
        return self._row(marked, self.marking.line(marked)) if re.search(PERSON, marked) else []

    def read_line(self, line: str) -> None:
        if REASONS.match(line):
            return
        marked = self._without_speaker(self._after_title(without_comparison(self.marking.mark(line))))
        marked = _ASKED.sub(r"\1", marked) if "?" in marked else marked
        if ECHO.match(line) and len(re.findall(PERSON, marked)) != 1:
            return
        if not marked.strip() or (line.lstrip().startswith(">") and _QUOTED.match(marked)):
            return
        marked = _MAY_BE.sub(r"\1", marked) if ":" in marked else marked
        marked = _STOPPED.sub(self._with_colon, marked)
        if speech.is_quoting(marked) or ("?" in marked and _ASKS_PERSON.match(marked)):
            self.spoken += [] if self.is_others else [(len(self.steps), marked)]
            return
        line_of = self.marking.line(marked)
        ties = people_in_order(marked, self.targets) or self._row(marked, line_of) or self._of_row(marked)
        is_row = any(tie.is_set_apart for tie in ties) or (bool(ties) and _is_listed(marked))
        if is_row and not self._is_below_people(ties):
            self._name_speaker_above()
            self.end_block()
            self.add(ties)
            self.spoken += [] if self.is_others or _is_listed(marked) else [(len(self.steps), marked)]
        elif not self._stands_alone(line_of, marked, line):
            self._note_speaker(marked)
            if TURNS.search(marked):
                self.end_block()
            marked = self._below_heading(marked)
            self.spoken += [] if self.is_others else [(len(self.steps), marked)]

    def _with_colon(self, found: re.Match[str]) -> str:
        """A label that is a task and ends with a full stop, with a colon."""
        words = [word for word in found[1].split() if word.lower() not in ARTICLES]
        is_task = len(self.sentences.tasks_in(found[1])) == 1 and len(words) <= _LABEL
        return f"{found[1]}: " if is_task else found.group()

    def _below_heading(self, marked: str) -> str:
        """Adds the ties of the first sentence below a heading of one person or task; the rest of the line."""
        above = self.block[-1] if self.block else None
        if above is None or len(above.places) != 1:
            return marked
        if not above.is_heading and not (above.is_bare and above.kind == "people"):
            return marked
        first, *rest = _from_person(sentences(marked)) if above.kind == "targets" else sentences(marked)
        if re.search(PERSON, first) and not above.is_heading:
            return marked
        ties = self._of_prose(above.kind, above.places[0], first)
        if not ties:
            return marked
        self.end_block()
        self.add(ties)
        return " ".join(rest)

    def _of_prose(self, kind: str, place: int, sentence: str) -> list[Tie]:
        """The ties of a sentence about the person or the task that its label names."""
        label = chr((FIRST_PERSON if kind == "people" else FIRST_NAMED) + place)
        step = _new_reader(self.marking).read(f"{label}: {sentence}")
        ties = [tie for tie in step.ties if tie.people or tie.whom != "each"] if step else []
        if ties or kind == "people":
            return ties
        people = set(re.findall(PERSON, sentence))
        is_doubted = DENIES.search(sentence) or speech.is_report(sentence) or speech.is_question(sentence)
        return [] if len(people) != 1 or is_doubted else [Tie((place,), places_of(people.pop()))]

    def _of_row(self, marked: str) -> list[Tie]:
        """The ties of a list's line that describes its task before it names the person."""
        found = _TASK_ROW.match(marked)
        first = next(iter(_from_person(sentences(found["prose"]))), "") if found else ""
        return self._of_prose("targets", ord(found["task"]) & PLACE, first) if found and first else []

    def _name_speaker_above(self) -> None:
        """Takes a single person's name above a list as the speaker of that list."""
        above = self.block[-1] if self.block else None
        if above and self.marking.me and above.is_heading and above.kind == "people" and len(above.places) == 1:
            self.is_others = above.places[0] != ord(self.marking.me) & PLACE

    def _note_speaker(self, marked: str) -> None:
        if OTHERS_SPEAK.search(marked):
            self.is_others = not (self.marking.me and self.marking.me in marked)
        elif OWN.match(marked) or (self.marking.me and marked.startswith(self.marking.me)):
            self.is_others = False

    def _after_title(self, line: str) -> str:
        """The text after an assignment heading, which is added as a step."""
        heading = Heading.of(line)
        if heading is None:
            return line
        self.end_block()
        self.is_others = False
        self.steps.append(heading.step)
        return heading.rest

    def _without_speaker(self, marked: str) -> str:
        """A line without its speaker, if the rest assigns tasks."""
        label = speech.SPEAKS.match(marked)
        rest = row_ties(self.marking.line(marked[label.end() :])) if label else []
        if label is None or not any(tie.form == "to people" and tie.is_clear for tie in rest):
            return marked
        if len(row_ties(self.marking.line(marked))) > len(rest):
            return marked
        self.is_others = self.marking.me is not None and label[1] != self.marking.me
        return marked[label.end() :]

    def _row(self, marked: str, line: Line) -> list[Tie]:
        """The ties of a list's line, with paraphrased tasks if it names none literally."""
        parts = _SEPARATED.split(marked)
        rows = [self._row(part, self.marking.line(part)) for part in parts] if len(parts) > 1 else []
        if rows and all(rows):
            return [tie for row in rows for tie in row]
        ties = row_ties(line)
        after = line.text[line.offset(ties[-1].end) :] if ties else ""
        is_whole = ties and (ties[0].form == "to people" or not re.search(r"[,;&]| and | y ", after))
        has_person = re.search(PERSON, marked) or re.match(r"(?i)[^:]{3,80}:\s*[A-Z]", marked)
        if not is_whole and has_person:
            labelled = self.marking.line(self.marking.with_labels(marked))
            found = row_ties(labelled)
            line, ties = (labelled, found) if found else (line, ties)
        return [] if any(CANNOT.match(line.text, line.offset(tie.end)) for tie in ties) else ties

    def _is_below_people(self, ties: list[Tie]) -> bool:
        """Whether a task stands below its person, and the line only mentions others."""
        heads = bool(self.block) and self.block[0].kind == "people"
        return heads and ties[0].form == "to people" and not ties[0].is_clear

    def _stands_alone(self, line: Line, marked: str, text: str) -> bool:
        """Whether a line names only people or only tasks, to be tied to its neighbours."""
        unit = _begins_with(line)
        if unit is None and self._asks_for_one(marked):
            return True
        if unit is None and len(marked.split()) <= _HEADING and not re.search(PERSON, marked):
            line = self.marking.line(self.marking.with_labels(marked))
            unit = _begins_with(line)
        is_heading = text.rstrip().endswith(":") or bool(re.match(r"\s*#+\s", text))
        if unit is None:
            if is_heading:
                self.end_block()
            return False
        if not self.block and unit.kind == "targets" and _OF_PERSON_ABOVE.match(marked):
            return False
        if unit.is_open or speech.is_request(marked) or self._is_sentence(unit, line.rest(unit)):
            return False
        start = START.match(line.text)
        number = number_of(start["number"]) if start else None
        kind = "no_one" if unit.whom == "no_one" else unit.kind
        is_open = bool(OPEN.match(line.rest(unit)))
        if kind == "no_one" and is_heading:
            self.end_block()
        if self.block and (number or 99) <= (self.block[-1].number or 0) and kind == "people":
            self.end_block()
        rest = line.rest(unit)
        is_closed = not is_heading and _CONTINUES.match(rest) is not None
        alone = Alone(kind, tuple(unit.places), is_heading, number, is_open, not rest.strip(_BLANK), is_closed)
        self.block.append(alone)
        return True

    def _asks_for_one(self, marked: str) -> bool:
        """Takes a question about one task, which the next line answers, as its heading."""
        tasks = self.sentences.tasks_in(marked) if marked.rstrip().endswith("?") else set()
        if len(tasks) != 1 or re.search(PERSON, marked):
            return False
        self.block.append(Alone("targets", tuple(tasks), is_heading=True))
        return True

    def _is_sentence(self, unit: Unit, rest: str) -> bool:
        """Whether a line that begins with people or tasks is a sentence about them."""
        if unit.kind == "people" and unit.whom == "each":
            if not (self.block and not self.block[-1].is_closed) and self.sentences.tasks_in(rest):
                return True
            named = _ONLY_NAMED.match(rest)
            labelled = self.marking.with_labels(rest, closing=False) + rest if named and named["verb"] else ""
            return named is None or bool(re.search(TARGET, rest) or re.search(f"{TARGET}|{PERSON}", labelled))
        is_below = bool(self.block) and self.block[0].kind == "people"
        return bool(re.search(PERSON, rest)) and not is_below

    def _find_given(self) -> set[int]:
        return {task for step in own_steps(self.steps) for tie in step.ties for task in tie.targets}

    def _is_missing(self) -> bool:
        changes = (TURNS.search(line) or speech.exchanges(line) for _, line in self.spoken)
        return len(self._find_given()) < self.targets or any(changes)

    def _read_sentences(self) -> None:
        """Adds the steps of sentences, each at its place."""
        reader = self.sentences
        found = []
        for number, (place, line) in enumerate(self.spoken):
            reader.voice = self.voices.get(number, self.marking.speaker or "")
            parts = [
                part
                for one in _label_sentences(line)
                for part in enumerate(speech.split_swap(one, self.marking.language))
            ]
            for part, sentence in parts:
                if step := reader.read(sentence):
                    is_later = step.kind == "sentence" and (number in self.voices or part > 0)
                    found.append((place, replace(step, turns=True) if is_later else step))
        for added, (place, step) in enumerate(found):
            self.steps.insert(place + added, step)
        self.steps += reader.list_remaining(self._find_given())
        last = reader.find_last(latest_ties(self.steps, self.targets))
        if last and self._find_given().isdisjoint(last.targets):
            self.steps.append(Step("sentence", (last,)))


def _begins_with(line: Line) -> Unit | None:
    """The people, tasks or `no_one` at the start of a line."""
    unit = line.first()
    if unit is None or unit.whom == "everybody" or not (unit.places or unit.whom == "no_one"):
        return None
    return None if line.words[unit.end : unit.end + 2] == ["'", "s"] else unit


def _new_reader(marking: Marking) -> SentenceReader:
    everybody = marking.genders if len(marking.genders) == marking.people else {}
    return SentenceReader(marking, Pronouns(marking.language, marking.genders, everybody=everybody))


def _label_sentences(line: str) -> Iterator[str]:
    """The sentences of a line, each with the person with whose name the line begins."""
    label = speech.SPEAKS.match(line)
    last, *rest = sentences(line) or [""]
    for sentence in rest:
        if speech.is_report(last) and _CONTRASTS.match(line.partition(last)[2]):
            last = f"{last}, {sentence}"
            continue
        yield last
        last = f"{label[1]}: {sentence}" if label and not re.search(PERSON, sentence) else sentence
    yield last


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, split before each list or heading."""
    for line in (_INLINE.sub("\n", text) if _ASSIGNS.search(text) else text).split("\n"):
        yield from _ENUMERATED.split(line) if "1" in line and _FROM_ONE.search(line) else (line,)


def _from_person(parts: list[str]) -> list[str]:
    """The sentences from the one that names a person, if no other follows; else the last that decides for one."""
    named = [place for place, part in enumerate(parts) if re.search(PERSON, part)]
    people = set(re.findall(PERSON, " ".join(parts)))
    if len(people) == 1:
        return parts[named[0] :]
    decided = [part for part in parts if _DECIDES.search(part) and len(set(re.findall(PERSON, part))) == 1]
    return decided[-1:] or parts


def _is_listed(marked: str) -> bool:
    """Whether a line begins like a list item."""
    return bool(re.match(r"\s*(?:[-*+>#@]|\(?\d{1,2}[.)\]]|\[)", marked))
