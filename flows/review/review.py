"""`biasgrid review`: people's verdicts on a sample of a run, on a terminal or in a sheet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, place, position
from biasgrid.flows.results.sql import refuse_to_replace
from biasgrid.flows.review.screen import BACK, COMMANDS, DECIDING_KEYS, QUIT, SKIP, Key, Screen
from biasgrid.flows.runs.kinds import Review, find_kind
from biasgrid.tasks.evaluate.cell import decide_again
from biasgrid.tasks.report.figures import format_count
from biasgrid.tasks.review.kinds import Kind
from biasgrid.tasks.review.record import Answer, Record, Unit, disputes, earlier_answers, find_unapplied, unit_of
from biasgrid.tasks.review.sample import Draw, draw_sample
from biasgrid.tasks.review.sheet import Line, read_sheet, sheet
from biasgrid.tasks.review.units import Shown
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.assessments import DECISION, TABLE
from biasgrid.warehouse.storage.export_files import as_csv, write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock
from biasgrid.warehouse.storage.runs import Run

ALL_KEYS = "pfrusbmq"


@dataclass(frozen=True, slots=True)
class Desk:
    """A run as its reviewers find it: what can be reviewed, in its newest evaluation."""

    lake: Lake
    run_id: str
    evaluation_id: str
    units: pl.DataFrame
    review: Review
    kind: Kind

    @classmethod
    def of(cls, lake: Lake, run: Run) -> Desk:
        """Raises UserError for a run without a judged reply."""
        review = find_kind(run.kind).review
        if review is None:
            raise LookupError(run.kind)
        kind: Kind = resolve_name(review.replies)
        evaluation_id = kind.evaluation(lake, run.run_id)
        return cls(lake, run.run_id, evaluation_id, kind.units(lake, run.run_id, evaluation_id), review, kind)

    def shown_units(self, units: pl.DataFrame) -> dict[str, Shown]:
        """Some of its units as a reviewer sees them, by id."""
        return self.kind.shown(self.lake, self.run_id, units)


def refresh(lake: Lake) -> None:
    """Rebuilds the warehouse if assessments or verdicts are newer."""
    landed = [path.stat().st_mtime_ns for table in (TABLE, "verdicts") for path in lake.files(table)]
    if not lake.has_database() or max(landed, default=0) >= lake.database.stat().st_mtime_ns:
        build(lake)


def review(desk: Desk, draw: Draw, reviewer: str, screen: Screen) -> int:
    """Shows the sample to a reviewer from where they stopped; each answer lands at once. Returns their number."""
    sample = draw_sample(desk.units, draw)
    sitting = Sitting.start(desk, sample, reviewer, screen)
    screen.print(sitting.format_start(draw))
    try:
        sitting.go()
    finally:
        screen.print(sitting.format_end())
    return sitting.landed


@dataclass(slots=True)
class Sitting:
    """One reviewer's way through a sample."""

    screen: Screen
    record: Record
    sample: Sequence[Mapping[str, Any]]
    texts: Mapping[str, Shown]
    answers: dict[Unit, Answer]
    rules: Review
    landed: int = 0

    @classmethod
    def start(cls, desk: Desk, sample: pl.DataFrame, reviewer: str, screen: Screen) -> Sitting:
        record = Record(desk.lake, desk.run_id, desk.evaluation_id, reviewer)
        answers = earlier_answers(desk.lake, desk.run_id, desk.evaluation_id, reviewer)
        return cls(screen, record, sample.to_dicts(), desk.shown_units(sample), answers, desk.review)

    def format_start(self, draw: Draw) -> str:
        done = f", {self._done()} of them done" if self._done() else ""
        who = f"review of run {self.record.run_id} by {self.record.reviewer}"
        replies = format_count(len(self.sample), "reply")
        return f"{who}: {replies}, drawn with seed {draw.seed}{done}\n{self.rules.rule}"

    def format_end(self) -> str:
        left = len(self.sample) - self._done()
        rest = "the sample is done" if not left else f"{left} to go: the same command goes on there"
        agreement = f"\nhow far you agree: biasgrid review {self.record.run_id} --agreement" if self.landed else ""
        return f"{format_count(self.landed, 'answer')} landed; {rest}{agreement}"

    def go(self) -> None:
        at = self._next(0)
        while at is not None:
            key = self._next_key(at)
            if key.name == QUIT:
                return
            if key.name == BACK:
                at = max(at - 1, 0)
                continue
            self._answer(at, key)
            at = self._next(at + 1)

    def _next_key(self, at: int) -> Key:
        text = self.texts[self.sample[at]["unit_id"]]
        return self.screen.read_verdict(self._title(at), text, f"{self.rules.keys} {COMMANDS}", ALL_KEYS)

    def _title(self, at: int) -> str:
        before = self.answers.get(unit_of(self.sample[at]))
        yours = f" · your verdict: {before.outcome or 'skip'}" if before else ""
        return f"{at + 1} of {len(self.sample)}{yours}"

    def _answer(self, at: int, key: Key) -> None:
        reason = self.screen.line("reason: ") if key.with_reason and key.name != SKIP else ""
        answer = Answer(key.outcome, reason or None)
        self.record.give((self.sample[at], answer))
        self.answers[unit_of(self.sample[at])] = answer
        self.landed += 1

    def _next(self, at: int) -> int | None:
        """The next reply that this reviewer has not yet assessed."""
        return next((n for n in range(at, len(self.sample)) if unit_of(self.sample[n]) not in self.answers), None)

    def _done(self) -> int:
        return sum(unit_of(unit) in self.answers for unit in self.sample)


