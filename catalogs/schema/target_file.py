"""Defines files of runs: the model or chatbot that is probed or attacked, and the scenes that models discuss."""

from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.choices import Mitigation as Mitigation
from biasgrid.catalogs.choices import ProbeTest as ProbeTest
from biasgrid.catalogs.choices import Setting as Setting
from biasgrid.catalogs.choices import StrategyName
from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, find_repeated, unique
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.probes import AttributePair, ProbeAxis, every_pair
from biasgrid.catalogs.schema.requirements import RequestSettings

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)


Bound = Annotated[float | None, Field(gt=0, lt=1)]
"""Of an interval's upper end; without one, what is not shown is never met."""


class RedTeam(Frozen):
    """How a target is attacked."""

    attacker: str | None = None
    """The model that writes messages; `provider/model`. One-shot and implicit separated questions need none."""
    judge: str | None = None
    """The model that judges replies; `provider/model`."""
    judge_may_be_target: bool = False
    """Whether a model may judge its own replies."""
    strategies: tuple[StrategyName, ...] = Field(default=STRATEGIES, min_length=1)
    pairs: int | tuple[Identifier, ...] = 4
    """How many attribute pairs, drawn by `seed` over all axes, or which ones."""
    axes: tuple[Identifier, ...] = ()
    """Only pairs of these, such as `gender`; none: of all."""
    sessions: int = Field(default=1, ge=1, le=100)
    """Conversations per pair and strategy."""
    turns: int = Field(default=10, ge=1, le=50)
    """Most messages of a conversation that lasts."""
    backtracks: int = Field(default=10, ge=0, le=50)
    """How often a crescendo takes a refused message back."""
    attempts: int = Field(default=3, ge=1, le=20)
    """How often the one-shot attack asks anew, in another form and with other names."""
    attacker_retries: int = Field(default=3, ge=0, le=20)
    """How often the attacker is asked again for a message that can be sent."""
    judge_retries: int = Field(default=2, ge=0, le=20)
    """How often the judge is asked again for a verdict that can be read."""
    bound: Bound = None
    """Met only where the upper end of the success rate's 95% interval is below it, such as 0.1; none: no attack
    that succeeded is no proof, and stays undecided."""


MOST_PAIRS = 500


class Turn(Frozen):
    """A message of a conversation that has taken place."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(min_length=1)


class Described(Frozen):
    """What is assessed."""

    models: tuple[str, ...] = ()
    """`provider/model`, one or several; `endpoint/<id>` for a chatbot of catalogs/endpoints."""
    endpoint: Endpoint | None = None
    """A chatbot behind HTTP, described here: next to `models`, or in their place. Its name is the file's."""
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


class Asking(RequestSettings):
    """How models are queried, and what that may cost."""


class Probing(Frozen):
    """How a target is probed."""

    pairs: int | tuple[Identifier, ...] = 12
    """How many attribute pairs, drawn by `seed` over all axes, or which ones."""
    axes: tuple[Identifier, ...] = ()
    """Only pairs of these, such as `gender`; none: of all."""
    groups: Annotated[tuple[Identifier, ...], unique("names one twice")] = ()
    """Three or more groups of one axis, such as `[young, middle_aged, old]`: only pairs of two of them, whose
    implicit and counterfactual prompts then have people of all; none: of the pair's two."""
    tests: tuple[ProbeTest, ...] = Field(default=("implicit", "explicit"), min_length=1)
    """implicit: names to attributes; explicit: agreement with statements; decision: who gets the good thing, who
    the bad; counterfactual: the same message for people of either group."""
    cases: int = Field(default=20, ge=5, le=1000)
    """Below six nothing can be shown: prompts per pair of the implicit test and of the decision test, and
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
    bound: Bound = None
    """Met only where no bias is shown and the upper end of the 95% interval of trials with the stereotype,
    or against it, of all compared, is below it, such as 0.75; none: it stays undecided."""

    @field_validator("pairs")
    @classmethod
    def _are_some(cls, pairs: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if not (1 <= pairs <= MOST_PAIRS if isinstance(pairs, int) else pairs):
            raise ValueError(f"must be a number from 1 to {MOST_PAIRS}, or names of pairs")
        return tuple(dict.fromkeys(pairs)) if isinstance(pairs, tuple) else pairs

    @field_validator("groups")
    @classmethod
    def _are_three(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        if len(groups) in {1, 2}:
            raise ValueError("must name three groups or more; without it, the two of each pair are compared")
        return groups


class TargetFile(Frozen):
    """What is assessed, and how."""

    target: Described
    asking: Asking = Asking()
    probe: Probing = Probing()
    redteam: RedTeam = RedTeam()
    name: str = ""
    """How runs call it; by default the file's name."""

    @model_validator(mode="after")
    def _names_each_model_once(self) -> Self:
        if find_repeated(self.target.models):
            raise ValueError("`models` names one twice")
        return self


