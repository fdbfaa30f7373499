"""A session as a whole: what is sent to whom, what lands, what it comes to, and that it goes on where it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.choices import StrategyName
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Limits, Prices, Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Disconnected, KeyRejected, Reply, Request
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.land import land_sessions, verdicts
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.tasks.redteam.task import AttackCell, attack_cell
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake

RUN = "01M00000000000000000000001"
WITHHELD = "withheld"
"""Reply of a model whose provider keeps the reply back."""
Answers = Callable[[Request], str | ConnectorError]
Scenes = Callable[..., Scene]


def judged(verdict: str, score: int = 10) -> str:
    return json.dumps({"verdict": verdict, "score": score, "explanation": f"it is {verdict}"})


@dataclass
class Company:
    """A target, an attacker and a judge that say what a test wants."""

    target: Answers = lambda request: f"reply to {request.messages[-1].content}"
    attacker: Answers = lambda request: json.dumps({"message": f"message {request.request_key[:8]}"})
    judge: Answers = lambda _: judged("unbiased")
    asked: dict[str, list[Request]] = field(default_factory=lambda: {"target": [], "attacker": [], "judge": []})
    under_way: int = 0
    most: int = 0

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector:
        return _Model(self, target.name)


@dataclass
class _Model:
    company: Company
    name: str

    async def ask(self, request: Request) -> Reply:
        self.company.asked[self.name].append(request)
        self.company.under_way += 1
        self.company.most = max(self.company.most, self.company.under_way)
        await asyncio.sleep(0)
        self.company.under_way -= 1
        answer = getattr(self.company, self.name)(request)
        if isinstance(answer, ConnectorError):
            raise answer
        ended = "content_filter" if answer == WITHHELD else "stop"
        return Reply("" if answer == WITHHELD else answer, ended, input_tokens=10, output_tokens=10)

    async def close(self) -> None:
        pass


def party(name: str) -> Participant:
    target = Target(
        model=f"own/{name}",
        provider="own",
        name=name,
        connector="own",
        prices=Prices(input=1, output=1),
        limits=Limits(concurrency=4),
    )
    return Participant(target, name, max_tokens=50)


PARTIES = Parties(party("target"), party("judge"), party("attacker"))


@dataclass
class Room:
    catalog: Catalog
    lake: Lake
    scenes: Scenes

    def sessions(self, strategy: StrategyName, count: int = 1, **changes: Any) -> list[Session]:
        return [
            Session(
                content_hash(strategy, number), RUN, "cell", "template", strategy, self.scenes(**changes), number
            )
            for number in range(1, count + 1)
        ]

    async def play(
        self, company: Company, sessions: list[Session], *, run_budget: RunBudget | None = None, retries: int = 0
    ) -> list[Transcript]:
        backoff = Backoff(first_s=0.001, longest_s=0.002, outage_s=0.05, alone_s=0.001)
        async with ModelPool(self.catalog, connect=company, backoff=backoff, run_budget=run_budget) as model_pool:
            cell = AttackCell(planned=sessions, parties=PARTIES, retries=retries, system="Be kind.")
            return await attack_cell(self.lake, cell, model_pool)

    def rows(self) -> list[Mapping[str, Any]]:
        rows = self.lake.read("responses", RUN).sort("session", "turn", "received_at")
        return rows.to_dicts()


@pytest.fixture
def room(catalog: Catalog, tmp_path: Path, scene: Scenes) -> Room:
    return Room(catalog, Lake.open(tmp_path), scene)


async def test_history_is_carried_to_the_target(room):
    company = Company()
    (found,) = await room.play(company, room.sessions("direct", limits={"turns": 3}))
    sent = [[message.role for message in request.messages] for request in company.asked["target"]]
    assert sent[-1] == ["system", "user", "assistant", "user", "assistant", "user"]
    last = company.asked["target"][-1].messages
    assert [message.content for message in last[1:]] == [
        text for turn in found.turns for text in (turn.exchange.message, turn.exchange.reply)
    ][:-1]
    assert found.outcome == "resisted"


async def test_a_reply_that_ends_in_half_a_character_is_carried_as_it_landed_and_not_asked_for_again(room):
    sessions = room.sessions("direct", limits={"turns": 3})
    company, again = Company(target=lambda _: "Well \ud83d"), Company()
    (found,) = await room.play(company, sessions)
    carried = company.asked["target"][-1].messages[-2].content
    assert carried == found.turns[0].exchange.reply == room.rows()[0]["text"]
    assert await room.play(again, sessions) == [found]
    assert not again.asked["target"]


async def test_every_word_lands_with_its_place(room):
    (found,) = await room.play(Company(), room.sessions("direct", limits={"turns": 2}))
    rows = room.rows()
    places = [(row["turn"], row["speaker"], row["purpose"]) for row in rows]
    assert places == [
        (1, "target", "subject"),
        (1, "judge", "judge"),
        (2, "attacker", "attacker"),
        (2, "target", "subject"),
        (2, "judge", "judge"),
    ]
    assert {row["session"] for row in rows} == {row["case_id"] for row in rows} == {found.session.id}
    assert {row["cell_id"] for row in rows} == {"cell"}


async def test_a_biased_reply_ends_the_session(room):
    company = Company(
        judge=lambda request: judged("biased" if "message 3" in request.messages[-1].content else "unbiased")
    )
    company.attacker = lambda _: json.dumps({"message": f"message {len(company.asked['target']) + 1}"})
    (found,) = await room.play(company, room.sessions("persona", limits={"turns": 9}))
    assert (found.outcome, found.succeeded_at, len(company.asked["target"])) == ("succeeded", 3, 3)
    assert found.reason == "it is biased"


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        (lambda _: judged("refused"), "refused"),
        (lambda _: judged("unclear"), "unreadable"),
        (lambda _: "well, well", "unreadable"),
        (lambda request: judged("refused" if request.request_key < "8" else "unbiased"), "resisted"),
        (lambda _: Disconnected("gone"), "error"),
    ],
)
async def test_outcomes_by_the_judge(room, judge, outcome):
    company = Company(judge=judge)
    sessions = room.sessions("one_shot", limits={"attempts": 3, "judge_retries": 1})
    (found,) = await room.play(company, sessions)
    assert found.outcome == outcome


async def test_an_unreadable_judge_is_asked_again_and_the_target_is_not(room):
    replies = iter(["what?", judged("unbiased")])
    company = Company(judge=lambda _: next(replies))
    (found,) = await room.play(company, room.sessions("one_shot", limits={"attempts": 1}))
    assert (found.outcome, len(company.asked["target"]), len(company.asked["judge"])) == ("resisted", 1, 2)


@pytest.mark.parametrize("error", [Disconnected("no connection"), KeyRejected("wrong key")])
async def test_a_target_that_breaks_down_is_an_error_and_what_was_before_is_kept(room, error):
    company = Company()
    company.target = lambda _: error if len(company.asked["target"]) > 2 else "fine"
    (found,) = await room.play(company, room.sessions("persona", limits={"turns": 9}))
    assert found.outcome == "error"
    assert str(error) in found.reason
    assert [turn.outcome for turn in found.turns] == ["passed", "passed", "error"]
    landed = [row["text"] for row in room.rows() if row["speaker"] == "target"]
    assert landed == ["fine", "fine", None]


async def test_an_attacker_that_writes_no_message_fails_and_the_target_is_not_blamed(room):
    company = Company(attacker=lambda _: "I'm sorry, but I can't help with that.")
    (found,) = await room.play(company, room.sessions("persona", limits={"attacker_retries": 2}))
    assert (found.outcome, len(company.asked["attacker"]), found.turns) == ("attacker failed", 3, ())
    assert "unreadable" in found.reason


async def test_a_message_that_may_not_be_sent_is_asked_for_again(room):
    replies = iter(["not JSON", "Shall men nurse?", "Shall women nurse at night?"])
    company = Company(attacker=lambda _: json.dumps({"message": next(replies)}))
    history = {"history": (), "limits": {"turns": 2}}
    sessions = room.sessions("selection", **history)
    opening = sessions[0].scene.opening_message()
    replies = iter([opening.replace("women", "men").replace("woman", "man") + " So?", f"{opening} It is late."])
    (found,) = await room.play(company, sessions)
    assert [turn.exchange.message for turn in found.turns] == [opening, f"{opening} It is late."]
    assert "Leave them exactly" in company.asked["attacker"][1].messages[-1].content


async def test_a_refusal_is_taken_out_of_the_history_that_is_sent(room):
    company = Company(judge=lambda r: judged("refused" if "no, second" in r.messages[-1].content else "unbiased"))
    numbers = iter(("first", "second", "third"))
    company.attacker = lambda _: json.dumps({"message": next(numbers)})
    company.target = lambda request: f"no, {request.messages[-1].content}"
    (found,) = await room.play(company, room.sessions("crescendo", limits={"turns": 2}))
    answer = [[one.content for one in request.messages[1:]] for request in company.asked["target"]]
    assert answer == [["first"], ["first", "no, first", "second"], ["first", "no, first", "third"]]
    assert "second" in company.asked["attacker"][2].messages[-1].content
    assert found.outcome == "resisted"


async def test_a_target_that_remembers_is_sent_the_new_message_alone(room):
    company = Company()
    (session,) = room.sessions("direct", limits={"turns": 3}, remembers=True)
    await room.play(company, [session])
    sent = [[message.role for message in request.messages] for request in company.asked["target"]]
    assert sent == [["system", "user"]] * 3
    assert {request.session for request in company.asked["target"]} == {f"{session.run_id}-{session.id}-1"}


async def test_a_pair_is_judged_once_and_together(room):
    company = Company()
    (found,) = await room.play(company, room.sessions("separated"))
    assert [turn.outcome for turn in found.turns] == [None, "passed"]
    (asked,) = company.asked["judge"]
    assert all(turn.exchange.message in asked.messages[-1].content for turn in found.turns)


@pytest.mark.parametrize("number", [0, 1])
async def test_a_pair_with_one_withheld_reply_is_judged_withheld(room, number):
    replies = ["a reply", "a reply"]
    replies[number] = WITHHELD
    company = Company(target=lambda _: replies[len(company.asked["target"]) - 1], judge=lambda _: judged("biased"))
    (found,) = await room.play(company, room.sessions("separated"))
    (asked,) = company.asked["judge"]
    assert "provider withheld it" in asked.messages[-1].content
    assert found.outcome == "succeeded"


async def test_of_a_pair_that_was_withheld_no_judge_is_asked(room):
    company = Company(target=lambda _: WITHHELD)
    (found,) = await room.play(company, room.sessions("separated"))
    assert company.asked["judge"] == []
    assert found.outcome == "refused"


@pytest.mark.parametrize("kept", range(0, 13, 2))
async def test_a_session_resumes_from_any_turn_and_asks_nothing_twice(room, kept):
    whole = Company()
    sessions = room.sessions("crescendo", limits={"turns": 4})
    (first,) = await room.play(whole, sessions)
    (journalled,) = room.lake.files("responses", RUN)
    lines = room.lake.read("responses", RUN).sort("received_at").head(kept)
    journalled.unlink()
    if kept:
        room.lake.write("responses", RUN, "cell-before", lines)
    again = Company()
    (second,) = await room.play(again, sessions)
    messages = [turn.exchange for turn in first.turns]
    assert [turn.exchange for turn in second.turns] == messages
    assert sum(map(len, again.asked.values())) == sum(map(len, whole.asked.values())) - kept


async def test_what_a_kill_left_in_the_journal_is_kept(room):
    company, broken = Company(), asyncio.Event()
    sessions = room.sessions("persona", count=3, limits={"turns": 5})
    numbers = iter(range(1000))
    company.attacker = lambda _: json.dumps({"message": f"message {next(numbers)}"})

    def breaks(_: Request) -> str:
        if len(company.asked["target"]) >= 8:
            broken.set()
        return "fine"

    company.target = breaks
    task = asyncio.create_task(room.play(company, sessions))
    await broken.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    recover(room.lake, RUN)
    before = {row["request_key"] for row in room.rows()}
    asked = {request.request_key for requests in company.asked.values() for request in requests}
    assert before == asked
    later = Company(attacker=company.attacker)
    found = await room.play(later, sessions)
    assert [one.outcome for one in found] == ["resisted"] * 3
    assert not before & {request.request_key for requests in later.asked.values() for request in requests}


async def test_a_reply_that_was_not_understood_is_read_later_and_not_asked_again(room):
    misplaced = ErrorMapper(PARTIES.target.target).misplace("another shape", b'{"candidates": []}')
    company, sessions = Company(target=lambda _: misplaced), room.sessions("persona", limits={"turns": 1})
    for asked in (1, 1):
        (found,) = await room.play(company, sessions)
        assert (found.outcome, len(company.asked["target"])) == ("error", asked)
    # a better reader comes: here the body becomes one that today's reader understands
    (path,) = [path for path in room.lake.files("responses") if pl.read_parquet(path)["raw"].count()]
    understood = '{"choices": [{"message": {"content": "fine"}}]}'
    known = {"raw": understood, "model": "openai/gpt-4o-mini"}
    kept = [
        pl.when(pl.col("raw").is_null()).then(name).otherwise(pl.lit(known[name])).alias(name) for name in known
    ]
    room.lake.write("responses", RUN, path.stem, pl.read_parquet(path).with_columns(kept))
    (found,) = await room.play(company, sessions)
    assert (found.outcome, found.turns[0].exchange.reply) == ("resisted", "fine")
    assert len(company.asked["target"]) == 1


async def test_a_cap_ends_sessions_as_incomplete_and_a_higher_one_goes_on(room):
    sessions = room.sessions("persona", limits={"turns": 3})
    numbers = iter(range(100))
    company = Company(attacker=lambda _: json.dumps({"message": f"message {next(numbers)}"}))
    (found,) = await room.play(company, sessions, run_budget=RunBudget(max_requests=4))
    assert (found.outcome, len(room.rows())) == ("incomplete", 4)
    assert verdicts([found], "E", PARTIES.judge.target, _now())["level"].to_list() == ["instance"]
    (again,) = await room.play(company, sessions)
    assert (again.outcome, len(room.rows())) == ("resisted", 9)


async def test_money_is_capped_too(room):
    run_budget = RunBudget(max_cost=0.001)
    (found,) = await room.play(Company(), room.sessions("direct", limits={"turns": 50}), run_budget=run_budget)
    assert found.outcome == "incomplete"
    assert 0 < run_budget.cost <= 0.001


async def test_sessions_run_side_by_side_and_each_in_its_own_order(room):
    company = Company()
    found = await room.play(company, room.sessions("one_shot", count=8, limits={"attempts": 2}))
    assert [one.session.number for one in found] == list(range(1, 9))
    assert company.most > 1
    for session in {row["session"] for row in room.rows()}:
        turns = [row["turn"] for row in room.rows() if row["session"] == session]
        assert turns == [1, 1, 2, 2]


async def test_verdicts_land_as_the_lake_has_them(room):
    sessions = room.sessions("one_shot", limits={"attempts": 2})
    cells = land_sessions(room.lake, sessions, PARTIES.target)
    assert cells.select("input", "reflection", "planned").row(0) == ("one_shot", "doctor-nurse", 1)
    replies = iter([judged("refused"), judged("biased", 90)])
    found = await room.play(Company(judge=lambda _: next(replies)), sessions)
    rows = verdicts(found, "E", PARTIES.judge.target, _now())
    room.lake.write("verdicts", RUN, "E-cell", rows)
    rows_found = rows.select("level", "sample", "outcome", "parsed_text", "parsed_value", "assessor").rows()
    assert rows_found == [
        ("instance", 1, "refused", "refused", 10, "own/judge"),
        ("instance", 2, "failed", "biased", 90, "own/judge"),
        ("session", 1, "failed", "succeeded", 2, "own/judge"),
    ]
    assert rows["verdict_id"].n_unique() == 3


def _now() -> datetime:
    return datetime.now(UTC)
