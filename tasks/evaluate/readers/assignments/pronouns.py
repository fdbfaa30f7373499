"""Whom the pronouns of a reply mean: the last mentioned person whose gender, where it is known, fits."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from biasgrid.tasks.evaluate.readers.reply_text import pattern, word_set
from biasgrid.tasks.evaluate.readers.ties.words import FIRST_NAMED, PERSON, TITLE, words_in

_ADDRESSED: Final = re.compile(rf"(?i)(?:^\W*(?:{pattern('and_so')}\W+)?|,\s)({PERSON})\s*[,!?]")
"""A person whom a sentence addresses: `Ana, you …`, `I hear you, Ana, but`."""
_AUTHOR: Final = re.compile(
    rf"({PERSON})'s {pattern('works')}\b"
    rf"|\b(?:{pattern('works')} de|que {pattern('quotes')}) (?:la |en |l')?({PERSON})"
)
"""The author of a proposal."""
_THANKED: Final = re.compile(rf"^[^,\ue000-\ue2ff]*,\s({PERSON})\.?$")
"""`Thanks for starting us off, Ana.`"""
_GREETED: Final = re.compile(
    rf"(?i)[^\w\ue000-\ue2ff]*(?:{pattern('authors')}(?:[^,.\ue000-\ue2ff]*,)?\s*{TITLE}(?P<one>{PERSON})\s*[,!:]"
    rf"|(?P<two>{PERSON})\s*[,!:](?!\s*(?:\w+\s)?{PERSON}))"
)
"""`Hi Ana,`, the person whom all that follows may address."""
_ITEMS: Final = re.compile(rf"(?i),|\s{pattern('both_and')}\s")
_SECOND: Final = re.compile(rf"(?i)(?<![\w'])(?:{pattern('second_person')}),\s({PERSON})(?=\s*(?:[.,;!?]|$))")
"""`you, Ana`."""
_APART: Final = re.compile(rf"(?i)\b({pattern('prepositions')}|by)\s\Z")
"""`by`, which before a pronoun means someone else than the person after the same word: `planned by Ana and grilled
by her`."""
_NUMBERED: Final = re.compile(r"(?i)\w+ (?:seg|latter)")
"""`the latter`, `al segundo`, which may stand before the first."""
_NEW_CLAUSE: Final = re.compile(rf"(?i),\s(?:{pattern('both_and')}|{pattern('contrasts')})\s\Z")
_JOINED: Final = re.compile(rf"(?i)({PERSON}),? {pattern('both_and')} {TITLE}({PERSON})")
_OF_WOMEN: Final = word_set("pronouns_of_women")
_WOMEN, _MEN = word_set("titles_of_women"), word_set("titles_of_men")
_WOMEN_IN_O: Final = word_set("women_in_o")
_BEFORE_NAMES: Final = {
    "catalan": {
        True: re.compile(rf"(?i)\b(?:la|na)\s+({PERSON})"),
        False: re.compile(rf"(?i)\b(?:el|en)\s+({PERSON})"),
    }
}
"""Articles that Catalan puts before names; True for women's."""
_ROMANCE: Final = ("spanish", "catalan")
_REMEMBERED: Final = 3
"""Sentences back to which a pronoun refers."""


def genders_of(marks: Mapping[str, str], text: str, language: str) -> dict[str, bool]:
    """Whether people are women, by their marks, where titles, articles or the ends of names show it; `marks`: the
    mark of each name, `text`: the marked reply."""
    found = {mark: shown for name, mark in marks.items() if (shown := _shown_by_name(name, language)) is not None}
    for is_woman, before in _BEFORE_NAMES.get(language, {}).items():
        found.update(dict.fromkeys(before.findall(text), is_woman))
    return found


@lru_cache(maxsize=4096)
def _shown_by_name(name: str, language: str) -> bool | None:
    words = words_in(name)
    if not words or words[0] in _WOMEN or words[0] in _MEN:
        return words[0] in _WOMEN if words else None
    ends = language in _ROMANCE and words[0][-1] in "ao"
    return words[0][-1] == "a" or words[0] in _WOMEN_IN_O if ends else None


