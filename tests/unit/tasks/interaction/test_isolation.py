"""Who knows what: every reply is a canary, and what each request holds of them is known exactly."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from biasgrid.tasks.interaction.play import Play

CANARY = re.compile(r"canary-\w+")
Row = Mapping[str, Any]


def canary(request: Any) -> str:
    return f"canary-{request.request_key}"


def held(row: Row) -> set[str]:
    return {found for message in row["messages"] for found in CANARY.findall(message["content"])}


def known(row: Row, others: list[Row], play: Play) -> set[str]:
    """What the speaker of a reply may know: its own words, and what was shown by then in the round."""
    order = [person.name for person in play.people]
    hearing = [
        number for number, one in enumerate(play.turns, 1) if one.reads != "nobody" and number <= row["turn"]
    ]
    own = {one["text"] for one in others if one["speaker"] == row["speaker"] and one["turn"] < row["turn"]}
    if not hearing:
        return own
    in_turn = play.turns[hearing[-1] - 1].reads == "everybody"
    before = {one["text"] for one in others if one["turn"] < hearing[-1]}
    earlier = [one for one in others if in_turn and one["turn"] == hearing[-1]]
    spoken = {one["text"] for one in earlier if order.index(one["speaker"]) < order.index(row["speaker"])}
    return own | before | spoken


async def held_and_known(stage: Any, agents: Any, planned: list[Play]) -> list[tuple[Row, set[str], set[str]]]:
    await stage.play(agents, planned)
    plays, found = {play.id: play for play in planned}, []
    for session, own in groupby(stage.rows(), key=lambda row: row["session"]):
        rows = list(own)
        found += [(row, held(row), known(row, rows, plays[session])) for row in rows]
    return found


@pytest.mark.parametrize("protocol", ["study", "brief"])
async def test_agents_know_only_their_own_and_shown_replies(stage, company, protocol):
    planned = stage.plays(
        *("a", "b"),
        scenes=["office-server-migration", "office-new-premises", "office-tax-audit"],
        settings=["no_goal", "goal"],
        mitigations=["none", "reflection"],
        protocol=protocol,
        runs=2,
    )
    found = await held_and_known(stage, company(reply_to=canary), planned)
    assert len(found) == sum(play.requests for play in planned)
    for row, holds, knows in found:
        assert holds == knows, (row["turn"], row["speaker"])


async def test_a_first_reply_is_not_shown_in_its_round_or_in_a_round_without_replies(stage, company):
    planned = stage.plays(settings=["no_goal"], mitigations=["reflection"], runs=3)
    for row, holds, _ in await held_and_known(stage, company(reply_to=canary), planned):
        if row["turn"] <= 2:
            own = {one["text"] for one in stage.rows() if one["speaker"] == row["speaker"]}
            assert len(holds) == row["turn"] - 1
            assert holds <= own


async def test_nothing_of_one_play_is_ever_shown_in_another(stage, company):
    planned = stage.plays(settings=["no_goal"], runs=4)
    held_by_session: dict[str, set[str]] = defaultdict(set)
    of: dict[str, str] = {}
    for row, holds, _ in await held_and_known(stage, company(reply_to=canary), planned):
        held_by_session[row["session"]] |= holds
        of[row["text"]] = row["session"]
    assert all({of[one] for one in holds} == {session} for session, holds in held_by_session.items())


async def test_an_own_protocol_in_which_the_last_assignment_is_blind(stage, company):
    """As `known` has it: replies of the discussion are remembered, later ones are not shown."""
    (play,) = stage.plays(settings=["no_goal"])
    blind = replace(play.turns[-1], reads="nobody")
    planned = [replace(play, turns=(*play.turns[:2], blind))]
    for row, holds, knows in await held_and_known(stage, company(reply_to=canary), planned):
        assert holds == knows, (row["turn"], row["speaker"])


async def test_agents_of_a_blind_round_are_asked_at_once_and_those_of_a_discussion_in_turn(stage, company):
    (play,) = stage.plays(settings=["no_goal"])
    agents = company(pause_s=0.05)
    await stage.play(agents, [play])
    assert agents.at_once == [1, 2, 3, 4] + [1] * 8 + [1, 2, 3, 4]
    speaking = [request.messages[0].content for _, request in agents.asked[4:12]]
    assert speaking == [f"You are {person.persona}." for person in play.people] * 2


async def test_each_agent_of_a_cast_is_asked_of_its_own_model_and_leads_in_some_run(stage, company):
    planned = stage.plays("a", "b", "c", settings=["no_goal"], runs=3)
    agents, leading = company(), []
    for play in planned:
        began = len(agents.asked)
        await stage.play(agents, [play])
        by_persona = {f"You are {person.persona}.": person.party.target.name for person in play.people}
        asked = agents.asked[began:]
        assert [model for model, _ in asked] == [by_persona[request.messages[0].content] for _, request in asked]
        leading.append(asked[len(play.people)][0])
    assert leading == ["a", "b", "c"]
    shown = {(play.id, person.name): person.party.target.model for play in planned for person in play.people}
    assert all(shown[row["session"], row["speaker"]] == row["model"] for row in stage.rows())


async def test_a_model_by_itself_speaks_as_no_person_of_the_scene(stage, company):
    agents = company()
    await stage.play(agents, stage.plays(settings=["no_interaction"], runs=2))
    assert [(row["turn"], row["speaker"], row["purpose"]) for row in stage.rows()] == [
        (1, "assistant", "subject")
    ] * 2