def export_sheet(desk: Desk, draw: Draw, out: Path, *, force: bool) -> int:
    """Writes a blind sheet; returns its number of replies. Raises UserError for an existing file."""
    refuse_to_replace(out, force=force, option="--export")
    sample = draw_sample(desk.units, draw)
    rows = sheet(sample, desk.shown_units(sample), draw)
    # the mark: some spreadsheets take a CSV without it for an old code page
    write_text(out, "\ufeff" + as_csv(rows), "--export")
    return rows.height


def import_sheet(desk: Desk, path: Path, reviewer: str) -> tuple[int, int]:
    """Lands a sheet's verdicts; returns how many are new and how many are not. Raises UserError, landing none."""
    lines, mistakes = read_sheet(path)
    known = {row["unit_id"]: row for row in _with_chances(desk, lines).iter_rows(named=True)}
    mistakes += [_unknown(line, path, desk.run_id) for line in lines if line.unit_id not in known]
    if not lines and not mistakes:
        mistakes = [Problem("no row has a verdict", str(path), "fill in `verdict` of those you have read")]
    if mistakes:
        raise UserError(sorted(mistakes, key=position))
    answers = earlier_answers(desk.lake, desk.run_id, desk.evaluation_id, reviewer)
    given = {line.unit_id: line.answer for line in lines}
    new = [(known[key], answer) for key, answer in given.items() if answers.get(unit_of(known[key])) != answer]
    if new:
        Record(desk.lake, desk.run_id, desk.evaluation_id, reviewer).give(*new)
    return len(new), len(given) - len(new)


def _with_chances(desk: Desk, lines: Sequence[Line]) -> pl.DataFrame:
    """The run's units with their sampling probability; null if the sheet has none."""
    draws = dict.fromkeys(line.draw for line in lines if line.draw)
    samples: list[pl.DataFrame] = []
    for draw in draws:
        with suppress(UserError):  # another run's sheet: its ids are reported one by one
            samples.append(draw_sample(desk.units, draw).select("unit_id", "probability", "seed"))
    empty = pl.DataFrame(schema={"unit_id": pl.String, "probability": pl.Float64, "seed": pl.Int64})
    chances = pl.concat([empty, *samples]).unique("unit_id", keep="first", maintain_order=True)
    return desk.units.join(chances, on="unit_id", how="left")


def _unknown(line: Line, path: Path, run_id: str) -> Problem:
    what = f"`{line.unit_id[:40]}` is no reply of run {run_id}, or is judged by another rule by now"
    return Problem(what, place(path, line.number), "put the id back, name its run, or export the sheet anew")


DECIDING = "pfrusmq"


def adjudicate(desk: Desk, reviewer: str, screen: Screen) -> int:
    """Shows disputed replies and lands decisions, which supersede verdicts; returns how many. Raises RunBusy."""
    with RunLock(desk.lake, desk.run_id):
        refresh(desk.lake)
        _apply(desk, find_unapplied(desk.lake, desk.run_id))
        record = Record(desk.lake, desk.run_id, desk.evaluation_id, reviewer, DECISION)
        open_ones = disputes(desk.lake, desk.run_id).join(desk.units, on=["cell_id", "case_id"])
        screen.print(
            f"{format_count(open_ones.height, 'reply')} disputed in run {desk.run_id}; {reviewer} decides"
        )
        try:
            _decide(desk, open_ones.to_dicts(), desk.shown_units(open_ones), record, screen)
        finally:
            _apply(desk, {row["cell_id"] for row in record.rows})
    return len(record.rows)


def _decide(
    desk: Desk, open_ones: list[dict[str, Any]], texts: Mapping[str, Shown], record: Record, screen: Screen
) -> None:
    for number, unit in enumerate(open_ones, 1):
        title = f"{number} of {len(open_ones)}"
        key = screen.read_verdict(title, texts[unit["unit_id"]], DECIDING_KEYS, DECIDING, tuple(_opinions(unit)))
        if key.name == QUIT:
            return
        reason = "" if key.name == SKIP else _reason(screen)
        if reason and key.outcome:
            record.give((unit, Answer(key.outcome, reason)))


def _opinions(unit: Mapping[str, Any]) -> Iterator[str]:
    """Each reviewer's verdict, for adjudicators."""
    by = " ".join(str(unit[name]) for name in ("assessor_kind", "assessor") if unit[name])
    yield f"stands: {unit['stands']} ({by}) – {unit['reason'] or 'no reason given'}"
    for opinion in unit["opinions"]:
        why = f" – {opinion['reason']}" if opinion["reason"] else ""
        yield f"{opinion['reviewer']}: {opinion['outcome']}{why}"


def _reason(screen: Screen) -> str:
    """Why; asked for twice, since a decision without a reason is none."""
    return screen.line("reason (needed): ") or screen.line("a decision needs a reason, empty leaves it open: ")


def _apply(desk: Desk, cells: Collection[str]) -> None:
    for cell_id in sorted(cells):
        decide_again(desk.lake, desk.run_id, cell_id, desk.evaluation_id)
    if cells:
        build(desk.lake)
