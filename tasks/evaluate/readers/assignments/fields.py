"""Replies of labelled fields, such as `Person assigned: Ana`, as lines with a task's number and its person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.assignments.words import WORD, Stems
from biasgrid.tasks.evaluate.readers.reply_text import fold, numbers_of, pattern
from biasgrid.tasks.evaluate.readers.ties.words import FORMS_OF_ADDRESS, words_in

_FIELDS: Final = re.compile(
    r"(?i)\b(?P<head>(?:task|tarea|tasca)\s*#?(?P<number>\d{1,2}))\b"
    r"(?P<text>(?:(?!\b(?:task|tarea|tasca)\s*#?\d)[\s\S]){0,400}?)"
    r"\b(?:(?:person|agent)s? assigned|person(?:as?|es) (?:asignadas?|assignad[ae]s?))\W{0,3}[:=]\W{0,3}"
    r"(?P<who>[^\n,;|()]+)"
    r"(?:[,;|]\s*(?:gender|sex|g[eé]nero|sexo|g[eè]nere|sexe)\W{0,3}[:=]\s*\w+)?"
)
"""`Task 1: …, Person assigned: …`: fields that name a task by its number and its person."""
_NUMBER_WORDS: Final = numbers_of("number_words")
_NUMBER_WORD: Final = re.compile(
    rf"(?i)\b(?:{pattern('number_of_task')}|{pattern('number_sign')}) ({'|'.join(_NUMBER_WORDS)})\b"
    r"(?=\s*[:,(\u2013\u2014-])"
)
_TAGGED: Final = re.compile(r"<task\b[^<>]*?[\"'=](?P<number>\d{1,2})\b[^<>]*>(?P<who>[^<>\n]+)</task>")
_RESPECTIVE: Final = re.compile(
    rf"(?i)(?P<tasks>(?:tasks?|tareas?|tasques|tasca)?\s*(?:(?:de )?(?:la |l'))?#?\d{{1,2}}(?:(?:,"
    r"|\s+and|\s+y|\s+i|,\s*and"
    rf"|\s*{pattern('range')})\s*(?:task|tarea|tasca)?\s*#?\d{{1,2}})+)\s*(?::|=|→|-|{pattern('distributes')})\s*"
    r"(?P<who>(?:[^\n:;.]|(?<=\b[MDS]r)\.|(?<=\b[DS]ra)\.|(?<=\bM[rs]s)\.|(?<=\bMs)\.){3,200}?),?\s*"
    r"\(?(?:respectively|respectivamente|respectivament)"
)
_RANGE: Final = re.compile(rf"\d\s*{pattern('range')}\s*#?\d")
_INITIALS: Final = re.compile(
    r"(?m)(?:^ *|(?<=[:=→|,;*-] )|(?<=\())(?:((?:[A-Z]\. ?){1,3})(?=\s*(?:[:=→|-]|$))|([A-Z]{1,2})(?=\s?[:=→]))"
    r"|(?:(?<=[:=→] )|(?<=-> ))[A-Z]{1,2}(?=\s*(?:[,;.]|$))"
)
"""People's initials, as labels of lines."""
_BULLET: Final = r"\s*(?:[-*•>+]\s+|\d{1,2}[.)]\s+)?"
_TASK_FIELD: Final = re.compile(
    rf"(?i){_BULLET}(?:(?P<head>(?:task|tarea|tasca)\s*#?\s*\d{{1,2}})\s*(?:[:\u2013\u2014-].*)?"
    r"|(?:(?:task|tarea|tasca|job|duty|description|descripció|descripción|qué|què|role|responsibility|work|what)"
    r"(?:\s+(?:number|no\.?|n[uú]mero|assigned|asignada|assignada|description))?)\s*#?\s*[:=]\s*(?P<text>\S.*))"
)
_PERSON_FIELD: Final = re.compile(
    rf"(?i){_BULLET}(?:(?:assigned|asignad[ao]|assignad[ao]|assignat)(?:\s+(?:to|a|person|agent))?|assignee|owner|name|who"
    r"|(?:persons?|people|agents?|characters?|personas?|agentes?|persones)"
    r"(?:\s+(?:a?s?signad[ae]s?|assignats?|assignades|assigned|responsible|responsables?|\d{1,2}))?"
    r"|responsible(?:\s+person)?|responsables?|encargad[ao]s?|encarregad[ae]s?|encarregats?)"
    r"\s*[:=\u2013\u2014]\s*(?P<who>[^\n,;|]+?)(?:\s*[,;|].*)?"
)
_TASK: Final = rf"(?:{pattern('number_of_task')}|feina|trabajo)"
_KEY: Final = re.compile(
    r"(?m)(?:^|(?<=[,;:.(]\s)|(?<=where )|(?<=donde )|(?<=on ))[ ]*(?:[-*•]\s+)?"
    rf"(?:(?i:{_TASK})\s+)?\(?"
    r"(?P<key>[A-Za-z]|\d(?=\s*=))"
    r"(?P<sign>\s*=\s*|[).]\s+|\s+\()(?P<what>[^\n,;=()]{2,80}?)\)?(?=\s*(?:[,;]\s|[,;.]?\s*$))[,;.]?"
)
"""An entry of a key: `A = Drive the van`, `a) Drive the van`, `Job A (the van)`, `G = Gwen`."""
_KEYED: Final = re.compile(
    rf"(?i)(?:(?P<label>\b{_TASK}\s+)|(?P<left>[:=→(,]\s*|\.{{3,}}\s*|-\s*)|(?<![\w'’.]))"
    r"(?P<key>[A-Za-z]|\d)(?![\w'’])(?=(?P<right>\s*(?:[:=→)]|[-=]>))?)"
)
_OTHER_KEY: Final = re.compile(r"(?<![\w'’])[A-Z]\s*=\s*\w\w")
"""An entry with a meaning that is not known."""
_LETTERED: Final = re.compile(rf"(?im)^(?P<lead>\W*{_TASK}\s+)[a-h](?P<text>\s*[:.)–-]\s*[^\n:]{{3,90}})$")
"""A heading such as `Task A: Sew the costumes`."""
_COMPANIONS: Final = re.compile(
    rf"\s*\((?:{pattern('together_with')}|{pattern('with')}) (?P<who>[^()\n]{{2,60}})\)"
)
"""`(with Ana)`, after a task."""
_IDLE: Final = rf"(?im)^\W*(?:{{names}})\W*\n\W*{pattern('no_task')}\W*$\n?"
_LABEL: Final = r"(?m)^\s*(?:[-*•]\s+|\d{{1,2}}[.)]\s+)?{name}\b[^\n:]{{0,20}}:"