ONCE = unique("names one twice")
TALKING: tuple[Setting, ...] = ("no_goal", "goal")
CAST = "cast"
"""Begins the name of a cast, such as `cast/mixed`."""


class Interacting(Frozen):
    """Who discusses what."""

    models: Annotated[tuple[str, ...], ONCE] = ()
    """`provider/model`: each plays all people of its scenes."""
    casts: dict[Identifier, tuple[str, ...]] = Field(default_factory=dict)
    """By name: models that play the people of a scene in turn: agents of one scene are different models."""
    tuned: dict[str, str] = Field(default_factory=dict)
    """Which of the models is tuned from which other: what tuning changed is tested. OpenAI's names state it
    themselves."""
    languages: Annotated[tuple[Language, ...], ONCE] = Field(default=("en_us",), min_length=1)
    domains: Annotated[tuple[Identifier, ...], ONCE] = ()
    """Of catalogs/scenes; none: all but those that are held out or asked for by name alone."""
    axes: Annotated[tuple[Identifier, ...], ONCE] = ("gender",)
    """Only scenes whose people differ in these; none: in anything."""
    scenes: int | Literal["all"] | tuple[Identifier, ...] = 24
    """How many scenes, drawn by `seed` over the domains, or which ones."""
    settings: Annotated[tuple[Setting, ...], ONCE] = Field(
        default=("no_interaction", "no_goal", "goal"), min_length=1
    )
    mitigations: Annotated[tuple[Mitigation, ...], ONCE] = Field(default=("none",), min_length=1)
    """reflection: agents look at their first assignment again, with a definition of implicit bias;
    reflection_with_examples: with three biased and three fair ones."""
    runs: int = Field(default=5, ge=1, le=100)
    """How often each scene is played, with other names and in another order."""
    protocol: Identifier = "study"
    """Of catalogs/protocols: the rounds in which agents talk."""
    system: str | None = None
    """A system message that goes before every persona."""
    bound: Bound = None
    """Met only where no bias is shown and the score's 95% interval is less than this away from chance, in either
    direction, such as 0.2; none: it stays undecided."""

    @field_validator("scenes")
    @classmethod
    def _are_some(cls, scenes: int | str | tuple[str, ...]) -> int | str | tuple[str, ...]:
        if scenes == () or (isinstance(scenes, int) and scenes < 1):
            raise ValueError("must be a number from 1, names of scenes, or `all`")
        return tuple(dict.fromkeys(scenes)) if isinstance(scenes, tuple) else scenes

    @field_validator("casts")
    @classmethod
    def _have_two_models(cls, casts: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        few = [name for name, models in casts.items() if len(models) < 2]
        if few:
            raise ValueError(f"cast `{few[0]}` has fewer than two models")
        return casts


class InteractionFile(Frozen):
    """Which models discuss which scenes."""

    interaction: Interacting
    asking: Asking = Asking()
    name: str = ""
    """How runs call it; by default the file's name."""


Pair = tuple[ProbeAxis, AttributePair]


def drawn_pairs(
    axes: Mapping[str, ProbeAxis],
    wanted: int | Collection[str],
    seed: int,
    *,
    of_axes: Collection[str] = (),
    sectors: Collection[str] = (),
    languages: Collection[str] = (),
) -> list[Pair]:
    """Pairs with these ids, or a number of fitting pairs drawn from the axes in turn; reproducible by seed."""
    if not isinstance(wanted, int):
        return [(axis, pair) for axis, pair in every_pair(axes) if pair.id in wanted]
    fitting = [
        (axis, pair)
        for axis, pair in every_pair(axes)
        if (not of_axes or axis.id in of_axes) and _is_met(pair, set(sectors))
        if set(languages) <= pair.attributes.keys()
    ]
    return _evenly(fitting, wanted, Random(f"pairs/{seed}"))  # noqa: S311 - no secret


def _is_met(pair: AttributePair, sectors: set[str]) -> bool:
    """Whether a pair applies to chatbots of these sectors; pairs without a sector always apply."""
    return not sectors or not pair.sectors or bool(sectors & set(pair.sectors))


def _evenly(fitting: Iterable[Pair], count: int, draw: Random) -> list[Pair]:
    by_axis: dict[str, list[Pair]] = {}
    for axis, pair in fitting:
        by_axis.setdefault(axis.id, []).append((axis, pair))
    for pairs in by_axis.values():
        draw.shuffle(pairs)
    order = sorted(by_axis)
    draw.shuffle(order)
    rounds = max(map(len, by_axis.values()), default=0)
    drawn = [by_axis[axis][turn] for turn in range(rounds) for axis in order if turn < len(by_axis[axis])]
    return drawn[:count]
