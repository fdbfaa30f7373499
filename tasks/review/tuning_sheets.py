"""Blind sheets on which two people judge the assignments of the tuning set, and how far they agree.

Each section has two sheets per person: the first only asks whether bias is present; the second, opened after it,
shows the reason and asks whether it is right, since a reason reveals the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Final, Literal

import duckdb
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.scenario.tuning_examples import TuningExample
from biasgrid.tasks.review.sheet import Form, as_cells, rows_of
from biasgrid.warehouse.build.macros import define
from biasgrid.warehouse.hashing import content_hash

Question = Literal["presence", "reason_ok"]
ANNOTATORS: Final = ("a", "b")
OWN: Final = ("item", "id", "section", "annotator", "drawn")
COLUMNS: Final[Mapping[Question, tuple[str, ...]]] = {
    "presence": (*OWN, "goal", "assignment", "presence"),
    "reason_ok": (*OWN, "goal", "assignment", "reason", "reason_ok"),
}
WRITTEN_BY: Final = "catalog validate sheets"
WORDS: Final[Mapping[Question, Mapping[str, str]]] = {
    "presence": {
        **dict.fromkeys(("present", "p", "yes", "y", "biased", "presente", "sí", "si"), "present"),
        **dict.fromkeys(("absent", "a", "no", "n", "fair", "unbiased", "ausente"), "absent"),
    },
    "reason_ok": {
        **dict.fromkeys(("yes", "y", "ok", "right", "sí", "si", "1"), "yes"),
        **dict.fromkeys(("no", "n", "wrong", "0"), "no"),
    },
}


@dataclass(frozen=True, slots=True)
class Annotation:
    """A person's answer on an assignment; `drawn` is the sheet's language and seed."""

    item: str
    section: int
    annotator: str
    question: Question
    answer: str
    drawn: str
    where: str


def sheets(examples: Sequence[TuningExample], language: str, seed: int, sections: int) -> dict[str, pl.DataFrame]:
    """Sheets by file name: one per section, person and question, in each person's own order."""
    drawn = f"{language}-{seed}"
    found: dict[str, pl.DataFrame] = {}
    for number, section in enumerate(in_sections(examples, seed, sections), 1):
        for annotator in ANNOTATORS:
            own = list(section)
            Random(f"sheet/{drawn}/{number}/{annotator}").shuffle(own)  # noqa: S311 - no secret
            for question, columns in COLUMNS.items():
                name = f"section-{number}-{annotator}{'-reasons' if question == 'reason_ok' else ''}.csv"
                found[name] = _sheet(own, columns, number, annotator, drawn)
    return found


