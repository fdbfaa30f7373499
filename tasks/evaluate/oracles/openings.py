"""Replies that their first clause settles: most models begin with their answer, and then explain it.

`No, since people …` is read as `No,` is: an oracle that looks at the start needs no more, nor does a refusal where
an answer comes first. So a clause is read once, whatever thousands of replies go on to say. Only letters, blanks
and apostrophes up to a mark count: nothing that normalisation would join with what follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracles.distinct_replies import looked_up, numbered
from biasgrid.tasks.evaluate.oracles.operations import none_found
from biasgrid.tasks.evaluate.oracles.refusals import answers, offered
from biasgrid.tasks.evaluate.oracles.text import compare_forms

MARKS: Final = ",.;!?"
_CLAUSE: Final = rf"^([A-Za-z][A-Za-z' ]{{0,39}}[{MARKS}])(?:\s|$)"
_AT_ONCE: Final = rf"^([A-Za-z][A-Za-z' ]*[{MARKS}])\s"
_FIRST: Final = 12
"""Characters, in which most short answers end; so many need no memory beside the column."""
_LONG: Final = 40
"""Bytes; shorter replies are soon read, and often the same."""
COMPARED: Final = ("equal", "allEqualExpected", "different", "notIncludesAny")


@dataclass(frozen=True, slots=True)
class Openings:
    """The first clause of each long reply that has one: `clause` of the reply in `row`."""

    row: pl.Series
    clause: pl.Series

    def in_place(self, texts: pl.Series) -> pl.Series:
        """The replies' texts, each opening in the place of its reply."""
        both = pl.concat([texts, self.clause.alias(texts.name)], rechunk=True)
        places = pl.int_range(len(both), dtype=pl.UInt32, eager=True)
        return both.gather(places[: len(texts)].scatter(self.row, places[len(texts) :]))


def openings(replies: pl.DataFrame) -> Openings:
    """Of long replies that are compared with expected values. Takes the columns `text` and `operation`."""
    row = (replies["text"].str.len_bytes() > _LONG).arg_true()
    row = row.filter(replies["operation"].gather(row).is_in(COMPARED))
    clause = _clauses(replies["text"].gather(row))
    has_one = clause.is_not_null()
    return Openings(row.filter(has_one), clause.filter(has_one))


def _clauses(texts: pl.Series) -> pl.Series:
    """The first clause of each long text, null where it has none. Of the first letters, which many share, each is
    looked at once."""
    letters = texts.str.head(_FIRST)
    number = numbered(letters)
    once = number.arg_unique()
    clause = letters.gather(once).str.extract(_AT_ONCE, 1).gather(looked_up(number, number.gather(once)))
    later = clause.is_null().arg_true()
    return clause.scatter(later, texts.gather(later).str.extract(_CLAUSE, 1)) if len(later) else clause


def settled(oracle: Oracle, language: LanguageCatalog | None) -> pl.Expr:
    """Whether a clause that has been read as a reply says of every reply that it opens how that one is read.

    It does where it holds an expected value or an answer that is offered, unless some phrase would go on.
    """
    if oracle.where != "start":
        return pl.lit(value=False)
    phrases = (oracle.expected, offered(language), language.refusals if language else (), _labels(language))
    is_answer = pl.col("parsed_text").is_not_null() | answers(pl.col("compared"), language)
    return is_answer & ~pl.col("plain").is_in(unfinished(phrases))


@lru_cache(maxsize=1024)
def unfinished(phrases: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """What these phrases begin with, up to each of their marks: `i'm sorry,` of `i'm sorry, but`."""
    return tuple(sorted({start for group in phrases for form in compare_forms(group) for start in _starts(form)}))


def quoting(oracle: Oracle) -> pl.Expr:
    """What stands in the reason of a reading before it quotes the clause; null where it quotes none."""
    is_miss = pl.col("outcome").is_in(("passed", "failed")) & pl.col("parsed_text").is_null()
    return pl.when(is_miss).then(pl.lit(none_found(oracle)))


def _starts(form: str) -> Iterable[str]:
    return (form[: place + 1] for place, letter in enumerate(form) if letter in MARKS)


def _labels(language: LanguageCatalog | None) -> tuple[str, ...]:
    return language.labels if language else ()