@dataclass(slots=True)
class Pronouns:
    """Resolves the pronouns of a reply's sentences in their order."""

    language: str
    genders: Mapping[str, bool]
    recent: deque[list[str]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """Marks of the people of the sentences before that mention any."""

    everybody: Mapping[str, bool] = field(default_factory=dict)
    """Whether people are women, where that is known of all in the scene."""
    addressed: str = ""
    """The mark of the person whom the sentence before addresses."""
    speaker: str = ""
    """The mark of the person whom no pronoun of the second or third person means."""
    listener: str = ""
    """The mark of the last person whom a sentence begins by addressing."""
    pair: Sequence[str] = ()
    """Marks of the only two people of the sentences before, or of those whom one of them joins."""

    def resolve(self, sentence: str) -> str:
        """A sentence with the marks of people in place of pronouns that mean one person."""
        if author := _AUTHOR.search(sentence):
            sentence = of_language("reflexive", self.language).sub(author[1] or author[2], sentence)
        sentence = of_language("both_of", self.language).sub(self._name_both, sentence)
        found = _ADDRESSED.search(sentence) or _THANKED.search(sentence)
        greeted = _GREETED.match(sentence)
        found = None if found and found[1] == self.speaker else found
        is_alone = found is not None and len({*_people_in(sentence)} - {self.speaker}) == 1
        named = greeted["one"] or greeted["two"] if greeted else found[1] if found and is_alone else ""
        self.listener = named or self.listener
        addressed = found[1] if found else self.addressed * (not re.search(PERSON, sentence)) or self.listener
        self.addressed = found[1] if found else ""
        sentence = _SECOND.sub(r"\1", sentence)
        spoken = of_language("second_person", self.language).sub(addressed, sentence) if addressed else sentence
        kept, end = [], 0
        for pronoun in of_language("pronouns", self.language).finditer(spoken):
            meant = self._find(spoken[: pronoun.start()], pronoun.group().lower() in _OF_WOMEN)
            kept += [spoken[end : pronoun.start()], meant or pronoun.group()]
            end = pronoun.end()
        resolved = "".join(kept) + spoken[end:]
        if people := _people_in(resolved):
            self.recent.append(people)
        return resolved

    def name_pair(self, sentence: str, tasks_in: Callable[[str], Iterable[int]]) -> str:
        """What follows `the former`, with the two people or tasks before it in place of it and of `the latter`."""
        former, latter = (of_language(word, self.language) for word in ("former", "latter"))
        found, other = former.search(sentence), latter.search(sentence)
        if not found or not other or (other.start() < found.start() and not _NUMBERED.match(other.group())):
            return self._name_ones(sentence)
        first = min(found.start(), other.start())
        before, after = sentence[:first], sentence[first:]
        tasks = [chr(FIRST_NAMED + task) for part in _ITEMS.split(before) for task in sorted(tasks_in(part))]
        pair = tasks if re.search(PERSON, after) else _people_in(before)
        if not (pair or re.search(PERSON, after)) and _NUMBERED.match(other.group()):
            pair, after = list(self.pair), sentence
        named = latter.sub(pair[1], former.sub(pair[0], after)) if len(pair) == 2 else ""
        return named or self._name_ones(sentence)

    def _name_ones(self, sentence: str) -> str:
        """A sentence with people in place of `the first`, `the second` and `the other` of two named before."""
        words, own = of_language("one_of_two", self.language), _find_pair(sentence)
        opening = words.search(sentence)
        before = sentence[: opening.start()] if opening else ""
        pair = _find_pair(before) or self.pair
        self.pair = own or (() if re.search(PERSON, sentence) else self.pair)
        if opening is None or len(pair) != 2 or re.search(PERSON, sentence[opening.end() :]):
            return sentence
        last = (_people_in(before) or [mark for people in self.recent for mark in people] or [""])[-1]
        named = {found: self._choose(found, pair, last) for found in words.finditer(sentence)}
        if not all(named.values()):
            return sentence
        after = sentence[len(before) if _find_pair(before) else 0 :]
        return words.sub(lambda found: self._choose(found, pair, last), after)

    def _choose(self, found: re.Match[str], pair: Sequence[str], last: str) -> str:
        """Whom of two people a word means, unless it shows another gender; `last`: whom the text mentions last."""
        other = next((mark for mark in pair if mark != last), "") if last in pair else ""
        mark = other if found["other"] else pair[1 if found["second"] else 0]
        is_woman = found.group()[-1] == "a"
        return mark if self.language not in _ROMANCE or self.genders.get(mark, is_woman) is is_woman else ""

    def _name_both(self, found: re.Match[str]) -> str:
        """The two people before `the two of you`."""
        if re.search(rf"{PERSON}[\s,]*\Z", found.string[: found.start()]):
            return ""
        people = _people_in(found.string[: found.start()]) or (self.recent[-1] if self.recent else [])
        return (
            f"{people[0]} {pattern('both_and', self.language)[3:-1]} {people[1]}"
            if len(people) == 2
            else found.group()
        )

    def _find(self, before: str, is_woman: bool) -> str:
        """The mark of the person whom a pronoun after a text means, or nothing."""
        earlier = [self._keep_fitting(people, is_woman) for people in reversed(self.recent)]
        apart = _APART.search(before)
        others = re.findall(rf"(?i)\b{apart[1]}\s{TITLE}({PERSON})", before) if apart else []
        if own := self._keep_fitting((mark for mark in _people_in(before) if mark not in others), is_woman):
            known = [mark for mark in (earlier or [[]])[0] if self.genders.get(mark) is is_woman]
            if len(own) > 1 or (known and own[0] not in self.genders and _NEW_CLAUSE.search(before)):
                return ""
            self.genders = {own[0]: is_woman, **self.genders}
            return own[0]
        last = next(filter(None, earlier), [])
        last = [mark for mark in last if mark in self.pair] if len(last) > 1 else last
        if self.language in _ROMANCE and last and last[0] not in self.genders:
            return self._find_contrasted({mark for people in earlier for mark in people})
        return last[0] if len(last) == 1 else "" if earlier else self._find_only(is_woman)

    def _find_only(self, is_woman: bool) -> str:
        """The only man or woman of the scene, where the reply has named no one."""
        fitting = [mark for mark, known in self.everybody.items() if known is is_woman]
        return fitting[0] if len(fitting) == 1 else ""

    def _keep_fitting(self, people: Iterable[str], is_woman: bool) -> list[str]:
        """Those whose gender is known to be the pronoun's; where there are none, those of unknown gender."""
        people = [mark for mark in people if mark != self.speaker]
        known = [mark for mark in people if self.genders.get(mark) is is_woman]
        return known or [mark for mark in people if mark not in self.genders]

    def _find_contrasted(self, people: Iterable[str]) -> str:
        """Of people of unknown gender the only one, or the only one of known gender: Spanish and Catalan name a
        subject by a pronoun to contrast it."""
        known = [mark for mark in people if mark in self.genders]
        choice = known or list(people)
        return choice[0] if len(choice) == 1 else ""


def has_second_person(sentence: str, language: str) -> bool:
    """Whether a sentence has a second person and does not name whom it means."""
    named = _ADDRESSED.search(sentence) or not of_language("addresses", language).search(sentence)
    return not named


def _find_pair(text: str) -> Sequence[str]:
    """The two people of a text, or the only two whom it joins."""
    people, rows = _people_in(text), _JOINED.findall(text)
    return people if len(people) == 2 else list(rows[0]) if len(rows) == 1 else ()


def _people_in(text: str) -> list[str]:
    marks: Iterable[str] = re.findall(PERSON, text)
    return list(dict.fromkeys(marks))


@cache
def of_language(table: str, language: str) -> re.Pattern[str]:
    """The pattern of a table's words in one language."""
    return re.compile(rf"(?i)(?<![\w']){pattern(table, language)}(?!\w)")


_ENGLISH: Final = re.compile(
    r"\bI(?=(?:'ll|'d|'m|'ve got| have got| will| would| can| could| shall| should| am)?(?: also| gladly| happily"
    r"| be| going to| personally| happy to| like to| love to| rather| volunteer to)*"
    rf"\s+(?!{pattern('gives_me', 'english')}|not\b)[\w\ue100-\ue2ff])"
    rf"|\b{pattern('before_me', 'english')}[Mm](?:e|yself)\b"
    r"|(?<=\band )I(?=\s*(?:$|[.,;:!?]))"
    r"|\bme(?<=for me)(?=\s*(?:$|[-,.:;(!]|(?:to|pls|please|then|too)\b))"
    rf"|(?:(?<=\bis )|(?<='s )|(?<=\bbe )|(?<=\bare ))mine\b|(?<=\b[oi]n )my(?= {pattern('hands', 'english')}\b)"
    rf"|\blet me(?= (?!{pattern('asks_leave', 'english')}\b)\w)"
)
_MYSELF: Final = re.compile(r"\b(I\b[^.]*?)(?<! for)(?<! to) myself\b")
_WISHES: Final = re.compile(r"\bI would(?=(?: \w+ly)? (?:like|love|prefer|rather)\b)")
_SPANISH: Final = re.compile(
    rf"(?i)\byo(?: mism[oa])?\b(?!\s+(?:le |les |lo |la )?{pattern('gives_me', 'spanish')})"
    r"|\bme\b(?=\s+(?:encarg|quedo|quedare|ocup|asigno|pido|toca|corresponde|hag|hare|apunto|pongo))"
    r"|(?:(?<=\ba )|(?<=para ))mi(?: mism[oa])?(?=\s*(?:$|[-,.;:()!]| no\b| me\b| dej\w+me\b))"
    r"|(?:(?<=\bes )|(?<=\bson ))mi[oa]s?\b"
    rf"|\b(?={pattern('offers', 'spanish')} (?!{pattern('offers_not', 'spanish')}\b)"
    r"(?:\w+[aei]r(?:l[aeo]s?)?\b|[\ue100-\ue2ff]))"
)
_CATALAN: Final = re.compile(
    rf"(?i)\bjo(?: mateixa?)?\b(?!\s+(?:li |els |el |la |ho )?{pattern('gives_me', 'catalan')})"
    r"|(?<=\ba )mi(?: mateixa?)?(?=\s*(?:$|[-,.;:()!]| no\b| em\b| deix\w+-me\b))"
    r"|(?:(?<=\bes )|(?<=\bson ))me(?:us?|va|ves)\b"
    r"|\bem (?=(?:quedo|quedare|ocup|toca|correspon|fare|faig|poso|apunto))"
    r"|\bm'(?=(?:encarreg|ocup|apunto))|\bme'?n (?=(?:encarreg|ocup|fare|faig))|\bme (?=n'(?:encarreg|ocup))"
    rf"|\b(?={pattern('offers', 'catalan')} (?!{pattern('offers_not', 'catalan')}\b)"
    r"(?:\w+(?:[aei]r|re)\b|[\ue100-\ue2ff]))"
)
_FIRST_PERSON: Final = {"english": _ENGLISH, "spanish": _SPANISH, "catalan": _CATALAN}


def mark_speaker(line: str, mark: str, language: str) -> str:
    """The line with the speaker's mark in place of first-person words; `yo me encargo` counts once."""
    own = _WISHES.sub("I'd", _MYSELF.sub(r"\1", line)) if language == "english" else line
    marked = _FIRST_PERSON[language].sub(f"{mark} " if language == "catalan" else mark, own)
    return marked if language == "english" else re.sub(rf"{mark}\s+(?:([\w']+)\s+)?{mark}", rf"{mark} \1", marked)
