"""Replies of respondents of known stereotyping strength in a scene, alone and after those of others."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.scenario.interaction import every_scene, resolve_interaction
from biasgrid.catalogs.schema.respondents import Assigning, Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.interaction.plan import Player, plays
from biasgrid.tasks.interaction.play import Play, Turn
from biasgrid.tasks.interaction.prompts import Memory, Statement, new_statements, question_text

LANGUAGES = ("en_us", "es_es")


@cache
def catalog() -> Catalog:
    return load_catalog()


@cache
def panel() -> Panel:
    return Panel(catalog())


@cache
def planned(
    language: str = "en_us", setting: str = "no_goal", scenes: Any = "all", runs: int = 1
) -> tuple[Play, ...]:
    own = {"models": ["simulated/fair"], "languages": [language], "settings": [setting], "runs": runs}
    resolved = resolve_interaction({"interaction": own | {"scenes": scenes}})
    party = Participant(resolved.targets["simulated/fair"], "")
    return tuple(plays("run", Player("simulated/fair", (party,)), resolved))


def reply_to(messages: Sequence[Message], **assigning: float) -> str:
    respondent = Respondent(id="own", description="", assigning=Assigning(**assigning))
    return panel().reply(Question(respondent, messages[-1].content, 0, tuple(messages))).text


def write(play: Play, names: Sequence[str]) -> str:
    return "\n".join(
        f"{number}. {task.text}: {name} - so"
        for number, (task, name) in enumerate(zip(play.tasks, names, strict=True), 1)
    )


def read_assignment(reply: str) -> list[str]:
    """Whom each line names."""
    lines = [line for line in reply.splitlines() if line[:1].isdigit()]
    return [line.rpartition(": ")[2].partition(" - ")[0] for line in lines]


def stereotypical(play: Play) -> list[str]:
    """Two people of a group take its two tasks in turn."""
    own = {group: iter([one.name for one in play.people if one.group == group]) for group in play.scene.groups}
    return [next(own[task.to or ""]) for task in play.tasks]


def last_asked(play: Play, own: str, others: Sequence[Statement]) -> tuple[Message, ...]:
    """What the first of a play's people is sent at the end of a talk in which it proposed `own`."""
    agent = Memory(play.people[0])
    for number, turn in enumerate(play.turns, 1):
        question = question_text(
            play, agent.person, turn, new_statements(agent, turn, [one for one in others if one.turn < number])
        )
        messages = agent.messages(play, number, question)
        agent.exchanges.append((number, question, own))
    return messages


def of_four() -> Play:
    return next(play for play in planned() if len(play.people) == len(play.tasks) == 4)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("setting", ["no_interaction", "no_goal", "goal"])
def test_every_shipped_scene_is_known_and_followed_at_full_strength(language, setting):
    for play in planned(language, setting):
        first = Memory(play.speakers[0]).messages(
            play, 1, question_text(play, play.speakers[0], play.turns[0], [])
        )
        reply = read_assignment(reply_to(first, strength=1))
        groups = {person.name: person.group for person in play.people}
        assert [groups[name] for name in reply] == [task.to for task in play.tasks], play.scene.id


def test_a_control_is_dealt_out_at_random_whatever_the_strength():
    controls = tuple(scene.id for _, scene in every_scene(catalog()) if scene.is_control and len(scene.tasks) > 1)
    for play in planned(scenes=controls):
        first = Memory(play.people[0]).messages(play, 1, question_text(play, play.speakers[0], play.turns[0], []))
        assert set(read_assignment(reply_to(first, strength=1))) <= {person.name for person in play.people}


def test_replies_on_one_scene_go_together_as_reported():
    """The share of pairs of runs that both follow the stereotype, beyond what strength alone gives."""
    strength, correlation, runs = 0.5, 0.5, 8
    own = [
        play
        for play in planned("en_us", "no_interaction", "all", runs)
        if len(play.people) == 4 == len(play.tasks)
    ]
    follows: dict[str, int] = {}
    for play in own:
        reply = read_assignment(reply_to(asked_alone(play), strength=strength, correlation=correlation))
        follows[play.scene.id] = follows.get(play.scene.id, 0) + (reply == stereotypical(play))
    p = strength + (1 - strength) / 24
    together = sum(k * (k - 1) for k in follows.values()) / (len(follows) * runs * (runs - 1))
    expected = correlation * strength * (1 - strength) * (1 - 1 / 24) ** 2
    assert len(follows) > 60
    assert together - p**2 == pytest.approx(expected, abs=0.06)


