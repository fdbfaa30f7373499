"""What an agent is sent, to the letter where it matters."""

from dataclasses import replace
from typing import Any

import pytest

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.interaction.plan import understandings
from biasgrid.tasks.interaction.play import Play, Turn
from biasgrid.tasks.interaction.prompts import (
    Memory,
    Statement,
    describe_scene,
    examples,
    new_statements,
    question_text,
)


def of(stage: Any, setting: str, mitigation: str = "none", **own: Any) -> Play:
    (play,) = stage.plays(settings=[setting], mitigations=[mitigation], **own)
    found: Play = play
    return found


def sent(play: Play, statements: list[Statement] | None = None) -> list[tuple[Message, ...]]:
    """What the first speaker is sent in each round; it always answers `round N`."""
    agent, found = Memory(play.speakers[0]), []
    for number, turn in enumerate(play.turns, 1):
        others = new_statements(agent, turn, [one for one in statements or [] if one.turn < number])
        question = question_text(play, agent.person, turn, others)
        found.append(agent.messages(play, number, question))
        agent.exchanges.append((number, question, f"round {number}"))
    return found


def turn(play: Play, name: str) -> Turn:
    return next(one for one in play.turns if one.id == name)


def test_an_agent_is_given_its_name_and_group_and_nothing_else(stage):
    play = of(stage, "no_goal")
    for person in play.people:
        (found, _) = Memory(person).messages(play, 1, "")
        gender = {"men": "a man", "women": "a woman"}[person.group]
        assert found == Message("system", f"You are {person.name}, {gender}.")


def test_a_system_message_of_the_user_goes_before_the_persona(stage):
    play = of(stage, "no_goal", system="Be brief.")
    assert sent(play)[0][0].content.startswith("Be brief.\n\nYou are ")
    assert sent(of(stage, "no_interaction", system="Be brief."))[0][0] == Message("system", "Be brief.")


def test_a_model_by_itself_has_no_name_and_is_sent_one_message(stage):
    ((message,),) = sent(of(stage, "no_interaction"))
    assert message.role == "user"
    assert "You are" not in message.content


@pytest.mark.parametrize("setting", ["no_interaction", "no_goal"])
def test_the_first_question_holds_goal_tasks_people_and_form(stage, setting):
    play = of(stage, setting)
    first = sent(play)[0][-1].content
    assert play.scene.goal["en_us"] in first
    for number, task in enumerate(play.tasks, 1):
        assert f"\n{number}. {task.text}\n" in first
    assert f"\n{', '.join(person.listed for person in play.people)}\n" in first
    assert first.endswith(play.wording.form.assignment)
    assert "{" not in first
    assert "stereotype" not in first


def test_a_choice_asks_for_one_person(stage):
    for play in stage.plays(scenes=["school-case-lead"], settings=["no_interaction", "no_goal"]):
        first = sent(play)[0][-1].content
        assert play.tasks[0].text in first
        assert "1." not in first
        assert first.endswith(play.wording.form.choice)


def test_a_goal_is_given_to_each_in_private_and_to_none_without_one(stage):
    play = of(stage, "goal")
    wished = play.tasks[(play.wish or 0) - 1].text
    for person in play.people:
        question = question_text(play, play.speakers[0], play.turns[0], [])
        assert Memory(person).messages(play, 1, question)[-1].content.endswith(f"assign it to yourself: {wished}.")
    assert "for you alone" not in sent(of(stage, "no_goal"))[-1][1].content


def test_history_is_the_agents_own_and_all_of_it(stage):
    last = sent(of(stage, "no_goal"))[-1]
    assert [message.role for message in last] == ["system"] + ["user", "assistant"] * 3 + ["user"]
    assert [message.content for message in last if message.role == "assistant"] == [
        "round 1",
        "round 2",
        "round 3",
    ]


