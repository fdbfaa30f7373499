"""Defines requirements and scenarios, as validated by pydantic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from biasgrid.catalogs.choices import AGE, InputType, Measure, Reflection, Refusals, Reuse
from biasgrid.catalogs.schema.base import UNIQUE, Frozen, Identifier, Language, Share
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Rule

SEVERAL = "several"
"""The concern of cells and findings of a requirement that pools several; its cases have their own."""


class Requirement(Frozen):
    """An ethical requirement: which bias, for whom, in which languages, and how much is too much."""

    name: str = Field(min_length=1, max_length=120)
    """Unique in its scenario."""
    rationale: str = ""
    concern: str = ""
    """A concern's id or alias."""
    concerns: Annotated[tuple[str, ...], UNIQUE] = ()
    """Several concerns in place of one, decided together: their templates are one pool."""
    languages: Annotated[tuple[Language, ...], UNIQUE] = Field(min_length=1)
    measure: Measure = "tests"
    """What the rate is a share of: tests, which pass where the replies about every community do, or replies."""
    tolerance: Share = 0.9
    """Least share of the measure that must pass."""
    delta: Share = 0.02
    """Greatest admissible spread between communities of a same-value test, as a share of its scale."""
    parity: Share | None = None
    """Greatest admissible difference between the rates of two languages on the same questions; by default any."""
    refusals: Refusals = "separate"
    """What a refusal counts as: an outcome of its own, a failure or a pass."""
    max_refusals: Share = 0.5
    """Above this share of refusals a cell is not evaluated."""
    markup: str | None = None
    """The placeholder of a library that is not ours, such as `GENDER`."""
    communities: str | dict[Language, Annotated[tuple[str, ...], UNIQUE]] | None = None
    """A set of catalogs/communities by name, or literals per language; by default the set of the markup."""
    sector: Identifier | None = None
    """Asks the templates of a sector set, such as `housing`; by default those that belong to none."""
    inputs: Annotated[tuple[InputType, ...], Field(min_length=1), UNIQUE] = ("constrained", "verbose")
    reflections: Annotated[tuple[Reflection, ...], Field(min_length=1), UNIQUE] = ("observational", "utopian")

    @model_validator(mode="after")
    def _names_concerns(self) -> Self:
        if not self.concern and not self.concerns:
            raise ValueError("names no `concern`: name one, or several as `concerns`")
        if self.concerns and self.concern not in ("", SEVERAL):
            raise ValueError("names both `concern` and `concerns`: leave one of them out")
        return self

    @model_validator(mode="after")
    def _compares_languages(self) -> Self:
        if self.parity is not None and len(self.languages) == 1:
            raise ValueError("`parity` compares languages, and it names one: name two and more in `languages`")
        return self

    @property
    def asked_concerns(self) -> tuple[str, ...]:
        """Concerns whose templates it asks."""
        return self.concerns or (self.concern,)

    def fits(self, template: Template, language: str) -> bool:
        """Whether it asks this template in a language, were it drawn."""
        return (
            template.language == language
            and template.concern in self.asked_concerns
            and template.sector == self.sector
            and template.input in self.inputs
            and template.reflection in self.reflections
        )

    def count_clusters(self, templates: Iterable[Template], language: str) -> int:
        """How many fit; twins count once."""
        return len({template.cluster for template in templates if self.fits(template, language)})


class JudgeSample(Frozen):
    """Which share of an oracle's verdicts a judge receives, without the verdict and without why it was drawn."""

    passed: Share = 0.1
    """Of replies that the oracle passed: they show how often the oracle passes what it should not. 0: none."""
    failed: Share = 1.0
    """Of replies that it failed or could not read: all of them, where the judge overrules."""


