"""The messages sent to an agent: its role, its earlier exchanges and the current question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.interactions import Asked, Reflection
from biasgrid.catalogs.schema.scenes import Presence
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.play import Person, Play, Turn

WORD = "word "
"""About one token, both counted and estimated."""
PRESENCES: Final[tuple[Presence, Presence]] = ("present", "absent")


@dataclass(frozen=True, slots=True)
class Statement:
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
    read: int = 0
    """Number of replies of the play already shown to the agent."""

    def messages(self, play: Play, turn: int, question: str) -> tuple[Message, ...]:
        """All messages to the agent in a round; rounds beyond its memory are dropped, except scene and wish."""
        kept = [known for known in self.exchanges if play.memory is None or known[0] >= turn - play.memory]
        texts = [part for _, earlier, answer in kept for part in (earlier, answer)] + [question]
        if len(kept) < len(self.exchanges):
            texts[0] = "\n\n".join([describe_scene(play), *_wish_text(play), texts[0]])
        roles = ("user", "assistant")
        return (*_system(play, self.person), *(Message(roles[at % 2], text) for at, text in enumerate(texts)))


def new_statements(agent: Memory, turn: Turn, statements: Sequence[Statement]) -> Sequence[Statement]:
    """New replies of other agents, marked as shown; none in a round that shows no replies."""
    if turn.reads == "nobody":
        return ()
    new, agent.read = statements[agent.read :], len(statements)
    return [one for one in new if one.name != agent.person.name and one.text.strip()]


def _system(play: Play, person: Person) -> tuple[Message, ...]:
    """The system message; empty for a lone model without instructions."""
    if play.talks:
        own = fill_placeholders(play.wording.persona, {"person": person.persona})
    else:
        own = play.wording.understanding.system if play.judged else ""
    text = "\n\n".join(part for part in (play.system or "", own) if part)
    return (Message("system", text),) if text else ()


def question_text(play: Play, person: Person, turn: Turn, others: Sequence[Statement]) -> str:
    """The question to an agent in a round."""
    if play.judged is not None:
        return play.judged.question
    if not play.talks:
        return _lone_question(play, person)
    wording = play.wording
    places = {"scene": describe_scene(play), "form": _form(play, person), "heard": _list_statements(play, others)}
    if turn.kind == "reflection":
        return fill_placeholders(_reflection_text(play, wording.reflection.again), places)
    text = fill_placeholders(_of(wording.rounds[turn.id], play), places)
    return "\n\n".join([text, *_wish_text(play)]) if turn is play.turns[0] else text


def _form(play: Play, person: Person) -> str:
    """The required format of an assignment: a schema if the model supports one."""
    wording = play.wording
    return _of(wording.structured if person.party.target.structured else wording.form, play)


def _lone_question(play: Play, person: Person) -> str:
    """The single question without interaction; reflection comes before the answer, and the format last."""
    scene, form = describe_scene(play), _form(play, person)
    text = _of(play.wording.alone, play)
    if play.mitigation == "none":
        return fill_placeholders(text, {"scene": scene, "form": form})
    reminded = fill_placeholders(_reflection_text(play, play.wording.reflection.before), {"form": form})
    return f"{fill_placeholders(text, {'scene': scene, 'form': ''}).strip()}\n\n{reminded}"


def _reflection_text(play: Play, instruction: Asked) -> str:
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


def describe_scene(play: Play) -> str:
    """The scene with numbered tasks and listed people."""
    numbered = "\n".join(f"{number}. {task.text}" for number, task in enumerate(play.tasks, 1))
    places = {
        "goal": play.scene.goal[play.wording.id],
        "tasks": numbered,
        "task": play.tasks[0].text,
        "people": ", ".join(person.listed for person in play.people),
    }
    return fill_placeholders(_of(play.wording.scene, play), places)


def _list_statements(play: Play, others: Sequence[Statement]) -> str:
    """The other agents' replies, one after the other."""
    if not others:
        return play.wording.unheard
    return "\n\n".join(
        fill_placeholders(play.wording.said, {"name": one.name, "text": one.text}) for one in others
    )


def _wish_text(play: Play) -> list[str]:
    """The private wish; empty in other settings."""
    if play.wish is None:
        return []
    return [fill_placeholders(play.wording.wish, {"task": play.tasks[play.wish - 1].text})]


def _of(wording: Asked, play: Play) -> str:
    return wording.choice if play.question == "choice" else wording.assignment


def rehearse(play: Play, reply_tokens: int) -> Iterator[tuple[Participant, tuple[Message, ...]]]:
    """Each request of a play as recipient and messages, if all replies have `reply_tokens` tokens."""
    agents, statements, reply = (
        [Memory(person) for person in play.speakers],
        list[Statement](),
        WORD * reply_tokens,
    )
    for number, turn in enumerate(play.turns, 1):
        before = len(statements)
        for agent in agents:
            readable = statements if turn.reads == "everybody" else statements[:before]
            question = question_text(play, agent.person, turn, new_statements(agent, turn, readable))
            yield agent.person.party, agent.messages(play, number, question)
            agent.exchanges.append((number, question, reply))
            statements.append(Statement(number, agent.person.name, reply))
