"""Brings a reply into lines that the reader knows.

Elements with attributes, options and the choice among them, several records on one line, cut-off ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.marks import ORDINALS
from biasgrid.tasks.evaluate.readers.assignments.words import IN_ORDER, Stems
from biasgrid.tasks.evaluate.readers.reply_text import fold, pattern, word_set
from biasgrid.tasks.evaluate.readers.ties.line import Tie, places_of
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, TARGET, TITLE, words_in

_HTML: Final = r"(?:t[dhr]|table|t(?:head|body)|div|span|p|a|img|[uo]l|li|font|br|h\d|section|style|html|body)\b"
_ELEMENT: Final = re.compile(
    rf"(?i)<(?!{_HTML})\w+((?:\s+[\w:-]+\s*=\s*(?:\"[^\"<>\n]*\"|'[^'<>\n]*'))+)\s*(/?)>", re.ASCII
)
_VALUE: Final = re.compile(r"=\s*[\"']([^\"']*)[\"']")
_OPENING: Final = re.compile(r"<\w+>")
_CLOSING: Final = re.compile(r"</\w+>")

_DECIMAL: Final = re.compile(r"(?m)^(\s*)\d{1,2}\.\d{1,2}\.?\)?\s+(?=\D)")
_ARROW_LAST: Final = re.compile(r"(?m)^([^:→\n]{2,60}:)\s[^→\n]*[.!?]\s*→\s*(?=[^→\n]+$)")
"""`Ana: she has cooked before. → menu`, up to the task."""
_TITLED_ROW: Final = re.compile(
    rf"(?im)^(\W*(?:\w+ ){{0,3}}{pattern('of_assignments')}\W*:)\s+(?=[^|:\n]*(?:=|→|\s-\s)[^|\n]*\s\|\s)"
)
"""`Final assignment: Ana = tap | Luis = roof`."""
_BAR: Final = re.compile(r"\s[|/]\s")
_EQUATION: Final = re.compile(r"[^=:→]{2,60}(?:=|→|[-=]>)\s*[^=→]+")
_TASK_LABEL: Final = re.compile(rf"(?i)(?<=\S)\s+(?={pattern('number_of_task')}\s*#?\d{{0,2}}\s*:)")
_ONLY_FIELDS: Final = re.compile(r"\s*[^|:\n]{2,30}:\s[^|:\n]+(?:\s\|\s[^|:\n]{2,30}:\s[^|:\n]+)+")
"""`Priority: high | Assignee: Ana`."""
_NAMES_TASK: Final = re.compile(rf"(?i)\b{pattern('number_of_task')}\b")
_FIELD_LABEL: Final = re.compile(r"(?<=\S)\s+(?=[A-Z]\w+(?: [a-z]\w*| #?\d+)?:\s)")

_OPTION: Final = re.compile(
    rf"(?i)(?:^|(?<=[\n.]))[^\w\n]*(?:\w{{1,3}}[ '])?(?P<kind>{pattern('options')})\s+(?P<name>[a-d]|\d)\b"
    rf"(?:\s*(?:\([^()\n]*\))?\s*[:.)-]|(?=\s{pattern('option_does')}\b))"
)
_REFERENCE: Final = rf"{pattern('options')}\s+(?:n\w{{0,5}}\.?\s*)?(?P<name>[a-d]|\d)\b"
_MAY_CHOOSE: Final = re.compile(rf"{pattern('options')}\s+(?:[a-d]|\d)\b")
_CHOSEN: Final = re.compile(
    rf"(?i)\b{pattern('settles')}\b[^\n.]{{0,40}}?\b{_REFERENCE}|\b{pattern('options')}\s+(?P<other>[a-d]|\d)\s+{pattern('wins')}"
)
_CHOSEN_ALONE: Final = re.compile(
    rf"(?i:\b{pattern('settles')}\b)[^\n.]{{0,40}}?\b(?i:la|the|l'|el)? ?"
    rf"(?:(?P<name>[A-D])\b(?=\s*(?:[.,;!)]|$))|(?i:(?P<nth>{'|'.join(ORDINALS)}))\b(?! {pattern('nth_of')}))"
)
"""`I vote for B`, `I prefer the second one`."""
_CLOSED: Final = re.compile(rf"(?i)\W*{pattern('farewells')}\b[^\n]{{0,24}}")
_FEWEST_LETTERS: Final = 3


def unfold_elements(text: str) -> str:
    """A reply in which elements such as `<person name="Ana"><task>…</task></person>` are lines."""
    if len(_ELEMENT.findall(text)) < 2:
        return text
    lines = _OPENING.sub("\n- ", _ELEMENT.sub(_as_label, text))
    return _CLOSING.sub("\n", lines)


def _as_label(found: re.Match[str]) -> str:
    values = " - ".join(value for value in _VALUE.findall(found[1]) if value.strip())
    return f"\n{values}\n" if found[2] else f"\n{values}: "


def arrange(text: str, people: Sequence[str], stems: Stems) -> str:
    """A reply without markup in lines of one assignment each, without options that are not chosen."""
    whole = _complete_name(_drop_cut_line(_drop_signature(_keep_decided(text.rstrip(), stems))), people)
    whole = _REPLIED.sub(r'"\g<quote>": ', whole) if ">" in whole else whole
    whole = _CROSSED.sub("", whole) if _TICKED.search(whole) else whole
    whole = _ANSWERED.sub(lambda found: _answer(found, stems), whole) if '"' in whole else whole
    whole = _TITLED_ROW.sub(r"\1\n", whole) if "|" in whole else whole
    whole = _DECIMAL.sub(r"\1- ", _ARROW_LAST.sub(r"\1 ", whole) if "→" in whole else whole)
    lines = [part for line in whole.split("\n") for part in _split_equations(line)]
    moved = [_MOVED.sub(lambda found: _keep_new(found, stems), line) if "→" in line else line for line in lines]
    records = "\n".join(map(_split_records, moved))
    return _keep_chosen(_COUNTED.sub(_keep_winner, records) if _VOTES.search(records) else records)


_ANSWERED: Final = re.compile(
    rf"(?im)^[^\w\"\n]*\"(?P<quote>[^\"\n]{{3,120}})\"\s*[:,.-]+\s*"
    rf"(?:{pattern('objects')}|(?P<yes>{pattern('consents')}))\b[,:;.!]*(?P<answer>[^\n]*)$"
)
"""`"Ana drives": no, Luis`, a point of another's proposal and what the reply makes of it."""


