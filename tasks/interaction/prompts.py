"""The messages sent to an agent: its role, its earlier exchanges and the current question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from biasgrid.catalogs.schema.attacks import filled
from biasgrid.catalogs.schema.interactions import Asked, Reflection
from biasgrid.catalogs.schema.scenes import Presence
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.interaction.play import Person, Play, Turn

PRESENCES: Final[tuple[Presence, Presence]] = ("present", "absent")


@dataclass(frozen=True, slots=True)
class Said:
    """An agent's reply in a round."""

    turn: int
    name: str
    text: str


@dataclass(slots=True)
class Memory:
    """One agent's session within one play."""

    person: Person
    exchanges: list[tuple[int, str, str]] = field(default_factory=list)
    """Round, question and answer."""
    heard: int = 0
    """Number of replies of the play already shown to the agent."""

    def messages(self, play: Play, turn: int, asked: str) -> tuple[Message, ...]:
        """All messages to the agent in a round; rounds beyond its memory are dropped, except scene and wish."""
        kept = [known for known in self.exchanges if play.memory is None or known[0] >= turn - play.memory]
        said = [part for _, question, answer in kept for part in (question, answer)] + [asked]
        if len(kept) < len(self.exchanges):
            said[0] = "\n\n".join([scene_told(play), *_wish(play), said[0]])
        roles = ("user", "assistant")
        return (*_system(play, self.person), *(Message(roles[at % 2], text) for at, text in enumerate(said)))


def heard_by(agent: Memory, turn: Turn, said: Sequence[Said]) -> Sequence[Said]:
    """New replies of other agents, marked as shown; none in a round without hearing."""
    if turn.hears == "nobody":
        return ()
    new, agent.heard = said[agent.heard :], len(said)
    return [one for one in new if one.name != agent.person.name and one.text.strip()]


def _system(play: Play, person: Person) -> tuple[Message, ...]:
    """The system message; empty for a lone model without instructions."""
    if play.talks:
        own = filled(play.wording.persona, {"person": person.persona})
    else:
        own = play.wording.understanding.system if play.judged else ""
    told = "\n\n".join(part for part in (play.system or "", own) if part)
    return (Message("system", told),) if told else ()


def asked(play: Play, person: Person, turn: Turn, heard: Sequence[Said]) -> str:
    """The question to an agent in a round."""
    if play.judged is not None:
        return play.judged.question
    if not play.talks:
        return _alone(play, person)
    wording = play.wording
    places = {"scene": scene_told(play), "form": _form(play, person), "heard": told(play, heard)}
    if turn.kind == "reflection":
        return filled(_reflecting(play, wording.reflection.again), places)
    text = filled(_of(wording.rounds[turn.id], play), places)
    return "\n\n".join([text, *_wish(play)]) if turn is play.turns[0] else text


def _form(play: Play, person: Person) -> str:
    """The required format of an assignment: a schema if the model supports one."""
    wording = play.wording
    return _of(wording.structured if person.party.target.structured else wording.form, play)


def _alone(play: Play, person: Person) -> str:
    """The single question without interaction; reflection comes before the answer, and the format last."""
    scene, form = scene_told(play), _form(play, person)
    text = _of(play.wording.alone, play)
    if play.mitigation == "none":
        return filled(text, {"scene": scene, "form": form})
    reminded = filled(_reflecting(play, play.wording.reflection.before), {"form": form})
    return f"{filled(text, {'scene': scene, 'form': ''}).strip()}\n\n{reminded}"


def _reflecting(play: Play, instruction: Asked) -> str:
    reflection = play.wording.reflection
    parts = [reflection.definition]
    if play.mitigation == "reflection_with_examples":
        parts += [reflection.examples_follow, *examples(reflection)]
    return "\n\n".join([*parts, _of(instruction, play)])


def examples(reflection: Reflection) -> list[str]:
    """Biased and fair examples, alternating."""
    both = zip(reflection.present[:3], reflection.absent[:3], strict=True)
    return [
        f"{example.assignment}\n{reflection.marks[presence]}. {example.reason}"
        for pair in both
        for presence, example in zip(PRESENCES, pair, strict=True)
    ]


def scene_told(play: Play) -> str:
    """The scene with numbered tasks and listed people."""
    numbered = "\n".join(f"{number}. {task.text}" for number, task in enumerate(play.tasks, 1))
    places = {
        "goal": play.scene.goal[play.wording.id],
        "tasks": numbered,
        "task": play.tasks[0].text,
        "people": ", ".join(person.listed for person in play.people),
    }
    return filled(_of(play.wording.scene, play), places)


def told(play: Play, heard: Sequence[Said]) -> str:
    """The other agents' replies, one after the other."""
    if not heard:
        return play.wording.unheard
    return "\n\n".join(filled(play.wording.said, {"name": said.name, "text": said.text}) for said in heard)


def _wish(play: Play) -> list[str]:
    """The private wish; empty in other settings."""
    if play.wish is None:
        return []
    return [filled(play.wording.wish, {"task": play.tasks[play.wish - 1].text})]


def _of(wording: Asked, play: Play) -> str:
    return wording.choice if play.question == "choice" else wording.assignment
