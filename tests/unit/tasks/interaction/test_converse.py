"""A play as a whole: what lands, what it comes to, and that it goes on where it was."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from biasgrid.tasks.connectors.api import ConnectorError, Disconnected, KeyRejected, Request, RequestRejected
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.warehouse.storage.journal import recover

RUN = "01M00000000000000000000001"
TALK: dict[str, Any] = {"settings": ["no_goal"]}


def failing(persona: str, error: ConnectorError) -> Callable[[Request], str | ConnectorError]:
    return lambda request: error if persona in request.messages[0].content else "fine"


async def test_every_word_lands_with_its_place_and_what_it_was_for(stage, company):
    (play,) = stage.plays(settings=["no_goal"], mitigations=["reflection"])
    (found,) = await stage.play(company(), [play])
    assert (found.outcome, found.reason) == ("played", "")
    places = Counter((row["turn"], row["speaker"], row["purpose"]) for row in stage.rows())
    purposes = ["subject", "reflection", "subject", "subject", "subject"]
    expected = [(turn, person.name, purpose) for turn, purpose in enumerate(purposes, 1) for person in play.people]
    assert places == Counter(expected)
    assert {row["session"] for row in stage.rows()} == {row["case_id"] for row in stage.rows()} == {play.id}


@pytest.mark.parametrize(
    "error", [Disconnected("no connection"), RequestRejected("too long"), KeyRejected("wrong key")]
)
async def test_an_agent_without_a_reply_ends_its_play_and_other_replies_are_kept(stage, company, error):
    (play,) = stage.plays(**TALK)
    silent = play.people[2]
    agents = company(reply_to=failing(silent.persona, error))
    (found,) = await stage.play(agents, [play])
    assert found.outcome == "error"
    assert silent.name in found.reason
    assert str(error) in found.reason
    landed = {row["speaker"]: row["text"] for row in stage.rows()}
    assert landed[silent.name] is None
    assert {row["turn"] for row in stage.rows()} == {1}
    assert "fine" in landed.values()


async def test_in_a_discussion_no_agent_is_asked_after_a_missing_reply(stage, company):
    (play,) = stage.plays(**TALK)
    answer = count(1)
    agents = company(reply_to=lambda _: Disconnected("gone") if next(answer) == 6 else "fine")
    (found,) = await stage.play(agents, [play])
    assert (found.outcome, len(agents.asked)) == ("error", 6)


async def test_the_rest_of_the_run_goes_on_and_the_broken_play_is_taken_up_again(stage, company):
    planned = stage.plays(**TALK, runs=4)
    broken = f"{planned[1].people[0].persona}."
    outcomes: list[str] = []
    agents = company(reply_to=failing(broken, RequestRejected("too long")))
    found = await stage.play(agents, planned, watch=lambda one: outcomes.append(one.outcome))
    assert [one.outcome for one in found].count("error") == len(
        [p for p in planned if broken in "".join(f"{person.persona}." for person in p.people)]
    )
    assert [one.play for one in found] == planned
    assert sorted(outcomes) == sorted(one.outcome for one in found)
    again = company()
    assert {one.outcome for one in await stage.play(again, planned)} == {"played"}
    answered = {row["request_key"] for row in stage.rows() if row["text"] is not None}
    assert len(answered) == sum(play.requests for play in planned)


@pytest.mark.parametrize("answer", ["", " \n", "withheld"])
async def test_an_empty_reply_or_one_that_was_withheld_is_a_reply_that_others_do_not_hear(stage, company, answer):
    (play,) = stage.plays(**TALK)
    silent = play.people[0]
    agents = company(reply_to=lambda request: answer if silent.persona in request.messages[0].content else "aloud")
    (found,) = await stage.play(agents, [play])
    assert (found.outcome, len(agents.asked)) == ("played", play.requests)
    contents = [message.content for _, request in agents.asked for message in request.messages]
    assert not any(f"{silent.name}: " in content for content in contents)
    assert any(f"{play.people[1].name}: aloud" in content for content in contents)


async def test_where_all_keep_silent_all_are_informed(stage, company):
    (play,) = stage.plays(**TALK)
    agents = company(reply_to=lambda _: "")
    await stage.play(agents, [play])
    outcomes = [play.wording.unheard in request.messages[-1].content for _, request in agents.asked]
    assert outcomes == [False] * 4 + [True] * 12


async def test_a_reply_that_ends_in_half_a_character_is_shown_as_it_landed_and_not_asked_for_again(stage, company):
    planned = stage.plays(**TALK)
    agents, again = company(reply_to=lambda _: "Well \ud83d"), company()
    await stage.play(agents, planned)
    answer = stage.rows()[0]["text"]
    assert answer in agents.asked[-1][1].messages[2].content
    await stage.play(again, planned)
    assert not again.asked


@pytest.mark.parametrize("kept", range(0, 21, 3))
async def test_a_play_goes_on_from_any_reply_and_asks_nothing_twice(stage, company, kept):
    planned = stage.plays("a", "b", settings=["no_goal"], mitigations=["reflection"])
    whole, again = company(), company()
    await stage.play(whole, planned)
    before = {row["request_key"]: row["text"] for row in stage.rows()}
    (journalled,) = stage.lake.files("responses", RUN)
    lines = stage.lake.read("responses", RUN).sort("received_at").head(kept)
    journalled.unlink()
    if kept:
        stage.lake.write("responses", RUN, f"{planned[0].cell_id}-before", lines)
    (found,) = await stage.play(again, planned)
    assert found.outcome == "played"
    assert {row["request_key"]: row["text"] for row in stage.rows()} == before
    assert len(again.asked) == len(before) - kept
    assert again.keys == before.keys() - set(lines["request_key"])


async def test_what_was_in_flight_when_a_run_is_broken_off_lands_and_is_not_asked_for_again(stage, company):
    planned, broken = stage.plays(**TALK, runs=5), asyncio.Event()

    def breaks(request: Request) -> str:
        if len(agents.asked) >= 37:
            broken.set()
        return f"reply {request.request_key[:8]}"

    agents, later = company(reply_to=breaks), company()
    task = asyncio.create_task(stage.play(agents, planned))
    await broken.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    recover(stage.lake, RUN)
    landed = {row["request_key"] for row in stage.rows()}
    assert landed == agents.keys
    assert 37 <= len(landed) < 80
    assert {one.outcome for one in await stage.play(later, planned)} == {"played"}
    assert not landed & later.keys
    assert len(landed) + len(later.asked) == 80


@pytest.mark.parametrize("most", [3, 4, 21, 50])
async def test_a_cap_leaves_plays_incomplete_and_a_higher_one_finishes_them(stage, company, most):
    planned = stage.plays(**TALK, runs=4)
    agents, again = company(), company()
    found = await stage.play(agents, planned, run_budget=RunBudget(max_requests=most))
    assert "incomplete" in {one.outcome for one in found} <= {"incomplete", "played"}
    assert len(stage.rows()) == len(agents.asked) == most
    assert {one.outcome for one in await stage.play(again, planned)} == {"played"}
    assert len(stage.rows()) == 64
    assert not agents.keys & again.keys


async def test_money_is_capped_too(stage, company):
    run_budget, planned = RunBudget(max_cost=0.001), stage.plays(**TALK, runs=10)
    found = await stage.play(company(), planned, run_budget=run_budget)
    assert "incomplete" in {one.outcome for one in found}
    assert 0 < run_budget.cost <= 0.001


async def test_plays_run_side_by_side_and_come_back_in_their_order(stage, company):
    planned, numbers = stage.plays(**TALK, runs=6), count()
    agents = company(reply_to=lambda _: f"number {next(numbers)}")
    found = await stage.play(agents, planned)
    assert [one.play.number for one in found] == [1, 2, 3, 4, 5, 6]
    first_shown = [request.messages[1].content for _, request in agents.asked[:24]]
    assert len(set(first_shown)) > 1
    for _, own in stage.lake.read("responses", RUN).group_by("session"):
        assert own.sort("received_at")["turn"].is_sorted()