_REPLIED: Final = re.compile(
    rf"(?im)^>\s*(?P<quote>[^\"\n]{{3,120}})\n+(?=\W*(?:{pattern('objects')}|{pattern('consents')})\b)"
)
"""A point of another's proposal in a line of its own, and what the reply makes of it in the next."""
_CROSSED: Final = re.compile(r"(?m)^\W*[❌✗✘✖]\s.*\n?")
_TICKED: Final = re.compile("[✅✓✔☑]")


def _answer(found: re.Match[str], stems: Stems) -> str:
    """The point where it is accepted, or its task with what the reply proposes."""
    task = stems.task_in(found["quote"])
    if task is None:
        return found.group()
    return found["quote"] if found["yes"] else f"Task {task + 1}: {found['answer'].strip()}"


_VOTES: Final = re.compile(rf"(?i)\b{pattern('votes')}\b")
_COUNTED: Final = re.compile(
    r"(?im)^(?P<label>[^:\d\n]{2,60}:)"
    rf"(?P<counts>(?:\s[^:;,\d\n]{{2,30}}\s\(?\d{{1,2}}(?: {pattern('votes')})?\)?[,;.]?)+)$"
)
"""`Roof: Ana 3, Luis 1`."""
_COUNT: Final = re.compile(r"([^\W\d_][^:;,\d\n]*?)\s\(?(\d{1,2})\b")


def _keep_winner(found: re.Match[str]) -> str:
    """A line of votes with the person alone who has the most, if there is one."""
    counts = [(int(number), name) for name, number in _COUNT.findall(found["counts"])]
    first, *others = sorted(counts, reverse=True)
    return found.group() if others and others[0][0] == first[0] else f"{found['label']} {first[1]}"


_MOVED: Final = re.compile(r"(?P<who>[^:→\n]{2,40}: )\s*(?P<old>[^→:\n]{2,40}?)\s*→\s*(?P<new>[^→\n]{2,60})")


