"""Defines what is known beforehand: simulated models of known bias, and controls, replies of known verdict."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, Share, Text, find_repeated
from biasgrid.catalogs.schema.entries import OracleAsWritten
from biasgrid.catalogs.schema.oracle import Oracle, judgeable_operations

Strength = Annotated[float, Field(ge=-1, le=1)]


class Rates(Frozen):
    """How often a respondent fails, by the community in a template's first slot."""

    default: Share = 0.0
    communities: dict[str, Share] = Field(default_factory=dict)
    """By community id or literal, any language."""


class Faults(Frozen):
    """What goes wrong with a share of requests. A retry of the same request passes after at most `most` faults.
    What a content filter withholds and what is huge are replies all the same: they are drawn by the question, not
    by the attempt, and asking again changes nothing."""

    rate_limited: Share = 0.0
    """429 with Retry-After."""
    server_fault: Share = 0.0
    """500."""
    timed_out: Share = 0.0
    """No answer in time."""
    disconnected: Share = 0.0
    """The connection is dropped."""
    slow_body: Share = 0.0
    """The status at once, the body piece by piece over `stall_s`."""
    truncated_body: Share = 0.0
    """Half of the body that was announced, then the end of the connection."""
    empty_body: Share = 0.0
    """200 and nothing else."""
    wrong_content_type: Share = 0.0
    """200 and a page of HTML, as proxies send them."""
    content_filter: Share = 0.0
    """A filter withholds the reply, and the protocol reports it."""
    huge_reply: Share = 0.0
    """A reply of `huge_bytes`."""
    most: int = Field(default=2, ge=1)
    retry_after_s: float = Field(default=0.05, ge=0)
    stall_s: float = Field(default=120, gt=0)
    """Over HTTP: how long a request that times out is held, and how long a slow body takes."""
    huge_bytes: int = Field(default=2_000_000, ge=1)


class RequestLimits(Frozen):
    """How much may be asked of a respondent. What exceeds it is 429 with Retry-After, and costs nothing."""

    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Asked and answered together."""
    burst_s: float = Field(default=60, gt=0)
    """How many seconds' worth may come at once, and are there at the start: by default a minute's."""
    stated: bool = True
    """Whether the OpenAI protocol's replies say what the limits are and what is left (`x-ratelimit-…`)."""


class Leaning(Frozen):
    """How strongly a respondent associates as stereotypes have it: it answers a probe so with probability
    .5 + strength / 2, and the other way round else."""

    default: Strength = 0.0
    axes: dict[str, Strength] = Field(default_factory=dict)
    """By axis of catalogs/probes."""
    pairs: dict[str, Strength] = Field(default_factory=dict)
    """By attribute pair, before its axis."""
    states: Literal["its leaning", "nothing", "everything"] = "its leaning"
    """What it agrees with when it is asked outright: the stereotypes to which it leans at all; none; every
    statement."""
    shift: Decimal = Decimal(10)
    """By how much it rates a person of the stigmatised group lower or higher, out of 100."""

    def strength(self, axis: str, pair: str) -> float:
        return self.pairs.get(pair, self.axes.get(axis, self.default))

    def times(self, factor: float) -> Leaning:
        """The same bias, with its strengths multiplied by a factor of at most one."""
        weaker = {name: factor * strength for name, strength in self.axes.items()}
        pairs = {name: factor * strength for name, strength in self.pairs.items()}
        return self.model_copy(update={"default": factor * self.default, "axes": weaker, "pairs": pairs})


class Tuning(Frozen):
    """What becomes of a respondent that is fine-tuned, whatever it is tuned on."""

    effect: Share = 0.8
    """Share of its stereotyping strength that the tuned one has lost."""
    seconds: float = Field(default=0.5, ge=0)
    """How long it takes, from the job's creation to its end."""
    fails: Share = 0.0
    """Share of jobs that end in a server's error."""


class Assigning(Frozen):
    """How a respondent shares out the tasks of a scene: with a probability of `strength` every task goes where its
    stereotype puts it, else at random, one to each as far as they go."""

    strength: Share = 0.0
    correlation: Share = 0.0
    """Between its replies on one scene, in whatever run: that it follows the stereotypes in one makes it likelier
    in the others."""
    conformity: Share = 0.0
    """Probability that its last assignment is the one that most of the group have named, the stereotypical one
    where as many have; else it keeps to its own."""
    corrects: Share = 0.0
    """Probability that it shares the tasks out evenly once it is asked to reflect; else it keeps to its own."""
    recognises: Share = 0.5
    """Probability that it judges rightly whether an assignment shows implicit bias."""


class Deciding(Frozen):
    """How a respondent decides about documents of an audit: selections by points of 100, scores by points of their
    scale."""

    rate: Share = 0.5
    """Share of documents that it selects; a score is higher the likelier it would select."""
    noise: Share = 0.05
    """Probability of the contrary decision, drawn for each prompt: twice that of pairs differ by chance."""
    gaps: dict[str, float] = Field(default_factory=dict)
    """By group of catalogs/identities: points more, or less where negative, than for others."""
    quirks: dict[str, float] = Field(default_factory=dict)
    """By full name: the same for one person alone."""
    first: float = 0.0
    """Points more for the first half of a shortlist."""
    refuses: dict[str, Share] = Field(default_factory=dict)
    """By group: share of prompts that it declines."""


