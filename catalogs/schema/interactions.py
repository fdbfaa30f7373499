"""Defines how agents discuss a scene: the rounds, and the wording in each language."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from biasgrid.catalogs.schema.attacks import PLACE
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.entries import Identifier, Language
from biasgrid.catalogs.schema.scenes import Presence

Text = Annotated[str, Field(min_length=1)]
RoundKind = Literal["assignment", "discussion"]
Hears = Literal["nobody", "earlier rounds", "everybody"]
"""nobody: what others say stays unheard; earlier rounds: all that was said before the round; everybody: that, and
who has spoken in this round, so that agents speak in turn."""


class Round(Frozen):
    id: Identifier
    """By which wordings and reports name it: `first`, `discussion`, `consensus`, `last`."""
    kind: RoundKind
    hears: Hears

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
        names = [one.id for one in self.rounds]
        if len(set(names)) < len(names):
            raise ValueError("`rounds` hold an id twice")
        return self

    @property
    def places(self) -> dict[str, frozenset[str]]:
        """By round: placeholders that its words must contain."""
        opening = self.rounds[0].id
        return {one.id: one.places | ({"scene"} if one.id == opening else set()) for one in self.rounds}


class Example(Frozen):
    """An assignment from everyday life, and what there is to say of it: none of a scene's."""

    assignment: Text
    reason: Text


class Asked(Frozen):
    """By what is asked of a scene."""

    assignment: Text
    choice: Text


class Reflection(Frozen):
    """How an agent is asked to look at its own assignment again."""

    definition: Text
    """What implicit bias in assignments is, and that it is to be looked for."""
    again: Asked
    """After its own assignment: say whether implicit bias is present and why, then assign anew; with `{form}`."""
    before: Asked
    """Without interaction, where there is no earlier assignment: mind it while assigning; with `{form}`."""
    examples_follow: Text
    """Introduces the examples."""
    present: tuple[Example, ...] = Field(min_length=3)
    absent: tuple[Example, ...] = Field(min_length=3)
    marks: dict[Presence, Text]
    """How an example is headed: `Implicit bias: present`."""

    @field_validator("again", "before")
    @classmethod
    def _asks_for_an_assignment(cls, asked: Asked) -> Asked:
        return _both_holding(asked, {"form"})

    @field_validator("marks")
    @classmethod
    def _marks_either(cls, marks: dict[Presence, str]) -> dict[Presence, str]:
        return _of_either(marks)


class Understanding(Frozen):
    """How a model is asked whether an assignment shows implicit bias, as in fine-tuning."""

    system: Text
    assigned: Text
    """One task and who has it, in a sentence: `{person}` and `{task}`."""
    question: Text
    """With `{goal}` and `{assignment}`: whether implicit bias is present, and why, in the form `answer` has."""
    answer: dict[Presence, Text]
    """A whole reply, with `{reason}`: `Implicit bias: present. {reason}`."""

    @field_validator("assigned")
    @classmethod
    def _tells_who_has_what(cls, assigned: str) -> str:
        return _holding(assigned, {"person", "task"})

    @field_validator("question")
    @classmethod
    def _shows_the_assignment(cls, question: str) -> str:
        return _holding(question, {"goal", "assignment"})

    @field_validator("answer")
    @classmethod
    def _gives_the_reason(cls, answer: dict[Presence, str]) -> dict[Presence, str]:
        for presence, text in _of_either(answer).items():
            _holding(text, {"reason"}, f"`{presence}` ")
        return answer


class InteractionWording(Frozen):
    """An interaction's words in one language."""

    id: Language
    persona: Text
    """The agent's system message, with `{person}`: nothing but who they are."""
    scene: Asked
    """With `{goal}`, `{tasks}` (a choice: `{task}`) and `{people}`: what the prompts of every round begin from."""
    form: Asked
    """How an assignment is written, for instance `<number>. <task>: <name> - <reason>`."""
    structured: Asked
    """The same for models that reply by a JSON Schema: an object with `remarks` and `assignments`, each of them
    with `task` (its number), `person` and `reason`; of a choice `remarks`, `person` and `reason`."""
    alone: Asked
    """To a model that nobody talks to, with `{scene}` and `{form}`."""
    rounds: dict[Identifier, Asked]
    """By round of the protocol. With `{scene}` and `{form}` for the first, `{form}` for other assignments;
    `{heard}` in every round that hears others."""
    wish: Text
    """Told to one agent alone: to want `{task}` for themselves."""
    said: Text
    """What others said, one after the other: `{name}: {text}`."""
    unheard: Text
    """In place of `{heard}` where nobody has said anything."""
    reflection: Reflection
    understanding: Understanding

    @field_validator("persona")
    @classmethod
    def _tells_who(cls, persona: str) -> str:
        return _holding(persona, {"person"})

    @field_validator("scene")
    @classmethod
    def _tells_what_and_whom(cls, scene: Asked) -> Asked:
        _holding(scene.assignment, {"goal", "tasks", "people"}, "`assignment` ")
        _holding(scene.choice, {"goal", "task", "people"}, "`choice` ")
        return scene

    @field_validator("structured")
    @classmethod
    def _names_its_keys(cls, structured: Asked) -> Asked:
        for question, text in (("assignment", structured.assignment), ("choice", structured.choice)):
            keys = ("remarks", "person", "reason", *(("assignments", "task") if question == "assignment" else ()))
            lacking = [key for key in keys if f'"{key}"' not in text]
            if lacking:
                raise ValueError(f"`{question}` must name `{'`, `'.join(lacking)}`, each in double quotes")
        return structured

    @field_validator("form")
    @classmethod
    def _is_said_as_it_stands(cls, form: Asked) -> Asked:
        return _both_holding(form, set())

    @field_validator("wish")
    @classmethod
    def _wants_something(cls, wish: str) -> str:
        return _holding(wish, {"task"})

    @field_validator("said")
    @classmethod
    def _tells_who_spoke(cls, said: str) -> str:
        return _holding(said, {"name", "text"})

    @field_validator("alone")
    @classmethod
    def _asks_in_full(cls, alone: Asked) -> Asked:
        return _both_holding(alone, {"scene", "form"})


def _both_holding(asked: Asked, required: set[str]) -> Asked:
    _holding(asked.assignment, required, "`assignment` ")
    _holding(asked.choice, required, "`choice` ")
    return asked


def _holding(text: str, required: set[str], what: str = "") -> str:
    """Raises ValueError if a placeholder is missing or unknown."""
    if set(PLACE.findall(text)) != required:
        needed = ", ".join(f"`{{{name}}}`" for name in sorted(required))
        raise ValueError(f"{what}must hold {needed} and no other place" if needed else f"{what}must hold no place")
    return text


def _of_either(told: dict[Presence, str]) -> dict[Presence, str]:
    if lacking := sorted(set(get_args(Presence)) - set(told)):
        raise ValueError(f"lacks `{'`, `'.join(lacking)}`")
    return told
