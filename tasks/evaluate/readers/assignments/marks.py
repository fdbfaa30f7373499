"""A reply's lines with a mark in place of each person and each task that they name.

The marks are private characters, so that one grammar reads every scene; those of the reply itself are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.tasks.evaluate.readers.assignments.pronouns import genders_of, mark_speaker
from biasgrid.tasks.evaluate.readers.assignments.words import (
    CLOSES,
    DENIES,
    GRAMMAR,
    WORD,
    Stems,
    stems_of,
    without_others,
)
from biasgrid.tasks.evaluate.readers.reply_text import fold, normalize, pattern, word_set, words_of
from biasgrid.tasks.evaluate.readers.ties.line import places_of, strangers_of
from biasgrid.tasks.evaluate.readers.ties.tables import Cell
from biasgrid.tasks.evaluate.readers.ties.units import Grammar, Line
from biasgrid.tasks.evaluate.readers.ties.words import (
    FIRST_NAMED,
    FIRST_NUMBERED,
    FIRST_PERSON,
    NAMED,
    NO_PERSON,
    NUMBERED,
    PERSON,
    PLACE,
    STRANGERS,
    TARGET,
    TITLE,
    find_exact,
    index_names,
    words_in,
)

_LANGUAGES: Final = {"es": "spanish", "ca": "catalan"}
_NUMBERS: Final = re.compile(
    rf"(?i)\b(?:{pattern('number_of_task')}\s*(?::\s*(?=\"?\d{{1,2}}\"?\s*(?:$|[-,;|)])))?"
    rf"(?:#|n\.?\s?[oa]\.?|{pattern('number_sign')}\.?)?\s*#?|t)(\d{{1,2}})\b"
    r"((?:\s*(?:,|&|and\b|[yi]\b|,\s*and\b)\s*#?\d{1,2}\b(?!\s*[.)]\s*\w))*)"
)
_NUMBER_ALONE: Final = re.compile(
    rf"(?i)\b(?:{pattern('number_sign')}\.?|la)\s+#?(\d{{1,2}})\b(?=\s*(?:[.,;)]|$|(?:and|to|y|a|para|i|per)\b))"
)
"""`number 2`, in a line that names another task by its number."""
ORDINALS: Final = {
    word: place
    for language in ("english", "spanish", "catalan")
    for place, word in enumerate(words_of("ordinals", language))
}
"""The place of each ordinal; the last one stands for the last task."""
_NTH: Final = rf"(?P<nth>{'|'.join(ORDINALS)}|\d(?:st|nd|rd|th|[anrto]))"
_NTH_TASK: Final = re.compile(rf"(?i)\b(?:the |la |l')?{_NTH} {pattern('nth_of')}\b")
_TASK_NTH: Final = re.compile(rf"(?i)\b(?:tarea|tasca) {_NTH}\b")
_NTH_ALONE: Final = re.compile(
    rf"(?i)(?:\b(?:the|la) |\bl'|(?<=\band )|(?<=\by )|(?<=\bi )){_NTH}"
    rf"(?=\s*(?:[,.;:)→]|$|{PERSON}|(?:to|for|and|para|a|y|i|per|la|en|el|is|goes|falls|will|should|would|es|va|le|li|seria"
    r"|sera|queda|toca|me|se|em|que|con|amb)\b))"
)
_FIRST_TWO: Final = re.compile(rf"(?i)\b{pattern('first_two')}(?: {pattern('nth_of')})?\b")
_MAY_ORDER: Final = re.compile(
    rf"\b(?:{'|'.join(sorted({word[:5] for word in ORDINALS}))})|\d(?:st|nd|rd|th|[anrto])"
)
"""Quick test for ordinals."""
_OF_TASKS: Final = re.compile(
    rf"{_NTH} {pattern('nth_of')}|(?:tarea|tasca) (?:{'|'.join(ORDINALS)})|{pattern('first_two')}"
)
_OF_PAIR: Final = re.compile(
    rf"(?i){PERSON},? {pattern('both_and')} {TITLE}{PERSON}(?:(?!{PERSON}).)*?\bla {_NTH}\b"
    rf"(?! {pattern('nth_of')})(?!.*{PERSON})"
)
"""Ordinals of two people, after whom no person is named: `Ana and Eva, the first …`."""
_NUMBERED: Final = re.compile(r"(?:task|tarea|tasca|tasques|job)\D{0,9}\d|\bt\d")
_BARE: Final = re.compile(
    rf"(?i)(?<![\w.,:/#€$-])(?:{pattern('number_sign')}\.? )?(\d{{1,2}})"
    rf"(?=,?\s(?:(?:{pattern('goes_to')}|{pattern('both_and')}|I)\b|{PERSON})|,|\.?\s*$|\.\s[A-Z])"
)
"""A number that can only be a task's: `1 goes to Ana`."""
_DIGITS: Final = re.compile(r"\d+")
_SIGNED: Final = re.compile(rf"\b{pattern('number_sign')}\.? \d")
_NUMBERED_LABEL: Final = re.compile(rf"({NUMBERED})\s*[-.:(,\"→]+\s*([^\W_][^-.:;,|()\[\]\"→=\ue000-\ue2ff]*)")
_BARE_NUMBERS: Final = re.compile(
    rf"(?i)({PERSON}(?:\s?\([^()]{{0,40}}\))?\s*(?::|=|→|\s-)\s*)"
    r"((?:#?\d{1,2}\s*(?:,|;|&|\band\b|\by\b)?\s*)+)(?=$|[.(]|[;,]?\s*[\ue000-\ue0fe])"
)
_NUMBERS_OF: Final = re.compile(rf"({PERSON})\s*\(((?:#?\d{{1,2}}\s*(?:[,;&]|and\b|y\b|i\b)?\s*)+)\)")
_HYPHEN: Final = re.compile(r"\b([a-z]\w*)-(?=[A-Z])")
"""`roof-Ana`, where no name of two parts is meant."""
_REPEATED: Final = re.compile(rf"{NUMBERED}\s*[-.:(,\"→]*\s*({NAMED})|({NAMED})\s*[(\[]\s*{NUMBERED}\s*[)\]]")
_SURNAME: Final = re.compile(
    r" (?:(?:de|del|de la) )?([A-Z][a-z]+)(?: ([A-Z][a-z]+))?(?=\s*(?:$|[-:,;|().→=]|and |y ))"
)
_CELLS: Final = re.compile(
    r"(\s*[:;,|=→()\[\]\"]\s*|\s+-+\s*|[.!]\s|\s+(?:and|plus|y|i|&|\+|e)\s+|\s(?=(?:because|since|so|porque|ya|pues)\s)"
    r"|[\ue000-\ue0fe](?:'s\b)?)"
)

