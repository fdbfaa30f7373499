"""What a model is told when it is asked to write templates, in the words of their language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import Field, field_validator, model_validator

from catalogs.frozen import Frozen
from catalogs.schema import InputType, Language, Reflection

OPENINGS = ("count", "concern", "context", "shares", "forms", "formats", "oracles", "examples", "order")
"""What the prompt has to say somewhere, as `{count}` and so on."""
FURTHER = ("scenario", "markup", "first", "second")
SCENES = ("count", "domain", "groups", "casts", "axis", "examples", "order")
"""The same of the request for scenes."""
PLACE = re.compile(r"\{([a-z]+)\}")


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
    prompt: str
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
    """Said of a request that is one of several: `{part}`, `{parts}`."""
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

    @field_validator("prompt")
    @classmethod
    def _says_everything(cls, prompt: str) -> str:
        return _holding(prompt, OPENINGS, FURTHER)

    @field_validator("scenes")
    @classmethod
    def _says_all_of_scenes(cls, prompt: str) -> str:
        return _holding(prompt, SCENES) if prompt else prompt

    @model_validator(mode="after")
    def _names_what_it_tells(self) -> Augmentation:
        used = {name for asked in self.formats.values() for name in asked.oracles}
        untold = sorted(used - set(self.oracles))
        if untold:
            raise ValueError(f"does not tell in `oracles` what `{'`, `'.join(untold)}` expects")
        return self


def _holding(prompt: str, required: Sequence[str], further: Sequence[str] = ()) -> str:
    """Raises ValueError where a place is missing, or nothing fills one."""
    places = set(PLACE.findall(prompt))
    lacking = [f"{{{name}}}" for name in required if name not in places]
    unknown = [f"{{{name}}}" for name in sorted(places - {*required, *further})]
    if lacking:
        raise ValueError(f"lacks {', '.join(lacking)}")
    if unknown:
        raise ValueError(f"holds {', '.join(unknown)}, which nothing fills")
    return prompt


def filled(text: str, parts: Mapping[str, str]) -> str:
    """A text with `{name}` replaced, in one pass: what is put in is not looked at again."""
    return PLACE.sub(lambda place: parts.get(place[1], place[0]), text)