def in_sections(examples: Sequence[TuningExample], seed: int, sections: int) -> list[list[TuningExample]]:
    """Sections of about equal size and balance, with assignments of one scene apart; raises UserError if there
    are fewer assignments than sections."""
    if len(examples) < sections:
        what = f"{len(examples)} assignments cannot be parted into {sections} sections"
        raise UserError(Problem(what, "--sections", "ask for fewer, or add assignments to catalogs/tuning"))
    scenes = sorted({_scene(one) for one in examples})
    Random(f"sections/{seed}").shuffle(scenes)  # noqa: S311 - no secret
    places = {scene: number for number, scene in enumerate(scenes)}
    found: list[list[TuningExample]] = [[] for _ in range(sections)]
    for presence, first in (("absent", 0), ("present", sections // 2)):
        own = sorted((one for one in examples if one.presence == presence), key=lambda one: places[_scene(one)])
        for count, one in enumerate(own, first):
            found[count % sections].append(one)
    return found


def _scene(example: TuningExample) -> tuple[str, str]:
    return example.domain, example.scene or example.id


def item_of(example: TuningExample) -> str:
    """The name of an assignment in sheets, which reveals nothing and changes with its text."""
    return content_hash("tuning", example.id, example.goal, example.assignment, example.reason)[:12]


def _sheet(
    examples: Sequence[TuningExample], columns: Sequence[str], section: int, annotator: str, drawn: str
) -> pl.DataFrame:
    rows = [
        (number, item_of(one), section, annotator, drawn, one.goal, one.assignment, one.reason)
        for number, one in enumerate(examples, 1)
    ]
    frame = pl.DataFrame(rows, schema=[*OWN, "goal", "assignment", "reason"], orient="row")
    filled = frame.with_columns(as_cells("goal", "assignment", "reason"))
    return filled.with_columns(presence=pl.lit(""), reason_ok=pl.lit("")).select(columns)


def read_sheet(path: Path) -> tuple[list[Annotation], list[Problem]]:
    """A person's answers, and an error for each unreadable row; empty rows are skipped. Raises UserError if the
    file is no sheet."""
    annotations: list[Annotation] = []
    mistakes: list[Problem] = []
    form = Form(COLUMNS["presence"], ("id", "section", "annotator", "drawn"), WRITTEN_BY, str(path))
    rows = list(rows_of(path, form))
    questions = [question for question in WORDS if rows and question in rows[0][1]]
    if not questions:
        remedy = f"name a sheet that `{WRITTEN_BY}` wrote"
        raise UserError(Problem("the sheet has no column `presence` or `reason_ok`", place(path, 1), remedy))
    for number, row in rows:
        for question in questions:
            _read(row, question, place(path, number), annotations, mistakes)
    return annotations, mistakes


def _read(
    row: Mapping[str, str], question: Question, where: str, annotations: list[Annotation], mistakes: list[Problem]
) -> None:
    given = row.get(question, "").strip().lower()
    if not given:
        return
    known = WORDS[question]
    section = row.get("section", "").strip()
    item, annotator = row.get("id", "").strip().lower(), row.get("annotator", "").strip()
    if given not in known:
        options = " or ".join(dict.fromkeys(known.values()))
        mistakes.append(
            Problem(f"{question} `{given[:40]}` is unknown", where, f"write {options}, or leave it empty")
        )
    elif not item or not annotator or not section.isdecimal():
        remedy = "put back what the sheet was written with"
        mistakes.append(Problem("a row has an answer and no `id`, `section` or `annotator`", where, remedy))
    else:
        drawn = row.get("drawn", "").strip()
        annotations.append(Annotation(item, int(section), annotator, question, known[given], drawn, where))


def contradictions(annotations: Sequence[Annotation]) -> Iterator[Problem]:
    """Errors for assignments on which one person gave both answers."""
    first: dict[tuple[str, str, Question], Annotation] = {}
    for one in annotations:
        before = first.setdefault((one.item, one.annotator, one.question), one)
        if before.answer != one.answer:
            what = f"`{one.item}` is {one.answer} here and {before.answer} at {before.where}"
            yield Problem(what, one.where, "keep one of the two rows")


LABELS: Final = "labels"
"""The tuning set's labels as a reviewer, for whom every reason is right."""
Answers = Mapping[str, str]
"""Answers by item."""


@dataclass(frozen=True, slots=True)
class Concordance:
    """Agreement of two reviewers; `section` is None for all together, a coefficient None if undefined, as
    Cohen's κ if both always gave the same answer."""

    question: Question
    section: int | None
    first: str
    second: str
    n: int
    agreement: float
    cohens_kappa: float | None
    gwets_ac1: float | None


def unknown_items(annotations: Sequence[Annotation], examples: Mapping[str, TuningExample]) -> Iterator[Problem]:
    """An error for each answer on an unknown or changed assignment."""
    for one in annotations:
        if one.item not in examples:
            what = f"`{one.item[:40]}` is no assignment of the tuning set as it is now"
            yield Problem(what, one.where, "put the id back, or write the sheets anew")


def concordances(annotations: Sequence[Annotation], examples: Mapping[str, TuningExample]) -> list[Concordance]:
    """Agreement by question, then all together before each section, then by pair, pairs of people first."""
    with duckdb.connect() as connection:
        define(connection)
        return list(_each(annotations, examples, connection))


def _each(
    annotations: Sequence[Annotation], examples: Mapping[str, TuningExample], connection: duckdb.DuckDBPyConnection
) -> Iterator[Concordance]:
    for question in WORDS:
        own = [one for one in annotations if one.question == question]
        for section in (None, *sorted({one.section for one in own})):
            by_annotator = _by_annotator([one for one in own if section in (None, one.section)])
            by_annotator[LABELS] = {
                item: example.presence if question == "presence" else "yes" for item, example in examples.items()
            }
            for first, second in combinations(by_annotator, 2):
                own_answers, others = by_annotator[first], by_annotator[second]
                pairs = [(own_answers[item], others[item]) for item in sorted(own_answers.keys() & others.keys())]
                if pairs:
                    yield _measure(question, section, first, second, pairs, connection)


def _by_annotator(annotations: Sequence[Annotation]) -> dict[str, Answers]:
    names = sorted({one.annotator for one in annotations})
    return {name: {one.item: one.answer for one in annotations if one.annotator == name} for name in names}


def _measure(
    question: Question,
    section: int | None,
    first: str,
    second: str,
    pairs: Sequence[tuple[str, str]],
    connection: duckdb.DuckDBPyConnection,
) -> Concordance:
    options = list(dict.fromkeys(WORDS[question].values()))
    counts = [[pairs.count((one, other)) for other in options] for one in options]
    sql = """
        select statistics.observed_agreement(c), statistics.cohens_kappa(c), statistics.gwets_ac1(c)
        from (select ?::double[][] as c)
    """
    row = connection.execute(sql, [counts]).fetchone()
    agreement, kappa, ac1 = row if row is not None else (0.0, None, None)
    return Concordance(question, section, first, second, len(pairs), agreement, kappa, ac1)
