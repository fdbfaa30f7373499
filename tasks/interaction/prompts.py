"""What an agent is sent: who it is, what it was asked and answered before, and what is asked now."""

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
    """What somebody said in a round."""

    turn: int
    name: str
    text: str


@dataclass(slots=True)
class Memory:
    """An agent's own session: nobody else's, and of this play alone."""

    person: Person
    exchanges: list[tuple[int, str, str]] = field(default_factory=list)
    """Round, what was asked, what it answered."""
    heard: int = 0
    """How much of what has been said it has been told."""

    def messages(self, play: Play, turn: int, asked: str) -> tuple[Message, ...]:
        """All that the agent is sent in a round. What lies before the rounds that it remembers is left out, but
        for the scene and what it wishes for."""
        kept = [known for known in self.exchanges if play.memory is None or known[0] >= turn - play.memory]
        said = [part for _, question, answer in kept for part in (question, answer)] + [asked]
        if len(kept) < len(self.exchanges):
            said[0] = "\n\n".join([scene_told(play), *_wish(play), said[0]])
        roles = ("user", "assistant")
        return (*_system(play, self.person), *(Message(roles[at % 2], text) for at, text in enumerate(said)))


def heard_by(agent: Memory, turn: Turn, said: Sequence[Said]) -> Sequence[Said]:
    """What others said since the agent was last told, which it then has been; nothing where a round keeps it from
    them."""
    if turn.hears == "nobody":
        return ()
    new, agent.heard = said[agent.heard :], len(said)
    return [one for one in new if one.name != agent.person.name and one.text.strip()]


def _system(play: Play, person: Person) -> tuple[Message, ...]:
    """None for a model that is nobody of the scene and has been told nothing."""
    if play.talks:
        own = filled(play.wording.persona, {"person": person.persona})
    else:
        own = play.wording.understanding.system if play.judged else ""
    told = "\n\n".join(part for part in (play.system or "", own) if part)
    return (Message("system", told),) if told else ()


def asked(play: Play, person: Person, turn: Turn, heard: Sequence[Said]) -> str:
    """What an agent is asked in a round."""
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
    """How an assignment is to be written: by a schema where the model takes one."""
    wording = play.wording
    return _of(wording.structured if person.party.target.structured else wording.form, play)


def _alone(play: Play, person: Person) -> str:
    """Without interaction a model is asked once: where it is to reflect, before it answers, and told the form of
    its answer last."""
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
    """Biased and fair ones in turn."""
    both = zip(reflection.present[:3], reflection.absent[:3], strict=True)
    return [
        f"{example.assignment}\n{reflection.marks[presence]}. {example.reason}"
        for pair in both
        for presence, example in zip(PRESENCES, pair, strict=True)
    ]


def scene_told(play: Play) -> str:
    """The scene with its tasks numbered and its people listed."""
    numbered = "\n".join(f"{number}. {task.text}" for number, task in enumerate(play.tasks, 1))
    places = {
        "goal": play.scene.goal[play.wording.id],
        "tasks": numbered,
        "task": play.tasks[0].text,
        "people": ", ".join(person.listed for person in play.people),
    }
    return filled(_of(play.wording.scene, play), places)


def told(play: Play, heard: Sequence[Said]) -> str:
    """What others said, one after the other."""
    if not heard:
        return play.wording.unheard
    return "\n\n".join(filled(play.wording.said, {"name": said.name, "text": said.text}) for said in heard)


def _wish(play: Play) -> list[str]:
    """None where nobody has been told to want anything."""
    if play.wish is None:
        return []
    return [filled(play.wording.wish, {"task": play.tasks[play.wish - 1].text})]


def _of(wording: Asked, play: Play) -> str:
    return wording.choice if play.question == "choice" else wording.assignment
