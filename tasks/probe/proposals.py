"""Reads a generator's proposals object by object: a usable stereotype, or why it is rejected."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, Tag, field_validator

from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.people_names import alike, inseparable, plain, words_in
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.base import NAMED, slug
from biasgrid.catalogs.schema.probes import PERSON, AttributeKind, GroupWords, ProbeAxis
from biasgrid.catalogs.text_safety import excerpt, first_invisible
from biasgrid.tasks.connectors.generator import parse_entry
from biasgrid.tasks.connectors.json_objects import RejectedText, read_objects
from biasgrid.tasks.probe.stereotype import FEWEST_NAMES, Side, Stereotype

NO_WORDS = re.compile(r"[{}\[\]<>|;:*#`\\]|\s{2}")
"""Markup of prompts and replies, which no word contains."""


def scripts(text: str) -> set[str]:
    """Unicode script names of the letters of a text: `LATIN`, `CYRILLIC`, …."""
    return {unicodedata.name(letter, "?").partition(" ")[0] for letter in text if letter.isalpha()}


def misspelt(text: str, known: Collection[str]) -> Iterator[str]:
    """Reasons why a text cannot be used in a prompt of a language written in these scripts."""
    quoted, unseen = f"`{excerpt(text, 60)}`", first_invisible(text)
    if unseen is not None:
        yield f"{quoted} holds the control or invisible character `{unseen}`"
    elif NO_WORDS.search(text) or text != text.strip():
        yield f"{quoted} holds signs or blanks that no word has"
    elif foreign := scripts(text) - set(known):
        yield f"{quoted} is not in the script of the language, but in {', '.join(sorted(foreign)).lower()} letters"
    elif not scripts(text):
        yield f"{quoted} holds no word"


def ambiguities(made: Stereotype) -> Iterator[str]:
    """Reasons why replies about a stereotype could not be read reliably."""
    sides, (first, second) = (made.favoured, made.stigmatised), made.attributes
    if made.favoured.group == made.stigmatised.group:
        yield "sets a group against itself"
        return
    if inseparable(first, second):
        yield f"of `{first}` and `{second}` one holds the other, so that no reply is read for sure"
    for attribute, side in product((first, second), sides):
        for name in words_in(attribute, side.words.names):
            yield f"attribute `{attribute}` holds `{name}`, a name of `{side.group}`"
        for label in words_in(attribute, (side.words.plural, side.words.singular, *side.words.also)):
            yield f"attribute `{attribute}` names the group itself, `{label}`"
    yield from _alike(sides)


def _alike(sides: tuple[Side, Side]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for side in sides:
        for name in side.words.names:
            yield from (what for what, _ in alike(name, side.group, seen))
            seen[plain(name)] = side.group


LEAST_NAMES = 8
"""Names of a group that a generator describes."""
NAME = "NAME"
"""Placeholder of a name in a generator's reply; braces are reserved for prompts."""
Short = Annotated[str, Field(min_length=1, max_length=60)]


class NewGroup(BaseModel):
    """A group that the catalog does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    plural: Short
    singular: Short
    names: tuple[Short, ...] = Field(min_length=LEAST_NAMES, max_length=60)
    described: Annotated[str, Field(validation_alias=AliasChoices("introduction", "told"), max_length=120)] = NAME

    @field_validator("described")
    @classmethod
    def _describes_a_person(cls, described: str) -> str:
        if described.count(NAME) != 1:
            raise ValueError(f"must hold {NAME} once")
        return described

    def texts(self) -> Iterator[str]:
        yield from (self.plural, self.singular, *self.names, self.described)


class Proposed(BaseModel):
    """A stereotype as a generator is asked to write it: these keys, of these types, and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    axis: str
    favoured: Annotated[Annotated[str, Tag("name")] | Annotated[NewGroup, Tag("mapping")], NAMED]
    stigmatised: Annotated[Annotated[str, Tag("name")] | Annotated[NewGroup, Tag("mapping")], NAMED]
    attributes: tuple[Short, Short]
    kind: AttributeKind
    why: str = Field(min_length=1, max_length=600)


