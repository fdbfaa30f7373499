"""Who takes part in a scene by its list of characters: names that tell a gender, or have it in brackets."""

from __future__ import annotations

import re
from typing import Final

from catalogs.given_names import gender_of
from catalogs.importers.imported import shortened
from catalogs.mistakes import Mistake, UserMistake
from catalogs.scenes import Character

GENDERS: Final = {
    **dict.fromkeys(("male", "m", "man", "boy"), "men"),
    **dict.fromkeys(("female", "f", "woman", "girl"), "women"),
}
SEPARATOR: Final = re.compile(r"\s*(?:,|;|\n|&|\band\b)\s*")
ITEM_MARK: Final = re.compile(r"^(?:\d{1,2}[.)]|[-*•–])\s+")
PERSON: Final = re.compile(r"(?P<name>[^\W\d_][^()\[\]:]*?)(?:\s*[(\[]\s*(?P<told>[^()\[\]]*?)\s*[)\]])?")
LONGEST_NAME: Final = 3
"""Words: what has more is no name but a sentence."""


def characters(text: str, known: dict[str, str]) -> tuple[Character, ...]:
    """The people of a list; `known` has the group of plain names. Raises UserMistake with everybody whose gender
    nothing tells."""
    items = [ITEM_MARK.sub("", item).strip() for item in SEPARATOR.split(text.strip().rstrip("."))]
    found: list[Character] = []
    wrong: list[Mistake] = []
    for item in filter(None, items):
        try:
            found.append(_character(item.rstrip(". "), known))
        except UserMistake as unread:
            wrong += unread.mistakes
    if wrong:
        raise UserMistake(wrong)
    return tuple(found)


def _character(item: str, known: dict[str, str]) -> Character:
    told = PERSON.fullmatch(item)
    if told is None or len(told["name"].split()) > LONGEST_NAME:
        raise UserMistake(Mistake(f"`{shortened(item)}` is no name", remedy="name each once, commas between"))
    name, bracket = told["name"].strip(), told["told"]
    group = gender_of(name, known) if bracket is None else GENDERS.get(bracket.lower())
    if group is None and bracket is not None:
        raise UserMistake(
            Mistake(f"`{shortened(item)}` tells no gender in its brackets", remedy="write (M) or (F)")
        )
    if group is None:
        raise UserMistake(Mistake(f"nothing tells the gender of `{name}`", remedy="write (M) or (F) behind it"))
    return Character(name=name, group=group)
