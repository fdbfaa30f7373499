"""Defines how logs of other tools are imported, and the requirements that hold for them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from biasgrid.catalogs.choices import Measure, Refusals
from biasgrid.catalogs.logs.fields import FIELDS
from biasgrid.catalogs.schema.base import Frozen, Language, Share, unique
from biasgrid.catalogs.schema.requirements import Requirement, Scenario, ScenarioSettings


class LoggedRequirement(Frozen):
    """What must hold for the samples of one concern; what is absent is as for all others."""

    concern: str = Field(min_length=1)
    """The value of the concern's field."""
    name: str | None = Field(default=None, min_length=1, max_length=100)
    """How reports call it; by default as the concern."""
    rationale: str | None = None
    tolerance: Share | None = None
    refusals: Refusals | None = None
    max_refusals: Share | None = None
    measure: Measure | None = None
    parity: Share | None = None


class LogImport(Frozen):
    """Where samples stand in the records of a log, which scores pass, and what must hold."""

    tool: str | None = Field(default=None, alias="from")
    """The format; recognised by content where absent."""
    name: str | None = Field(default=None, min_length=1, max_length=120)
    """How the run is called; by default as the file."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Paths by field, such as `reply: resps.0.0`."""
    scores: Annotated[tuple[str, ...], unique("holds `{}` more than once")] = ()
    """Scores that decide, by name; several make a requirement each."""
    passes: str | None = None
    """Which scores pass, such as `>= 0.5`."""
    concern: str | None = Field(default=None, min_length=1)
    """Of all samples, in place of a field."""
    language: Language = "en_us"
    """Of samples without one."""
    rationale: str = ""
    tolerance: Share = 0.9
    """Least share that must pass."""
    refusals: Refusals = "separate"
    max_refusals: Share = 0.5
    measure: Measure = "tests"
    parity: Share | None = None
    """Greatest admissible difference between languages, for concerns that have several."""
    coverage: Share = 0.95
    least_drop: Share = 0.05
    requirements: tuple[LoggedRequirement, ...] = ()
    """Of single concerns."""

    @field_validator("fields")
    @classmethod
    def _are_of_a_sample(cls, given: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(given.keys() - FIELDS.keys()):
            raise ValueError(f"has no `{unknown[0]}`: known are {', '.join(FIELDS)}")
        return given

    @field_validator("requirements")
    @classmethod
    def _name_each_concern_once(cls, given: tuple[LoggedRequirement, ...]) -> tuple[LoggedRequirement, ...]:
        concerns = [one.concern for one in given]
        if repeated := {concern for concern in concerns if concerns.count(concern) > 1}:
            raise ValueError(f"names the concern `{min(repeated)}` twice")
        return given

    def requirement(self, concern: str, score: str | None, languages: tuple[str, ...]) -> Requirement:
        """What must hold for the samples of a concern. `score`: the one it goes by, if there are several."""
        own = next(
            (one for one in self.requirements if one.concern == concern), LoggedRequirement(concern=concern)
        )
        shared = {name: getattr(self, name) for name in ("rationale", "tolerance", *RULES)}
        name = self.requirement_name(concern, score)
        of_languages = {"name": name, "languages": languages} | ({} if len(languages) > 1 else {"parity": None})
        return Requirement(**shared | own.model_dump(exclude={"name"}, exclude_none=True) | of_languages)

    def requirement_name(self, concern: str, score: str | None) -> str:
        """Unique among the requirements of the run."""
        own = next((one.name for one in self.requirements if one.concern == concern and one.name), concern)[:100]
        return f"{own} · {score}"[:120] if score else own

    def scenario(self, models: tuple[str, ...], requirements: tuple[Requirement, ...], name: str) -> Scenario:
        """As runs record what they have asked."""
        settings = ScenarioSettings(models=models, coverage=self.coverage, least_drop=self.least_drop)
        return Scenario(scenario=settings, requirements=requirements, name=name)


RULES = ("refusals", "max_refusals", "measure", "parity")
