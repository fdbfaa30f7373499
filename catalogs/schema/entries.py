"""Defines concerns, communities, templates and requirements, as validated by pydantic."""

# JSON Schemas for editors are generated from these classes into `catalogs/json_schemas/`.

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, Tag, model_validator

from biasgrid.catalogs.schema.base import NAMED, Frozen, unique
from biasgrid.catalogs.schema.choices import AGE
from biasgrid.catalogs.schema.choices import Reuse as Reuse
from biasgrid.catalogs.schema.oracle import Oracle, Rule

LANGUAGE = r"^[a-z]{2,3}_[a-z]{2}$"
IDENTIFIER = r"^[a-z0-9][a-z0-9_.-]*$"
MARKUP = r"^[A-Z][A-Z_]*$"
Language = Annotated[str, Field(pattern=LANGUAGE, examples=["en_us"])]
COMMUNITY = r"^[a-z0-9][a-z0-9_.+-]*$"
LONGEST_ID = 120
Identifier = Annotated[str, Field(pattern=IDENTIFIER, max_length=LONGEST_ID)]
Share = Annotated[float, Field(ge=0, le=1)]
InputType = Literal["constrained", "verbose"]
Reflection = Literal["observational", "utopian"]
Refusals = Literal["separate", "fail", "pass"]
Measure = Literal["tests", "replies"]
UNIQUE = unique("holds `{}` more than once")


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


class AnswerFormat(Frozen):
    """An output instruction with what it admits, named once per language and used by many templates."""

    text: str
    """The sentence sent after the prompt."""
    answers: tuple[str, ...] = ()
    """The answers it offers, in order; a respondent of known bias picks from them."""
    key: str | None = None
    """For a JSON reply: the key that holds the number."""


Phrase = Annotated[str, StringConstraints(pattern=r"\S", max_length=1000)]
"""Words of a reply in lower case. `a|b` are alternatives of a word, `word?` may be missing, `word*` may have an
ending, and `…` stands for up to four words. An apostrophe may be missing in the reply."""
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]


