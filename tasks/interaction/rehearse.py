"""Simulates a play with placeholder replies to forecast its requests; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.prompts import Memory, Said, asked, heard_by

WORD = "word "
"""About one token, both counted and estimated."""


def rehearsed(play: Play, reply_tokens: int) -> Iterator[tuple[Participant, tuple[Message, ...]]]:
    """Each request of a play as recipient and messages, if all replies have `reply_tokens` tokens."""
    agents, said, reply = [Memory(person) for person in play.speakers], list[Said](), WORD * reply_tokens
    for number, turn in enumerate(play.turns, 1):
        before = len(said)
        for agent in agents:
            audible = said if turn.hears == "everybody" else said[:before]
            question = asked(play, agent.person, turn, heard_by(agent, turn, audible))
            yield agent.person.party, agent.messages(play, number, question)
            agent.exchanges.append((number, question, reply))
            said.append(Said(number, agent.person.name, reply))
