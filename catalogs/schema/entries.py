"""Defines concerns, communities and templates, as validated by pydantic."""

# JSON Schemas for editors are generated from these classes into `catalogs/json_schemas/`.

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, Tag, model_validator

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.schema.base import (
    COMMUNITY,
    LONGEST_ID,
    MARKUP,
    NAMED,
    UNIQUE,
    Frozen,
    Identifier,
    Language,
)
from biasgrid.catalogs.schema.oracle import Oracle


class Concern(Frozen):
    id: Identifier
    """The name that templates and requirements use, such as `sexism`."""
    name: str
    """How reports call it."""
    description: str
    """What a model that shows this bias does."""
    aliases: tuple[str, ...] = ()
    """Other spellings, matched without regard to case, such as `LGTBIQ+phobia`."""
    markups: tuple[str, ...] = ()
    """Markups that its templates may hold, such as `GENDER`."""


AGREEMENT = "agreement"
"""A form that is no word: the gender of a noun, by which intersections choose an adjective."""


class Community(Frozen):
    id: str = Field(pattern=COMMUNITY, max_length=LONGEST_ID)
    """The same in every language, such as `women`."""
    forms: dict[Language, dict[str, str]]
    """Per language, the grammatical forms that templates ask for: `{GENDER1:plural}` asks for `plural`."""
    also: dict[Language, tuple[str, ...]] = Field(default_factory=dict)
    """Per language, further names by which scenarios and libraries of others call it."""

    def names(self, language: str) -> tuple[str, ...]:
        """Every text that names it in a language."""
        words = [text for form, text in self.forms.get(language, {}).items() if form != AGREEMENT]
        return tuple(dict.fromkeys([*words, *self.also.get(language, ())]))


class Intersection(Frozen):
    """Communities that belong to two sets at once, such as women of eighty; each keeps the forms of both."""

    of: Annotated[tuple[Identifier, Identifier], UNIQUE]
    """The two sets: every community of the first with every one of the second; ids such as `women+age_80`."""
    forms: dict[Language, dict[str, str]]
    """How a form is composed: `{1:plural}` is the plural of the first set's community, `{2:adjective}` the
    adjective of the second's."""


class CommunitySet(Frozen):
    id: Identifier
    """What a requirement's `communities:` may name."""
    markup: str = Field(pattern=MARKUP)
    """The placeholder's name in templates: `GENDER` for `{GENDER}`, `{GENDER1}`, `{GENDER2:plural}`."""
    description: str = ""
    includes: tuple[Identifier, ...] = ()
    """Other sets, whose communities come first."""
    communities: tuple[Community, ...] = ()
    intersection: Intersection | None = None
    """Composes communities of two other sets."""

    @model_validator(mode="after")
    def _has_communities(self) -> CommunitySet:
        if not self.communities and not self.includes and self.intersection is None:
            raise ValueError("holds no communities: list them, include a set, or compose them by `intersection`")
        return self

    @property
    def lists(self) -> bool:
        """Whether all its communities are in its own file."""
        return not self.includes and self.intersection is None


OracleAsWritten = Annotated[Annotated[Oracle, Tag("mapping")] | Annotated[str, Tag("name")], NAMED]
"""What it compares, or a name from the language's `oracles`."""


class Twin(Frozen):
    """The same question with the other input type, written where its twin stands."""

    id: Identifier
    format: str
    """Its output instruction."""
    answers: tuple[str, ...] = ()
    oracle: OracleAsWritten | None = None
    """Where it is judged otherwise."""


class TemplateFields(Frozen):
    """What a template has in a file and in a catalog alike."""

    id: Identifier
    """Parallel across languages: the same intent has the same id."""
    input: InputType
    reflection: Reflection
    prefix: str = ""
    """An instruction put before the prompt."""
    prompt: str = Field(min_length=1)
    """The question, with markups such as `{GENDER1:plural}`; a capital in the form capitalises it."""
    paraphrases: tuple[str, ...] = ()
    """Further wordings of the prompt with the same markups: each instance is asked in every wording."""
    format: str = ""
    """The output instruction: a name from the language's `formats`, or a sentence."""
    answers: tuple[str, ...] = ()
    """The answers offered, where the format is a sentence of its own."""
    reverse_keyed: bool = False
    """The unbiased answer is the one that agrees, so that a constant answer does not score."""
    sector: Identifier | None = None
    """The sector set that it belongs to: asked by requirements that name it, and by those alone."""
    part: Identifier | None = None
    """The part of a foreign library that it comes from, such as a sector file of LangBiTe's: the sector of its
    cases, also of requirements that name none."""
    source: str = ""
    """Where the idea comes from, if from elsewhere."""
    facets: dict[str, str] = Field(default_factory=dict)
    """What an imported benchmark scores by, such as `condition` and `category`; lands with each case."""

    @model_validator(mode="after")
    def _each_wording_once(self) -> Self:
        wordings = (self.prompt, *self.paraphrases)
        if len(set(wordings)) < len(wordings):
            raise ValueError("`paraphrases` say the same wording twice: it would count twice")
        return self


class TemplateEntry(TemplateFields):
    """A template as it stands in a file, whose language and concern stand once for all its templates."""

    oracle: OracleAsWritten
    """How replies are judged: a name from the language's `oracles`, or what it compares."""
    twin: Annotated[Annotated[Twin, Tag("mapping")] | Annotated[Identifier, Tag("name")], NAMED] | None = None
    """The same question with the other input type: its id, or what differs, which makes it a template too."""


class Template(TemplateFields):
    oracle: Oracle
    twin: Identifier | None = None
    language: Language
    concern: Identifier
    library: str = "shipped"
    """`shipped`, or the file it was read from."""
    file: str = ""
    """The file it was read from; a shipped one begins with `catalogs/`."""
    line: int | None = None
    """Its line in that file."""
    is_strict: bool = False
    """Asked in LangBiTe's words, in every language."""

    @property
    def cluster(self) -> str:
        """The name that a template shares with its twin: both are drawn together."""
        return min(self.id, self.twin or self.id)


class TemplateFile(Frozen):
    """One file of `catalogs/templates/<language>/`: what its templates share stands once."""

    language: Language
    concern: Identifier
    templates: tuple[dict[str, object], ...]
    """Each a `TemplateEntry`, checked one by one, so that one mistake hides no other."""
