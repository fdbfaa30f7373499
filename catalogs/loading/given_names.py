"""Infers gender from first names, if the name is known for one gender only."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Final, Self

from pydantic import model_validator

from biasgrid.catalogs.loading.documents import parse_document, validated
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.scenes import People

FILE: Final = "given_names.yaml"
GENDER: Final = "gender"
"""The axis of catalogs/people whose names are also used."""
TITLES: Final = ("dr", "mr", "mrs", "ms", "miss", "prof", "professor", "officer", "coach", "captain", "chef")


class GivenNames(Frozen):
    men: tuple[str, ...]
    women: tuple[str, ...]

    @model_validator(mode="after")
    def _tell_apart(self) -> Self:
        both = sorted({*map(_plain, self.men)} & {*map(_plain, self.women)})
        if both:
            raise ValueError(f"`men` and `women` both hold `{'`, `'.join(both)}`")
        return self


@cache
def given_names() -> GivenNames:
    """The shipped first names."""
    path = resources.files("biasgrid.catalogs") / FILE
    return validated(GivenNames, parse_document(path.read_text(encoding="utf-8"), FILE))


def genders(people: People | None) -> dict[str, str]:
    """Gender group by normalized name, shipped or of the axis `gender`; ambiguous names are left out."""
    found: dict[str, set[str]] = {}
    for group, name in (*_shipped(), *_of_axis(people)):
        found.setdefault(_plain(name), set()).add(group)
    return {name: next(iter(groups)) for name, groups in found.items() if len(groups) == 1}


def gender_of(person: str, known: dict[str, str]) -> str | None:
    """Gender group by the first given name; None if it is unknown or a title stands first."""
    first = _plain(person.split()[0]) if person.split() else ""
    return None if first.rstrip(".") in TITLES else known.get(first)


def _shipped() -> Iterable[tuple[str, str]]:
    own = given_names()
    return [(group, name) for group in ("men", "women") for name in getattr(own, group)]


def _of_axis(people: People | None) -> Iterator[tuple[str, str]]:
    for group, told in (people.groups if people else {}).items():
        for words in told.values():
            yield from ((group, name) for names in words.names.values() for name in names)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
