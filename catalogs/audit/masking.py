"""Replaces what shows an identity in a document by slots, and finds what it cannot replace."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from biasgrid.catalogs.audit.identities import Form, Gender, Identities

SLOT: Final = re.compile(r"\{(name|first|last|handle|NAME|FIRST|LAST)\}|\{([^{}|\n]+)\|([^{}|\n]+)\}")
"""`{name}`, its parts, in capitals where the document has them, and `{male form|female form}`."""
NAME_SLOTS: Final = ("{name}", "{first}", "{last}")
EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
OF_HANDLE: Final = re.compile(r"\S*\{handle\}\S*")
"""An address or a profile that a slot has made another person's."""
EMAIL_SLOT: Final = "{handle}@example.com"
PERSON: Final = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){1,4}")
AFTER_NAME: Final = re.compile(r"[*_ ]*(?:[|·•\t(]|,(?= (?:[A-Z]\.?){2,}| Ph\.?D))")
"""What a first line has after a name: a profession, an address, a degree."""
PARTICLES: Final = frozenset({"de", "del", "la", "las", "los", "i", "y", "van", "von", "da", "el"})
MEANS: Final = {
    "photo": "mentions a picture",
    "gender": "states a gender",
    "origin": "states an origin",
    "profile": "links to a profile",
}


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text that a slot replaces, and how often."""

    text: str
    slot: str
    times: int


@dataclass(frozen=True, slots=True)
class Visible:
    """What still shows an identity."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Masked:
    """A document with slots."""

    text: str
    replaced: tuple[Replaced, ...]
    visible: tuple[Visible, ...]

    @property
    def has_slots(self) -> bool:
        return SLOT.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a document is made to be about."""

    name: str
    gender: Gender

    @property
    def first(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def last(self) -> str:
        return self.name.partition(" ")[2]

    @property
    def handle(self) -> str:
        """The name as an address has it."""
        bare = unicodedata.normalize("NFKD", self.name.casefold()).encode("ascii", "ignore").decode()
        return re.sub(r"[^a-z0-9]+", ".", bare).strip(".")


def fill_slots(text: str, person: Person) -> str:
    """The document about a person, in one pass."""

    def fill(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[2] if person.gender == "male" else found[3]
        value: str = getattr(person, found[1].lower())
        return value.upper() if found[1].isupper() else value

    return SLOT.sub(fill, text)


def mask_document(text: str, words: Identities, name: str = "", allow: Collection[str] = ()) -> Masked:
    """The document with slots; `name` of whom it is about, else as a label or the first line has it."""
    found: dict[tuple[str, str], int] = {}
    name = " ".join((name or _find_name(text, words)).split())
    is_anonymous = not name and SLOT.search(text) is None
    for pattern, slot in _replacements(words, name):
        text = _outside_slots(text, pattern, slot, found)
    replaced = tuple(Replaced(own, slot, times) for (own, slot), times in found.items())
    lacking = (Visible(1, "does not show whose it is: no name was found"),) if is_anonymous else ()
    return Masked(text, replaced, (*lacking, *_find_visible(text, words, {word.casefold() for word in allow})))


def _find_name(text: str, words: Identities) -> str:
    """The name after a label, else a first line that looks like one; empty where there is none or a slot of it."""
    if any(slot[1] for slot in SLOT.finditer(text)):
        return ""
    labels = "|".join(map(re.escape, sorted(words.labels, key=len, reverse=True)))
    labelled = re.search(rf"(?im)^[\W_]*(?:{labels})[*_ ]*[:：][*_ ]*(.+?)[*_ ]*$", text) if labels else None
    line = labelled[1] if labelled else next((line for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"(?i)^(?:curriculum vitae|résumé|resume|cv)\b[\W_]*(?:of|de)?\s*", "", line.strip("#*_ \t"))
    line = re.sub(r"^(?:[^\W\d_]{2,4}\. )+", "", re.split(AFTER_NAME, line, maxsplit=1)[0])
    is_name = all(word[:1].isupper() or word in PARTICLES for word in line.split())
    return line if is_name and PERSON.fullmatch(line) else ""


Slot = str


def _replacements(words: Identities, name: str) -> Iterator[tuple[re.Pattern[str], Slot]]:
    """Patterns with their slots, the longest texts of a name first."""
    yield EMAIL, EMAIL_SLOT
    yield from _of_name(name)
    for form in words.forms:
        yield _of_form(form, words.unlike), f"{{{form.male}|{form.female}}}"


def _of_name(name: str) -> Iterator[tuple[re.Pattern[str], Slot]]:
    parts = name.split()
    if len(parts) < 2:
        return
    first, rest = parts[0], parts[1:]
    handles = "|".join(re.escape(_bare(part)) for part in (first, *rest) if len(part) > 2)
    if handles:
        yield re.compile(rf"(?i)(?<=/)[\w.-]*(?:{handles})[\w.-]*"), "{handle}"
    single = [own for part in rest for own in (part, *part.split("-")) if own not in PARTICLES and len(own) > 1]
    longest = [rest[at:] for at in range(len(rest))] + [[own] for own in single]
    surnames = dict.fromkeys(" ".join(own) for own in longest if own[0] not in PARTICLES or len(own) > 1)
    initial = r"(?: [^\W\d_]\.)?"
    for last in surnames:
        yield re.compile(rf"\b{_in_any_case(first)}{initial} {_in_any_case(last)}\b"), "{name}"
    yield re.compile(rf"\b{_in_any_case(first)}\b"), "{first}"
    for last in surnames:
        yield re.compile(rf"\b{_in_any_case(last)}\b"), "{last}"


def _in_any_case(words: str) -> str:
    """Matches `Jane Doe` and `JANE DOE`; a name in small letters may be another word."""
    cased = ((word, 0 if word in PARTICLES else 1) for word in words.split())
    return " ".join(f"{re.escape(word[:at])}(?i:{re.escape(word[at:])})" for word, at in cased)


def _bare(word: str) -> str:
    return unicodedata.normalize("NFKD", word.casefold()).encode("ascii", "ignore").decode()


@lru_cache(maxsize=512)
def _of_form(form: Form, unlike: tuple[str, ...]) -> re.Pattern[str]:
    texts = sorted({form.male, form.female, *form.also}, key=len, reverse=True)
    border = r"(?!\w)"
    others = "|".join(map(re.escape, unlike)) or r"\b\B"
    before_word = rf"(?=\s+(?!(?:{others})\b)[^\W\d_])"
    where = {"word": before_word, "end": before_word.replace("(?=", "(?!", 1), None: ""}[form.follows]
    return re.compile(rf"(?i)(?<![\w'’{{|])(?:{'|'.join(map(re.escape, texts))}){border}{where}")


def _outside_slots(text: str, pattern: re.Pattern[str], slot: Slot, found: dict[tuple[str, str], int]) -> str:
    """The text with the slot for each match that is in no slot, in the case of the match."""

    def replace(match: re.Match[str]) -> str:
        own = _in_case(slot, match[0])
        key = (match[0], own)
        found[key] = found.get(key, 0) + 1
        return own

    parts, at = [], 0
    for known in SLOT.finditer(text):
        parts += [pattern.sub(replace, text[at : known.start()]), known[0]]
        at = known.end()
    return "".join([*parts, pattern.sub(replace, text[at:])])


def _in_case(slot: Slot, own: str) -> Slot:
    if "|" not in slot:
        return slot.upper() if slot in NAME_SLOTS and own.isupper() else slot
    forms = slot[1:-1].split("|")
    if own.isupper() and len(own) > 1:
        return "{" + "|".join(map(str.upper, forms)) + "}"
    if own[0].isupper():
        return "{" + "|".join(form[0].upper() + form[1:] for form in forms) + "}"
    return slot


def _find_visible(text: str, words: Identities, allow: Collection[str]) -> Iterator[Visible]:
    """Words that state an identity, and first names of identities."""
    shown = _pattern_of(tuple(word for own in words.visible.values() for word in own))
    first_names = _names_of(tuple(name for group in words.groups.values() for name, _, _ in group.people))
    for number, line in enumerate(text.splitlines(), start=1):
        bare = SLOT.sub(" ", OF_HANDLE.sub(" ", line))
        for match in shown.finditer(bare):
            if match[0].casefold() not in allow:
                kind = next(
                    kind for kind, own in words.visible.items() if match[0].casefold() in map(str.casefold, own)
                )
                yield Visible(number, f"{MEANS.get(kind, 'shows an identity')}: `{match[0]}`")
        for name in re.findall(r"\b[^\W\d_]+\b", bare):
            if name in first_names and name.casefold() not in allow:
                yield Visible(number, f"holds the name `{name}`")


@lru_cache(maxsize=16)
def _pattern_of(words: tuple[str, ...]) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or r"\b\B"
    return re.compile(rf"(?i)(?<!\w)(?:{listed})(?!\w)")


@lru_cache(maxsize=16)
def _names_of(people: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.partition(" ")[0] for name in people)
