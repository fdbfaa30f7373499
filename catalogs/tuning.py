"""Assignments to tune models on: of each scene one with implicit bias and one without, and why."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from catalogs.frozen import Frozen
from catalogs.schema import Identifier, Language

Text = Annotated[str, Field(min_length=1)]
Presence = Literal["present", "absent"]
"""Of implicit bias in an assignment."""
Variant = Literal["full", "half"]
"""What a model is tuned on. full: assignments with and without implicit bias; half: those without alone."""


class Reasons(Frozen):
    """Why an assignment of a scene's tasks shows implicit bias, or does not. Neither names people: tasks and
    groups are enough, and names are drawn."""

    present: dict[Language, Text]
    """Where every task goes to the group that its stereotype says."""
    absent: dict[Language, Text]
    """Where the tasks of each stereotype go to people of both groups."""

    @model_validator(mode="after")
    def _tell_two_apart(self) -> Self:
        if set(self.present) != set(self.absent):
            raise ValueError("`present` and `absent` are told in different languages")
        return self


class WholeText(Frozen):
    """An assignment told in a text of its own, as imported ones are: people, tasks and all."""

    presence: Presence
    text: Annotated[dict[Language, Text], Field(min_length=1)]
    reason: Annotated[dict[Language, Text], Field(min_length=1)]


class Tuning(Frozen):
    """The assignments of one domain's scenes."""

    id: Identifier
    """The domain of catalogs/scenes; a name of their own for whole texts alone."""
    scenes: dict[Identifier, Reasons] = Field(default_factory=dict)
    """By scene."""
    examples: tuple[WholeText, ...] = ()
    """Beside the scenes, or in place of them."""

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if not self.scenes and not self.examples:
            raise ValueError("needs `scenes` or `examples`")
        return self