def _keep_new(found: re.Match[str], stems: Stems) -> str:
    """`Ana: roof → menu` without the task that she had."""
    old, new = stems.task_in(found["old"]), stems.task_in(found["new"])
    return found["who"] + found["new"] if None not in (old, new) and old != new else found.group()


def _keep_decided(text: str, stems: Stems) -> str:
    """A reply without those who only stand in for others, and without people among whom a next line decides."""
    low = text.lower()
    if any(root in low for root in _STAND_IN_ROOTS) and stems.words.isdisjoint(
        word.lower() for word in _STANDS_IN.findall(text)
    ):
        text = _FIRST_CHOICE.sub("", _SUBSTITUTE.sub("", _AS_SUBSTITUTE.sub("", text)))
    decided = _DECISION.sub(r"\1", text)
    return _CONSIDERED.sub("", decided) if decided != text and _CONSIDERED.search(text) else text


_STAND_IN_ROOTS: Final = word_set("stand_in_roots")
"""Quick test for stand-ins."""
_STANDS_IN: Final = re.compile(rf"(?i)\b{pattern('stands_in')}\b")
_SUBSTITUTE: Final = re.compile(
    rf"(?i)\s*[|;,/(\[-]+\s*{pattern('stands_in')}\b(?!'s)[^|;\n.)\]]*(?:(?<=Mr)\.[^|;\n)\]]*)?[)\]]?"
)
_AS_SUBSTITUTE: Final = re.compile(
    rf"(?i),?\s+\(?{pattern('and_with')}\s+[^,;:\n]{{2,30}}\s+{pattern('in_role')}\s+{pattern('stands_in')}\b\)?"
)
_FIRST_CHOICE: Final = re.compile(rf"(?i)\b{pattern('first_choice')}(?:\s*[:=]\s*|\s(?=[A-Z]))")
_DECISION: Final = re.compile(rf"(?im)^(\W*){pattern('decision')}\s*[:=→]\s*")
_CONSIDERED: Final = re.compile(rf"(?im)^\W*{pattern('considered')}\s*:.*\n")


def _drop_signature(text: str) -> str:
    """A letter without the name below its complimentary close."""
    lines = text.split("\n")
    above = [line for line in lines[:-1] if line.strip()]
    signed = bool(above) and len(lines[-1].split()) <= 3 and _CLOSED.fullmatch(above[-1])
    return "\n".join(lines[:-1]) if signed else text


def _drop_cut_line(text: str) -> str:
    """A repeating reply without its last round, if that ends within a line."""
    *lines, last = text.split("\n")
    whole = [place for place, line in enumerate(lines) if line.startswith(last) and line != last]
    if not last.strip() or not whole:
        return text
    while whole[-1] > 0 and len(lines) > whole[-1] and lines[-1] == lines[whole[-1] - 1]:
        whole[-1] -= 1
        lines.pop()
    return "\n".join(lines)


def _complete_name(text: str, people: Sequence[str]) -> str:
    """A reply cut off within a name, with the whole name."""
    last = re.search(r"[^\W\d_]+\Z", text)
    if last is None or len(last.group()) < _FEWEST_LETTERS or not last.group()[0].isupper():
        return text
    cut = fold(last.group())
    whole = {word for name in people for word in words_in(name) if word.startswith(cut)}
    return text[: last.start()] + whole.pop().capitalize() if len(whole) == 1 else text


def _split_equations(line: str) -> list[str]:
    """The parts of a line such as `Ana = tap | Luis = menu`."""
    parts = _BAR.split(line)
    return parts if all(map(_EQUATION.fullmatch, parts)) else [line]


def _split_records(line: str) -> str:
    """The records of a line that repeats its labels, or of fields of the task above, one field a line."""
    if "|" in line and _ONLY_FIELDS.fullmatch(line) and not _NAMES_TASK.search(line):
        return "\n".join(_BAR.split(line))
    return _FIELD_LABEL.sub("\n", line) if len(_TASK_LABEL.findall(line)) > 1 else line


def _number_options(text: str) -> str:
    """A reply that describes one option and the other and then chooses the first or the second, with numbers."""
    chosen = _NTH_OPTION.search(text)
    if not (chosen and _ONE_OPTION.search(text) and _OTHER_OPTION.search(text)):
        return text
    name = "option 1" if re.match(pattern("first_option"), chosen.group().lower()) else "option 2"
    numbered = _NTH_OPTION.sub(name, text)
    return _OTHER_OPTION.sub("\nOption 2: ", _ONE_OPTION.sub("\nOption 1: ", numbered, count=1), count=1)


