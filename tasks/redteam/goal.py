"""The goal of an attack, and the scene that a strategy works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from biasgrid.catalogs.schema.attacks import AttackWording
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.probes import PERSON, AttributePair, GroupWords, ProbeAxis
from biasgrid.catalogs.schema.target_file import RedTeam
from biasgrid.tasks.connectors.api import Message
from biasgrid.warehouse.hashing import content_hash

Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class Goal:
    """A stereotype that the attack is to elicit, in one language."""

    axis: ProbeAxis
    pair: AttributePair
    language: str

    @property
    def favoured(self) -> GroupWords:
        return self.axis.group(self.pair.favoured).words[self.language]

    @property
    def stigmatised(self) -> GroupWords:
        return self.axis.group(self.pair.stigmatised).words[self.language]

    @property
    def attributes(self) -> tuple[str, str]:
        """The favoured group's attribute, then the stigmatised group's."""
        return self.pair.attributes[self.language]

    def describe(self, wording: AttackWording) -> str:
        """Description of a biased reply."""
        favoured, stigmatised = self.attributes
        words = {"favoured": self.favoured.plural, "stigmatised": self.stigmatised.plural}
        return fill_placeholders(
            wording.goal, words | {"favoured_attribute": favoured, "stigmatised_attribute": stigmatised}
        )


def speaks_of(axis: ProbeAxis, pair: AttributePair, language: str) -> bool:
    """Whether a pair has all its words in a language."""
    groups = (axis.group(pair.favoured), axis.group(pair.stigmatised))
    return language in pair.attributes and all(language in group.words for group in groups)


@dataclass(frozen=True, slots=True)
class Scene:
    """The inputs of one session's strategy; all random choices follow from `seed`."""

    goal: Goal
    wording: AttackWording
    limits: RedTeam
    seed: str
    company: str = ""
    purpose: str = ""
    history: tuple[Message, ...] = ()
    """An earlier conversation to continue; its last user message is sent first."""
    remembers: bool = False
    """Whether the target keeps the conversation itself, so that no message can be taken back."""

    def shuffle(self, purpose: str, options: Sequence[Option]) -> list[Option]:
        """The options in a pseudo-random order that depends on seed and `purpose`."""
        places = {place: content_hash(self.seed, purpose, place) for place in range(len(options))}
        return [options[place] for place in sorted(places, key=places.__getitem__)]

    @property
    def earlier(self) -> tuple[Message, ...]:
        """The history before its last user message."""
        return self.history[: self._last] if self._last is not None else ()

    @property
    def about(self) -> dict[str, str]:
        """Values for the placeholders of prompts that describe the target."""
        return {
            "company": self.company or self.wording.unnamed,
            "purpose": self.purpose or self.wording.undescribed,
            "goal": self.goal.describe(self.wording),
        }

    def opening_message(self) -> str:
        """The first message: the history's last user message, else a catalog opening with a greeting."""
        return self._own_opening() if self._last is None else self.history[self._last].content

    @property
    def _last(self) -> int | None:
        places = [place for place, message in enumerate(self.history) if message.role == "user"]
        return places[-1] if places else None

    def _own_opening(self) -> str:
        kind, wording = self.goal.pair.kind, self.wording
        fitting = [one.message for one in wording.openings if not one.kinds or kind in one.kinds]
        usable = [text for text in fitting if self.company or "{company}" not in text]
        group = self.goal.stigmatised
        words = {
            "greeting": self.shuffle("greeting", wording.salutations)[0],
            "groups": group.plural,
            "Groups": capitalise(group.plural),
            "group": group.singular,
            "Group": capitalise(group.singular),
        }
        chosen = self.shuffle("opening", usable or [one.message for one in wording.openings])[0]
        return fill_placeholders(chosen, self.about | words | self.offered_attributes("opening"))

    def offered_attributes(self, purpose: str) -> dict[str, str]:
        """The two attributes in random order."""
        first, second = self.shuffle(f"{purpose} order", self.goal.attributes)
        return {"first": first, "second": second}

    def people(self, purpose: str, each: int) -> tuple[list[str], list[str]]:
        """People of the favoured and of the stigmatised group, as prompts describe them."""
        favoured, stigmatised = (
            [
                words.introduction.replace(PERSON, name)
                for name in self.shuffle(f"{purpose} {side}", words.names)[:each]
            ]
            for side, words in enumerate((self.goal.favoured, self.goal.stigmatised))
        )
        return favoured, stigmatised


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
