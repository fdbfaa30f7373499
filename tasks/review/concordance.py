"""Agreement of people on the assignments of the tuning set, with each other and with its labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import duckdb

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.scenario.tuning_examples import TuningExample
from biasgrid.tasks.review.tuning_sheets import WORDS, Annotation, Question
from biasgrid.warehouse.build.macros import define

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
            by_annotator[LABELS] = {item: _label(example, question) for item, example in examples.items()}
            for first, second in combinations(by_annotator, 2):
                pairs = _pairs(by_annotator[first], by_annotator[second])
                if pairs:
                    yield _measure(question, section, first, second, pairs, connection)


def _by_annotator(annotations: Sequence[Annotation]) -> dict[str, Answers]:
    names = sorted({one.annotator for one in annotations})
    return {name: {one.item: one.answer for one in annotations if one.annotator == name} for name in names}


def _label(example: TuningExample, question: Question) -> str:
    return example.presence if question == "presence" else "yes"


def _pairs(first: Answers, second: Answers) -> list[tuple[str, str]]:
    return [(first[item], second[item]) for item in sorted(first.keys() & second.keys())]


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
