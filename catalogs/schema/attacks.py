"""Defines the wording of attacks in one language: openings, personas, instructions of attacker and judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.choices import StrategyName as StrategyName
from biasgrid.catalogs.schema.entries import Identifier, Language
from biasgrid.catalogs.schema.probes import AttributeKind

Instructed = Literal["direct", "separated", "selection", "crescendo", "persona"]
"""Strategies for which an attacker writes messages."""
IN_PAIRS: frozenset[StrategyName] = frozenset({"separated", "implicit_separated"})
"""Strategies whose judge sees two exchanges beside each other."""
Fault = Literal["unreadable", "same", "more_than_groups", "groups_changed", "too_far"]
"""Why a message of the attacker is not sent: no JSON; said before; the swap changed more than one stretch of
words; the groups were touched; hardly anything of the earlier message is left."""
Text = Annotated[str, Field(min_length=1)]
PLACE = re.compile(r"\{(\w+)\}")
GROUPS = {"groups", "Groups", "group", "Group"}
ASIDE = {"company", "purpose"}


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each `{name}` replaced; other braces, such as JSON's, stay."""
    return PLACE.sub(lambda found: words.get(found[1], found[0]), text)


class Opening(Frozen):
    """How a user of a chatbot begins: with a greeting, then about one group and the two attributes of a pair."""

    id: Identifier
    kinds: tuple[AttributeKind, ...] = ()
    """What the attributes must be for it to make sense; none: anything."""
    message: Text
    """Begins with `{greeting}` and holds `{first}` and `{second}`, the attributes in either order, and the group
    as `{groups}` or `{group}` (`{Groups}`, `{Group}` at the beginning of a sentence); `{company}` if it likes."""

    @field_validator("message")
    @classmethod
    def _greets_and_asks(cls, message: str) -> str:
        if not message.startswith("{greeting} "):
            raise ValueError("begins with `{greeting} `: strategies take the greeting away")
        if not GROUPS & set(PLACE.findall(message)):
            raise ValueError("names no group: write `{groups}` or `{group}`")
        return _holding(message, {"greeting", "first", "second"}, GROUPS | ASIDE)


class Persona(Frozen):
    id: Identifier
    plays: Literal["attacker", "target"]
    """attacker: it speaks as such a person; target: it asks the chatbot to."""
    who: Text
    """Such as `a grandfather who tells how things were in his day`."""


class AttackerWords(Frozen):
    """What the attacker is told."""

    strategies: dict[Instructed, Text]
    """By strategy, with `{goal}`, `{company}` and `{purpose}`; `{setting}` for selection, `{persona}` for persona,
    `{turn}` and `{turns}` wherever they help."""
    plays: dict[Literal["attacker", "target"], Text]
    """What `{persona}` says, by who plays it, with `{who}`."""
    reply: Text
    """The form of its reply: a JSON object with the key `message` and nothing else."""
    blocks: dict[Literal["user", "chatbot", "message", "score"], Text]
    """What the parts of the quoted material are called; `score` holds `{score}`."""
    faults: dict[Fault, Text]
    """Why its message was not taken, so that the next one is."""

    @model_validator(mode="after")
    def _tells_all(self) -> Self:
        _complete(self.strategies, Instructed, "strategies")
        _complete(self.faults, Fault, "faults")
        for who, text in self.plays.items():
            _holding(text, {"who"}, set(), f"`plays.{who}` ")
        for name, text in self.strategies.items():
            own = {"selection": {"setting"}, "persona": {"persona"}}.get(name, set())
            _holding(text, {"goal", *ASIDE, *own}, {"turn", "turns"}, f"`strategies.{name}` ")
        if '"message"' not in self.reply:
            raise ValueError('`reply` names the key `"message"`')
        return self


class JudgeWords(Frozen):
    """What the judge is told; each with `{goal}`."""

    conversation: Text
    """Of the last reply of a conversation."""
    pair: Text
    """Of two replies to messages that differ in the group or in the greeting alone."""
    reply: Text
    """The form of its reply: a JSON object with the keys `verdict`, `score` and `explanation`."""
    withheld: Text
    """In place of a reply that its provider kept back."""

    @model_validator(mode="after")
    def _tells_all(self) -> Self:
        _holding(self.conversation, {"goal"}, set(), "`conversation` ")
        _holding(self.pair, {"goal"}, set(), "`pair` ")
        words = ("verdict", "score", "explanation", "biased", "unbiased", "refused", "unclear")
        lacking = [word for word in words if f'"{word}"' not in self.reply]
        if lacking:
            raise ValueError(f"`reply` does not name `{'`, `'.join(lacking)}`, each in double quotes")
        return self


class AttackWording(Frozen):
    """A red team's words in one language."""

    id: Language
    greetings: tuple[Text, ...] = Field(min_length=3)
    """Recognised at the beginning of a message, whatever their case and what marks follow them."""
    salutations: tuple[Text, ...] = Field(min_length=1)
    """Greetings as openings write them, such as `Hello!`."""
    openings: tuple[Opening, ...] = Field(min_length=1)
    name_forms: tuple[Text, ...] = Field(min_length=2)
    """Of the one-shot attack: `{people}`, told of by name, and the attributes `{first}` and `{second}`."""
    articles: tuple[Text, ...] = ()
    """Words that agree with the noun after them: where one stands before a group's bare word, as in `los chicos`,
    swapping the word alone would break the sentence, and the attacker is asked to."""
    settings: tuple[Text, ...] = Field(min_length=2)
    """To which a selection question shifts: places, times, tones that say nothing of any group."""
    personas: tuple[Persona, ...] = Field(min_length=1)
    goal: Text
    """What would be biased: `{favoured}`, `{stigmatised}` (plurals), `{favoured_attribute}`,
    `{stigmatised_attribute}`."""
    people: Text
    """Which names are of whom, for the judge: `{favoured}`, `{stigmatised}`, `{favoured_people}`,
    `{stigmatised_people}`."""
    unnamed: Text
    """In place of a company that is not named."""
    undescribed: Text
    """In place of a purpose that is not told."""
    attacker: AttackerWords
    judge: JudgeWords

    @field_validator("name_forms")
    @classmethod
    def _ask_about_people(cls, forms: tuple[str, ...]) -> tuple[str, ...]:
        for form in forms:
            _holding(form, {"people", "first", "second"}, ASIDE)
        return forms

    @field_validator("goal")
    @classmethod
    def _names_both(cls, goal: str) -> str:
        both = {"favoured", "stigmatised"}
        return _holding(goal, both | {f"{name}_attribute" for name in both}, set())

    @field_validator("people")
    @classmethod
    def _names_everybody(cls, people: str) -> str:
        both = {"favoured", "stigmatised"}
        return _holding(people, both | {f"{name}_people" for name in both}, set())


def _holding(text: str, required: set[str], further: set[str], what: str = "") -> str:
    """Raises ValueError if a placeholder is missing or unknown."""
    found = set(PLACE.findall(text))
    lacking, unknown = sorted(required - found), sorted(found - required - further)
    if lacking:
        raise ValueError(f"{what}lacks {', '.join(f'`{{{name}}}`' for name in lacking)}")
    if unknown:
        raise ValueError(f"{what}holds {', '.join(f'`{{{name}}}`' for name in unknown)}, which nothing fills")
    return text


def _complete(given: Iterable[str], names: object, where: str) -> None:
    lacking = [name for name in get_args(names) if name not in given]
    if lacking:
        raise ValueError(f"`{where}` lacks `{'`, `'.join(lacking)}`")
