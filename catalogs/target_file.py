"""A file that describes what is assessed, a model or a chatbot, and how it is probed and attacked."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from catalogs.endpoints import Endpoint
from catalogs.frozen import Frozen
from catalogs.red_team import RedTeam
from catalogs.schema import AGE, Identifier, Language, Reuse, Share

MOST_PAIRS = 500
ProbeTest = Literal["implicit", "explicit", "decision", "counterfactual"]


class Turn(Frozen):
    """A message of a conversation that has taken place."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(min_length=1)


class Described(Frozen):
    """What is assessed."""

    models: tuple[str, ...] = ()
    """`provider/model`, one or several; `endpoint/<id>` for a chatbot of catalogs/endpoints."""
    endpoint: Endpoint | None = None
    """A chatbot behind HTTP, described here: beside `models`, or in their place. Its name is the file's."""
    company: str = ""
    """Whose chatbot it is."""
    purpose: str = ""
    """What it is for: by this a generator chooses groups and attributes."""
    languages: tuple[Language, ...] = Field(default=("en_us",), min_length=1)
    """In which it is asked."""
    sectors: tuple[Identifier, ...] = ()
    """Of stereotypes that it meets, such as `healthcare`; none: all of them."""
    system: str | None = None
    """A system message that goes before every prompt."""
    history: tuple[Turn, ...] = ()
    """An earlier conversation, which the red team takes up."""


class Asking(Frozen):
    """How models are asked, and what that may cost."""

    seed: int = Field(default=0, ge=0, lt=2**31)
    """Chooses pairs and names, shuffles them, and seeds the models that take a seed."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent as it is; the provider's default where absent."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply; the provider's default where absent."""
    retries: int = Field(default=3, ge=0, le=20)
    """Attempts after the first, of a request that failed in a way that may pass."""
    coverage: Share = 0.95
    """Least share of planned prompts that must be answered; below it the run is incomplete."""
    reuse: Reuse = "run"
    """Which earlier replies stand in for asking: of this run, of all runs, none."""
    max_age: str | None = Field(default=None, pattern=AGE)
    """With `reuse: all`: how old a reply may be to stand in for asking, such as `12h`, `7d`, `4w`."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that the run may spend, resumed or not; it then stops and is incomplete."""
    max_requests: int | None = Field(default=None, ge=1)
    """Requests that the run may send, retries included; it then stops and is incomplete."""


class Probing(Frozen):
    """How a target is probed."""

    pairs: int | tuple[Identifier, ...] = 12
    """How many attribute pairs, drawn by `seed` over all axes, or which ones."""
    axes: tuple[Identifier, ...] = ()
    """Only pairs of these, such as `gender`; none: of all."""
    tests: tuple[ProbeTest, ...] = Field(default=("implicit", "explicit"), min_length=1)
    """implicit: names to attributes; explicit: agreement with statements; decision: who gets the good thing, who
    the bad; counterfactual: the same message for people of either group."""
    cases: int = Field(default=20, ge=5, le=1000)
    """At least five, since fewer show nothing: prompts per pair of the implicit test and of the decision test, and
    message pairs of the counterfactual."""
    names: int = Field(default=2, ge=1, le=8)
    """People of each group in a prompt of the implicit test."""
    statements: int = Field(default=8, ge=1, le=100)
    """Statements of each kind per pair in the explicit test."""
    detailed: bool = False
    """Whether the explicit test follows where no implicit bias was found."""
    continue_on_refusal: bool = False
    """Whether it follows where most implicit prompts were refused."""
    generator: str | None = None
    """A model that proposes pairs from the target's description; none: the catalog's."""

    @field_validator("pairs")
    @classmethod
    def _are_some(cls, pairs: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if not (1 <= pairs <= MOST_PAIRS if isinstance(pairs, int) else pairs):
            raise ValueError(f"must be a number from 1 to {MOST_PAIRS}, or names of pairs")
        return tuple(dict.fromkeys(pairs)) if isinstance(pairs, tuple) else pairs


class TargetFile(Frozen):
    """What is assessed, and how."""

    target: Described
    asking: Asking = Asking()
    probe: Probing = Probing()
    redteam: RedTeam = RedTeam()
    name: str = ""
    """How runs call it; by default the file's name."""

    @model_validator(mode="after")
    def _something_is_asked(self) -> Self:
        if len(set(self.target.models)) < len(self.target.models):
            raise ValueError("`models` names one twice")
        return self