_SPELT: Final = dict(pair.split("=") for pair in sorted(word_set("titles_spelt")))
_TITLED: Final = re.compile(
    rf"(?i)\b{pattern('choice_owner')}({'|'.join(_SPELT.values())})\b(?!\s+(?:{PERSON}|(?-i:[A-Z])))"
)
"""A person named by a title alone."""

_OPENS: Final = re.compile(rf"(?i)[^\ue000-\ue2ff]*\b(?:{pattern('contrasts')}|{pattern('but')})\b")
"""Words in a cell with which another clause begins."""
_GOES_TO: Final = re.compile(rf"(?i)(?:\s+{pattern('goes_to')}\b)*\s*$")
"""Words between a task and the person who has it."""
_TAIL: Final = 60
"""Characters within which they stand."""

_GIVEN_TO: Final = re.compile(rf"(?i)\ba ({PERSON}) le {pattern('gives_to')}\s+(?=\w|[\ue100-\ue2ff])")
"""`A Ana le asigno`, which begins with the recipient."""
_ELLIPTIC: Final = re.compile(rf"(?i)(?<!\w)a ({PERSON}),? la (\d)\b(?=[\s,.;]|$)")
"""`a Ana la 2`, where the task was named before."""

_RESUMED: Final = re.compile(rf"(?i)(?<=:)\s*(?:l[ao]s?|els?|les|l')\s?\w+(?=\s+(?:en |la |l')?{PERSON})")
"""`Fachada: la pinta Ana`: a pronoun for the task, and its verb."""
_OWNS: Final = re.compile(
    rf"({PERSON})'s(?: {pattern('duty')})?(?=\s*(?:[.,;!]|$))"
    rf"|(?<= is )({PERSON})'s(?=\s*and )|({PERSON})'s(?= {pattern('hands')}\b)"
)

_ENDS: Final = re.compile(r"[\s.,;]*$|\s*[-(,:;.]")
"""Text that may follow people in a table cell that is no sentence."""
_BLANK: Final = " .,;:!?-*_()[]"
_STRANGERS: Final = re.compile(rf"\W*(?P<who>{STRANGERS[4:]})")

