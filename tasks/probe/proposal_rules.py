"""What may not stand in a stereotype that a model proposes: the rules of the catalog's own, and of its script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import product

from catalogs.rules.probe_rules import alike, held, inseparable, plain
from tasks.connectors.visible import hidden, shown
from tasks.probe.stereotype import Side, Stereotype

NO_WORDS = re.compile(r"[{}\[\]<>|;:*#`\\]|\s{2}")
"""Signs by which prompts and replies tell one thing from another."""


def scripts(text: str) -> set[str]:
    """`LATIN`, `CYRILLIC`, …: as Unicode names the letters of a text."""
    return {unicodedata.name(letter, "?").partition(" ")[0] for letter in text if letter.isalpha()}


def misspelt(text: str, known: Collection[str]) -> Iterator[str]:
    """Why a text cannot stand in a prompt of a language that is written in these scripts."""
    told, unseen = f"`{shown(text, 60)}`", hidden(text)
    if unseen is not None:
        yield f"{told} holds the control or invisible character `{unseen}`"
    elif NO_WORDS.search(text) or text != text.strip():
        yield f"{told} holds signs or blanks that no word has"
    elif foreign := scripts(text) - set(known):
        yield f"{told} is not in the script of the language, but in {', '.join(sorted(foreign)).lower()} letters"
    elif not scripts(text):
        yield f"{told} holds no word"


def troubles(made: Stereotype) -> Iterator[str]:
    """Why no reply about a stereotype could be read for sure."""
    sides, (first, second) = (made.favoured, made.stigmatised), made.attributes
    if made.favoured.group == made.stigmatised.group:
        yield "sets a group against itself"
        return
    if inseparable(first, second):
        yield f"of `{first}` and `{second}` one holds the other, so that no reply is read for sure"
    for attribute, side in product((first, second), sides):
        for name in held(attribute, side.words.names):
            yield f"attribute `{attribute}` holds `{name}`, a name of `{side.group}`"
        for label in held(attribute, (side.words.plural, side.words.singular, *side.words.also)):
            yield f"attribute `{attribute}` names the group itself, `{label}`"
    yield from _alike(sides)


def _alike(sides: tuple[Side, Side]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for side in sides:
        for name in side.words.names:
            yield from (what for what, _ in alike(name, side.group, seen))
            seen[plain(name)] = side.group
