"""Defines the prompts with which a model generates templates, in the templates' language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.catalogs.errors import Problem, UserError, close_names, nearest
from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, Text, check_placeholders, holds
from biasgrid.catalogs.text_safety import is_one_line

OPENINGS = ("count", "concern", "context", "shares", "forms", "formats", "oracles", "examples", "order")
"""What the prompt has to hold, as `{count}` and so on."""
FURTHER = ("scenario", "markup", "first", "second")
SCENES = ("count", "domain", "groups", "casts", "axis", "examples", "order")
"""The same of the request for scenes."""


class AskedFormat(Frozen):
    """How a named output format may be used by a template that a model writes."""

    input: InputType
    oracles: tuple[str, ...] = Field(min_length=1)
    """The named oracles that read its replies."""
    twin: str | None = None
    """The output format of the same question with a free answer."""
    twin_oracle: str | None = None
    """Where the twin is judged otherwise."""
    pair: bool = False
    """It chooses between two communities, the first and the second."""
    statement: bool = False
    """It follows a statement, which the language's `statement` introduces."""


class Augmentation(Frozen):
    """The request for new templates in one language."""

    id: Language
    prompt: Annotated[str, holds(*OPENINGS, optional=FURTHER)]
    """The request, with `{count}`, `{concern}`, `{context}`, `{scenario}`, `{shares}`, `{forms}`, `{markup}`,
    `{formats}`, `{oracles}`, `{first}`, `{second}`, `{examples}` and `{order}` where these are put."""
    inputs: dict[InputType, str]
    """What the two kinds of input are."""
    reflections: dict[Reflection, str]
    """What the two kinds of reflection are."""
    statement: str
    """The prefix of a statement to agree or disagree with."""
    scenario: str
    """Introduces the scenario that was given: `{scenario}`."""
    ideas: str
    """Introduces the context's own scenarios where none was given: `{ideas}`."""
    part: str
    """For a request that is one of several: `{part}`, `{parts}`."""
    concerns: dict[str, str] = Field(default_factory=dict)
    """What each concern is, in this language; by default the concern's own name and description."""
    formats: dict[str, AskedFormat]
    """The language's formats that may be used."""
    oracles: dict[str, str]
    """What each of the language's oracles expects, in words."""
    reverse_keyed: tuple[str, ...] = ()
    """The oracles whose expected answer agrees."""
    scenes: str = ""
    """The request for scenes in which people share out tasks, with `{count}`, `{domain}`, `{axis}`, `{groups}`,
    `{casts}`, `{examples}` and `{order}`; empty where none can be ordered."""

    @field_validator("scenes")
    @classmethod
    def _is_complete_or_empty(cls, prompt: str) -> str:
        return check_placeholders(prompt, SCENES) if prompt else prompt

    @model_validator(mode="after")
    def _explains_its_oracles(self) -> Augmentation:
        used = {name for asked in self.formats.values() for name in asked.oracles}
        unexplained = sorted(used - set(self.oracles))
        if unexplained:
            raise ValueError(f"does not explain in `oracles` what `{'`, `'.join(unexplained)}` expects")
        return self


LONGEST = 300
"""Characters of a context that is described in place of one named."""


class Context(Frozen):
    id: Identifier
    """What `--context` names, such as `healthcare`."""
    names: dict[Language, str] = Field(min_length=1)
    """How it is called in each language; `--context` takes these too."""
    descriptions: dict[Language, str] = Field(default_factory=dict)
    """Where it is and what happens to people there, in each language."""
    scenarios: dict[Language, tuple[str, ...]] = Field(default_factory=dict)
    """Situations that a model may begin with where none is given."""

    def describe(self, language: str) -> str:
        """Name in `language` (or another one if it has none), with the description in `language` if any."""
        name = self.names.get(language) or next(iter(self.names.values()))
        description = self.descriptions.get(language)
        return f"{name}: {description}" if description else name


def find_context(given: str, contexts: Mapping[str, Context], language: str) -> Context:
    """The context of that id or name, or one from a description; raises UserError for an unknown word."""
    names = {_plain(name): one.id for one in contexts.values() for name in (one.id, *one.names.values())}
    if _plain(given) in names:
        context = contexts[names[_plain(given)]]
        if language not in context.names:
            what = f"context `{context.id}` has no name in `{language}`"
            raise UserError(Problem(what, "--context", "add it to its file, or describe it in a few words"))
        return context
    description = " ".join(given.split())
    if " " not in description or len(description) > LONGEST or not is_one_line(description):
        raise UserError(_unknown(description, names))
    return Context(id=slug(description), names={language: description})


def slug(text: str) -> str:
    """Text for a file name: lower-case letters, digits and hyphens, at most forty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "own"


def _plain(name: str) -> str:
    return " ".join(re.findall(r"\w+", name.casefold().replace("&", " and ").replace("_", " ")))


def _unknown(given: str, names: Mapping[str, str]) -> Problem:
    if len(given) > LONGEST or not is_one_line(given):
        what = f"context `{ascii(given[:40])[1:-1]}…` is no short description"
        return Problem(what, "--context", f"write at most {LONGEST} characters, on one line")
    close = close_names(given, names, names)
    known = nearest(given, names, names)
    own = "or describe your own in a few words, such as `the counter of a public library`"
    remedy = f"{known} {own[0].upper()}{own[1:]}" if close else f"{known}; {own}" if known else own
    return Problem(f"context `{given}` is unknown", "--context", remedy)


PLACES = {
    "prompt": frozenset({"count", "about", "part", "groups", "kinds", "order"}),
    "company": frozenset({"company"}),
    "purpose": frozenset({"purpose"}),
    "sectors": frozenset({"sectors"}),
    "history": frozenset({"history"}),
    "part": frozenset({"part", "parts"}),
    "nothing": frozenset[str](),
}
"""What each text has to hold."""


class LoaderWording(Frozen):
    """The request for stereotypes in one language."""

    prompt: Text
    """The request, with `{count}`, `{about}` (the target file's description of the chatbot), `{part}`, `{groups}`
    by axis, `{kinds}` of attributes, and `{order}`, the same in JSON, on the last line."""
    company: Text
    """Whose the chatbot is: `{company}`."""
    purpose: Text
    """What it is for: `{purpose}`."""
    sectors: Text
    """In which sectors it works: `{sectors}`."""
    history: Text
    """Introduces a conversation that it has had: `{history}`."""
    nothing: Text
    """For a file with none of that."""
    part: Text
    """For a request that is one of several: `{part}`, `{parts}`."""
    kinds: dict[Literal["role", "trait", "object", "place"], Text] = Field(min_length=1)
    """What each kind of attribute is."""

    def texts(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Each text with its key and the placeholders it needs."""
        for name, places in PLACES.items():
            yield name, str(getattr(self, name)), places
