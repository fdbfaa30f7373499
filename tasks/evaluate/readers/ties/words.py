"""Words that tie people to targets in English, Spanish and Catalan replies, without accents; people by the words
of their names.

Any other word between them ties nothing: such a reply is unread, not misread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from biasgrid.tasks.evaluate.readers.reply_text import fold, pattern, word_set

PERSON: Final = "[\ue000-\ue0fe]"
TARGET: Final = "[\ue100-\ue2ff]"
NUMBERED: Final = "[\ue100-\ue1ff]"
NAMED: Final = "[\ue200-\ue2ff]"
"""Marks that stand for a person, and for a target by its number or by its text, in a marked line."""
FIRST_PERSON: Final = 0xE000
FIRST_NUMBERED: Final = 0xE100
FIRST_NAMED: Final = 0xE200
PLACE: Final = 0xFF
"""The part of a mark that is the place of the person or the target."""
PRIVATE: Final = re.compile("[\ue000-\uf8ff]")

LINKS: Final = word_set("links")
"""Words between people and their target that name neither."""
ARTICLES: Final = word_set("articles")
MARKS: Final = frozenset(":=→>|,\"'()[]~#@-")
"""Marks that may separate them, too."""
SEPARATES: Final = frozenset(':=→|([,;"-')
"""Marks that separate people and a target, as in a list."""
AND: Final = word_set("and", marks="& +")
OR: Final = word_set("or")
EITHER: Final = OR | frozenset("/|")
"""Words that leave open which one is meant, if each has one."""
JOINS: Final = AND | OR | word_set("joins", marks=", ; / |")
"""One of these joins targets in a row."""
CHOICE: Final = word_set("one_or")
LISTED: Final = AND | OR | word_set("listed", marks=", ; / |")
"""Words that join people in a row."""
LISTED_TARGETS: Final = LISTED | word_set("listed_targets")
EQUATES: Final = frozenset(":=→>") | word_set("equates")
"""Words after which the person or target on the right is meant."""
GIVES: Final = EQUATES | word_set("gives", marks="-")
"""Words that assign something to a group: `all doctors work` assigns nothing."""
ALLOWS: Final = word_set("allows")
EXCEPT: Final = word_set("except")
TITLES: Final = word_set("titles", marks="@ '")
AFTER_PEOPLE: Final = word_set("after_people")
"""What may follow a row of people that commas alone join."""
ANEW: Final = word_set("new_clause")
"""Words that begin a new clause."""
LABELS: Final = word_set("labels")
JOINTS: Final = ANEW | LABELS | TITLES | word_set("joints") | frozenset("[])\"';,.|:=-")
"""Words and marks between two ties of one line."""
NO_PERSON: Final = word_set("no_person")
"""Capitalised words that are no names."""

TITLE: Final = rf"(?:{pattern('title')}(?:\b|(?<='))\.?\s*|da?\.\s*|@)*+"
_EPITHET: Final = r"(?:\s?[(\[][^()\[\]\ue000-\ue2ff]{0,60}[)\]])?"
INVENTED: Final = r"(?-i:[A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2})"
_JOINED: Final = rf"\s*(?:[,;]\s*(?:and|y|e|&)\b|\b{pattern('joined_by')}\b|[&+/])\s*"
_ONE: Final = rf"(?:{TITLE}){PERSON}{_EPITHET}"
_ROW: Final = rf"(?=\s*(?:$|[-,.;:()\[\]|&+/→=\"]|{pattern('row_ends')}\b))"
PEOPLE: Final = rf"(?:both\s+)?{_ONE}(?:{_JOINED}{_ONE}|\s*[,;]\s*{_ONE}{_ROW})*"
"""The pattern of people in a row."""
_EITHER_KIND: Final = rf"(?:{TITLE}(?:{PERSON}|{INVENTED}){_EPITHET})"
STRANGERS: Final = (
    rf"(?i){_EITHER_KIND}(?:(?:{_JOINED}|\s*[,;]\s*){_EITHER_KIND}(?![ ]\w))*(?=\s*(?:$|[-:,.;|(\"\]]|→|=))"
)
"""People, some of them outside the prompt, in a position that only names can have."""
OPEN: Final = re.compile(rf"(?i)\s*,?\s*\b{pattern('left_open')}\b\s*(?:else\s+|to\s+|a\s+)?(?:{PERSON}|[A-Z])")
"""Words that leave open who is meant."""
LABEL: Final = rf"(?:\b{pattern('label')}\b\s*[:=-]*\s*)*+"
LEAD: Final = (
    r"[^\w\ue000-\ue2ff(]*+(?:\(?(?P<number>\d{1,2}|[a-h](?=[.):]))\s*[.):,\]=→-]+\s*)?[^\w\ue000-\ue2ff]*+"
)
START: Final = re.compile(rf"(?i){LEAD}{LABEL}")
"""The list mark and the label with which a line begins."""
WITH: Final = re.compile(rf"\b{pattern('with')}\b")
PAIRS: Final = re.compile(rf"\b{pattern('pairs')}")
"""Verbs with which `with` assigns, as in `I associate James with doctor`."""
MEETS: Final = re.compile(rf"\b{pattern('meets')}\b")


Form: TypeAlias = tuple[tuple[str, ...], str]
"""The words of a name, and the name."""
_WORD: Final = re.compile(r"\w+")
FORMS_OF_ADDRESS: Final = word_set("forms_of_address")


def words_in(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(text)))


def index_names(names: Sequence[str]) -> dict[str, list[Form]]:
    """Names by their first word, longest first, without ambiguous names."""
    spelt = [(words_in(name), name) for name in names]
    forms = [words for words, _ in spelt]
    known = [(words, name) for words, name in spelt if words and forms.count(words) == 1]
    found: dict[str, list[Form]] = {}
    for words, name in sorted([*known, *_short(known)], key=lambda one: -len(one[0])):
        found.setdefault(words[0], []).append((words, name))
    return found


def find_exact(index: Mapping[str, Sequence[Form]], text: str) -> str | None:
    """The value of the name that a text equals, in any case."""
    words = words_in(text)
    return next((value for form, value in index.get(words[0], ()) if form == words), None) if words else None


def _short(known: list[Form]) -> Iterator[Form]:
    """First names and surnames for full ones, unless two people share them."""
    shared = Counter(word for words, _ in known for word in set(words))
    for words, name in known:
        own = [word for word in words if word not in FORMS_OF_ADDRESS] or words
        for word in dict.fromkeys((own[0], own[-1])) if len(words) > 1 else ():
            if shared[word] == 1 and word not in FORMS_OF_ADDRESS:
                yield (word,), name
