"""Defines files that specify which models discuss which scenes, and how."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.choices import Mitigation as Mitigation
from biasgrid.catalogs.schema.choices import Setting as Setting
from biasgrid.catalogs.schema.entries import Identifier, Language
from biasgrid.catalogs.schema.target_file import Asking

TALKING: tuple[Setting, ...] = ("no_goal", "goal")
CAST = "cast"
"""Begins the name of a cast, such as `cast/mixed`."""


class Interacting(Frozen):
    """Who talks over what."""

    models: tuple[str, ...] = ()
    """`provider/model`: each plays all people of its scenes."""
    casts: dict[Identifier, tuple[str, ...]] = Field(default_factory=dict)
    """By name: models that play the people of a scene in turn: agents of one scene are different models."""
    tuned: dict[str, str] = Field(default_factory=dict)
    """Which of the models is tuned from which other: what tuning changed is tested. OpenAI's names tell it
    themselves."""
    languages: tuple[Language, ...] = Field(default=("en_us",), min_length=1)
    domains: tuple[Identifier, ...] = ()
    """Of catalogs/scenes; none: all but those that are held out or asked for by name alone."""
    axes: tuple[Identifier, ...] = ("gender",)
    """Only scenes whose people differ in these; none: in anything."""
    scenes: int | Literal["all"] | tuple[Identifier, ...] = 24
    """How many scenes, drawn by `seed` over the domains, or which ones."""
    settings: tuple[Setting, ...] = Field(default=("no_interaction", "no_goal", "goal"), min_length=1)
    mitigations: tuple[Mitigation, ...] = Field(default=("none",), min_length=1)
    """reflection: agents look at their first assignment again, told what implicit bias is;
    reflection_with_examples: with three biased and three fair ones."""
    runs: int = Field(default=5, ge=1, le=100)
    """How often each scene is played, with other names and in another order."""
    protocol: Identifier = "study"
    """Of catalogs/protocols: the rounds in which agents talk."""
    system: str | None = None
    """A system message that goes before every persona."""

    @field_validator("scenes")
    @classmethod
    def _are_some(cls, scenes: int | str | tuple[str, ...]) -> int | str | tuple[str, ...]:
        if scenes == () or (isinstance(scenes, int) and scenes < 1):
            raise ValueError("must be a number from 1, names of scenes, or `all`")
        return tuple(dict.fromkeys(scenes)) if isinstance(scenes, tuple) else scenes

    @field_validator("models", "languages", "domains", "axes", "settings", "mitigations")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names one twice")
        return names

    @model_validator(mode="after")
    def _somebody_plays(self) -> Self:
        few = [name for name, models in self.casts.items() if len(models) < 2]
        if few:
            raise ValueError(f"cast `{few[0]}` has fewer than two models")
        return self


class InteractionFile(Frozen):
    """Which models talk which scenes over."""

    interaction: Interacting
    asking: Asking = Asking()
    name: str = ""
    """How runs call it; by default the file's name."""
