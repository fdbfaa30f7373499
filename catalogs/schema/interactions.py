"""Defines how agents discuss a scene: the rounds, and the wording in each language."""

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from biasgrid.catalogs.schema.base import (
    Frozen,
    Identifier,
    Language,
    Text,
    check_keys,
    check_placeholders,
    complete,
    find_repeated,
    holds,
)
from biasgrid.catalogs.schema.scenes import Presence

RoundKind = Literal["assignment", "discussion"]
Audience = Literal["nobody", "earlier rounds", "everybody"]
"""`nobody`: no messages of others; `earlier rounds`: all messages before the round; `everybody`: these, and those
of the round itself, so that agents speak in turn."""


class Round(Frozen):
    id: Identifier
    """By which wordings and reports name it: `first`, `discussion`, `consensus`, `last`."""
    kind: RoundKind
    hears: Audience

    @property
    def places(self) -> frozenset[str]:
        """Placeholders that its words need in any position: the form of assignments and the messages received."""
        assigns = {"form"} if self.kind == "assignment" else set()
        return frozenset(assigns | ({"heard"} if self.hears != "nobody" else set()))


class Protocol(Frozen):
    """The rounds of an interaction."""

    id: Identifier
    description: str = ""
    rounds: tuple[Round, ...] = Field(min_length=1)
    memory: int | None = Field(default=None, ge=1)
    """Rounds that an agent remembers, its own words and those of others; persona, scene and wish are never
    forgotten. None: all."""

    @model_validator(mode="after")
    def _assigns(self) -> Self:
        if self.rounds[0].kind != "assignment" or self.rounds[-1].kind != "assignment":
            raise ValueError("`rounds` begin and end with an assignment: what talking changes is seen by both")
        if find_repeated(one.id for one in self.rounds):
            raise ValueError("`rounds` hold an id twice")
        return self

    @property
    def places(self) -> dict[str, frozenset[str]]:
        """By round: placeholders that its words must contain."""
        opening = self.rounds[0].id
        return {one.id: one.places | ({"scene"} if one.id == opening else set()) for one in self.rounds}


class Example(Frozen):
    """An assignment from everyday life, of no scene, with the reason for its judgement."""

    assignment: Text
    reason: Text


class Asked(Frozen):
    """By what is asked of a scene."""

    assignment: Text
    choice: Text


REPLY_KEYS = ("remarks", "person", "reason")


def _each(check: Callable[..., str], assignment: tuple[str, ...], choice: tuple[str, ...]) -> AfterValidator:
    """Checks both texts of `Asked`, each for names of its own."""

    def check_both(asked: Asked) -> Asked:
        check(asked.assignment, assignment, title="`assignment` ")
        check(asked.choice, choice, title="`choice` ")
        return asked

    return AfterValidator(check_both)


def _both_hold(*required: str) -> AfterValidator:
    return _each(check_placeholders, required, required)


class Reflection(Frozen):
    """How an agent is asked to look at its own assignment again."""

    definition: Text
    """What implicit bias in assignments is, and that it is to be looked for."""
    again: Annotated[Asked, _both_hold("form")]
    """After its own assignment: state whether there is implicit bias and why, then assign anew; with `{form}`."""
    before: Annotated[Asked, _both_hold("form")]
    """Without interaction, where there is no earlier assignment: mind it while assigning; with `{form}`."""
    examples_follow: Text
    """Introduces the examples."""
    present: tuple[Example, ...] = Field(min_length=3)
    absent: tuple[Example, ...] = Field(min_length=3)
    marks: Annotated[dict[Presence, Text], complete(Presence)]
    """How an example is headed: `Implicit bias: present`."""


class Understanding(Frozen):
    """How a model is asked whether an assignment shows implicit bias, as in fine-tuning."""

    system: Text
    assigned: Annotated[Text, holds("person", "task")]
    """One task and who has it, in a sentence: `{person}` and `{task}`."""
    question: Annotated[Text, holds("goal", "assignment")]
    """With `{goal}` and `{assignment}`: whether implicit bias is present, and why, in the form `answer` has."""
    answer: Annotated[dict[Presence, Annotated[Text, holds("reason")]], complete(Presence)]
    """A whole reply, with `{reason}`: `Implicit bias: present. {reason}`."""


class InteractionWording(Frozen):
    """An interaction's words in one language."""

    id: Language
    persona: Annotated[Text, holds("person")]
    """The agent's system message, with `{person}`: nothing but who they are."""
    scene: Annotated[Asked, _each(check_placeholders, ("goal", "people", "tasks"), ("goal", "people", "task"))]
    """With `{goal}`, `{tasks}` (a choice: `{task}`) and `{people}`: what the prompts of every round begin from."""
    form: Annotated[Asked, _both_hold()]
    """How an assignment is written, for instance `<number>. <task>: <name> - <reason>`."""
    structured: Annotated[Asked, _each(check_keys, (*REPLY_KEYS, "assignments", "task"), REPLY_KEYS)]
    """The same for models that reply by a JSON Schema: an object with `remarks` and `assignments`, each of them
    with `task` (its number), `person` and `reason`; of a choice `remarks`, `person` and `reason`."""
    alone: Annotated[Asked, _both_hold("form", "scene")]
    """To a model without other agents, with `{scene}` and `{form}`."""
    rounds: dict[Identifier, Asked]
    """By round of the protocol. With `{scene}` and `{form}` for the first, `{form}` for other assignments;
    `{heard}` in every round that receives others' messages."""
    wish: Annotated[Text, holds("task")]
    """To one agent alone: to want `{task}` for themselves."""
    said: Annotated[Text, holds("name", "text")]
    """The messages of others, one after the other: `{name}: {text}`."""
    unheard: Text
    """In place of `{heard}` where there is no message yet."""
    reflection: Reflection
    understanding: Understanding