def asked_alone(play: Play) -> tuple[Message, ...]:
    return Memory(play.people[0]).messages(play, 1, question_text(play, play.speakers[0], play.turns[0], []))


def test_in_a_discussion_it_states_what_it_has_assigned():
    play = of_four()
    first = Memory(play.people[0]).messages(play, 1, question_text(play, play.speakers[0], play.turns[0], []))
    answer = reply_to(first)
    discussion = next(turn for turn in play.turns if turn.kind == "discussion")
    talk = (
        *first,
        Message("assistant", answer),
        Message("user", question_text(play, play.people[0], discussion, [])),
    )
    assert read_assignment(reply_to(talk)) == read_assignment(answer)
    assert reply_to(talk) != answer


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_conforms_takes_over_what_most_have_named_and_who_does_not_keeps_to_its_own(language):
    play = next(play for play in planned(language) if len(play.people) == len(play.tasks) == 4)
    names = [person.name for person in play.people]
    own, theirs = names, names[::-1]
    others = [Statement(2, name, f"Well:\n{write(play, theirs)}") for name in names[1:3]]
    talk = last_asked(play, write(play, own), others)
    assert read_assignment(reply_to(talk, conformity=1)) == theirs
    assert read_assignment(reply_to(talk, conformity=0)) == own


def test_everybody_has_one_vote_however_often_they_speak():
    play = of_four()
    me, one, two, three = (person.name for person in play.people)
    own, theirs = [me, one, two, three], [three, two, one, me]
    talks = [Statement(turn, three, write(play, theirs)) for turn in (1, 2, 3)]
    talks += [Statement(1, two, write(play, own))]
    assert read_assignment(reply_to(last_asked(play, write(play, own), talks), conformity=1)) == own


def test_a_vote_is_what_someone_stated_last():
    play = of_four()
    names = [person.name for person in play.people]
    own, theirs = names, names[::-1]
    talks = [Statement(1, name, write(play, own)) for name in names[1:]]
    talks += [Statement(3, name, write(play, theirs)) for name in names[1:]]
    assert read_assignment(reply_to(last_asked(play, write(play, own), talks), conformity=1)) == theirs


def test_where_as_many_name_either_the_stereotypical_one_wins():
    play = of_four()
    biased, names = stereotypical(play), [person.name for person in play.people]
    other = [biased[1], biased[0], biased[3], biased[2]]
    talks = [Statement(2, names[1], write(play, biased)), Statement(2, names[2], write(play, other))]
    talks += [Statement(2, names[3], write(play, biased))]
    assert read_assignment(reply_to(last_asked(play, write(play, other), talks), conformity=1)) == biased


def reflect(play: Play, own: str) -> tuple[Message, ...]:
    agent, question = Memory(play.people[0]), question_text(play, play.speakers[0], play.turns[0], [])
    agent.exchanges.append((1, question, own))
    return agent.messages(
        play, 2, question_text(play, agent.person, Turn("reflection", "reflection", "nobody"), [])
    )


def test_asked_to_reflect_it_shares_out_evenly_or_keeps_to_its_own():
    play = of_four()
    groups = {person.name: person.group for person in play.people}
    own = write(play, stereotypical(play))
    assert read_assignment(reply_to(reflect(play, own), corrects=0)) == stereotypical(play)
    shared = read_assignment(reply_to(reflect(play, own), corrects=1))
    by_task: dict[str | None, set[str]] = {task.to: set() for task in play.tasks}
    for task, name in zip(play.tasks, shared, strict=True):
        by_task[task.to].add(groups[name])
    assert set(map(len, by_task.values())) == {2}
    assert len(set(shared)) == 4


def test_no_other_kind_of_respondent_is_changed_by_a_scene():
    first = asked_alone(of_four())
    refuser = catalog().respondents["refuser"]
    reply = panel().reply(Question(refuser, first[-1].content, 0, first))
    assert read_assignment(reply.text) == []


def test_agents_of_one_scene_draw_for_themselves():
    play = of_four()
    first = [question_text(play, person, play.turns[0], []) for person in play.people]
    agents = zip(play.people, first, strict=True)
    replies = [reply_to(Memory(person).messages(play, 1, question)) for person, question in agents]
    assert len(set(replies)) > 1
