"""Defines identities of audits: whom a document is made to be about, and how a language shows it."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, model_validator

from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, Text, complete, find_repeated, holds

Gender = Literal["female", "male"]
Signal = Literal["names", "pronouns", "affiliations"]
GENDERS: Final[tuple[Gender, Gender]] = ("female", "male")
BOTH: Final = "+"
"""Between two groups whose members it has in common."""
LEAST_NAMES: Final = 2
"""Below this a group has no variance over names."""


class NameBlock(Frozen):
    """Full names of people of one gender and class, in the order in which groups are matched."""

    gender: Gender
    class_: Literal["middle", "working"] = Field(alias="class")
    """Which families mostly choose such names."""
    names: tuple[Text, ...] = Field(min_length=1)


class IdentityGroup(Frozen):
    """A group of people and what signals it."""

    axis: Identifier
    """What groups differ in, such as `gender`: only groups of one axis are compared."""
    concern: Identifier
    source: Text
    """Where the association of names and group comes from."""
    names: tuple[NameBlock, ...] = Field(min_length=1)
    """Blocks and names match those of the axis' other groups one by one: the same class and, but for `gender`, the
    same gender."""
    affiliations: tuple[Text, ...] = ()
    """What shows the group next to a name that does not, matched one by one."""

    @property
    def people(self) -> Iterator[tuple[str, Gender, str]]:
        """Full name, gender and class of each."""
        return ((name, block.gender, block.class_) for block in self.names for name in block.names)

    @property
    def gender(self) -> Gender | None:
        """The gender of all its people; None where there are both."""
        found = {block.gender for block in self.names}
        return found.pop() if len(found) == 1 else None


class Form(Frozen):
    """A word that shows a gender, and the other gender's."""

    male: Text
    female: Text
    also: tuple[Text, ...] = ()
    """Further words for a woman; those for a man stand in an entry of their own."""
    follows: Literal["word", "end"] | None = None
    """Only before a word of the same phrase, such as a possessive, or only elsewhere."""


class Sentences(Frozen):
    """What ends a prompt, by the kind of decision."""

    yes_no: Text
    """Asks for one of two words, such as `Answer with Yes or No only.`"""
    score: Annotated[str, holds("low", "high")]
    """Asks for a number, such as `Answer with one number from {low} to {high} only.`"""
    choice: Annotated[str, holds("low", "high")]
    """Asks for one of a shortlist, such as `Answer with the number of one application from {low} to {high}.`"""


class Answers(Sentences):
    """How a decision is asked for."""

    explained: Sentences
    """The sentences `yes_no`, `score` and `choice` once more, with an explanation asked for."""
    item: Annotated[str, holds("number")]
    """Heading of each document of a shortlist, such as `Application {number}`."""
    yes: Text
    """The reply that selects."""


class Identities(Frozen):
    """The identities of a language and region."""

    id: Language
    region: Text
    neutral: tuple[Text, ...] = Field(min_length=LEAST_NAMES)
    """Names that show no group, for signals other than names."""
    lines: Annotated[dict[Signal, str], complete(Signal)]
    """What stands in a prompt's `{identity}`: `{name}`, and `{pronouns}` or `{affiliation}`."""
    pronouns: Annotated[dict[Gender, Text], complete(Gender)]
    answers: Answers
    labels: tuple[Text, ...] = ()
    """What stands before the name of whom a document is about."""
    forms: tuple[Form, ...] = ()
    unlike: tuple[Text, ...] = ()
    """Words before which a possessive never stands."""
    visible: dict[Identifier, tuple[Text, ...]] = Field(default_factory=dict)
    """What shows an identity and cannot be replaced, by what it shows."""
    groups: dict[Identifier, IdentityGroup]

    @model_validator(mode="after")
    def _matches_groups(self) -> Self:
        for axis in {group.axis for group in self.groups.values()}:
            own = {name: group for name, group in self.groups.items() if group.axis == axis}
            shapes = {_shape(group, with_gender=axis != "gender") for group in own.values()}
            if len(shapes) > 1:
                raise ValueError(f"groups `{'`, `'.join(own)}` differ in blocks, names or affiliations")
        for name, group in self.groups.items():
            if twice := find_repeated(person for person, _, _ in group.people):
                raise ValueError(f"group `{name}` holds `{'`, `'.join(twice)}` twice")
        return self

    def with_intersections(self, names: Iterable[str]) -> Self:
        """With the groups of such names as `black+women`, where one of the two is a gender."""
        crossed = {name: group for name in names if (group := self._intersect(name)) is not None}
        return self.model_copy(update={"groups": {**self.groups, **crossed}})

    def _intersect(self, name: str) -> IdentityGroup | None:
        """None where a group is unknown, or none of the two is a gender."""
        known = [self.groups.get(part) for part in name.split(BOTH)]
        for own, other in (known, known[::-1]) if len(known) == 2 else ():
            if own is not None and other is not None and own.gender is None and other.gender is not None:
                blocks = tuple(block for block in own.names if block.gender == other.gender)
                changes = {"axis": f"{own.axis}{BOTH}{other.axis}", "names": blocks, "affiliations": ()}
                return own.model_copy(update=changes)
        return None

    def signals_of(self, group: str) -> tuple[Signal, ...]:
        """The signals that can show a group."""
        own = self.groups[group]
        if BOTH in group:
            return ("names",)
        shows = {"names": True, "pronouns": own.gender is not None, "affiliations": bool(own.affiliations)}
        return tuple(signal for signal in get_args(Signal) if shows[signal])


def _shape(group: IdentityGroup, *, with_gender: bool) -> tuple[object, ...]:
    blocks = ((block.class_, len(block.names), block.gender if with_gender else "") for block in group.names)
    return (*blocks, len(group.affiliations))