class Stances(Frozen):
    """The phrases of a language by concept, for the reader of expected values."""

    bare_yes: Phrases
    """The word `yes` and its spellings."""
    bare_no: Phrases
    """The word `no` and its spellings; they may begin a clause that denies nothing: `no matter who it is`."""
    bare_not: Phrases
    """Other words that begin a clause as `no` does: `not`."""
    yes: Phrases
    """Agree, whatever follows in their clause: `i agree`, `you bet`."""
    no: Phrases
    """Deny, unless their clause has a word of `reversals`: `of course not`."""
    sure: Phrases
    """Agree, unless the rest of their clause denies: `of course they are not`."""
    both: Phrases
    """Take both sides, or repeat what could be answered: `yes and no`."""
    hedged: Phrases
    """Take no side where one is asked for: `it depends`, `hard to say`."""
    inapplicable: Phrases
    """The abbreviation that formats offer for no answer: `n/a`."""
    unknown: Phrases
    """Nothing can be concluded from what is given: `it is impossible to know`."""
    none: Phrases
    """None of the options: `neither`, `nobody`."""
    either: Phrases
    """Any option, or no difference between them: `either`, `it does not matter`."""
    first: Phrases
    """The first option: `the first`, `the former`."""
    second: Phrases
    """The second option."""
    picks: Phrases
    """Take what their clause names: `i'd hire`, `my money is on`."""
    persons: Phrases
    """Name one of the persons in a question: `the man`, `her`, `the other`."""
    declines: Phrases
    """Decline to answer, in any words: `no comment`, `i'd rather not`."""
    unwilling: Phrases
    """Decline, if no answer was read in the reply: `i won't`, `not from me`."""
    excuses: Phrases
    """Begin a refusal unless an answer follows: `i'm sorry`, `as an ai`."""
    reproaches: Phrases
    """Call false or unfair what their clause is about: `wrong` in `that's wrong` and in `not wrong`."""
    rejections: Phrases
    """Deny or refuse it: `doubt`, `turn down`; a reproach may turn them round: `absurd to deny it`."""
    negators: Phrases
    """Deny a clause: `not`, `never`, `nobody`."""
    equalities: Phrases
    """Deny a difference: `equally`, `as … as`, `regardless`; where equality is asked about, they affirm it."""
    difference: Phrases
    """The word `difference` and its like: they deny where equality is asked about."""
    lesser: Phrases
    """State a difference to less: `worse`."""
    greater: Phrases
    """State a difference to more: `better`."""
    pronouns: Phrases
    """Stand for the subject of the question at the start of a clause: `they`, `it`."""
    grammar: Phrases
    """Words of four letters and more that any sentence may hold, and that do not show what it is about."""
    causes: Phrases
    """Begin a reason: `because`."""
    complements: Phrases
    """Begin what a clause is about, which is denied apart from it: `that` in `no doubt that they are not`."""
    concord: bool = False
    """Whether several negators deny once, as in `no … nada`."""
    conclusions: Phrases
    """Announce the answer, after reasons too: `so the answer is`, `in short`."""
    contrasts: Phrases
    """Begin the other side: `but`, `however`."""
    attributions: Phrases
    """Report what others think: `some people say`, `if`."""
    fillers: Phrases
    """Stand before an answer and mean nothing: `well`, `to be honest`."""
    exceptions: Phrases
    """Limit an answer of none: `except`, `apart from`."""
    misconceptions: Phrases = ()
    """Name a belief that is wrong: `myth`; whatever else denies in their clause means the same, unless it denies
    this: `a myth without any basis`, `not a myth`."""
    copulas: Phrases = ()
    """Say what something is: `is` in `to deny it is a prejudice`."""
    likenesses: Phrases = ()
    """Ask for equal treatment, in a question: `like anyone else`."""
    unrelated: Phrases = ()
    """Deny that two things are related, and so a difference: `no bearing`."""
    continuations: Phrases = ()
    """Begin a clause that goes on denying: `nor`, or sets off the words before it: `not`."""
    concessions: Phrases = ()
    """Begin what is granted before the answer: `although`, `while`."""
    claims: Phrases = ()
    """Begin what others hold, which a clause that speaks of it mostly rejects: `to assume so`, `denying her`."""
    validations: Phrases = ()
    """Call right what a clause is about: `the statement has it right`."""
    rhetorical: Phrases = ()
    """Begin a question that states the opposite: `how could they`, `who would`."""
    instructions: Phrases = ()
    """Begin a sentence about how to answer: `answer with yes or no`."""
    deliveries: Phrases = ()
    """Hand over what was asked for: after `sure`, which then answers nothing."""
    dangling: Phrases = ()
    """Words that end no sentence: `the`, `and`."""
    tasks: Phrases = ()
    """What a reply calls its task, rather than do it: `sentence` in `I leave the sentence as it is`."""

    @property
    def affirmations(self) -> tuple[str, ...]:
        return (*self.bare_yes, *self.yes)

    @property
    def denials(self) -> tuple[str, ...]:
        return (*self.bare_no, *self.bare_not, *self.no)

    @property
    def reversals(self) -> tuple[str, ...]:
        """What turns a clause round."""
        return (*self.misconceptions, *self.reproaches, *self.rejections)

    @property
    def unknowable(self) -> tuple[str, ...]:
        return (*self.inapplicable, *self.unknown)

    @property
    def differences(self) -> tuple[str, ...]:
        return (*self.difference, *self.lesser, *self.greater)


class Numerals(Frozen):
    """How a language spells the numbers from 0 to 199."""

    least: tuple[str, ...] = Field(min_length=30, max_length=30)
    """0 to 29."""
    tens: tuple[str, ...] = Field(min_length=7, max_length=7)
    """30, 40 … 90."""
    joint: str
    """Between tens and ones."""
    hundred: str
    over_hundred: str
    """Before what is added to a hundred, with its blank."""

    @cached_property
    def spelled(self) -> dict[str, int]:
        """Numbers by their spelling."""
        joined = (
            (f"{ten}{self.joint}{self.least[one]}" if one else ten, 10 * place + one)
            for place, ten in enumerate(self.tens, 3)
            for one in range(10)
        )
        small = dict(zip(self.least, range(30), strict=True)) | dict(joined)
        large = {f"{self.over_hundred}{word}": 100 + number for word, number in small.items() if number}
        return small | {self.hundred: 100} | large


class LanguageCatalog(Frozen):
    """Wording that belongs to a language, not to a provider."""

    id: Language
    name: str
    framing: str
    """How a prompt with a prefix is put together: `{prefix}`, `{prompt}`."""
    formats: dict[str, AnswerFormat]
    """Output instructions by the name that templates use, such as `yes_no`; the same names in every language."""
    oracles: dict[str, Oracle] = Field(default_factory=dict)
    """Oracles by the name that templates use, such as `denied`; the same names in every language."""
    refusals: tuple[str, ...]
    """Openings and phrases by which a model declines to answer, in this language."""
    labels: tuple[str, ...] = ()
    """What a model writes before its answer, such as `answer` in `Answer: No`."""
    stance: Stances | None = None
    """How replies take a stand; without it, expected values are found as they are written."""
    numerals: Numerals | None = None
    """How numbers are spelled, such as `ninety-two`; without it, numbers in words are not read."""


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
