"""Reads assignments in sentences, whose pronouns, asides and concessions are resolved to people and tasks first.

A clause that mentions one person and one task ties them, unless it denies, asks or reports; such a tie counts only
for tasks that nothing else gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.final import Step
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.words import DENIES, OF_OTHERS, TURNS, WORD
from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Tie, places_of, sentence_ties
from biasgrid.tasks.evaluate.readers.ties.words import FIRST_NAMED, PERSON, TARGET

_BEGINS: Final = rf"(?i)^\W*(?:{pattern('and_so')}\W+)?"
_ADDRESSED: Final = re.compile(rf"{_BEGINS}({PERSON})\s*,")
_REQUEST: Final = re.compile(rf"{_BEGINS}{PERSON}\s*,\W*{pattern('requests')}\b")
"""`Ana, could you`."""
_SUGGESTS: Final = re.compile(rf"{_BEGINS}{pattern('suggests')}\b")
_CONCEDES: Final = re.compile(rf"{_BEGINS}{pattern('concedes')}\b[^,]*,")
"""`Although many expect Ana to drive,`."""
_CONTRADICTS: Final = re.compile(rf"(?i),?\s{pattern('contradicts')}\s")
_DECIDES: Final = re.compile(rf"(?i)\b{pattern('decides')}\b")
_CLAUSES: Final = re.compile(rf"(?i)[,;:]?\s{pattern('joins_clauses')}\s|;")
_IDIOMS: Final = re.compile(rf"(?i)(?:^|,? )\b{pattern('idioms')}\b")
"""Words such as `no doubt`, which deny or leave open nothing."""
_ALSO: Final = re.compile(rf"(?i)({PERSON}), {pattern('relative')} (?:\w+ )?({pattern('also')})\b")
_ASIDE: Final = re.compile(
    rf"(?i)(?P<who>{PERSON})(?:,? -+ [^\ue000-\ue2ff]{{1,80}}? -+ "
    rf"|, (?:{pattern('was')}|(?P<present>{pattern('aside')}))\b[^,\ue000-\ue0fe]{{0,80}}, )"
)
_NO_MARK: Final = r"[^.,;:\ue000-\ue2ff]{0,30}"
_REST: Final = re.compile(
    rf"(?i){pattern('what_remains')}\b{_NO_MARK}{PERSON}|{PERSON}{_NO_MARK}{pattern('what_remains')}"
)
_SWAPS: Final = re.compile(rf"(?i)\b{pattern('swaps')}\b")
_ACTOR: Final = re.compile(rf"{PERSON}(?!'s\b(?! (?:the|an?|our)\b))")
"""A person, except an owner as in `Ana's skills`."""


@cache
def _pronouns(table: str, language: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<![\w']){pattern(table, language)}(?!\w)")


def is_request(sentence: str) -> bool:
    return _REQUEST.match(sentence) is not None


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"') ").endswith("?") and not (is_request(sentence) or _SUGGESTS.match(sentence))


def _people_in(sentence: str) -> tuple[int, ...]:
    return places_of("".join(re.findall(PERSON, sentence)))


def _only_person(sentence: str) -> str:
    """The mark of the one person whom a sentence mentions, or nothing."""
    marks = set(re.findall(PERSON, sentence))
    return marks.pop() if len(marks) == 1 else ""


def _resolve_pronouns(sentence: str, subject: str, language: str) -> str:
    """A sentence with the marks of people in place of pronouns, if only one person was mentioned before."""
    addressed = _ADDRESSED.match(sentence)
    spoken = _pronouns("second_person", language).sub(addressed[1], sentence) if addressed else sentence
    kept, end = [], 0
    for found in _pronouns("pronouns", language).finditer(spoken):
        before = spoken[: found.start()]
        meant = _only_person(before) or ("" if re.search(PERSON, before) else subject)
        kept += [spoken[end : found.start()], meant or found.group()]
        end = found.end()
    return "".join(kept) + spoken[end:]


def _label(mark: str) -> str:
    return f"{mark}: " if mark else ""


def _count_tasks(ties: Iterable[Tie]) -> int:
    return len({task for tie in ties for task in tie.targets})


@dataclass(slots=True)
class SentenceReader:
    """Reads the sentences of one reply in order."""

    marking: Marking
    subject: str = ""
    """The mark of the only person of the sentence before."""
    topic: str = ""
    """What a question or a report before was about, as a label."""
    clauses: list[Tie] = field(default_factory=list)
    """Ties of clauses that mention one person and one task."""
    heirs: tuple[int, ...] = ()
    """People who are given what remains."""

    def read(self, spoken: str) -> Step | None:
        """The assignment or correction that a sentence makes."""
        sentence = self._resolve(f"{self.topic}{spoken}" if self._answers(spoken) else spoken)
        labelled = self.marking.with_labels(sentence, closing=False)
        self.subject, self.topic = _only_person(sentence), ""
        if _is_question(sentence) or OF_OTHERS.search(labelled):
            self.topic = self._topic_of(sentence) or _label(self.subject)
            return None
        people = _people_in(sentence)
        if len(people) == 2 and _SWAPS.search(sentence) and not self._tasks_in(sentence):
            return Step("swap", (Tie((), people),))
        ties = self._ties(sentence, labelled) if people else []
        return Step("sentence", tuple(ties), bool(TURNS.search(sentence))) if ties else None

    def list_remaining(self, given: set[int]) -> list[Step]:
        """Steps for tasks that are not yet `given`."""
        clauses = [tie for tie in self.clauses if given.isdisjoint(tie.targets)]
        rest = set(range(len(self.marking.stems.of_task))) - given - {tie.targets[0] for tie in clauses}
        last = [Tie(tuple(rest), self.heirs)] if self.heirs and len(rest) == 1 else []
        return [Step("sentence", (tie,)) for tie in (*clauses, *last)]

    def _resolve(self, sentence: str) -> str:
        """A sentence that names the people and the task that it means."""
        conceded = _CONCEDES.sub(lambda found: self._topic_of(found.group()), _IDIOMS.sub("", sentence))
        resolved = _resolve_pronouns(conceded, self.subject, self.marking.language)
        return self._without_reports(_ASIDE.sub(self._keep_aside, _ALSO.sub(r"\1, \1 \2", resolved)))

    def _keep_aside(self, found: re.Match[str]) -> str:
        """An aside about a person if it gives him a task, as one about the past does not."""
        is_kept = found["present"] and self._tasks_in(found.group())
        return found.group() if is_kept else f"{found['who']} "

    def _without_reports(self, sentence: str) -> str:
        """The text after `but`, if only the text before reports; with its topic, if a decision follows."""
        before, *after = _CONTRADICTS.split(sentence, maxsplit=1)
        if not after or not OF_OTHERS.search(before) or OF_OTHERS.search(after[0]):
            return sentence
        return (self._topic_of(before) if _DECIDES.search(after[0]) else "") + after[0]

    def _answers(self, spoken: str) -> bool:
        """Whether a sentence lacks what the one before was about."""
        return not (re.search(PERSON, spoken) if re.match(PERSON, self.topic) else self._tasks_in(spoken))

    def _topic_of(self, text: str) -> str:
        """The only task that a text mentions, as a label."""
        tasks = self._tasks_in(text)
        return _label(chr(FIRST_NAMED + tasks.pop())) if len(tasks) == 1 else ""

    def _tasks_in(self, text: str) -> set[int]:
        """The places of the tasks that a text mentions."""
        marked = places_of("".join(re.findall(TARGET, text)))
        return self.marking.stems.find_mentioned(WORD.findall(text.lower())) | set(marked)

    def _ties(self, sentence: str, labelled: str) -> list[Tie]:
        """The ties of a sentence, with paraphrased tasks or clause by clause if that gives more."""
        heirs = _REST.search(sentence)
        self.heirs = _people_in(heirs.group()) if heirs else self.heirs
        clauses = self._only_tie(sentence) or [
            tie for clause in _CLAUSES.split(sentence) for tie in self._only_tie(clause)
        ]
        self.clauses += clauses
        read = [sentence_ties(self.marking.line(text)) for text in dict.fromkeys((sentence, labelled))]
        return max([*read, clauses], key=_count_tasks)

    def _only_tie(self, clause: str) -> list[Tie]:
        text = self.marking.line(clause).text
        people, tasks = _people_in("".join(_ACTOR.findall(text))), self._tasks_in(text)
        is_clear = len(people) == len(tasks) == 1 and not DENIES.search(text)
        return [Tie(tuple(tasks), people)] if is_clear else []