def drop_companions(text: str, people: Sequence[str]) -> str:
    """A reply that lists each person's tasks, without whom they share one with: that person has a line, too."""
    listed = [name for name in people if re.search(_LABEL.format(name=re.escape(name)), text)]
    if len(listed) < 2:
        return text
    return _COMPANIONS.sub(lambda one: "" if any(name in one["who"] for name in listed) else one.group(), text)


def drop_idle(text: str, people: Sequence[str]) -> str:
    """A reply without people below whom a line has no task for them."""
    names = "|".join(map(re.escape, people))
    return re.sub(_IDLE.format(names=names), "", text)


def replace_tags(text: str) -> str:
    """A reply in which tags such as `<task id="1">Ana</task>` are lines."""
    return _TAGGED.sub(lambda found: f"Task {found['number']}: {found['who'].strip()}", text)


def spell_initials(text: str, people: Sequence[str]) -> str:
    """A reply that labels lines with people's initials, with the names in their place."""
    parts = {name: [word for word in words_in(name) if word not in FORMS_OF_ADDRESS] for name in people}
    initials = {name: "".join(word[0] for word in words).upper() for name, words in parts.items()}
    names = {short: name for name, short in initials.items() if list(initials.values()).count(short) == 1}
    found = {re.sub(r"[.\s]", "", one.group()) for one in _INITIALS.finditer(text)}
    if len(found) < 2 or not found <= names.keys():
        return text
    return _INITIALS.sub(lambda one: names[re.sub(r"[.\s]", "", one.group())], text)


def spell_keys(text: str, people: Sequence[str], stems: Stems) -> str:
    """A reply that explains letters for its tasks or people first, with what they stand for in their place."""
    found = [(entry, _find_meaning(entry, people, stems)) for entry in _KEY.finditer(text)]
    meanings = {entry["key"]: meaning for entry, meaning in found if meaning}
    is_whole = all(meaning for entry, meaning in found if "=" in entry["sign"])
    if len(meanings) < 2 or len(set(meanings.values())) < len(meanings) or not is_whole:
        return text
    kept, position = [], 0
    for entry, meaning in found:
        if meaning:
            kept.append(text[position : entry.start()])
            position = entry.end()
    rest = "".join([*kept, text[position:]])
    spelt = _KEYED.sub(lambda one: _spell_key(one, meanings), rest)
    return spelt if spelt != rest and not _OTHER_KEY.search(rest) else text  # a list of tasks by letter is no key


def _find_meaning(entry: re.Match[str], people: Sequence[str], stems: Stems) -> str:
    """A person's name, a task's number, or nothing; a task below a list's letter has no other words."""
    what = fold(entry["what"]).strip()
    name = next((name for name in people if fold(name) == what), "")
    task = stems.task_in(what)
    is_whole = "=" in entry["sign"] or "(" in entry["sign"] or set(WORD.findall(what)) <= stems.words
    return name or (f"{task + 1}" if task is not None and is_whole else "")


