"""Plainer words for a sentence: without idioms, politeness and people's free time; who is given what remains."""

from __future__ import annotations

import re
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.words import WORD
from biasgrid.tasks.evaluate.readers.reply_text import numbers_of, pattern
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, TITLE

_RATHER: Final = re.compile(
    rf"(?i)({PERSON}),? (?:[\w']+ )?{pattern('not')}\s[^.,;:\ue000-\ue0fe]*,?\s{pattern('but_rather')}\s"
    r"(?=[^.,;:\ue000-\ue0fe]*(?:$|[.,;:]))"
)
"""`Ana should not cook but drive`, up to what she should do."""
_AS_WELL_AS: Final = re.compile(rf"(?i)\btant[oa]?\s+({TITLE}{PERSON})\s+com[oa]?\s+({TITLE}{PERSON})")
"""`tanto Ana como Luis`."""
_STATES_OWN: Final = re.compile(
    rf"(?i)({PERSON})[^.:;!?\ue000-\ue2ff]*\b{pattern('says')}"
    r"(?:(?: that)? \1(?=(?:'d|'ll| will| would)\b)| que (?:ella?|se|es)(?= ))"
)
"""`Ana said that Ana will cook`."""
_THAT_IS: Final = re.compile(rf"(?i),\s(?:{pattern('that_is')}),\s")
"""`as you proposed, that is, Ana cooks`, as with a colon."""
_IDIOMS: Final = re.compile(rf"(?i)(?:^|,? )(?:\b{pattern('idioms')}(?!\w)|\({pattern('idioms')}\))")
"""Words such as `no doubt`, which deny or leave open nothing."""
_POLITE: Final = re.compile(rf"(?i)(?:^[^\w\ue000-\ue2ff]*|,\s(?:{pattern('and_so')}\s)?){pattern('polite')}\b")
_CONCEDED: Final = re.compile(rf"(?i),\s{pattern('concedes')}\b[^,\ue000-\ue2ff]*,(?=\s)")
"""`, although no one expects it,`."""
_TIMED: Final = re.compile(
    rf"(?i)^\W*(?:{pattern('both_and')}\s)?{pattern('times')}\b[^,.;:\ue000-\ue0fe]*,(?=\s.*{PERSON})"
)
"""`Once the roof is mended,`, before what a person does then."""
_INTERJECTS: Final = re.compile(rf"(?i),\s{pattern('interjects')},(?=\s)")
"""`, however,`."""
_AFTER_AND: Final = re.compile(rf"(?i)(?<=\s)({pattern('both_and')}),\s[^,.;:\ue000-\ue2ff]{{3,40}},(?=\s)")
"""`and, after lunch,`."""
_TOGETHER: Final = re.compile(
    rf"(?i)({PERSON})([^.;:\ue000-\ue0fe]*[^.;:,\ue000-\ue0fe]),?\s{pattern('together_with')}\s+({TITLE}{PERSON})"
)
"""`Ana drives, together with Luis`."""
_BEST_PERSON: Final = re.compile(rf"(?i)\b{pattern('best_person')} ([^?]*?)\s*\bthan {TITLE}({PERSON})([^?]*)\??")
_SUPERLATIVE: Final = re.compile(
    rf"(?i)\b{pattern('nobody')}\b(?: {pattern('not')})?([^.,;:\ue000-\ue0fe]{{0,30}})"
    rf"\b{pattern('superlative')}\s+(?={TITLE}{PERSON})"
)
"""`no one better than`, which denies nothing of the person that follows."""
_BETTER_THAN: Final = re.compile(rf"(?i)\b{pattern('better_than')}\s{TITLE}{PERSON}(?=\s*(?:[.,;:!?)]|$))")
_ALSO: Final = re.compile(rf"(?i)({PERSON}), {pattern('relative')} (?:\w+ )?({pattern('also')})\b")
_UNOPPOSED: Final = re.compile(
    rf"(?i),\s(?:{pattern('both_and')}\s)?{pattern('nobody')}\b[^,;:\ue000-\ue2ff]*(?=[,.!]|$)"
)
"""`, no one has argued against it`."""
_OFF_DUTY: Final = re.compile(
    rf"(?i)(?:^|[,;:]\s(?:{pattern('both_and')}\s)?|\s{pattern('joins_clauses')}\s)\W*(?:{pattern('causes')}\s)?{TITLE}{PERSON}"
    rf"[^,;:\ue000-\ue2ff]{{0,40}}?(?<!\w){pattern('off_duty')}(?!\w)[^,;:\ue000-\ue2ff]*,?"
)
"""`Ana has the day off`, and so no task."""
_FREES: Final = re.compile(rf"(?i)\b{pattern('frees')}\s{TITLE}{PERSON}")
_CANDIDATES: Final = re.compile(
    rf"(?i)\b{pattern('between')}\s{TITLE}{PERSON}\s(?:{pattern('both_and')}|{pattern('left_open')})\s{TITLE}{PERSON}[,;:.]?"
)
"""`it is between Ana and Luis`."""
_PAIR: Final = re.compile(rf"(?i){PERSON}\s\w{{1,3}}\s{TITLE}{PERSON}")
"""Quick test for two people joined."""
_TWO_CLAUSES: Final = re.compile(
    rf"(?i)(\s{pattern('goes_to')}\s{TITLE}{PERSON})\s{pattern('both_and')}\s(?={TITLE}{PERSON}(?:'(?:ll|d)\b|\s{pattern('does')}))"
)
"""`dinner is for Ana and Luis will drive`."""
_BUT_NOT: Final = re.compile(rf"(?i),?\s{pattern('but')}\s{pattern('not')}\s(?:\w+\s)?{pattern('that')}\s.*$")
_NO_MARK: Final = r"[^.,;:\ue000-\ue2ff]{0,30}"
_REST_AFTER: Final = re.compile(
    rf"(?i)\b{pattern('what_remains')}\b(?:{_NO_MARK}|,\s(?:{pattern('prepositions')}\s)?{TITLE}){PERSON}"
)
_REST_BEFORE: Final = re.compile(rf"(?i){PERSON}{_NO_MARK}\b{pattern('what_remains')}\b")
JOINED: Final = re.compile(rf"(?i),|\s{pattern('joins_clauses')}\s")
_ALL_THAT_REMAINS: Final = re.compile(rf"(?i)\b{pattern('all_that_remains')}\b")
_COUNTS: Final = numbers_of("counts")


