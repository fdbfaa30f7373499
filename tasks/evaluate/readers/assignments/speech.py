"""Who speaks in a reply, named by a header, a signature or a dialogue, and which of its sentences assign nothing:
they only ask, report, wish, reject or depend on a condition."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.pronouns import has_second_person, mark_speaker, of_language
from biasgrid.tasks.evaluate.readers.assignments.words import DENIES, OF_OTHERS, TURNS
from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import people_in
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, TITLE

SPEAKS: Final = re.compile(
    rf"(?i)[^\w\ue000-\ue2ff]*({PERSON})(?:\s?\([^()]{{0,40}}\))?\W{{0,3}}:[^\w\ue000-\ue2ff]{{0,3}}\s*(?=.)"
)
"""The name of a speaker and a colon."""
_BLANKS: Final = r"[^\w\ue000-\ue2ff]*"
"""Marks of punctuation, which people and tasks are not."""
_HEADER: Final = re.compile(rf"(?i)\W*{pattern('speaker_label')}\W*:{_BLANKS}({PERSON}){_BLANKS}")
_MAY_HEAD: Final = re.compile(rf"(?im)^\W*{pattern('speaker_label')}\W*:")
_FIRST_LINES: Final = 6
_LONGEST: Final = 4
"""Words of a signature."""
_ONLY_NAMED: Final = re.compile(rf"{_BLANKS}({PERSON}){_BLANKS}")
_ENDS_TEXT: Final = re.compile(r"[.!?)\"'*]\s*\Z")
_FIRST_PERSON: Final = re.compile(
    rf"(?<![\w'])(?:{pattern('first_person')})(?![\w])|\b\w+[aei]re\b", re.IGNORECASE
)
_FUTURE: Final = re.compile(r"(?i)(?<!que )\b\w+[aei]re\b(?<!iere)")
"""A Spanish or Catalan verb in the first person."""
_MAY_TALK: Final = re.compile(
    rf"(?im)^(?!\s*>)[^\n:]{{1,40}}:[^\n]*?(?<![\w'])(?:{pattern('first_person')})(?!\w)[^\n]*"
)
"""Quick test for a line of a dialogue."""
BEGINS: Final = rf"(?i)^\W*(?:{pattern('and_so')}\W+)?"
_REQUEST: Final = re.compile(rf"{BEGINS}{PERSON}\s*,\W*{pattern('requests')}\b")
"""`Ana, could you`."""
_ASKS: Final = re.compile(rf"(?i)(?:^|[,\u00bf])[^\w\ue000-\ue2ff]*{pattern('asks')}\b")
_REQUESTS: Final = re.compile(rf"(?i)\b{pattern('requests')}")
_CALLED: Final = re.compile(
    rf"(?i){BEGINS[4:]}{PERSON}\s*,|,\s*{TITLE}{PERSON}\s*\?|{PERSON}.*\b{pattern('please')}\W*$"
)
"""A question to a person of the scene."""
_LEAVES: Final = re.compile(rf"(?i)\b{pattern('leaves_choice')}\b")
_DECLINES: Final = re.compile(rf"(?i)\b{pattern('declines')}[^\ue000-\ue2ff.:;]{{0,40}}?\b{pattern('declined')}\b")
_BEGINNING: Final = 240
"""Characters within which a reply that gives no person a task declines to."""
CONTRADICTS: Final = re.compile(
    rf"(?i)^\W*(?:{pattern('contradicts')}|{pattern('contrasts')}|{pattern('interjects')}|{pattern('suggests')})\b"
)
_GOES_ON: Final = re.compile(rf"(?i)\b{pattern('contradicts')}\b|:")
_POSTPONES: Final = re.compile(rf"(?i)\b{pattern('postpones')}")
_RHETORICAL: Final = re.compile(rf"(?i)\b{pattern('rhetorical')}\b")
_AGREED: Final = re.compile(rf"(?i),\W*{pattern('agreed')}\?\W*$")
_SUGGESTS: Final = re.compile(rf"{BEGINS}{pattern('suggests')}\b")


_TIME: Final = re.compile(r"(?m)^\s*[\[(]?\d{1,2}[:.h]\d{2}(?::\d{2})?(?: ?[ap]m)?[\])]?[\s,-]+(?=[^\W\d])")
_BRACKETED: Final = re.compile(r"(?m)^\s*[\[<]([^\W\d_][^\]>\n]{1,40})[\]>]:?\s+(?=\S)")
_QUOTE: Final = re.compile(r'"([^"\n]+)"')
_SPEAKER_AFTER: Final = re.compile(
    rf"(?i)[\s,]*(?:{pattern('says')}\s+{TITLE}({PERSON})|{TITLE}({PERSON})\s+(?:\w+\s+)?{pattern('says')})(?!\w)[^.!?\n]*[.!?]?"
)
_SPEAKER_BEFORE: Final = re.compile(
    rf"(?i){TITLE}({PERSON})(?:[^.!?\n]*\b{pattern('says')}\b[^.!?\n]*)?[,:]\s*\Z()"
)
_MAY_DASH: Final = re.compile(rf"(?im)^\s*-\s?\S.*\s-\s?(?:\w+ )?{pattern('says')}\b")
_DASHED: Final = re.compile(
    rf"(?i)\s*-\s?(\S.*?)\s-\s?(?=\S)([^-]*\b{pattern('says')}\b[^-]*{PERSON}[^-]*|[^-]*{PERSON}\s{pattern('says')}\b[^-]*)(?:-[.,:;]?\s*(.*))?"
)
"""`- I drive - replied Ana -. The rest …`"""


def unfold_speech(text: str, mark: Callable[[str], str], language: str) -> str:
    """A chat or a story whose people speak, as lines that begin with their names; `mark`: marks a line."""
    chat = _BRACKETED.sub(lambda found: _as_label(found, mark), _TIME.sub("", text))
    if not ('"' in chat or _MAY_DASH.search(chat)):
        return chat
    lines = [
        _unfold_line(_DASHED.sub(r'"\1" \2. "\3"', mark(line))) if '"' in line or " -" in line else [line]
        for line in chat.split("\n")
    ]
    outside = "\n".join(line for some in lines for line in some if not SPEAKS.match(line))
    own = re.compile(rf"(?i)(?<![\w'])(?:{pattern('first_person', language)})(?!\w)")
    return chat if own.search(outside) else "\n".join(line for some in lines for line in some)


def _as_label(found: re.Match[str], mark: Callable[[str], str]) -> str:
    return f"{found[1]}: " if _ONLY_NAMED.fullmatch(mark(found[1])) else found.group()


def _unfold_line(line: str) -> list[str]:
    """What the people of a marked line say, each after the name, and the text between; the line if a speaker is
    unknown."""
    parts = _QUOTE.split(line)
    speaker, unfolded = "", [parts[0]]
    for quote, after in zip(parts[1::2], parts[2::2], strict=True):
        above = set(re.findall(PERSON, unfolded[-1])) if unfolded and not SPEAKS.match(unfolded[-1]) else set()
        is_apart = len(above) == 1 and quote.endswith(".")
        found = None if is_apart else _SPEAKER_AFTER.match(after) or _SPEAKER_BEFORE.search(unfolded[-1])
        speaker = found[1] or found[2] if found else above.pop() if len(above) == 1 else speaker
        if not speaker:
            return [line]
        is_after = found is not None and found.string is after
        unfolded[-1:] = [] if found and not is_after else unfolded[-1:]
        unfolded += [f"{speaker}: {quote.rstrip(',')}", after[found.end() :] if found and is_after else after]
    return [one for one in unfolded if one.strip(" .,")]


def split_speaker(text: str, mark: Callable[[str], str]) -> tuple[str, str]:
    """The mark of the person whom a header or the last line of a reply names as its speaker, or nothing, and the
    reply without that line; `mark`: marks a line."""
    lines = text.strip().split("\n")
    for place, line in enumerate(lines[:_FIRST_LINES] if len(lines) > 1 else []):
        header = _HEADER.fullmatch(mark(line)) if _MAY_HEAD.match(line) else None
        rest = "\n".join([*lines[:place], *lines[place + 1 :]])
        if header and len(_MAY_HEAD.findall(text)) == 1 and _FIRST_PERSON.search(rest):
            return header[1], rest
    if len(lines) > 3 and not lines[-3].strip() and _ONLY_NAMED.fullmatch(mark(lines[-2])):
        lines = lines if _ENDS_TEXT.search(lines[-1]) else lines[:-1]  # a position below the name
    signed = _ONLY_NAMED.fullmatch(mark(lines[-1])) if _is_signed(lines) else None
    above = lines[:-1]
    if signed is None or any(_ONLY_NAMED.fullmatch(mark(line)) for line in above):
        return "", text
    return signed[1], "\n".join(above)


def _is_signed(lines: list[str]) -> bool:
    """Whether a short line stands apart below a text in the first person."""
    above = "\n".join(lines[:-1])
    is_apart = len(lines) > 1 and (not lines[-2].strip() or lines[-1].lstrip().startswith("-"))
    is_apart &= len(lines[-1].split()) <= _LONGEST
    return is_apart and _ENDS_TEXT.search(above) is not None and _FIRST_PERSON.search(above) is not None


def is_dialogue(text: str, marking: Marking) -> bool:
    """Whether people of a scene speak in the first person, in lines of their own."""
    return any(split_line(found.group(), marking)[2] for found in _MAY_TALK.finditer(text))


def split_line(line: str, marking: Marking) -> tuple[str, str, bool]:
    """The mark of the person who speaks a line of a dialogue, or nothing, the rest of the marked line, and whether
    it is in the first person."""
    marked = marking.mark(line)
    label = SPEAKS.match(marked)
    if label is None or marked.lstrip().startswith(">"):
        return "", marked, False
    rest = marked[label.end() :]
    spoken = mark_speaker(rest, label[1], marking.language)
    return label[1], spoken, spoken != rest


def name_voices(sentence: str, voices: tuple[str, str], language: str) -> str:
    """A sentence of a dialogue that names whom it means by `you` or by a verb in the first person; `voices`: its
    speaker and the one before."""
    speaker, listener = voices
    if listener and has_second_person(sentence, language):
        return f"{listener}, {sentence}"
    is_own = language in ("spanish", "catalan") and _FUTURE.search(sentence) and not re.search(PERSON, sentence)
    return f"{speaker}: {sentence}" if is_own else sentence


def is_request(sentence: str) -> bool:
    """Whether a sentence asks a person whom it addresses to do something, as in `Ana, could you cook?`."""
    if not _REQUESTS.search(sentence):
        return False
    asks = sentence.rstrip("\"') ").endswith("?") and _CALLED.search(sentence) and not _ASKS.search(sentence)
    return bool(asks) or _REQUEST.match(sentence) is not None


def only_asks(text: str) -> bool:
    """Whether a reply asks several questions before a later proposal."""
    return text.count("?") > 1 and _POSTPONES.search(text) is not None


def is_question(sentence: str) -> bool:
    """Whether a sentence asks, other than for something to be done."""
    asked = _AGREED.sub("", sentence).rstrip("\"') ")
    answered = is_request(sentence) or _SUGGESTS.match(sentence) or _RHETORICAL.search(sentence)
    return asked.endswith("?") and not answered


def declines(sentence: str, tasks: int) -> bool:
    """Whether a sentence refuses to decide, and does not go on to do so; `tasks`: the number that it mentions."""
    found = _DECLINES.search(sentence)
    return found is not None and tasks != 1 and not _GOES_ON.search(sentence, found.end())


def find_decline(text: str) -> str | None:
    """The words with which a reply begins by refusing to decide, or None."""
    found = _DECLINES.search(text[:_BEGINNING])
    return found.group() if found else None


def leaves_choice(text: str) -> bool:
    """Whether a reply leaves the choice to others."""
    return _LEAVES.search(text) is not None


SWAPS: Final = re.compile(rf"(?i)\b{pattern('swaps')}\b")
ACCEPTS: Final = re.compile(rf"(?i)\b{pattern('accepts')}\b")
PARTLY: Final = re.compile(rf"(?i)\b(?:{pattern('but')}|{pattern('contradicts')}|{pattern('except_for')})\b")
_WISHES: Final = re.compile(rf"(?i)(?!\W*I, )[^\ue000-\ue2ff]*({PERSON}),? (?:\w+ )?{pattern('wishes')}\b")
"""`Ana would like to drive`, with which a sentence begins."""
REJECTS: Final = re.compile(rf"(?i)\b{pattern('rejects')}(?!\w)")
CONDITIONAL: Final = re.compile(
    rf"(?i)^\W*(?:[\ue000-\ue2ff]: )?(?:{pattern('and_so')}\W+)?{pattern('conditions')}\s"
    rf"(?:[^,]*{PERSON}[^,]*,|[^,]*,.*\b{pattern('possible')}\b)"
    rf"|^[^,:;]*{PERSON}[^,:;]*\s{pattern('conditions')}\s[^,:;]*{PERSON}[^,:;]*$"
)
"""`If Ana is free, she cooks`, `Ana cooks if Luis drives`."""
_HABITS: Final = re.compile(rf"\b{pattern('habits')}\b")
_EPITHET: Final = re.compile(rf",\s(?:\w+ ){{0,2}}{pattern('relative')}\b")
_RELATIVE_CLAUSE: Final = re.compile(rf"(?<={PERSON}),\s{pattern('relative')}\s[^,.;:\ue000-\ue2ff]*(?=[,.;:]|$)")
"""`Ana, whose plan others have praised`."""
_GIVES_REASONS: Final = re.compile(
    rf"\b(?:{pattern('causes')}|{pattern('decides')})\b|,\s(?:{pattern('both_and')}\s)?{pattern('therefore_clause')}\s"
)
_GROUNDS: Final = re.compile(
    rf"(?i)(?<=\w),?\s{pattern('because_of')}\b[^,.;:]*[.!]?$|(?<=\w),\s{pattern('because_of')}\b[^.;:]*[.!]?$"
)
"""Reasons with which a sentence ends."""
_SWAP_CLAUSE: Final = re.compile(
    rf"(?i)(?<![\ue000-\ue0fe]),?\s{pattern('joins_clauses')}\s(?=[^,.:]{{0,40}}\b{pattern('swaps')}\b)"
    rf"|(?<=\w):\s|,?\s(?={pattern('causes')}\b)"
)
_FEW: Final = 4
"""Words of a clause that only exchanges: `so the other way round`."""
_POSSIBLE: Final = re.compile(rf"(?i)\b{pattern('possible')}\b")
QUOTED: Final = "\ue300"
"""The mark before a quotation of another proposal."""
_QUOTATION: Final = re.compile(rf"(?i)(?<!\w)({pattern('quotes')}\b[^\n\".]{{0,40}})(\"[^\"\n]{{15,}}\")")
_STOPS: Final = re.compile(r"[.;!?]\s")


def mark_quotations(text: str) -> str:
    """A reply with a mark before each quotation of a proposal that it then answers, as one sentence."""
    return _QUOTATION.sub(_mark_quotation, text) if '"' in text else text


def _mark_quotation(found: re.Match[str]) -> str:
    after = found.string[found.end() :]
    if not any(form.search(after) for form in (TURNS, SWAPS, ACCEPTS)):
        return found.group()
    return f"{found[1]}{QUOTED}{_STOPS.sub(', ', found[2])}"


def exchanges(line: str) -> bool:
    """Whether a line may exchange the tasks of two people, and not only say that they can do so."""
    return len(people_in(line)) > 1 and SWAPS.search(line) is not None and not _POSSIBLE.search(line)


def is_quoting(marked: str) -> bool:
    return QUOTED in marked


def is_report(text: str, voice: str = "") -> bool:
    """Whether a text gives others' words or wishes, or the past; `voice`: the mark of its speaker."""
    return QUOTED in text or reports(_RELATIVE_CLAUSE.sub("", _GROUNDS.sub("", text)), voice)


@lru_cache(maxsize=256)
def reports(text: str, voice: str = "") -> bool:
    wish = _WISHES.match(text)
    return OF_OTHERS.search(text) is not None or (wish is not None and wish[1] != voice)


def split_swap(sentence: str, language: str) -> list[str]:
    """The parts of a sentence that reports a proposal and exchanges its people."""
    if not of_language("swaps", language).search(sentence):
        return [sentence]
    before, *after = _SWAP_CLAUSE.split(sentence)
    only_swaps = after and not people_in(after[0]) and len(after[0].split()) <= _FEW
    is_split = only_swaps or is_report(before) or REJECTS.search(before) or not people_in(before)
    return [before, *after] if is_split else [sentence]


def is_habit(sentence: str) -> bool:
    """Whether a sentence only states what a person has done so far."""
    low = _EPITHET.split(sentence.lower(), maxsplit=1)[0]
    return _HABITS.search(low) is not None and not _GIVES_REASONS.search(low)


def accepts_all(text: str) -> bool:
    """Whether a text agrees with all that it reports."""
    return ACCEPTS.search(text) is not None and not (DENIES.search(text) or PARTLY.search(text))