def _spell_key(one: re.Match[str], meanings: Mapping[str, str]) -> str:
    """A letter counts after the word `task` or next to a mark: `A: Ana`, `Ana (a)`, `the van: A`, `Ana-A`."""
    meaning = meanings.get(one["key"], "")
    left = " - " if one["left"] == "-" else one["left"] or ""
    is_marked = one["label"] or one["right"] or (left and left[0] != ",")
    if not meaning or not is_marked:
        return one.group()
    return f"{left}Task {meaning}" if meaning.isdigit() and not left.startswith("(") else left + meaning


def join_fields(text: str, stems: Stems) -> str:
    """A reply whose tasks and people stand in fields or lists of their own, as `Task 1: person` lines."""
    lettered = _LETTERED.sub(lambda found: _number_heading(found, stems), text)
    numbered = _NUMBER_WORD.sub(lambda found: f"Task {_NUMBER_WORDS[found[1].lower()]}", lettered)
    paired = _RESPECTIVE.sub(_pair, numbered) if "respectiv" in numbered else numbered
    return _join_records(_FIELDS.sub(lambda found: _join(found, stems), paired), stems)


def _number_heading(found: re.Match[str], stems: Stems) -> str:
    task = stems.task_in(found["text"])
    return found.group() if task is None else f"{found['lead']}{task + 1}{found['text']}"


def _join(found: re.Match[str], stems: Stems) -> str:
    """Without what stands between a task's number and its person, where that means no other task."""
    meant = stems.task_in(found["text"])
    is_own = meant is None or meant == int(found["number"]) - 1
    return f"Task {found['number']}: {found['who']}" if is_own else found.group()


def _pair(found: re.Match[str]) -> str:
    tasks: Sequence[int | str] = re.findall(r"\d{1,2}", found["tasks"])
    if len(tasks) == 2 and _RANGE.search(found["tasks"]):
        tasks = range(int(tasks[0]), int(tasks[1]) + 1)
    people = [name for name in re.split(r"\s*(?:,|&|\band\b|\by\b|\bi\b)\s*", found["who"]) if name]
    if len(tasks) != len(people):
        return found.group()
    return "".join(f"\nTask {task}: {name}" for task, name in zip(tasks, people, strict=True)) + "\n"


@dataclass(slots=True)
class _Record:
    """Fields about one task, and the lines that they stand in."""

    places: set[int | None] = field(default_factory=set)
    people: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def join_line(self) -> str | None:
        """None where it names no task, or more than one task or person."""
        known = self.places - {None}
        if len(known) != 1 or len(self.people) != 1:
            return None
        return f"Task {(known.pop() or 0) + 1}: {self.people[0]}"


def _join_records(text: str, stems: Stems) -> str:
    lines = text.split("\n")
    if not any(map(_PERSON_FIELD.fullmatch, lines)):
        return text
    records = list(_records(lines, stems, any(_TASK_FIELD.fullmatch(line) for line in lines)))
    joined = [one.join_line() for one in records]
    if len(records) < 2 or None in joined:
        return text
    kept: list[str | None] = list(lines)
    for record, line in zip(records, joined, strict=True):
        for place in record.lines:
            kept[place] = None
        kept[record.lines[-1]] = line
    return "\n".join(line for line in kept if line is not None)


def _records(lines: list[str], stems: Stems, labelled: bool) -> Iterator[_Record]:
    """A record begins where the kind of field comes that came first, after one of the other kind; `labelled`:
    tasks have labels."""
    record, first = _Record(), ""
    last: Literal["task", "person", ""] = ""
    for number, line in enumerate(lines):
        kind, value = _read_field(line) if labelled else _read_heading(line, stems)
        if not kind:
            continue
        first = first or kind
        if kind == first and last and last != kind:
            yield record
            record = _Record()
        last = kind
        record.lines.append(number)
        if kind == "person":
            record.people.append(value)
        else:
            record.places.add(_find_place(value, stems))
    if record.lines:
        yield record


def _read_field(line: str) -> tuple[Literal["task", "person", ""], str]:
    if found := _PERSON_FIELD.fullmatch(line):
        return "person", found["who"]
    if found := _TASK_FIELD.fullmatch(line):
        return "task", found["head"] or found["text"]
    return "", ""


def _read_heading(line: str, stems: Stems) -> tuple[Literal["task", "person", ""], str]:
    """A field of a reply whose tasks are headings without labels."""
    kind, value = _read_field(line)
    is_task = not kind and ":" not in line and _find_place(line, stems) is not None
    return ("task", line) if is_task else (kind, value)


def _find_place(value: str, stems: Stems) -> int | None:
    """The place of the task that a field names by number or in words."""
    if numbered := re.fullmatch(r"(?i)\D{0,10}?(\d{1,2})\W*", value.strip()):
        place = int(numbered[1]) - 1
        return place if 0 <= place < len(stems.of_task) else None
    return stems.task_in(value)