def simplify(sentence: str) -> str:
    """A marked sentence without the words that only make it polite, vivid or complete."""
    sentence = _TIMED.sub("", sentence)
    plain = _CONCEDED.sub(" ", _IDIOMS.sub("", _POLITE.sub(",", _UNOPPOSED.sub("", sentence))))
    plain = _RATHER.sub(r"\1 ", _THAT_IS.sub(": ", plain))
    plain = _BUT_NOT.sub("", _AS_WELL_AS.sub(r"\1 y \2", plain))
    plain = _CANDIDATES.sub("", plain) if _PAIR.search(plain) else plain
    plain = without_comparison(_AFTER_AND.sub(r"\1", _INTERJECTS.sub(" ", plain)))
    return _BEST_PERSON.sub(r"\2 \1\3", plain)


def without_comparison(sentence: str) -> str:
    """A sentence without the person with whom it compares another."""
    return _BETTER_THAN.sub("", _SUPERLATIVE.sub(r"\1", sentence))


def separate(sentence: str) -> str:
    """A sentence whose pronouns are resolved, with each person next to what he has."""
    joined = _STATES_OWN.sub(r"\1", _TOGETHER.sub(r"\1 and \3\2", sentence))
    clauses = _TWO_CLAUSES.sub(r"\1; ", joined) if _PAIR.search(joined) else joined
    return _ALSO.sub(r"\1, \1 \2", clauses)


def is_about_free_time(sentence: str) -> bool:
    """Whether a sentence has a person who is free, or is made so."""
    return _OFF_DUTY.search(sentence) is not None or _FREES.search(sentence) is not None


def without_free_time(sentence: str) -> str:
    return _OFF_DUTY.sub("", sentence)


def find_heirs(sentence: str) -> re.Match[str] | None:
    """The words that give one person what remains; those after it where the person before has another clause."""
    before, after = _REST_BEFORE.search(sentence), _REST_AFTER.search(sentence)
    if before and after:
        return after if JOINED.search(before.group()) else None
    return before or after


def count_stated(text: str) -> int:
    """The number in words such as `the other two`; 1 where there is none, 0 for all."""
    if _ALL_THAT_REMAINS.search(text):
        return 0
    return max((_COUNTS.get(word, 1) for word in WORD.findall(text.lower())), default=1)
