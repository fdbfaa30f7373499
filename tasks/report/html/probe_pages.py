"""A probe's report: its findings, and each pair's trials with prompt, reply and how it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from biasgrid.tasks.report.examples import messages_of
from biasgrid.tasks.report.findings import FINDINGS, GROUP_PAIRS, RULES, RunFacts, run_facts
from biasgrid.tasks.report.html.first_view import answer_values
from biasgrid.tasks.report.html.page import Ways, write_page
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.tasks.transcripts.excerpt import LONGEST, Excerpt
from biasgrid.warehouse.build.build import query, run_row
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
SHOWN = 10
"""Trials of one test of a pair that a page shows of each way to fall; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, its reply and how it was read."""

    part: str | None
    """Which statement it is, or which group it is about, where a trial has several prompts."""
    messages: Sequence[Mapping[str, str]]
    reply: Excerpt | None
    response_id: str | None
    fell: str | None
    """Of FALLEN, or of LOST where nothing was read."""
    answer: str | None
    """Otherwise an answer's words, or a rating."""
    reason: str | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One comparison: a prompt, or the prompts of a block."""

    block: int
    form: str
    fell: str
    score: float | None
    asked: Sequence[Asked]


@dataclass(frozen=True, slots=True)
class Tested:
    """One test of a pair: its row of marts.probe_findings, and some trials of each way to fall."""

    finding: Row
    trials: Sequence[Trial]

    @property
    def anchor(self) -> str:
        row = self.finding
        return "-".join(str(row[name]) for name in ("model", "language", "pair", "test"))


@dataclass(frozen=True, slots=True)
class ProbeReport:
    run: RunFacts
    tests: Sequence[Tested]
    rules: Sequence[Row]
    """Of marts.probe_outcomes."""
    group_pairs: Sequence[Row] = ()
    """Of marts.probe_group_pairs, with the test over all groups."""

    def by_model(self) -> Iterator[tuple[str, str, list[Tested]]]:
        """Model, language and their tests, test by test."""
        for (model, language), own in groupby(self.tests, key=lambda one: _of(one.finding, "model", "language")):
            yield model, language, [*own]

    def group_pairs_by_test(self) -> Iterator[tuple[Row, list[Row]]]:
        """The test over all groups of each pair, as one of its rows, and its pairs of groups."""
        for _, own in groupby(self.group_pairs, key=lambda row: _of(row, *KEY)):
            rows = [*own]
            yield rows[0], rows

    def by_pair(self) -> Iterator[tuple[str, str, str, list[Tested]]]:
        """Model, language, pair and the tests of it."""
        for model, language, own in self.by_model():
            ordered = sorted(own, key=lambda one: one.finding["pair"])
            for pair, tests in groupby(ordered, key=lambda one: one.finding["pair"]):
                yield model, language, pair, [*tests]


def write_probe_page(
    lake: Lake, run_id: str, out: Path, language: str = LANGUAGES[0], ways: Ways | None = None
) -> list[Path]:
    """Writes `report.html`, one page that needs nothing else. Raises UserError for an unknown run."""
    report = probe_report(lake, run_id)
    given = {"report": report, "run": report.run, "shown": SHOWN, **answer_values(lake, run_id, language)}
    return [write_page(out / "report.html", "probe.html.j2", language, ways=ways, **given)]


def probe_report(lake: Lake, run_id: str) -> ProbeReport:
    """Content of the page; raises UserError for a run that the warehouse does not hold."""
    run = run_facts(run_row(lake, run_id))
    trials = _trials(lake, run_id)
    findings = query(lake, FINDINGS, [run_id]).to_dicts()
    tests = [Tested(row, trials.get(_of(row, *KEY), ())) for row in findings]
    rules, pairs = (query(lake, rows, [run_id]).to_dicts() for rows in (RULES, GROUP_PAIRS))
    return ProbeReport(run, tests, rules, pairs)


KEY = ("model", "language", "pair", "test")


def _of(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _trials(lake: Lake, run_id: str) -> dict[tuple[Any, ...], list[Trial]]:
    """By the key of their finding, each in the order in which it was asked."""
    rows = query(lake, READINGS, [run_id, SHOWN], texts_of=run_id)
    asked = messages_of(lake, run_id, rows["case_id"])
    by_test = groupby(rows.iter_rows(named=True), key=itemgetter(*KEY))
    return {key: [*_in_blocks(own, asked)] for key, own in by_test}


def _in_blocks(rows: Iterable[Row], messages: Mapping[str, Any]) -> Iterator[Trial]:
    for block, own in groupby(rows, key=itemgetter("block")):
        parts = [*own]
        asked = [_prompt(row, messages.get(row["case_id"]) or ()) for row in parts]
        first = parts[0]
        yield Trial(block, first["form"], first["fell"], first["score"], asked)


def _prompt(row: Row, messages: Sequence[Mapping[str, str]]) -> Asked:
    reply = None if row["text"] is None else Excerpt(row["text"], row["signs"])
    return Asked(row["part"], messages, reply, row["response_id"], _fell(row), _answer(row), row["reason"])


FALLEN = ("stereotypical", "counter", "balanced", "one-sided")
LOST = ("refused", "unreadable", "error")


def _fell(row: Row) -> str | None:
    """An association's way, or why nothing was read."""
    if row["parsed_text"] in FALLEN:
        return str(row["parsed_text"])
    return str(row["outcome"]) if row["outcome"] in LOST else None


def _answer(row: Row) -> str | None:
    return row["parsed_text"] or (None if row["parsed_value"] is None else f"{row['parsed_value']:g}")


READINGS = f"""
    with trials as (
        select
            run_id,
            cell_id,
            block,
            fell,
            score,
            row_number() over (partition by cell_id, fell order by block) as place
        from intermediate.int_probe_trials
        where run_id = $1
    )

    select
        readings.model,
        readings.language,
        readings.pair,
        readings.test,
        trials.block,
        trials.fell,
        trials.score,
        readings.case_id,
        readings.response_id,
        readings.form,
        readings.part,
        readings.favoured,
        readings.stigmatised,
        readings.outcome,
        readings.parsed_text,
        readings.parsed_value,
        readings.reason,
        left(replies.text, {LONGEST}) as text,
        length(replies.text) as signs
    from trials
    inner join intermediate.int_probe_readings as readings using (run_id, cell_id, block)
    left join staging.stg_responses as replies using (run_id, response_id)
    where trials.place <= $2
    order by
        readings.model, readings.language, readings.pair, readings.test, trials.block,
        list_position(['stereotype', 'anti', 'reversed', 'favoured', 'stigmatised'], readings.part),
        readings.case_id
"""  # noqa: S608 - a number of ours
