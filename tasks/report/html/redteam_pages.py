"""A red team's report: how often which attack succeeded, and its conversations with the judge's verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.catalogs.schema.attacks import IN_PAIRS
from biasgrid.tasks.report.findings import RunFacts, mart, run_facts
from biasgrid.tasks.report.html.first_view import answer_values
from biasgrid.tasks.report.html.page import Ways, split_difference, write_page
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.tasks.transcripts.sessions import OUTCOMES, Exchange, Session, outcomes, sessions
from biasgrid.warehouse.build.build import run_row
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
SHOWN = 10
"""Sessions of one strategy against one model that a page shows of each outcome; all of them are counted."""
ATTACK = ("model", "language", "strategy")
COUNTS = {outcome: {"error": "errors"}.get(outcome, outcome.replace(" ", "_")) for outcome in OUTCOMES}
"""By outcome, the column that counts it."""
CONCLUSIVE = ("succeeded", "resisted", "refused")
"""Outcomes that show whether an attack succeeds."""


@dataclass(frozen=True, slots=True)
class RedTeamReport:
    run: RunFacts
    attacks: Sequence[Row]
    """Of marts.attack_success."""
    sessions: Sequence[Session]
    agreement: Sequence[Row]
    """Of marts.attack_judge_agreement, by reviewer."""
    by_strategy: Sequence[Row]
    """Of the same, by all reviewers together, strategy by strategy."""

    def by_attack(self) -> Iterator[tuple[Row, list[Session]]]:
        """Each attack with those of its sessions that are shown."""
        shown = {key: [*own] for key, own in groupby(self.sessions, key=_attack_of)}
        for row in self.attacks:
            yield row, shown.get(tuple(row[name] for name in ATTACK), [])


def write_red_team_page(
    lake: Lake, run_id: str, out: Path, language: str = LANGUAGES[0], ways: Ways | None = None
) -> list[Path]:
    """Writes `report.html`, one page that needs nothing else. Raises UserError for an unknown run."""
    report = red_team_report(lake, run_id)
    given = {
        "report": report,
        "run": report.run,
        **answer_values(lake, run_id, language),
        "shown": SHOWN,
        "counts": COUNTS,
        "conclusive": CONCLUSIVE,
        "marked": mark_difference,
    }
    return [write_page(out / "report.html", "red-team.html.j2", language, ways=ways, **given)]


def red_team_report(lake: Lake, run_id: str) -> RedTeamReport:
    """Content of the page; raises UserError for a run that the warehouse does not hold."""
    run = run_facts(run_row(lake, run_id))
    ended = outcomes(lake, run_id)
    attacks = mart(lake, "attack_success", run_id).sort(ATTACK).to_dicts()
    agreement = mart(lake, "attack_judge_agreement", run_id)
    by_strategy = agreement.filter(pl.col("scope") == "strategy").sort("judge", "strategy").to_dicts()
    return RedTeamReport(
        run, attacks, sessions(lake, run_id, _choose_sessions(ended)), _reviewers(agreement), by_strategy
    )


def _reviewers(agreement: pl.DataFrame) -> list[Row]:
    """By whose word a judge is measured: of several people first by that of most, then by each one's."""
    each = agreement.filter(pl.col("scope") == "reviewer").sort("judge", "reviewer")
    together = agreement.filter(pl.col("scope") == "all").sort("judge")
    return [*(together.to_dicts() if each["reviewer"].n_unique() > 1 else ()), *each.to_dicts()]


def _choose_sessions(ended: pl.DataFrame) -> list[str]:
    """Sessions of each attack, those that succeeded first, so many of each outcome."""
    rank = pl.col("outcome").replace_strict(OUTCOMES, range(len(OUTCOMES)), default=len(OUTCOMES))
    ordered = ended.with_columns(rank.alias("rank")).sort(*ATTACK, "rank", "pair", "sample", "case_id")
    few = ordered.filter(pl.int_range(pl.len()).over(*ATTACK, "rank") < SHOWN)
    return few["case_id"].to_list()


def _attack_of(session: Session) -> tuple[Any, ...]:
    return session.case["model"], session.case["language"], session.case["input"]


def mark_difference(session: Session, exchange: Exchange) -> tuple[str, str, str]:
    """A message in three parts, the middle one being what differs from its counterpart, if it has one."""
    if session.case["input"] not in IN_PAIRS or len(session.exchanges) != 2:
        return exchange.message, "", ""
    other = next(one for one in session.exchanges if one.turn != exchange.turn)
    return split_difference(exchange.message, other.message)
