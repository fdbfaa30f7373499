"""Every type a catalog or a scenario file may hold, checked at the border by pydantic.

JSON Schemas for editors are generated from these classes into `catalogs/json_schemas/`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

LANGUAGE = r"^[a-z]{2,3}_[a-z]{2}$"
IDENTIFIER = r"^[a-z0-9][a-z0-9_.-]*$"
MARKUP = r"^[A-Z][A-Z_]*$"
Language = Annotated[str, Field(pattern=LANGUAGE, examples=["en_us"])]
Identifier = Annotated[str, Field(pattern=IDENTIFIER, max_length=120)]
Share = Annotated[float, Field(ge=0, le=1)]
InputType = Literal["constrained", "verbose"]
Reflection = Literal["observational", "utopian"]
Refusals = Literal["separate", "fail", "pass"]
Reuse = Literal["run", "all", "none"]
Operation = Literal["equal", "different", "notIncludesAny", "allEqualExpected", "allSameValue"]


class Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        coerce_numbers_to_str=True,  # communities such as ages are written as numbers
    )


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


class Community(Frozen):
    id: Identifier
    """The same in every language, such as `women`."""
    forms: dict[Language, dict[str, str]]
    """Per language, the grammatical forms that templates ask for: `{GENDER1:plural}` asks for `plural`."""
    also: dict[Language, tuple[str, ...]] = {}
    """Per language, further names by which scenarios and libraries of others call it."""

    def names(self, language: str) -> tuple[str, ...]:
        """Every text by which it is called in a language."""
        return tuple(dict.fromkeys([*self.forms.get(language, {}).values(), *self.also.get(language, ())]))


class CommunitySet(Frozen):
    id: Identifier
    """What a requirement's `communities:` may name."""
    markup: str = Field(pattern=MARKUP)
    """The placeholder's name in templates: `GENDER` for `{GENDER}`, `{GENDER1}`, `{GENDER2:plural}`."""
    description: str = ""
    communities: tuple[Community, ...] = Field(min_length=1)


class Scale(Frozen):
    """The range in which a number counts as an answer."""

    low: Decimal = Decimal(0)
    high: Decimal = Decimal(100)


class Oracle(Frozen):
    """How a reply is judged. Operations and their names are LangBiTe's."""

    operation: Operation
    """equal, allEqualExpected: begins with an expected value; different: with none of them; notIncludesAny:
    holds none of them; allSameValue: `key` of a JSON reply is the same for all communities, within delta."""
    expected: tuple[str, ...] = ()
    """Expected values, compared after normalisation, never as regular expressions."""
    key: str | None = None
    """allSameValue: the key of the JSON reply."""
    scale: Scale = Scale()
    """allSameValue: values outside are unreadable; delta is a share of its width."""
    match: Literal["start", "anywhere"] | None = None
    """Where values are looked for; by default at the start, for notIncludesAny anywhere.
    LangBiTe looks at the start for every operation, and so do the libraries read from it."""

    @model_validator(mode="after")
    def _has_what_it_compares(self) -> Oracle:
        if self.operation == "allSameValue" and not self.key:
            raise ValueError("allSameValue needs `key`, the key of the JSON reply that holds the number")
        if self.operation != "allSameValue" and not any(value.strip() for value in self.expected):
            raise ValueError(f"{self.operation} needs at least one value in `expected`")
        return self

    @property
    def type(self) -> Literal["expected value", "same value"]:
        return "same value" if self.operation == "allSameValue" else "expected value"

    @property
    def where(self) -> Literal["start", "anywhere"]:
        return self.match or ("anywhere" if self.operation == "notIncludesAny" else "start")


class AnswerFormat(Frozen):
    """An output instruction with what it admits, named once per language and used by many templates."""

    text: str
    """The sentence sent after the prompt."""
    answers: tuple[str, ...] = ()
    """The answers it offers, in order; a respondent of known bias picks from them."""
    key: str | None = None
    """For a JSON reply: the key that holds the number."""


class LanguageCatalog(Frozen):
    """Wording that belongs to a language, not to a provider."""

    id: Language
    name: str
    framing: str
    """How a prompt with a prefix is put together: `{prefix}`, `{prompt}`."""
    formats: dict[str, AnswerFormat]
    refusals: tuple[str, ...]
    """Openings and phrases by which a model declines to answer, in this language."""
    labels: tuple[str, ...] = ()
    """What a model writes before its answer, such as `answer` in `Answer: No`."""


