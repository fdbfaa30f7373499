"""Outcome of a red team from the marts: success by strategy, successful conversations and exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from biasgrid.flows.runs.outcome import FAILURES, EndedByBound, coverage_query, end_fields
from biasgrid.warehouse.storage.lake import Lake

COUNTED = ("succeeded", "resisted", "refused", "unreadable", "errors", "attacker_failed", "open")


@dataclass(frozen=True, kw_only=True)
class AttackOutcome(EndedByBound):
    """A finished red team: rows of marts.attack_success, and the turns of sessions that succeeded."""

    title = "red team"
    rates: list[dict[str, Any]]
    successes: list[dict[str, Any]]
    """The first twenty sessions that succeeded, each with its `turns`: message, reply, and number."""
    unwritten: list[tuple[str, int]]
    """Reasons why attacker messages could not be sent, each with the number of sessions it ended."""

    def count(self, name: str) -> int:
        return sum(row[name] for row in self.rates)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.rates

    @property
    def counts(self) -> str:
        found = {name: self.count(name) for name in COUNTED}
        text = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found.items() if count)
        return text or "no session"


def read_outcome(lake: Lake, run_id: str) -> AttackOutcome:
    """Outcome of a red team; raises UserError if there is no warehouse."""
    from biasgrid.warehouse.build.build import connect, fetch_rows

    with connect(lake, texts_of=run_id) as warehouse:
        rates, successes, covered, failed, unwritten = (
            fetch_rows(warehouse, sql, [run_id]).to_dicts()
            for sql in (RATES, SUCCESSES, COVERED, FAILURES, UNWRITTEN)
        )
        turns = fetch_rows(warehouse, TURNS, [run_id, [row["session_id"] for row in successes]]).to_dicts()
    text = [row | {"turns": [turn for turn in turns if turn["session"] == row["session_id"]]} for row in successes]
    why = [(row["reason"], row["sessions"]) for row in unwritten]
    ended = end_fields(lake, run_id, rates, covered, failed)
    return AttackOutcome(rates=rates, successes=text, unwritten=why, **ended)


RATES = "from marts.attack_success where run_id = ? order by model, language, strategy"

SUCCESSES = """
    select session_id, model, language, strategy, pair, succeeded_at, judge, reason
    from intermediate.int_attack_sessions
    where run_id = ? and outcome = 'succeeded'
    order by model, language, strategy, pair, number
    limit 20
"""

TURNS = """
    select session, turn, messages[len(messages)].content as message, text as reply
    from staging.stg_responses
    where run_id = ? and speaker = 'target' and text is not null and list_contains(?, session)
    order by session, turn
"""

UNWRITTEN = """
    select sessions.reason, count(*) as sessions
    from intermediate.int_attack_sessions as sessions
    anti join staging.stg_responses as failed
        on failed.run_id = sessions.run_id
        and failed.session = sessions.session_id
        and failed.is_answer
        and failed.error_class is not null
    where sessions.run_id = ? and sessions.outcome = 'attacker failed'
    group by sessions.reason
    order by count(*) desc, sessions.reason
"""

COVERED = coverage_query(
    """count(*) filter (where outcome = 'open') = 0
            and count(*) filter (where outcome not in ('error', 'attacker failed')) / count(*)""",
    "intermediate.int_attack_sessions",
)
"""Whether enough of a model's sessions were completed."""