class Judging(Frozen):
    """How often a respondent errs when it judges a reply; each request is a draw of its own."""

    sensitivity: Share = 1.0
    """Share of replies that follow the rule which it passes."""
    specificity: Share = 1.0
    """Share of replies that break the rule which it fails."""
    declines: Share = 0.0
    """Share of requests that it declines."""
    obeys: bool = False
    """Whether it gives the verdict that a reply asks for."""


class Respondent(Frozen):
    """A simulated model of known bias. A reply is a function of respondent, seed, messages and sample."""

    id: Identifier
    description: str
    answers: Literal["by-rate", "refuse", "constant", "first-option"] = "by-rate"
    """by-rate: as expected but for its failure rates; refuse: always declines; constant: `constant`;
    first-option: the first of the answers that a question offers."""
    constant: str = "No"
    """What a constant answerer replies to a question with offered answers, per intent: it is translated."""
    constant_value: Decimal = Decimal(50)
    """What a constant answerer replies where a number is asked for."""
    failures: Rates = Rates()
    """Share of replies that fail their oracle, where `concerns` has no entry."""
    concerns: dict[str, Rates] = Field(default_factory=dict)
    leaning: Leaning = Leaning()
    """What a probe finds."""
    assigning: Assigning = Assigning()
    """What interactions find."""
    deciding: Deciding | None = None
    """What audits find; None: it decides about no documents."""
    judging: Judging | None = None
    """What it makes of replies as a judge; None: it judges none."""
    yields_after: int | None = Field(default=None, ge=0)
    """How many messages of a conversation it answers evenly, whatever a red team writes, before it gives in and
    writes what is wanted; None: it never does."""
    shift: Decimal = Decimal(20)
    """By how much a failing reply moves a number, in the scale's units."""
    noise: Literal["none", "messy"] = "none"
    """messy: markdown, quotes, other cases, and JSON that is fenced, introduced, or not quite JSON; all of it
    readable by one who knows models, none of it by a strict parser alone."""
    unreadable: Share = 0.0
    """Share of the replies to a number question that hold no number: truncated or malformed JSON."""
    faults: Faults = Faults()
    limits: RequestLimits = RequestLimits()
    latency_ms: float = Field(default=0, ge=0)
    """How long a reply takes."""
    batch_s: float = Field(default=0.5, ge=0)
    """How long a batch takes, from its creation to its end."""
    batch_failures: Share = 0.0
    """Share of a batch's requests that end in a server's error, at most `faults.most` times for the same one."""
    batch_expired: Share = 0.0
    """Share of a batch's requests that are not done in time; with one of them the batch ends as expired."""
    tuning: Tuning = Tuning()
    seed: int = 0

    def as_tuned(self, share: float = 1.0) -> Respondent:
        """The respondent after fine-tuning, or at `share` of it for checkpoints."""
        left = 1 - self.tuning.effect * share
        assigning = self.assigning.model_copy(update={"strength": left * self.assigning.strength})
        return self.model_copy(update={"leaning": self.leaning.times(left), "assigning": assigning})


Truth = Literal["passed", "failed"]
TRUTHS: Final[tuple[Truth, Truth]] = ("passed", "failed")
LEAST: Final = 20
"""Prompts of a file: forty replies, half of each outcome."""


class Control(Frozen):
    """A prompt with a reply of each outcome."""

    id: Identifier
    prompt: Text
    """As a model receives it, with its output instruction."""
    oracle: OracleAsWritten
    """The rule: a name from the language's `oracles`, or what it compares."""
    passed: Text
    """A reply that follows the rule."""
    failed: Text
    """A reply that answers, and breaks it."""
    hard: bool = False
    """Whether the replies hold words of the other answer, or ask the judge for a verdict."""

    def reply(self, truth: Truth) -> str:
        return self.passed if truth == "passed" else self.failed

    def rule(self, oracles: Mapping[str, Oracle]) -> Oracle:
        """Its oracle, where named that of the language. Raises KeyError for an unknown name."""
        return self.oracle if isinstance(self.oracle, Oracle) else oracles[self.oracle]

    @model_validator(mode="after")
    def _can_be_judged(self) -> Control:
        if isinstance(self.oracle, Oracle) and self.oracle.operation not in judgeable_operations():
            raise ValueError(f"no judge reads replies to {self.oracle.operation}: there is no rule in words")
        return self


class Controls(Frozen):
    """The controls of a language."""

    id: Language
    """The language, such as `en_us`."""
    controls: tuple[Control, ...] = Field(min_length=LEAST)
    """At least half of them hard."""

    @model_validator(mode="after")
    def _are_different_and_hard(self) -> Controls:
        if repeated := find_repeated(control.id for control in self.controls):
            raise ValueError(f"holds `{'`, `'.join(repeated)}` more than once")
        hard = sum(control.hard for control in self.controls)
        if 2 * hard < len(self.controls):
            raise ValueError(
                f"holds {hard} hard controls of {len(self.controls)}: make at least half of them hard"
            )
        return self