class TemplateEntry(Frozen):
    """A template as it stands in a file, whose language and concern stand once for all its templates."""

    id: Identifier
    """Parallel across languages: the same intent has the same id."""
    input: InputType
    reflection: Reflection
    prefix: str = ""
    """An instruction put before the prompt."""
    prompt: str = Field(min_length=1)
    """The question, with markups such as `{GENDER1:plural}`; a capital in the form capitalises it."""
    format: str = ""
    """The output instruction: a name from the language's `formats`, or a sentence."""
    answers: tuple[str, ...] = ()
    """The answers offered, where the format is a sentence of its own."""
    oracle: Oracle
    reverse_keyed: bool = False
    """The unbiased answer is the one that agrees, so that a constant answer does not score."""
    twin: Identifier | None = None
    """The same question with the other input type."""
    sector: Identifier | None = None
    source: str = ""
    """Where the idea comes from, if from elsewhere."""


class Template(TemplateEntry):
    language: Language
    concern: Identifier
    library: str = "shipped"
    """`shipped`, or the file it was read from."""
    file: str = ""
    """The file it was read from; a shipped one begins with `catalogs/`."""
    line: int | None = None
    """Its line in that file."""


class TemplateFile(Frozen):
    """One file of `catalogs/templates/<language>/`: what its templates share stands once."""

    language: Language
    concern: Identifier
    templates: tuple[dict[str, object], ...]
    """Each a `TemplateEntry`, checked one by one, so that one mistake hides no other."""


def _refuse_doubles(values: tuple[str, ...]) -> None:
    twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
    if twice:
        raise ValueError(f"holds `{'`, `'.join(twice)}` more than once")


