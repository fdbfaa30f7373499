"""Defines bias probes: groups with typical names, attributes of stereotypes, and the wording of questions."""

import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from biasgrid.catalogs.schema.augmentation import LoaderWording
from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, Text, find_repeated

PERSON = "{name}"
AttributeKind = Literal["role", "trait", "object", "place"]


class GroupWords(Frozen):
    """A group in one language."""

    plural: Text
    """As statements call it: `men`, `people over seventy`."""
    singular: Text
    """One of them, with the article: `a man`."""
    also: tuple[Text, ...] = ()
    """Further words by which messages name it, in the order of those of the other group, with which a swap of
    groups exchanges them."""
    names: tuple[Text, ...] = ()
    """First names that are typical of it, or of anybody where `introduction` states what is not in a name."""
    introduction: str = PERSON
    """How a person is introduced: `{name}`, or `{name}, who uses a wheelchair`."""

    @model_validator(mode="before")
    @classmethod
    def _rename_introduction(cls, given: Any) -> Any:
        """`told` is its name in files of release 0.1."""
        if not isinstance(given, Mapping) or "told" not in given or "introduction" in given:
            return given
        warnings.warn(
            "`told` of a group is now `introduction`; the old name is removed in 0.2", FutureWarning, stacklevel=2
        )
        return {"introduction" if key == "told" else key: value for key, value in given.items()}

    @model_validator(mode="after")
    def _introduces_a_person(self) -> Self:
        if self.introduction.count(PERSON) != 1:
            raise ValueError("`introduction` holds `{name}` once")
        if twice := find_repeated(name.casefold() for name in self.names):
            raise ValueError(f"`names` holds `{'`, `'.join(twice)}` twice")
        return self


class Group(Frozen):
    id: Identifier
    """The same in every language, such as `women`."""
    words: dict[Language, GroupWords]
    source: Text
    """Where the association of names and group comes from."""


class AttributePair(Frozen):
    """Two attributes: a stereotype gives the first to one group, the second to the other."""

    id: Identifier
    favoured: Identifier
    """The group that the stereotype favours: Bai et al.'s default group."""
    stigmatised: Identifier
    """The group that it goes against."""
    attributes: dict[Language, tuple[Text, Text]]
    """The favoured group's attribute and the stigmatised group's, such as `doctor` and `nurse`."""
    kind: AttributeKind = "role"
    """What they are: which wordings can ask for them."""
    sectors: tuple[Identifier, ...] = ()
    """Where a chatbot meets it, such as `healthcare`; none: everywhere."""
    source: Text
    """Where the stereotype is documented."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.favoured == self.stigmatised:
            raise ValueError("`favoured` and `stigmatised` are the same group")
        for language, (first, second) in self.attributes.items():
            if first.casefold() == second.casefold():
                raise ValueError(f"`attributes` in `{language}` are the same twice")
        return self


class ProbeAxis(Frozen):
    """Groups that differ in one thing, and the stereotypes that distinguish them."""

    id: Identifier
    """gender, age, ethnicity, religion, disability, nationality, standing, …"""
    concern: Identifier
    """The concern that its findings count to."""
    description: str = ""
    groups: tuple[Group, ...] = Field(min_length=2)
    pairs: tuple[AttributePair, ...] = ()

    @model_validator(mode="after")
    def _pairs_name_its_groups(self) -> Self:
        known = [group.id for group in self.groups]
        if find_repeated(known):
            raise ValueError("`groups` hold an id twice")
        named = {name for pair in self.pairs for name in (pair.favoured, pair.stigmatised)}
        unknown = sorted(named - set(known))
        if unknown:
            raise ValueError(f"`pairs` name `{'`, `'.join(unknown)}`, which `groups` do not have")
        return self

    def group(self, name: str) -> Group:
        return next(group for group in self.groups if group.id == name)


Statement = Literal["stereotype", "anti", "reversed"]
"""stereotype: states it; anti: states it with the groups swapped; reversed: denies it, agreeing is fair."""


class DecisionWording(Frozen):
    """Two people of equal merit, described in the same words, and one good and one bad thing to give them."""

    id: Identifier
    prompt: Text
    """With `{first}` and `{second}` (people as they are introduced), `{positive}` and `{negative}`."""
    positive: Text
    negative: Text


class CounterfactualWording(Frozen):
    """A message that is sent twice, with nothing changed but the person; it asks for a number from 0 to 100."""

    id: Identifier
    prompt: Text
    """With `{person}`, and the JSON key `score` in the instruction."""
    better: Literal["higher", "lower"] = "higher"
    """Which number is to the person's advantage."""


class ProbeWording(Frozen):
    """The questions of a probe in one language."""

    id: Language
    implicit: dict[AttributeKind, tuple[Text, ...]]
    """Forms of the association task, by what the attributes are: `{people}`, one a line or in a row, and
    `{first}` and `{second}`, the attributes. Each asks that everybody be given one of the two."""
    statements: dict[Statement, tuple[Text, ...]]
    """With `{favoured}`, `{stigmatised}` (plurals), `{positive}`, `{negative}` (their attributes): parallel, the
    n-th of each kind being the same sentence as far as it can be."""
    agreement: Text
    """Asks how far one agrees: `{statement}`, `{scale}`."""
    scale: tuple[Text, Text, Text, Text, Text]
    """From `Strongly disagree` to `Strongly agree`."""
    decisions: tuple[DecisionWording, ...]
    counterfactuals: tuple[CounterfactualWording, ...]
    separator: str = ", "
    """Between people in a row."""
    loader: LoaderWording | None = None
    """How a generator is asked for stereotypes; None: it cannot be asked in this language."""

    @model_validator(mode="after")
    def _statements_are_parallel(self) -> Self:
        counts = {kind: len(texts) for kind, texts in self.statements.items()}
        if set(counts) != {"stereotype", "anti", "reversed"} or len(set(counts.values())) > 1:
            raise ValueError("`statements` need as many of `stereotype`, `anti` and `reversed`")
        return self


def every_pair(axes: Mapping[str, ProbeAxis]) -> Iterator[tuple[ProbeAxis, AttributePair]]:
    """The pairs of all axes, in file order."""
    return ((axis, pair) for axis in axes.values() for pair in axis.pairs)


def axes_among(axes: Mapping[str, ProbeAxis], groups: Collection[str]) -> Mapping[str, ProbeAxis]:
    """The axes with their pairs of these groups alone; all pairs if no group is named."""

    def keep(pair: AttributePair) -> bool:
        return {pair.favoured, pair.stigmatised} <= set(groups)

    if not groups:
        return axes
    return {
        name: axis.model_copy(update={"pairs": tuple(filter(keep, axis.pairs))}) for name, axis in axes.items()
    }


def tally(axes: Mapping[str, ProbeAxis], language: str) -> dict[str, int]:
    """Number of `axes`, `groups`, `pairs` and `names` available in a language."""
    groups = [(axis.id, group.words.get(language)) for axis in axes.values() for group in axis.groups]
    words = [(axis, own) for axis, own in groups if own is not None]
    return {
        "axes": len({axis for axis, _ in words}),
        "groups": len(words),
        "pairs": sum(language in pair.attributes for _, pair in every_pair(axes)),
        "names": sum(len(own.names) for _, own in words),
    }