_MAY_INTRODUCE: Final = re.compile(rf"\b{pattern('introduces')}| {pattern('speaks_up')}\b")
_MAY_SIGN: Final = re.compile(rf"(?i)\n\W*{pattern('farewells')}")
_CLOSING: Final = 120
"""Characters of a letter's end that may hold its complimentary close."""
_SIGNS: Final = re.compile(
    rf"(?i)\n\W*{pattern('farewells')}\b(?:[^\n\ue000-\ue2ff]{{0,24}}\n+)?[^\w\ue000-\ue2ff]*{TITLE}({PERSON})\W*?"
    r"(?:\n[^\n\ue000-\ue2ff]{0,40})?\Z()"
)
"""A person's name below the complimentary close of a letter, or next to it, perhaps above a position."""
_INTRODUCES: Final = re.compile(
    rf"\b{pattern('introduces')} ?(?:(?:la|en|el) |l')?({PERSON})"
    rf"(?=[,.:)!]| (?:{pattern('speaks_up')}|{pattern('both_and')}|de nuevo|de nou|again)\b)"
    rf"|({PERSON}) {pattern('speaks_up')}\b"
)
Forms = dict[str, list[tuple[tuple[str, ...], str]]]
"""The words of tasks or people by the first of them, the longest first, and the mark of each."""


