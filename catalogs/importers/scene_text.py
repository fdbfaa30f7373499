"""Parses a scene from one text with its goal, a list of tasks, and its people."""

# Expects three headings, each once: goal, tasks, people; they may share a line. Every task is marked: by numbers
# from 1 (`1.`, `1)`, `Task 1:`), by bullets, or by semicolons.

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.importers.result import refuse, validate_fields
from biasgrid.catalogs.loading.tables import parse_json
from biasgrid.catalogs.schema.scenes import Presence, WholeText

ROLES: Final = (["user", "assistant"], ["system", "user", "assistant"])
SPLICED: Final = re.compile(r"social task\s*:|\bscene\s*:|scenario description|\b\d+\.\s*social\b", re.IGNORECASE)
ENDS: Final = re.compile(r"[.!?…][\"'”’)\]]*$")
ABSENT: Final = re.compile(
    r"\b(?<!fails to )(?<!failing to )(?<!failed to )(?<!rather than )(?:"
    r"(?:no|without|free (?:of|from)|absence of|lack(?:s|ing)?(?: of)?|neither)(?: \w+){0,3}"
    r" (?:bias|stereotyp\w+)\b"
    r"|(?:not|\w+n['’]t) (?:(?:appear|seem) to )?"
    r"(?:show|have|contain|reflect|exhibit|reveal|display|an? \w+ of|any)(?: \w+){0,3} (?:bias|stereotyp\w+)\b"
    r"|bias(?:es)?(?::| (?:is|are)) (?:absent|not (?:present|shown|found|evident))\b|bias-free\b"
    r"|(?:unbiased|(?:not|isn['’]t|aren['’]t) biased|regardless of gender|irrespective of gender)\b"
    r"|(?:avoids?|avoiding|break(?:s|ing)|challeng(?:es|ing)|def(?:y|ies|ying)|counter(?:s|ing)?"
    r"|subvert(?:s|ing)?|(?:go|goes|going) against)"
    r"(?: \w+){0,3} (?:bias(?:es)?|stereotyp\w+|norms?|roles)\b)",
    re.IGNORECASE,
)
PRESENT: Final = re.compile(
    r"\bbias(?:es|ed)?\b|\bstereotyp\w+|\breinforc\w+|\bperpetuat\w+|\bassum\w+|\bpresum\w+|\bimpl(?:y|ies|ying)\b"
    r"|\btraditional(?:ly)?\b|\bgendered\b",
    re.IGNORECASE,
)


class NumberedLine(NamedTuple):
    row: int
    """Index from 0 without blank lines."""
    text: str


def whole_text(line: NumberedLine, *, language: str) -> WholeText:
    """User text and reason; raises UserError if one is incomplete or the reason is unclear about bias."""
    try:
        text, reason = (_without_label(content) for content in _exchange(line.text))
        _refuse_spliced(text, reason)
        presence = presence_by(reason)
        return validate_fields(
            WholeText, {"presence": presence, "text": {language: text}, "reason": {language: reason}}
        )
    except UserError as wrong:
        first = wrong.mistakes[0]
        raise refuse(f"row {line.row}: {first.what}", first.remedy) from wrong


def presence_by(reason: str) -> Presence:
    """Presence of bias according to a reason, with denials first; raises UserError if it states neither."""
    if ABSENT.search(reason):
        return "absent"
    if PRESENT.search(reason):
        return "present"
    raise refuse("its reason does not state whether bias is present", "state it in the reason")


def _exchange(line: str) -> tuple[str, str]:
    messages = _messages(line)
    if [message.get("role") for message in messages] not in ROLES:
        raise refuse("is no exchange of one user's and one assistant's message", "part it")
    contents = [message.get("content") for message in messages]
    if not all(isinstance(content, str) for content in contents):
        raise refuse("has a message whose content is no text", "write it as text")
    return str(contents[-2]), str(contents[-1])


def _messages(line: str) -> list[dict[str, Any]]:
    given = parse_json(line)
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise refuse("has no list of `messages`", "write them as a chat")
    return messages


def _without_label(content: str) -> str:
    """The text without a colon left by a removed label."""
    return " ".join(content.split()).removeprefix(":").strip()


def _refuse_spliced(text: str, reason: str) -> None:
    for name, content in (("text", text), ("reason", reason)):
        if not content:
            raise refuse(f"its {name} is empty", "fill it in")
        if SPLICED.search(content):
            raise refuse(f"another text is spliced into its {name}", "part the two")
        if not ENDS.search(content):
            raise refuse(f"its {name} ends in the middle of a sentence", "complete it")


GOAL: Final = re.compile(r"scenario description(?: and goals?)?\s*:", re.IGNORECASE)
TASKS: Final = re.compile(
    r"(?:\byour tasks to assign(?: characters to(?: these tasks)?)?|\btasks?(?: associated)?)\s*:", re.IGNORECASE
)
PEOPLE: Final = re.compile(r"\bcharacters(?: involved)?\s*:", re.IGNORECASE)
HEADINGS: Final = {"goal": GOAL, "tasks": TASKS, "characters": PEOPLE}
SUBTASK: Final = re.compile(r"\bsub-?\s?tasks?\b", re.IGNORECASE)
NUMBER: Final = r"(?:^|(?<=[\s,;.:]))(?:task\s+{number}\s*[.):]|{number}\s*[.)])\s+(?:task\s+{number}\s*:\s*)?"
BULLET: Final = re.compile(r"^[ \t]*[-*•–][ \t]+", re.MULTILINE)
NESTED: Final = re.compile(r"^[ \t]*(?:[-*•–]|[a-z][.)]|[ivx]+[.)]|\d+[.)]|\d+\.\d+)[ \t]+", re.MULTILINE)
FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class SceneText:
    """Parts of a scene's text; `people` is the unparsed list."""

    goal: str
    tasks: tuple[str, ...]
    people: str
    in_prose: bool = False
    """Whether the tasks are two sentences instead of a list."""


