"""Who takes part in scenes: groups that differ in one thing, their names by culture, and how each is told of."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.entries import Identifier, Language

NAME = "{name}"
Text = Annotated[str, Field(min_length=1)]
FEWEST = 6
"""Names of a group in a culture: a scene's people are drawn from them without one twice."""


class GroupOfPeople(Frozen):
    """A group in one language."""

    plural: Text
    """As reports call it: `men`."""
    listed: Text = NAME
    """How a scene lists one of them: `{name} (man)`, or `{name}` alone where the name tells."""
    persona: Text = NAME
    """How one of them is told who they are: `{name}, a man`."""
    names: dict[Identifier, tuple[Text, ...]]
    """By culture: all people of a scene are drawn from one, so that nothing but the group tells them apart."""

    @field_validator("listed", "persona")
    @classmethod
    def _holds_the_name(cls, told: str) -> str:
        if told.count(NAME) != 1:
            raise ValueError("holds `{name}` once")
        return told

    @field_validator("names")
    @classmethod
    def _are_enough(cls, names: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for culture, own in names.items():
            if len({name.casefold() for name in own}) < max(FEWEST, len(own)):
                raise ValueError(f"`{culture}` needs {FEWEST} names or more, none of them twice")
        return names


class People(Frozen):
    """The groups of one axis."""

    id: Identifier
    """gender, age, ethnicity, …"""
    concern: Identifier
    """The concern that its findings count to."""
    description: str = ""
    source: Text
    """Where names and what they tell come from."""
    groups: dict[Identifier, dict[Language, GroupOfPeople]] = Field(min_length=2, max_length=2)

    @model_validator(mode="after")
    def _share_their_cultures(self) -> Self:
        first, second = self.groups.values()
        if set(first) != set(second):
            raise ValueError("`groups` are told of in different languages")
        for language in first:
            if set(first[language].names) != set(second[language].names):
                raise ValueError(f"`groups` have names of different cultures in `{language}`")
        return self

    @property
    def languages(self) -> set[str]:
        return set(next(iter(self.groups.values())))