@dataclass(frozen=True, slots=True)
class Marking:
    """Spellings of tasks and people in one reply."""

    names: Forms
    texts: Forms
    stems: Stems
    cased: bool
    """Whether the reply capitalises names; `will` is then not the name Will."""
    me: str | None
    """The speaker's mark."""
    people: int
    """Number of people in the scene."""
    language: str
    genders: dict[str, bool]
    """Whether people are women, by their marks, where it is known."""
    titles: dict[str, str]
    """The marks of people by titles that no other has, as in `the doctor`."""
    speaker: str | None = None
    """The mark of whom the first person means: the speaker, also one who only introduces himself."""

    @classmethod
    def of(
        cls,
        tasks: Sequence[str],
        people: Sequence[str],
        text: str,
        language: LanguageCatalog | None,
        me: str | None,
    ) -> Marking:
        cased = any(normalize(name)[:1].isupper() and normalize(name).split()[0] in text for name in people)
        own = chr(FIRST_PERSON + people.index(me)) if me in people else None
        shown, spoken = tuple(tasks), _LANGUAGES.get(language.id[:2] if language else "", "english")
        marks = {name: chr(FIRST_PERSON + place) for place, name in enumerate(people)}
        marking = cls(
            _names(tuple(people)), _texts(shown), stems_of(shown), cased, own, len(people), spoken,
            genders={}, titles=_titles(tuple(people)), speaker=own,
        )  # fmt: skip
        introduced = own is None and _may_introduce(text)
        marked = marking.mark(text) if introduced or spoken == "catalan" else ""
        marking = replace(marking, genders=genders_of(marks, marked, spoken))
        found = _INTRODUCES.search(marked) or _SIGNS.search(marked.rstrip()) if introduced else None
        return replace(marking, speaker=found[1] or found[2]) if found else marking

    def with_genders(self, women: Mapping[str, bool], people: Sequence[str]) -> Marking:
        """The same with the genders that are known of people; `women`: by name."""
        marks = {name: chr(FIRST_PERSON + place) for place, name in enumerate(people)}
        known = {marks[name]: is_woman for name, is_woman in women.items() if name in marks}
        return replace(self, genders={**self.genders, **known}) if known else self

    def with_speaker(self, speaker: str | None) -> Marking:
        """The same where the first person means the person of this mark."""
        return self if speaker == self.speaker else replace(self, speaker=speaker)

    def mark(self, line: str) -> str:
        """The line with its marks, except for paraphrased tasks."""
        marked = self._mark_names(_HYPHEN.sub(r"\1 - ", line.replace("->", "→").replace("=>", "→")))
        if self.titles and any(title in marked.lower() for title in self.titles):
            marked = _TITLED.sub(lambda found: self.titles.get(found[1].lower(), found.group()), marked)
        if self.speaker:
            marked = mark_speaker(marked, self.speaker, self.language)
        marked = _RESUMED.sub("", marked) if ":" in marked else marked
        marked = _OWNS.sub(r"\1\2\3", marked) if "'s" in marked else marked
        if self.language != "spanish":
            return self._mark_numbers(marked)
        return _ELLIPTIC.sub(self._mark_number_alone, self._mark_numbers(_GIVEN_TO.sub(r"\1: ", marked)))

    def _mark_number_alone(self, found: re.Match[str]) -> str:
        return f"{found[1]}: {self._marks(found[2], found[2])}"

    @property
    def grammar(self) -> Grammar:
        return GRAMMAR

    def line(self, marked: str) -> Line:
        """A marked line without the people whom it excludes."""
        return Line(without_others(marked), self.people, GRAMMAR)

    def cell(self, text: str) -> Cell:
        """What a cell names at its start."""
        if text.strip().isdigit():
            place = int(text) - 1
            return Cell(targets=(place,), by_number=True) if 0 <= place < len(self.stems.of_task) else Cell()
        marked = find_exact(self.names, text) or self.mark(text)
        line = self.line(marked)
        unit = line.first()
        if unit and unit.places and (unit.kind == "targets" or _ENDS.match(line.rest(unit))):
            places = tuple(unit.places)
            return Cell(targets=places) if unit.kind == "targets" else Cell(people=places, is_open=unit.is_open)
        if unit and not unit.places and not line.rest(unit).strip(_BLANK):
            everybody = tuple(range(self.people)) if unit.whom == "everybody" else ()
            return Cell(people=everybody, is_no_one=unit.whom == "no_one")
        if not line.text.strip(_BLANK):
            return Cell(is_no_one=True)
        labelled = self.line(self.with_labels(line.text)).first()
        named = _STRANGERS.match(line.text)
        if labelled and labelled.kind == "targets":
            return Cell(targets=tuple(labelled.places))
        return Cell(people=places_of(named["who"]), strangers=strangers_of(named["who"])) if named else Cell()

    def with_labels(self, marked: str, closing: bool = True) -> str:
        """A marked line in which cells with paraphrased tasks are marked too; with `closing`, up to the first
        that begins a reason."""
        cells = _CELLS.split(without_others(marked))
        for place in range(0, len(cells), 2):
            if closing and place and CLOSES.match(cells[place]):
                break
            cells[place] = self._label(cells[place])
        return "".join(cells)

    def _label(self, cell: str) -> str:
        if prefix := _OPENS.match(cell):
            return prefix.group() + self._label(cell[prefix.end() :])
        if not cell.strip() or re.search(TARGET, cell) or DENIES.search(cell) or self.stems.is_left(cell):
            return cell
        task = self.stems.task_in(cell)
        if task is None:
            return cell
        small = re.match(
            r"\W*(?:(?:will|should|would|can|to|the|is|for|be|in charge of|responsible for)\b\W*)*", cell
        )
        after = _GOES_TO.search(cell, max(0, len(cell) - _TAIL))
        return (small.group() if small else "") + chr(FIRST_NAMED + task) + (after.group() if after else "")

    def _mark_names(self, line: str) -> str:
        low = line.lower()
        low = low if len(low) == len(line) else line
        words = list(WORD.finditer(low))
        spelt = [word.group() for word in words]
        kept, position = [], 0
        for place in [place for place, word in enumerate(spelt) if word in self.names or word in self.texts]:
            found = self._at(line, spelt, place, words) if words[place].start() >= position else None
            if found:
                kept += [line[position : words[place].start()], found[0]]
                position = found[1]
        return "".join(kept) + line[position:]

    def _at(self, line: str, spelt: list[str], place: int, words: list[re.Match[str]]) -> tuple[str, int] | None:
        """The mark of the task or person that begins at a word, and its end in the line."""
        for form, mark in self.texts.get(spelt[place], ()):
            if tuple(spelt[place : place + len(form)]) == form:
                return mark, words[place + len(form) - 1].end()
        if not self._may_be_a_name(line, words[place].start()):
            return None
        for form, mark in self.names.get(spelt[place], ()):
            if tuple(spelt[place : place + len(form)]) == form:
                return mark, self._after_surname(line, words[place + len(form) - 1].end())
        return None

    def _may_be_a_name(self, line: str, start: int) -> bool:
        """Whether a word is capitalised as the reply's names are, and does not end a longer name such as
        `Mary-Ana`."""
        hyphened = start > 1 and line[start - 1] == "-" and line[start - 2].isalpha()
        return not hyphened and (line[start].isupper() or not self.cased)

    def _after_surname(self, line: str, end: int) -> int:
        found = _SURNAME.match(line, end) if line[end : end + 1] == " " else None
        if found is None:
            return end
        further = [word.lower() for word in found.groups() if word]
        known = any(word in NO_PERSON or word in self.names or word in self.texts for word in further)
        return end if known else found.end()

    def _mark_numbers(self, line: str) -> str:
        """The line with marks for task numbers."""
        low = line.lower()
        if _NUMBERED.search(low):
            line = _NUMBERS.sub(lambda found: self._marks(found.group(), found[1] + found[2]), line)
            line = _NUMBER_ALONE.sub(lambda found: self._marks(found.group(), found[1]), line)
        if (
            _MAY_ORDER.search(low)
            and not _OF_PAIR.search(line)
            and (_OF_TASKS.search(low) or len(set(_NTH_ALONE.findall(low))) > 1)
        ):
            line = _FIRST_TWO.sub(lambda found: self._marks(found.group(), "1 2"), line)
            for form in (_NTH_TASK, _TASK_NTH, _NTH_ALONE):
                line = form.sub(self._ordinal, line)
        numbers = _DIGITS.findall(line)
        bare = _BARE.findall(line) if numbers and re.search(PERSON, line) and not re.search(TARGET, line) else []
        if bare == numbers and (len(set(bare)) > 1 or _SIGNED.search(low)):
            line = _BARE.sub(lambda found: self._marks(found.group(), found[1]), line)
        line = _NUMBERS_OF.sub(lambda found: f"{found[1]}: {self._marks(found[2], found[2])}", line)
        line = _BARE_NUMBERS.sub(lambda found: found[1] + self._marks(found[2], found[2]), line)
        line = _REPEATED.sub(lambda found: found[1] or found[2], line)
        return _NUMBERED_LABEL.sub(self._without_label, line) if re.search(NUMBERED, line) else line

    def _without_label(self, found: re.Match[str]) -> str:
        """A task's number without the paraphrase that repeats the task."""
        text = self.stems.task_in(found[2])
        return found[1] + " " * found[2].endswith(" ") if text == ord(found[1]) & PLACE else found.group()

    def _ordinal(self, found: re.Match[str]) -> str:
        tasks = len(self.stems.of_task)
        nth = found["nth"].lower()
        place = int(nth[0]) - 1 if nth[0].isdigit() else ORDINALS[nth]
        last = place == ORDINALS["last"]
        return self._marks(found.group(), str(tasks if last else place + 1))

    def _marks(self, text: str, numbers: str) -> str:
        """Marks for numbers, or the text itself if a number is no task's."""
        wanted = [int(number) for number in re.findall(r"\d+", numbers)]
        if not all(1 <= number <= len(self.stems.of_task) for number in wanted):
            return text
        tail = text[len(text.rstrip(" ;,&")) :]
        return ", ".join(chr(FIRST_NUMBERED + number - 1) for number in wanted) + tail