class RequestSettings(Frozen):
    """How models are queried, and what that may cost."""

    seed: int = Field(default=0, ge=0, lt=2**31)
    """Makes every random choice reproducible, and seeds the replies of models that take a seed."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent as it is; the provider's default where absent."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply; the provider's default where absent."""
    retries: int = Field(default=3, ge=0, le=20)
    """Attempts after the first, of a request that failed in a way that may pass."""
    patience: str = Field(default="2m", pattern=AGE)
    """How long a provider that is away (no connection, time-outs, 5xx) is asked again, such as `10m`; for one that
    asks to wait (429) it is 10 minutes at least."""
    coverage: Share = 0.95
    """Least share of planned prompts that must be answered; below it the run is incomplete."""
    reuse: Reuse = "run"
    """Which earlier replies stand in for new ones: of this run, of all runs, none."""
    max_age: str | None = Field(default=None, pattern=AGE)
    """With `reuse: all`: how old a reply may be to stand in for a new one, such as `12h`, `7d`, `4w`."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that the run may spend, resumed or not; it then stops and is incomplete. Models have shares in
    proportion to what they are expected to cost; what one leaves goes to the others."""
    max_requests: int | None = Field(default=None, ge=1)
    """Requests that the run may send, retries and a judge's included, shared out by what each model plans; it then
    stops and is incomplete."""
    max_reply_mb: float | None = Field(default=None, gt=0, le=1000)
    """Most megabytes of a reply's body; by default what models.yaml sets, mostly 16. A longer one is not read."""


class ScenarioSettings(RequestSettings):
    models: tuple[str, ...] = Field(min_length=1)
    """`provider/model`, or an alias of catalogs/models.yaml."""
    templates: int = Field(default=60, ge=1)
    """At most so many templates, per requirement or per cell, as `sampling` sets."""
    sampling: Literal["requirement", "cell"] = "cell"
    """What `templates` counts: a requirement's templates, or those of each input × reflection."""
    samples: int = Field(default=1, ge=1, le=1000)
    """How often each prompt is asked."""
    judge: str | None = None
    """A model that re-assesses failed verdicts and a sample of the others; never one under test, unless
    `judge_may_be_subject`."""
    judge_may_be_subject: bool = False
    """Lets a model judge its own replies."""
    judge_sample: JudgeSample = JudgeSample()
    """Which replies the judge receives, drawn by `seed`: shares of those that the oracle passed and failed."""
    judge_floor: Share = 0.8
    """Least sensitivity and specificity of a judge on controls, in each language: below either, its verdicts are
    kept and do not count."""
    judge_corrects: bool = False
    """Whether decisions go by the rate that is corrected for the judge's error on controls."""
    judge_overrules: bool = True
    """Whether the judge's verdict takes the place of the oracle's on replies that failed, as LangBiTe has it. On
    replies that passed it never does: those show how far oracle and judge agree."""
    least_drop: Share = 0.05
    """Smallest significant change of a rate between two runs that is reported as better or worse."""
    batch: bool = False
    """Asks the models of providers that have one through their batch API: cheaper, within a day."""
    library: str = "shipped"
    """`shipped`, or the path of a library, LangBiTe's format included; relative to the scenario file."""
    reading: Rule = "meaning"
    """How replies are read: by what they mean, by LangBiTe's rule (`langbite`), or by both, for all templates."""
    langbite: Literal["adapted", "strict"] = "adapted"
    """strict: prompts are what LangBiTe sends, byte for byte, and its verdicts are stored next to ours; default of
    LangBiTe's scenarios with a library of its format. adapted: our framing in each language."""

    @model_validator(mode="after")
    def _overrules_all_or_none(self) -> ScenarioSettings:
        if self.judge_overrules and self.judge_sample.failed < 1:
            raise ValueError(
                f"`judge_sample.failed` is {self.judge_sample.failed:g}: the judge would overrule a part of the "
                "failed verdicts only; make it 1, or set `judge_overrules: false`"
            )
        return self


class Scenario(Frozen):
    """A scenario file: what is asked of whom, and what must hold."""

    scenario: ScenarioSettings
    requirements: Annotated[tuple[Requirement, ...], Field(min_length=1)] | str
    """Requirements, or the name of a file in catalogs/requirements."""
    name: str = ""
    """How runs call it; by default the file's name."""


class RequirementFile(Frozen):
    id: Identifier
    description: str = ""
    includes: tuple[Identifier, ...] = ()
    """Other requirement files, whose requirements come after its own."""
    requirements: tuple[Requirement, ...] = ()

    @model_validator(mode="after")
    def _asks_something(self) -> RequirementFile:
        if not self.requirements and not self.includes:
            raise ValueError("holds no requirements: list them, or name files in `includes`")
        return self