_NTH_OPTION: Final = re.compile(
    rf"(?i)\b(?:{pattern('first_option')}|{pattern('second_option')}) {pattern('options')}\b"
)
_ONE_OPTION: Final = re.compile(rf"(?im)(?:^|(?<=\.))\W*{pattern('one_option')} ")
_OTHER_OPTION: Final = re.compile(rf"(?im)(?:^|(?<=\.))\W*{pattern('other_option')} ")


def _keep_chosen(text: str) -> str:
    """A reply that lists options and chooses one, without the others."""
    text = _number_options(text)
    if not _MAY_CHOOSE.search(text.lower()):
        return text
    options = list(_OPTION.finditer(text))
    names = [option["name"].lower() for option in options]
    chosen = [(one["name"] or one["other"]).lower() for one in _CHOSEN.finditer(text)]
    alone = [] if chosen else _CHOSEN_ALONE.findall(text[options[-1].end() :]) if options else []
    chosen += [
        name.lower() or [*names[:6], names[-1]][min(ORDINALS[nth.lower()], len(names) - 1)] for name, nth in alone
    ]
    if len(set(names)) < 2 or not chosen or chosen[-1] not in names:
        return text
    ends = [option.start() for option in options[1:]] + [len(text)]
    for option, name, end in reversed(list(zip(options, names, ends, strict=True))):
        body = text[option.end() : end]
        length = min((found.start() for found in _BODY_ENDS.finditer(body)), default=len(body))
        kept = body if name == chosen[-1] else body[length:]
        text = text[: option.start()] + "\n" + kept + text[end:]
    return text


_BODY_ENDS: Final = re.compile(
    rf"(?i)\n\s*\n|(?<=\.)\s+(?=\S)(?=[^\n.]*{pattern('settles')}\b)|\n(?=[^\n]*{pattern('settles')}\b)"
)
"""Where the text of an option ends."""


_APART: Final = re.compile(rf"{PERSON}[^\ue000-\ue2ff]{{24,}}{PERSON}")
"""People who are no row."""
_ONLY_PEOPLE: Final = re.compile(rf"[^\ue000-\ue2ff:]{{0,40}}:?\s*{PERSON}(?:\s*[/>]\s*{PERSON})+\W*")
"""`Final: Ana / Luis / Eva`."""
_NAMED_ROW: Final = re.compile(
    rf"\s*(?:[-*+]\s+|\(?\d{{1,2}}[.):]\s+)?(?P<label>[^:→=|\ue000-\ue0fe]{{2,60}}?)\s*(?::|→|=|\s-)\s*"
    rf"(?i:{TITLE})(?P<who>{PERSON})(?=\s*(?:$|[-.,(;]))[^\ue000-\ue0fe]*$"
)
"""`Media relations: Ana`, with any label."""


def people_in_order(marked: str, tasks: int) -> list[Tie]:
    """The ties of a marked line that only lists a person for each task, in order."""
    if re.search(TARGET, marked) or not (IN_ORDER.search(marked) or _ONLY_PEOPLE.fullmatch(marked)):
        return []
    people = re.findall(PERSON, marked)
    if _APART.search(marked):
        return []
    return [Tie((task,), places_of(mark)) for task, mark in enumerate(people)] if len(people) == tasks else []


def rows_in_order(marked: str, stems: Stems, strength: int) -> list[Tie]:
    """The ties of a list of all tasks in the prompt's order, for labels that have no words of their task."""
    rows = [row for line in re.split(r"[;\n]", marked) if (row := _NAMED_ROW.match(line))]
    places = [stems.task_in(row["label"]) for row in rows]
    known = [place for place in places if place is not None]
    are_in_order = all(place in (None, number) for number, place in enumerate(places))
    if len(rows) != len(stems.of_task) or not are_in_order or len(known) < max(_FEWEST_KNOWN, len(rows) / 2):
        return []
    return [
        Tie((number,), places_of(row["who"]), strength=strength)
        for number, (row, place) in enumerate(zip(rows, places, strict=True))
        if place is None
    ]


_FEWEST_KNOWN: Final = 2
"""Labels that must be known, or half of all where that is more."""