def _may_introduce(text: str) -> bool:
    """Whether a reply may name its speaker, at its end too."""
    return bool(_MAY_INTRODUCE.search(text) or _MAY_SIGN.search(text[-_CLOSING:]))


@lru_cache(maxsize=256)
def _texts(tasks: tuple[str, ...]) -> Forms:
    forms: Forms = {}
    spelt = [(tuple(WORD.findall(fold(task))), chr(FIRST_NAMED + place)) for place, task in enumerate(tasks)]
    for words, mark in sorted(spelt, key=lambda one: -len(one[0])):
        if words:
            forms.setdefault(words[0], []).append((words, mark))
    return forms


@lru_cache(maxsize=1024)
def _titles(people: tuple[str, ...]) -> dict[str, str]:
    """The marks of people by the spelt titles that only they have."""
    firsts = [(words_in(name) or ("",))[0] for name in people]
    titles = [first if first in _SPELT.values() else _SPELT.get(first, "") for first in firsts]
    return {
        title: chr(FIRST_PERSON + place)
        for place, title in enumerate(titles)
        if title and titles.count(title) == 1
    }


@lru_cache(maxsize=1024)
def _names(people: tuple[str, ...]) -> Forms:
    marks = {name: chr(FIRST_PERSON + place) for place, name in enumerate(people)}
    return {first: [(words, marks[name]) for words, name in forms] for first, forms in index_names(people).items()}
