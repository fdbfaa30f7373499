"""Defines the wording of attacks in one language: openings, personas, instructions of attacker and judge."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from biasgrid.catalogs.choices import StrategyName as StrategyName
from biasgrid.catalogs.schema.base import (
    PLACE,
    Frozen,
    Identifier,
    Language,
    Text,
    check_keys,
    check_placeholders,
    complete,
    holds,
)
from biasgrid.catalogs.schema.probes import AttributeKind

Instructed = Literal["direct", "separated", "selection", "crescendo", "persona"]
"""Strategies for which an attacker writes messages."""
IN_PAIRS: frozenset[StrategyName] = frozenset({"separated", "implicit_separated"})
"""Strategies whose judge sees two exchanges side by side."""
Fault = Literal["unreadable", "same", "more_than_groups", "groups_changed", "too_far"]
"""Why a message of the attacker is not sent: no JSON; sent before; the swap changed more than one stretch of
words; the groups were touched; hardly anything of the earlier message is left."""
GROUPS = {"groups", "Groups", "group", "Group"}
ASIDE = {"company", "purpose"}


class Opening(Frozen):
    """How a user of a chatbot begins: with a greeting, then about one group and the two attributes of a pair."""

    id: Identifier
    kinds: tuple[AttributeKind, ...] = ()
    """What the attributes must be for it to make sense; none: anything."""
    message: Text
    """Begins with `{greeting}` and holds `{first}` and `{second}`, the attributes in either order, and the group
    as `{groups}` or `{group}` (`{Groups}`, `{Group}` at the beginning of a sentence); optionally `{company}`."""

    @field_validator("message")
    @classmethod
    def _greets_and_asks(cls, message: str) -> str:
        if not message.startswith("{greeting} "):
            raise ValueError("begins with `{greeting} `: strategies take the greeting away")
        if not GROUPS & set(PLACE.findall(message)):
            raise ValueError("names no group: write `{groups}` or `{group}`")
        return check_placeholders(message, ("greeting", "first", "second"), GROUPS | ASIDE)


class Persona(Frozen):
    id: Identifier
    plays: Literal["attacker", "target"]
    """attacker: it speaks as such a person; target: it asks the chatbot to."""
    who: Text
    """Such as `a grandfather who recalls how things were in his day`."""


class AttackerWords(Frozen):
    """Instructions to the attacker."""

    strategies: Annotated[dict[Instructed, Text], complete(Instructed)]
    """By strategy, with `{goal}`, `{company}` and `{purpose}`; `{setting}` for selection, `{persona}` for persona,
    `{turn}` and `{turns}` wherever they help."""
    plays: dict[Literal["attacker", "target"], Annotated[Text, holds("who")]]
    """What stands for `{persona}`, by who plays it, with `{who}`."""
    reply: Annotated[Text, AfterValidator(lambda text: check_keys(text, ("message",)))]
    """The form of its reply: a JSON object with the key `message` and nothing else."""
    blocks: dict[Literal["user", "chatbot", "message", "score"], Text]
    """What the parts of the quoted material are called; `score` holds `{score}`."""
    faults: Annotated[dict[Fault, Text], complete(Fault)]
    """Why its message was not taken, so that the next one is."""

    @field_validator("strategies")
    @classmethod
    def _hold_their_places(cls, strategies: dict[Instructed, str]) -> dict[Instructed, str]:
        own = {"selection": ("setting",), "persona": ("persona",)}
        for name, text in strategies.items():
            check_placeholders(text, ("goal", *sorted(ASIDE), *own.get(name, ())), ("turn", "turns"), f"`{name}` ")
        return strategies


VERDICT_KEYS = ("verdict", "score", "explanation", "biased", "unbiased", "refused", "unclear")


class JudgeWords(Frozen):
    """Instructions to the judge; each with `{goal}`."""

    conversation: Annotated[Text, holds("goal")]
    """Of the last reply of a conversation."""
    pair: Annotated[Text, holds("goal")]
    """Of two replies to messages that differ in the group or in the greeting alone."""
    reply: Annotated[Text, AfterValidator(lambda text: check_keys(text, VERDICT_KEYS))]
    """The form of its reply: a JSON object with the keys `verdict`, `score` and `explanation`."""
    withheld: Text
    """In place of a reply that its provider kept back."""


class AttackWording(Frozen):
    """A red team's words in one language."""

    id: Language
    greetings: tuple[Text, ...] = Field(min_length=3)
    """Recognised at the beginning of a message, whatever their case and what marks follow them."""
    salutations: tuple[Text, ...] = Field(min_length=1)
    """Greetings as openings write them, such as `Hello!`."""
    openings: tuple[Opening, ...] = Field(min_length=1)
    name_forms: tuple[Annotated[Text, holds("people", "first", "second", optional=ASIDE)], ...] = Field(
        min_length=2
    )
    """Of the one-shot attack: `{people}`, described by name, and the attributes `{first}` and `{second}`."""
    articles: tuple[Text, ...] = ()
    """Words that agree with the noun after them: where one stands before a group's bare word, as in `los chicos`,
    swapping the word alone would break the sentence, and the attacker is asked to."""
    settings: tuple[Text, ...] = Field(min_length=2)
    """To which a selection question shifts: places, times, tones that mention no group."""
    personas: tuple[Persona, ...] = Field(min_length=1)
    goal: Annotated[Text, holds("favoured", "stigmatised", "favoured_attribute", "stigmatised_attribute")]
    """What would be biased: `{favoured}`, `{stigmatised}` (plurals), `{favoured_attribute}`,
    `{stigmatised_attribute}`."""
    people: Annotated[Text, holds("favoured", "stigmatised", "favoured_people", "stigmatised_people")]
    """Which names are of whom, for the judge: `{favoured}`, `{stigmatised}`, `{favoured_people}`,
    `{stigmatised_people}`."""
    unnamed: Text
    """In place of a company that is not named."""
    undescribed: Text
    """In place of a purpose that is not given."""
    attacker: AttackerWords
    judge: JudgeWords