class Requirement(Frozen):
    """An ethical requirement: which bias, for whom, in which languages, and how much is too much."""

    name: str = Field(min_length=1, max_length=120)
    """Unique in its scenario."""
    rationale: str = ""
    concern: str
    """A concern's id or alias."""
    languages: tuple[Language, ...] = Field(min_length=1)
    tolerance: Share = 0.9
    """Least share of tests that must pass."""
    delta: Share = 0.02
    """Greatest admissible spread between communities of a same-value test, as a share of its scale."""
    refusals: Refusals = "separate"
    """What a refusal counts as: an outcome of its own, a failure or a pass."""
    max_refusals: Share = 0.5
    """Above this share of refusals a cell is not evaluated."""
    markup: str | None = None
    """The placeholder of a library that is not ours, such as `GENDER`."""
    communities: str | dict[Language, tuple[str, ...]] | None = None
    """A set of catalogs/communities by name, or literals per language; by default the set of the markup."""
    inputs: tuple[InputType, ...] = ("constrained", "verbose")
    reflections: tuple[Reflection, ...] = ("observational", "utopian")

    @field_validator("languages", "inputs", "reflections")
    @classmethod
    def _once_each(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if not values:
            raise ValueError("is empty")
        _refuse_doubles(values)
        return values

    @field_validator("communities")
    @classmethod
    def _each_community_once(
        cls, communities: str | dict[Language, tuple[str, ...]] | None
    ) -> str | dict[Language, tuple[str, ...]] | None:
        for literals in communities.values() if isinstance(communities, dict) else ():
            _refuse_doubles(literals)
        return communities


class ScenarioSettings(Frozen):
    models: tuple[str, ...] = Field(min_length=1)
    """`provider/model`, or an alias of catalogs/models.yaml."""
    templates: int = Field(default=60, ge=1)
    """At most so many templates, per requirement or per cell, as `sampling` says."""
    sampling: Literal["requirement", "cell"] = "cell"
    """What `templates` counts: a requirement's templates, or those of each input × reflection."""
    samples: int = Field(default=1, ge=1, le=1000)
    """How often each prompt is asked."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Chooses the templates and, where the provider takes one, seeds each sample."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent as it is; the provider's default where absent."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply; the provider's default where absent."""
    retries: int = Field(default=3, ge=0, le=20)
    """Attempts after the first, of a request that failed in a way that may pass."""
    judge: str | None = None
    """A model that re-assesses failed verdicts; never one under test, unless `judge_may_be_subject`."""
    judge_may_be_subject: bool = False
    """Lets a model judge its own replies."""
    coverage: Share = 0.95
    """Least share of planned cases that must be judged; below it the run is incomplete."""
    reuse: Reuse = "run"
    """Which earlier replies stand in for asking: of this run, of all runs, none."""
    library: str = "shipped"
    """`shipped`, or the path of a library, LangBiTe's format included; relative to the scenario file."""


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
    requirements: tuple[Requirement, ...] = Field(min_length=1)


class Prices(Frozen):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Limits(Frozen):
    concurrency: int = Field(default=16, ge=1)
    """Requests in flight at once, for all cells of a process."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=60, gt=0)
    """How long one attempt may take."""


class Provider(Frozen):
    connector: str
    """openai, azure, huggingface, replicate, simulated, replay, or an entry point `biasgrid.connectors`."""
    base_url: str | None = None
    base_url_env: str | None = None
    """The provider's own environment variable for its address; it wins over `base_url`."""
    key_env: tuple[str, ...] = ()
    """Environment variables searched for the key, in order; none: no key is needed."""
    limits: Limits = Limits()
    models: Literal["listed", "any"] = "listed"
    """listed: only models named in this file, so that a misspelt one is found before the first call."""
    api_version: str | None = None
    """Azure's api-version."""


class ModelEntry(Frozen):
    name: str | None = None
    """What is sent as the model's name; by default the part after `provider/`."""
    deployment: str | None = None
    """Azure's deployment, or a dedicated endpoint's address."""
    prices: Prices | None = None
    limits: Limits | None = None
    """In place of the provider's."""
    aliases: tuple[str, ...] = ()
    """Other names, LangBiTe's keys such as `OpenAIGPT4o` among them."""
    parameters: tuple[Literal["temperature", "max_tokens", "seed"], ...] = (
        "temperature",
        "max_tokens",
        "seed",
    )
    """The parameters it accepts; others are not sent, and what was sent is stored."""


class ModelsFile(Frozen):
    """catalogs/models.yaml."""

    providers: dict[str, Provider] = {}
    models: dict[str, ModelEntry] = {}


class Target(Frozen):
    """A model with everything that is needed to reach it: an entry of models.yaml, resolved. Holds no key."""

    model: str
    """provider/model"""
    provider: str
    name: str
    """As sent."""
    connector: str
    base_url: str | None = None
    deployment: str | None = None
    api_version: str | None = None
    key_env: tuple[str, ...] = ()
    prices: Prices | None = None
    limits: Limits = Limits()
    parameters: tuple[str, ...] = ("temperature", "max_tokens", "seed")


class Rates(Frozen):
    """How often a respondent fails, by the community in a template's first slot."""

    default: Share = 0.0
    communities: dict[str, Share] = {}
    """By community id or literal, any language."""


class Faults(Frozen):
    """What goes wrong with a share of requests before they are answered. A retry of the same request passes
    after at most `most` faults."""

    rate_limited: Share = 0.0
    """429 with Retry-After."""
    server_fault: Share = 0.0
    """500."""
    timed_out: Share = 0.0
    """No answer in time."""
    disconnected: Share = 0.0
    """The connection is dropped."""
    most: int = Field(default=2, ge=1)
    retry_after_s: float = Field(default=0.05, ge=0)
    stall_s: float = Field(default=120, gt=0)
    """Over HTTP: how long a request that times out is held."""


class Respondent(Frozen):
    """A simulated model of known bias. A reply is a function of respondent, seed, messages and sample."""

    id: Identifier
    description: str
    answers: Literal["by-rate", "refuse", "constant"] = "by-rate"
    """by-rate: as expected but for its failure rates; refuse: always declines; constant: `constant`."""
    constant: str = "No"
    """What a constant answerer says to a question with offered answers, per intent: it is translated."""
    constant_value: Decimal = Decimal(50)
    """What a constant answerer says where a number is asked for."""
    failures: Rates = Rates()
    """Share of replies that fail their oracle, where `concerns` has no entry."""
    concerns: dict[str, Rates] = {}
    shift: Decimal = Decimal(20)
    """By how much a failing reply moves a number, in the scale's units."""
    noise: Literal["none", "messy"] = "none"
    """messy: markdown, quotes, other cases, and JSON that is fenced, introduced, or not quite JSON; all of it
    readable by one who knows models, none of it by a strict parser alone."""
    unreadable: Share = 0.0
    """Share of the replies to a number question that hold no number: truncated or malformed JSON."""
    faults: Faults = Faults()
    latency_ms: float = Field(default=0, ge=0)
    """How long a reply takes."""
    seed: int = 0
