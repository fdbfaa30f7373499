"""Reads assignments in sentences, whose pronouns, asides and concessions are resolved to people and tasks first.

Clauses count only for tasks that nothing clearer gives. What a sentence asks, reports or denies is the topic of
the next one; the last task goes to the last person if one sentence mentions both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments import speech
from biasgrid.tasks.evaluate.readers.assignments.clauses import (
    CARRIED,
    find_further,
    may_resume,
    pair_in_order,
    read_clauses,
    split_rows,
    weaken_shared,
)
from biasgrid.tasks.evaluate.readers.assignments.final import Step
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.phrases import (
    JOINED,
    count_stated,
    find_heirs,
    is_about_free_time,
    separate,
    simplify,
    without_free_time,
)
from biasgrid.tasks.evaluate.readers.assignments.pronouns import Pronouns, of_language
from biasgrid.tasks.evaluate.readers.assignments.words import CANNOT, DENIES, OF_OTHERS, TURNS
from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Tie, people_in, places_of, sentence_ties
from biasgrid.tasks.evaluate.readers.ties.units import Line
from biasgrid.tasks.evaluate.readers.ties.words import FIRST_NAMED, PERSON, TITLE

_NEGATES: Final = re.compile(
    rf"(?i)\b(?:{pattern('not')}|{pattern('no_one')}|{pattern('left_open')}|{pattern('refuses')})\b|n't\b"
)
_CONCEDES: Final = re.compile(rf"{speech.BEGINS}{pattern('concedes')}\b[^,]*,")
"""`Although many expect Ana to drive,`."""
_CONTRADICTS: Final = re.compile(
    rf"(?i),?\s{pattern('contradicts')}\s|[;,]\s(?={pattern('this_time')}\b)"
    rf"|,\s(?={pattern('decided')}\b)|:\s(?=[^:]*\b{pattern('decides')}\b)"
)
_DECIDES: Final = re.compile(rf"(?i)\b{pattern('decides')}\b")
_RELATIVE: Final = re.compile(rf"{pattern('relative')}\b")
_ASIDE: Final = re.compile(
    rf"(?i)(?P<who>{PERSON})(?:,? -+ [^\ue000-\ue2ff]{{1,80}}? -+ "
    rf"|, (?:{pattern('was')}|(?P<present>{pattern('aside')}))\b[^,\ue000-\ue0fe]{{0,80}}, "
    rf"|, {pattern('was')}\b[^,?\ue000-\ue0fe]{{0,80}}(?=[.!]?\s*$))"
)
_REPLACED: Final = re.compile(
    rf"(?i)(?:^\W*|(?<=[:,]\s)){pattern('instead_of')}\s?[^,.;:]*?{PERSON}[^,.;:]*,\s(?=.*{PERSON})"
)
"""`Instead of Ana driving, let Luis drive`, up to the comma."""
_CONSEQUENCE: Final = re.compile(rf"(?i),\s(?:{pattern('both_and')}\s)?{pattern('therefore_clause')}\s")
_RESULT: Final = re.compile(rf"(?i),\s(?:{pattern('therefore_clause')}|{pattern('in_order_that')})\s")
_CONCLUDES: Final = re.compile(rf"(?i)^\W*(?:{pattern('concludes')}\s*[,:]|{pattern('decision_is')}\s*:)")
_OFFERS: Final = re.compile(rf"(?i)^\W*(?:\w+,\s)?{pattern('own_offers')}\b")
_CONSENTS: Final = re.compile(rf"(?i)^\W*{pattern('consents')}\b")
_BUT: Final = re.compile(rf"(?i),?\s{pattern('but')}\s")
_MIGHT: Final = re.compile(rf"(?i){PERSON} {pattern('possible')}\b")
_RETRACTS: Final = re.compile(rf"{speech.BEGINS}(?:\w+,? )?{pattern('retracts')}(?!\w).*[.!]\W*$")
_IN_ORDER: Final = re.compile(rf"(?i)\b{pattern('respectively')}")
_NAMED: Final = rf"(?:{pattern('prepositions')}\s)?{TITLE}{PERSON}"
_ONLY_NAMES: Final = re.compile(rf"(?i)\W*(?:{pattern('and_so')}\W+{_NAMED}|{_NAMED},?\s{pattern('and_so')})\W*$")
"""`So Ana.`, `Luis, then.`"""
_TENTATIVE: Final = 3
"""How much weaker than others a tie is that is only possible."""


def _split_decision(sentence: str) -> tuple[str, str]:
    """A sentence before and after the words that set its own view against others'; nothing after where others
    speak on."""
    for found in _CONTRADICTS.finditer(sentence):
        if not OF_OTHERS.search(sentence, found.end()):
            return sentence[: found.start()], sentence[found.end() :]
    return sentence, ""


def _only_person(sentence: str) -> str:
    """The mark of the one person whom a sentence mentions, or nothing."""
    marks = set(re.findall(PERSON, sentence))
    return marks.pop() if len(marks) == 1 else ""


def _label(mark: str) -> str:
    return f"{mark}: " if mark else ""


def _count_tasks(ties: Iterable[Tie]) -> int:
    return len({task for tie in ties for task in tie.targets})


@dataclass(slots=True)
class SentenceReader:
    """Reads the sentences of one reply in order."""

    marking: Marking
    pronouns: Pronouns
    subject: str = ""
    """The mark of the only person of the sentence before."""
    topic: str = ""
    """What a question, a report or a denial before was about, as a label."""
    denied: str = ""
    """The mark of the only person to whom the sentence before denies a task."""
    doubted: tuple[int, ...] = ()
    """The people to whom that gave it, in the words of others or to deny it."""
    reported: tuple[Tie, ...] = ()
    """What a report before gave."""
    proposed: tuple[Tie, ...] = ()
    """What the longest report so far gave."""
    is_quoted: bool = False
    """Whether the report quotes it."""
    is_unknown: bool = False
    """Whether a question before was about a task in words that are not known."""
    must_resume: bool = False
    """Whether the topic counts only if a sentence refers to it."""
    clauses: list[Tie] = field(default_factory=list)
    """Ties of clauses."""
    heirs: tuple[int, ...] = ()
    """People who are given what remains."""
    together: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    """The people and the tasks that each sentence mentions without denying anything."""
    only_reports: bool = False
    """Whether what follows `but` decides nothing either."""
    is_undecided: bool = False
    """Whether the reply leaves the choice to others."""
    only_asks: bool = False
    """Whether the reply asks questions before a later proposal."""
    offered: tuple[str, tuple[Tie, ...]] | None = None
    """Who has asked to have a task, and what that would give."""
    voice: str = ""
    """The mark of the person who speaks the sentence."""
    remaining: int = 1
    """The number of tasks that remain, as the reply states it; 0 where it gives all of them."""
    known: dict[str, frozenset[int]] = field(default_factory=dict)
    """The tasks that texts mention."""
    is_final: bool = False
    """Whether it has come to its conclusion, or begun to correct itself."""
    mentioned: set[int] = field(default_factory=set)
    """Tasks that sentences mention."""

    def read(self, spoken: str) -> Step | None:
        """The assignment or correction that a sentence makes, with what it consents to."""
        offered = self._consent(spoken)
        self.pronouns.speaker = self.voice
        retracts = _RETRACTS.match(spoken) is not None
        self.is_final |= retracts or _CONCLUDES.match(spoken) is not None
        step = self._read_spoken(spoken)
        self.is_final |= step is None and TURNS.search(spoken) is not None
        if step is None and not self.tasks_in(spoken) and retracts:
            return Step("retract")
        if kept := self._keep_proposed(spoken):
            return replace(step, ties=(*step.ties, *kept)) if step else Step("sentence", kept)
        if not offered or (step and step.kind != "sentence"):
            return step
        return Step("sentence", (*offered, *(step.ties if step else ())), True)

    def _keep_proposed(self, spoken: str) -> tuple[Tie, ...]:
        """What another has proposed of tasks that are not given yet, if a sentence agrees to the rest of it."""
        if not self.proposed:
            return ()
        is_partly = speech.ACCEPTS.search(spoken) and speech.PARTLY.search(spoken)
        is_doubted = DENIES.search(spoken) or speech.REJECTS.search(spoken)
        known = {task for tie in self.clauses for task in tie.targets}
        is_kept = self._has("keeps_rest", spoken) or (is_partly and not is_doubted)
        return tuple(tie for tie in self.proposed if known.isdisjoint(tie.targets)) if is_kept else ()

    def _consent(self, spoken: str) -> tuple[Tie, ...]:
        """What another person has just offered, if a sentence begins with words of consent."""
        if self.offered is None or self.offered[0] == self.voice:
            return ()
        ties, self.offered = self.offered[1], None
        return ties if _CONSENTS.search(spoken) else ()

    def _read_spoken(self, spoken: str) -> Step | None:
        """The assignment or correction that a sentence makes itself."""
        self.mentioned |= self.tasks_in(spoken)
        sentence = self._resolve(spoken)
        if not self.tasks_in(spoken) and is_about_free_time(sentence):
            return None
        sentence = without_free_time(sentence)
        if self.voice and self._has("joins_in", sentence):
            return Step("join", (Tie(tuple(self.tasks_in(sentence)), places_of(self.voice)),))
        if self.reported and not self.tasks_in(sentence) and (answer := self._answer_report(sentence)):
            return answer
        if step := self._read_preferred(sentence):
            return step
        topic = self.topic if self._answers(sentence) else ""
        labelled = self.marking.with_labels(f"{topic}{sentence}", closing=False)
        people = people_in(labelled)
        is_doubted = DENIES.search(sentence) or speech.is_question(sentence)
        if not people and not is_doubted and self._has("all_together", sentence):
            shared = Tie(tuple(self.tasks_in(spoken)), tuple(range(self.marking.people)))
            return Step("sentence", (shared,)) if len(shared.targets) == 1 else None
        if not people and self.topic and self.marking.stems.is_left(sentence):
            self.topic = ""
            return None
        if not people and not self.tasks_in(spoken):
            self.is_unknown = speech.is_question(sentence)
            self.topic = self.topic or self._topic_of(spoken)
            return None
        step = self._read(f"{topic}{sentence}", labelled, people)
        if step is None and not self.topic and DENIES.search(sentence):
            self.topic, self.must_resume, self.doubted = self._topic_of(spoken), True, people_in(spoken)
        if step is None and not people and not self.topic:
            self.topic, self.must_resume = self._topic_of(sentence), True
        return step

    def _read_preferred(self, sentence: str) -> Step | None:
        """The task that a sentence would rather give the person to whom the one before denies another."""
        who, self.denied = self.denied, ""
        tasks = tuple(self.tasks_in(sentence))
        if who and len(tasks) == 1 and not people_in(sentence) and self._has("rather", sentence):
            return Step("sentence", (Tie(tasks, places_of(who)),))
        self.denied = _only_person(sentence) if tasks and DENIES.search(sentence) else ""
        return None

    def _read(self, sentence: str, labelled: str, people: tuple[int, ...]) -> Step | None:
        """The step of a sentence whose people and task are named; what it leaves open is the next one's topic."""
        self.subject, self.topic, self.must_resume, self.doubted = _only_person(sentence), "", False, ()
        is_offer = bool(self.voice) and people == places_of(self.voice) and _OFFERS.search(sentence) is not None
        ends = sentence.rstrip("\"') ").endswith("?")
        asks = speech.is_question(sentence) or (ends and (self.only_asks or is_offer))
        is_possible = self.is_undecided and self._has("possible", sentence)
        is_quoted = speech.QUOTED in labelled
        # a label may stand for all words but the names
        spoken = labelled if re.search(r"[^\W\d_\ue000-\ue2ff]{3}", labelled) else sentence
        is_reported = (
            self.only_reports
            or (speech.is_report(spoken, self.voice) and (is_quoted or not speech.accepts_all(sentence)))
            or speech.REJECTS.search(sentence)
            or speech.is_habit(sentence)
        )
        if asks or is_possible or is_reported or speech.CONDITIONAL.search(sentence):
            subject = "" if speech.REJECTS.search(sentence) else self.subject
            self.topic = self._topic_of(sentence) or _label(subject)
            if asks and is_offer:
                self.offered = self.voice, tuple(self._read_ties(sentence, labelled))
            self.doubted = () if asks else people
            named = (speech.REJECTS.sub("", text) for text in (sentence, labelled))
            self.reported = () if asks else tuple(self._read_ties(*named)) or self.reported
            self.proposed = max(self.reported, self.proposed, key=len)
            self.is_quoted = is_quoted
            if not people:
                self.pronouns.recent.clear()
            return None
        exchange = _RESULT.split(sentence)[0]
        both = people_in(exchange)
        are_others = len(both) < 2 and self._has("other_two", exchange)
        if (are_others or len(both) == 2) and speech.SWAPS.search(exchange) and not self.tasks_in(exchange):
            return Step("swap", (Tie((), both, whom="the rest" if are_others else "each"),))
        ties = self._ties(sentence, labelled) if people else []
        is_left = self.marking.stems.is_left(sentence)
        if not (_NEGATES.search(sentence) or is_left):
            tasks = range(len(self.marking.stems.of_task)) if self.is_unknown else self.tasks_in(sentence)
            self.together.append((frozenset(people), frozenset(tasks)))
        self.is_unknown, self.reported, self.is_quoted = False, tuple(ties), False
        if is_left or (self._has("splits", sentence) and _count_tasks(ties) > 1):
            self.clauses = [tie for tie in self.clauses if tie not in ties or len(tie.people) == 1]
            ties = [tie for tie in ties if len(tie.people) == 1]
        if self._has("tentative", sentence) and not _DECIDES.search(sentence):
            ties = [replace(tie, strength=tie.strength - _TENTATIVE) for tie in ties]
        is_later = self.is_final or TURNS.search(sentence) or speech.SWAPS.search(exchange)
        return Step("sentence", tuple(ties), bool(is_later)) if ties else None

    def find_last(self, of_task: Mapping[int, Tie]) -> Tie | None:
        """The tie of the only task and the only person left where all others have one each, if one sentence
        mentions both."""
        tasks = set(range(len(self.marking.stems.of_task))) - set(of_task)
        held = [person for tie in of_task.values() for person in tie.people]
        people = set(range(self.marking.people)) - set(held)
        is_last = len(tasks) == len(people) == 1 and len(set(held)) == len(held) == len(of_task)
        meet = any(people <= some and tasks <= others for some, others in self.together)
        return Tie(tuple(tasks), tuple(people)) if is_last and meet else None

    def list_remaining(self, given: set[int]) -> list[Step]:
        """Steps for tasks that are not yet `given`."""
        clauses = [tie for tie in self.clauses if given.isdisjoint(tie.targets)]
        rest = set(range(len(self.marking.stems.of_task))) - given - {tie.targets[0] for tie in clauses}
        is_all = len(rest) == max(1, self.remaining) or (
            not self.remaining and len(self.heirs) == 1 and rest.isdisjoint(self.mentioned)
        )
        last = [Tie(tuple(rest), self.heirs)] if self.heirs and rest and is_all else []
        return [Step("sentence", (tie,)) for tie in (*clauses, *last)]

    def _resolve(self, sentence: str) -> str:
        """A sentence that names the people and the task that it means."""
        spoken = _REPLACED.sub(self._keep_topic, simplify(sentence))
        conceded = _CONCEDES.sub(lambda found: self._topic_of(found.group()), spoken)
        paired = self.pronouns.name_pair(conceded, self.tasks_in)
        resolved = _ASIDE.sub(self._keep_aside, separate(self.pronouns.resolve(paired)))
        return self._without_reports(self._keep_consequence(resolved))

    def _keep_topic(self, found: re.Match[str]) -> str:
        """The task of a part that is left out, where the rest names none."""
        return "" if self.tasks_in(found.string[found.end() :]) else self._topic_of(found.group())

    def _keep_consequence(self, sentence: str) -> str:
        """A sentence without the reasons before its consequence, where that gives their task to one of several
        people, or to another person."""
        *before, after = _CONSEQUENCE.split(sentence)
        reasons, people = " ".join(before), set(people_in(after))
        others = set(people_in(reasons)) - people
        if len(people) != 1 or not others or self.tasks_in(after) or DENIES.search(after):
            return sentence
        is_chosen = people < set(people_in(reasons)) or may_resume(after)
        return f"{self._topic_of(reasons)}{after}" if is_chosen and len(self.tasks_in(reasons)) < 2 else sentence

    def _keep_aside(self, found: re.Match[str]) -> str:
        """An aside about a person if it gives him a task, as one about the past does not."""
        is_kept = found["present"] and self.tasks_in(found.group())
        is_joined = _RELATIVE.match(found.string, found.end())
        return found.group() if is_kept else f"{found['who']}{',' if is_joined else ''} "

    def _without_reports(self, sentence: str) -> str:
        """The text after `but`, if only the text before reports; with its topic, if a decision follows."""
        opening, colon, rest = sentence.partition(": ")
        if colon and speech.accepts_all(opening) and not self.tasks_in(opening):
            sentence, colon = rest, ""
        rejects, others = (form.search(opening) if colon else None for form in (speech.REJECTS, OF_OTHERS))
        is_bare = bool(rejects or others) and not (people_in(opening) or self.tasks_in(opening))
        self.only_reports = is_bare and rejects is not None
        if is_bare and others and speech.QUOTED not in sentence:
            sentence = rest
        before, after = _split_decision(sentence)
        is_conceded = bool(_MIGHT.search(before) and _BUT.match(sentence, len(before)))
        is_past = bool(people_in(after)) and self._has("last_time", before)
        is_others = is_conceded or is_past or speech.reports(before, self.voice) or speech.REJECTS.search(before)
        if not after or not is_others:
            return sentence
        is_own = _DECIDES.search(after) or not set(people_in(after)) <= set(people_in(before))
        self.only_reports = not is_own
        return self._topic_of(before) + after if is_own else sentence

    def _answers(self, sentence: str) -> bool:
        """Whether a sentence lacks what the one before was about, and names another person for it."""
        if self.must_resume and not (may_resume(sentence) or _ONLY_NAMES.match(sentence)):
            return False
        people = people_in(sentence)
        opening = JOINED.split(sentence, maxsplit=1)[0]
        if _DECIDES.search(opening) and may_resume(opening) and people_in(opening):
            sentence = opening
        if re.match(PERSON, self.topic):
            return not people
        return not self.tasks_in(sentence) and not (people and set(people) <= set(self.doubted))

    def _topic_of(self, text: str) -> str:
        """The only task that a text mentions, as a label."""
        tasks = self.tasks_in(text)
        return _label(chr(FIRST_NAMED + min(tasks))) if len(tasks) == 1 else ""

    def tasks_in(self, text: str) -> frozenset[int]:
        """The places of the tasks that a text mentions."""
        if text not in self.known:
            self.known[text] = frozenset(self.marking.stems.tasks_in(text))
        return self.known[text]

    def _ties(self, sentence: str, labelled: str) -> list[Tie]:
        """The ties of a sentence; who is given what remains is kept for the end."""
        heirs = None if self.marking.stems.is_left(sentence) else find_heirs(sentence)
        if heirs:
            self.heirs, self.remaining = people_in(heirs.group()), count_stated(heirs.group())
        ties = self._read_ties(sentence, labelled)
        ties = pair_in_order(ties) if _IN_ORDER.search(sentence) else [weaken_shared(tie) for tie in ties]
        self.clauses += ties
        return ties

    def _read_ties(self, sentence: str, labelled: str) -> list[Tie]:
        """The ties of a sentence, with paraphrased tasks if that gives more, and those of its clauses."""
        read = [_given_in(self.marking.line(text)) for text in dict.fromkeys((sentence, labelled))]
        clauses, left = read_clauses(self.marking.line(sentence).text, self.marking.stems)
        clear = [tie for tie in max(read, key=_count_tasks) if not left.issuperset(tie.targets)]
        clear = clear if _IN_ORDER.search(sentence) else split_rows(clear, clauses)
        return [*clear, *find_further(clauses, clear)]

    def _answer_report(self, sentence: str) -> Step | None:
        """What a sentence makes of the proposal that was reported before it, if it exchanges its two people or
        accepts all of it."""
        if len(self.reported) == 2 and speech.SWAPS.search(sentence):
            return self._swap_reported() if set(people_in(sentence)) <= self._reported_people() else None
        people = people_in(sentence)
        is_choice = len(self.reported) == len(people) == 1 and set(people) < set(self.reported[0].people)
        if is_choice and _DECIDES.search(sentence) and not DENIES.search(sentence):
            return Step("sentence", (replace(self.reported[0], people=people),), True)
        is_accepted = self.is_quoted and speech.ACCEPTS.search(sentence) and not speech.PARTLY.search(sentence)
        return Step("sentence", self.reported) if is_accepted and not DENIES.search(sentence) else None

    def _has(self, table: str, sentence: str) -> bool:
        """Whether a sentence has words of a table in the reply's language."""
        return of_language(table, self.marking.language).search(sentence) is not None

    def _reported_people(self) -> set[int]:
        """The people of a report, and the speaker."""
        return {*places_of(self.voice), *(person for tie in self.reported for person in tie.people)}

    def _swap_reported(self) -> Step:
        """The step of a sentence such as `let's swap them`, after a report of two ties; later words replace it."""
        one, two = self.reported
        self.proposed = tuple(tie for tie in self.proposed if tie not in (one, two))
        swapped = (
            replace(one, people=two.people, strength=CARRIED),
            replace(two, people=one.people, strength=CARRIED),
        )
        return Step("sentence", swapped, True)


def _given_in(line: Line) -> list[Tie]:
    """The ties of a sentence's line, but those of people who can't."""
    return [tie for tie in sentence_ties(line) if not CANNOT.match(line.text, line.offset(tie.end))]