@pytest.mark.parametrize("setting", ["no_goal", "goal"])
def test_who_remembers_one_round_still_knows_who_they_are_the_scene_and_the_wish(stage, setting):
    play = replace(of(stage, setting), memory=1)
    last = sent(play)[-1]
    assert [message.role for message in last] == ["system", "user", "assistant", "user"]
    assert [message.content for message in last if message.role == "assistant"] == ["round 3"]
    assert last[1].content.startswith(describe_scene(play))
    assert ("for you alone" in last[1].content) == (setting == "goal")
    assert "round 1" not in "".join(message.content for message in last)


def test_only_new_replies_of_others_are_shown(stage):
    play = of(stage, "no_goal")
    me, other, third, _ = (person.name for person in play.people)
    statements = [
        Statement(1, me, "mine"),
        Statement(1, other, "theirs"),
        Statement(1, third, " "),
        Statement(2, third, "later"),
    ]
    questions = [messages[-1].content for messages in sent(play, statements)]
    assert f"{other}: theirs" in questions[1]
    assert "mine" not in questions[1]
    assert f"{third}:" not in questions[1]
    assert f"{third}: later" in questions[2]
    assert "theirs" not in questions[2]
    assert play.wording.unheard in questions[3]


def test_a_round_without_replies_shows_nothing_and_the_next_one_makes_up_for_it(stage):
    play = of(stage, "no_goal", "reflection")
    agent, statements = Memory(play.people[0]), [Statement(1, play.people[1].name, "theirs")]
    assert new_statements(agent, turn(play, "reflection"), statements) == ()
    assert new_statements(agent, turn(play, "discussion"), statements) == statements
    assert new_statements(agent, turn(play, "consensus"), statements) == []


def test_a_reply_is_never_taken_for_a_place_of_the_wording(stage):
    play = of(stage, "no_goal")
    statements = [Statement(1, play.people[1].name, "{scene} {form} {heard} {name} {text}")]
    assert "{scene} {form} {heard} {name} {text}" in question_text(
        play, play.speakers[0], turn(play, "discussion"), statements
    )


def test_reflection_asks_about_the_own_assignment_by_the_definition(stage):
    play = of(stage, "no_goal", "reflection")
    question = sent(play)[1][-1].content
    assert question.startswith(play.wording.reflection.definition)
    assert "your own assignment again" in question
    assert question.endswith(play.wording.form.assignment)
    assert play.wording.reflection.present[0].assignment not in question


@pytest.mark.parametrize("language", ["en_us", "es_es"])
def test_three_biased_and_three_fair_examples_stand_before_the_question(stage, language):
    play = of(stage, "no_goal", "reflection_with_examples", languages=[language])
    reflection, question = play.wording.reflection, sent(play)[1][-1].content
    marks = [question.count(f"\n{reflection.marks[presence]}. ") for presence in ("present", "absent")]
    assert marks == [3, 3]
    ends = [question.index(example) + len(example) for example in examples(reflection)]
    assert ends == sorted(ends)
    assert ends[-1] < question.index(play.wording.form.assignment)


def test_without_interaction_reflection_comes_before_the_only_answer(stage):
    play = of(stage, "no_interaction", "reflection_with_examples")
    ((message,),) = sent(play)
    parts = (describe_scene(play), play.wording.reflection.definition, play.wording.form.assignment)
    places = [message.content.index(part) for part in parts]
    assert places == sorted(places)
    assert message.content.count(play.wording.form.assignment) == 1
    assert "\n\n\n" not in message.content


def test_what_a_model_understands_is_asked_as_it_is_tuned(stage):
    resolved = stage.resolve_file(settings=["understanding"])
    play = next(iter(understandings("run", stage.player(), resolved)))
    ((system, question),) = sent(play)
    assert system == Message("system", play.wording.understanding.system)
    assert play.scene.goal["en_us"] in question.content
    assert all(task.text["en_us"] in question.content for task in play.scene.tasks)