@dataclass(frozen=True)
class Reader:
    """Reads proposals in one language, for some axes of a catalog."""

    catalog: Catalog
    language: str
    axes: Mapping[str, ProbeAxis]

    def read(self, reply: str) -> Iterator[Stereotype | RejectedText]:
        """Every object of a reply, in order, as stereotype or rejection."""
        return (found if isinstance(found, RejectedText) else self._read(found) for found in read_objects(reply))

    def _read(self, given: Mapping[str, Any]) -> Stereotype | RejectedText:
        raw = unicodedata.normalize("NFC", json.dumps(given, ensure_ascii=False))
        proposed = parse_entry(raw, Proposed)
        if isinstance(proposed, RejectedText):
            return proposed
        wrong = [*self._unknown(proposed), *self._unspeakable(proposed)]
        stereotype = None if wrong else self._stereotype(proposed)
        wrong += ambiguities(stereotype) if stereotype else ()
        if wrong or stereotype is None:
            return RejectedText(raw, "; ".join(dict.fromkeys(wrong)))
        return stereotype

    def _unknown(self, proposed: Proposed) -> Iterator[str]:
        axis = self.axes.get(proposed.axis)
        if axis is None:
            yield f"names the unknown axis `{excerpt(proposed.axis, 40)}`, {nearest(proposed.axis, self.axes)}"
            return
        spoken = [group.id for group in axis.groups if self._is_spoken(axis, group.id)]
        for group in (proposed.favoured, proposed.stigmatised):
            if isinstance(group, str) and group not in spoken:
                near = nearest(group, spoken)
                yield f"names `{excerpt(group, 40)}`, which is no group of axis `{axis.id}`, {near}"
        wording = self.catalog.probing[self.language]
        if not wording.implicit.get(proposed.kind):
            yield f"is of kind `{proposed.kind}`, for which there are no questions"

    def _is_spoken(self, axis: ProbeAxis, name: str) -> bool:
        words = axis.group(name).words.get(self.language)
        return words is not None and len(words.names) >= FEWEST_NAMES

    def _unspeakable(self, proposed: Proposed) -> Iterator[str]:
        """Reasons why texts cannot be used in a prompt."""
        groups = [own for own in (proposed.favoured, proposed.stigmatised) if isinstance(own, NewGroup)]
        for text in (*proposed.attributes, *(text for own in groups for text in own.texts())):
            yield from misspelt(text, self._scripts)

    @cached_property
    def _scripts(self) -> frozenset[str]:
        """Scripts of the language, taken from the catalog's names in it."""
        groups = (group for axis in self.catalog.probes.values() for group in axis.groups)
        words = (group.words.get(self.language) for group in groups)
        return frozenset(script for own in words if own for script in scripts("".join(own.names)))

    def _stereotype(self, proposed: Proposed) -> Stereotype:
        axis = self.axes[proposed.axis]
        groups = (proposed.favoured, proposed.stigmatised)
        favoured, stigmatised = (
            self._side(axis, group, attribute)
            for group, attribute in zip(groups, proposed.attributes, strict=True)
        )
        name = slug("-".join(proposed.attributes))[:100] or "proposed"
        why = excerpt(" ".join(proposed.why.split()), 300)
        return Stereotype(
            name, axis.id, axis.concern, self.language, proposed.kind, favoured, stigmatised, why=why
        )

    def _side(self, axis: ProbeAxis, group: str | NewGroup, attribute: str) -> Side:
        if isinstance(group, str):
            return Side(group, axis.group(group).words[self.language], attribute)
        person = group.described.replace(NAME, PERSON)
        words = GroupWords.model_construct(
            plural=group.plural, singular=group.singular, names=group.names, introduction=person
        )
        return Side(slug(group.plural) or "group", words, attribute)