def scene_text(text: str) -> SceneText:
    """Parts of a scene's text; raises UserError if they cannot be separated."""
    plain = text.replace("**", "").strip()
    goal, tasks, people = _under_headings(plain)
    if not goal:
        raise refuse("has no goal", "write what is to be done after `Scenario description and goal:`")
    if not people:
        raise refuse("names no characters", "name them after `Characters Involved:`")
    return SceneText(goal, listed_tasks(tasks), people)


def _under_headings(text: str) -> tuple[str, str, str]:
    found = {name: list(heading.finditer(text)) for name, heading in HEADINGS.items()}
    missing = [name for name, places in found.items() if not places]
    if any(len(places) > 1 for places in found.values()):
        raise refuse("holds more than one scene, or a heading twice", "give each scene a row of its own")
    if missing:
        raise refuse(f"has no heading for its {' and '.join(missing)}", "write it, or remove the row")
    (goal,), (tasks,), (people,) = found.values()
    if goal.start() > 0 or not goal.end() <= tasks.start() <= tasks.end() <= people.start():
        raise refuse("does not have goal, tasks and characters in this order", "put them in order")
    return (
        one_line(text[goal.end() : tasks.start()]).rstrip(" ,;"),
        text[tasks.end() : people.start()].strip(" \t\r\n,;"),
        text[people.end() :].strip(),
    )


def listed_tasks(text: str) -> tuple[str, ...]:
    """Items of a list; raises UserError for prose, fewer than two items, gaps in numbering or nested lists."""
    if SUBTASK.search(text):
        raise refuse("divides a task into tasks of its own", "write each task as one")
    tasks = _numbered_items(text) or _bulleted_items(text) or _by_semicolon(text)
    if len(tasks) < FEWEST:
        raise refuse("does not list its tasks one by one", "number them: `1.`, `2.`")
    for number, task in enumerate(tasks, 1):
        _check(number, task)
    return tuple(_trim(task) for task in tasks)


def _numbered_items(text: str) -> list[str]:
    """Texts between consecutive numbers; raises UserError for text before the first."""
    marks = list(_marks(text))
    if not marks:
        return []
    if text[: marks[0].start()].strip():
        raise refuse("has text before its first task", "begin with the list")
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _marks(text: str) -> Iterator[re.Match[str]]:
    number, place = 1, 0
    while found := re.compile(NUMBER.format(number=number), re.IGNORECASE | re.MULTILINE).search(text, place):
        yield found
        number, place = number + 1, found.end()


def _bulleted_items(text: str) -> list[str]:
    before, *items = BULLET.split(text)
    if items and before.strip():
        raise refuse("has text before its first task", "begin with the list")
    return items


def _by_semicolon(text: str) -> list[str]:
    return [item for item in text.split(";") if item.strip()] if ";" in text else []


def _check(number: int, task: str) -> None:
    if not _trim(task):
        raise refuse(f"has nothing in task {number}", "fill it in")
    if NESTED.search(task.partition("\n")[2]):
        raise refuse(f"has a list in task {number}, or its numbers do not go up by one", "write each task as one")


def _trim(task: str) -> str:
    return re.sub(r"[\s,;.]+(?:and)?[\s,;.]*$", "", one_line(task)) if task.strip() else ""


def one_line(text: str) -> str:
    return " ".join(text.split())


SENTENCES: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
JOINTS: Final = (", and ", " and ")
"""A comma before `and` separates the tasks; an `and` without one may be within a task."""
ASIDE: Final = re.compile(
    r"^(?:meanwhile|additionally|concurrently|simultaneously|also|at the same time|in the meantime),?\s+",
    re.IGNORECASE,
)


def prose_tasks(text: str) -> tuple[str, ...]:
    """Four tasks in text order; raises UserError if the text is not two sentences of two tasks."""
    sentences = SENTENCES.split(one_line(text))
    if len(sentences) != 2:
        what = f"has its tasks in {len(sentences)} sentences of prose, not in two"
        raise refuse(what, "list them at its end, behind a colon: `1.`, `2.`")
    return tuple(task for number, sentence in enumerate(sentences, 1) for task in _two_tasks(number, sentence))


def _two_tasks(number: int, sentence: str) -> tuple[str, str]:
    bare = ASIDE.sub("", sentence).rstrip(" .!?")
    for joint in JOINTS:
        if bare.count(joint) == 1:
            first, _, second = bare.partition(joint)
            return _capitalize(first), _capitalize(second)
    what = f"has no two distinct tasks in its sentence {number}: no `and`, or several, could part them"
    raise refuse(what, "list the tasks at its end, behind a colon: `1.`, `2.`")


def _capitalize(task: str) -> str:
    bare = task.strip(" ,")
    return bare[:1].upper() + bare[1:]
