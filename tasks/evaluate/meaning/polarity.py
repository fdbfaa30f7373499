"""Which side a clause takes, by the number of its negations and what its question asks; which option it names."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from biasgrid.catalogs.schema.entries import Stances
from biasgrid.tasks.evaluate.meaning.questions import QUESTION
from biasgrid.tasks.evaluate.meaning.stance_patterns import anywhere, ends, join_alternatives

AFFIRMED, DENIED, FIRST, SECOND = "affirmed", "denied", "first", "second"


def read_polarity(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Denied where the negations of a clause and of its complements are odd in number, else affirmed."""
    joined = pl.col("text").str.replace_all(_comparison(words), "$1 ")
    parted = joined.str.replace_all(_apart(words.complements), "\n")
    text = parted.str.replace(rf"{_apart(words.causes)}(?s:.*)$", "").str.split("\n")
    parts = clauses.select("text", *QUESTION).with_row_index("row").with_columns(text).explode("text")
    counts = parts.with_columns(negations=_count_negations(words)).group_by("row", maintain_order=True)
    return _side(counts.agg(pl.col("negations").sum())["negations"] % 2 == 0)


@lru_cache(maxsize=64)
def _comparison(words: Stances) -> str:
    """Finds a complement's first word after a comparison, which it belongs to: `menos capaces que nadie`."""
    compares = join_alternatives((*words.differences, *words.equalities))
    return rf"(\b(?:{compares})\b(?:\s+\S+){{0,3}}?){_apart(words.complements)}"


@lru_cache(maxsize=64)
def _apart(phrases: tuple[str, ...]) -> str:
    return rf"\s(?:{join_alternatives(phrases)})\s"


def _count_negations(words: Stances) -> pl.Expr:
    """Words that deny a text or turn it round, but those that the question has.

    Languages with concord deny once by several words.
    """
    text, reversal = pl.col("text"), _series(words.reversals)
    turned = text.str.extract_all(reversal)
    asked = turned.list.eval(pl.element().str.head(5)).list.set_intersection("stems").list.len()
    rest = text.str.replace_all(reversal, " ")
    denials = rest.str.count_matches(anywhere(words.negators))
    denied = denials.clip(0, 1) if words.concord else denials - rest.str.contains(_particle(words))
    equal = rest.str.count_matches(anywhere(words.equalities)).clip(0, 1)
    unequal = rest.str.count_matches(anywhere(words.differences)).clip(0, 1)
    by_question = pl.when("asks_equality").then(unequal).otherwise(equal)
    return turned.list.len() - asked + denied + by_question


@lru_cache(maxsize=64)
def _particle(words: Stances) -> str:
    """Finds a `no` that repeats the negation after it: `no they do not`."""
    no, pronouns, negators = (join_alternatives(one) for one in (words.no[:1], words.pronouns, words.negators))
    return rf"^(?:{no})\s+(?:{pronouns})\s.*\b{{start-half}}(?:{negators})\b{{end-half}}"


@lru_cache(maxsize=64)
def _series(phrases: tuple[str, ...]) -> str:
    """Finds phrases in a row as one: `an unfair and false stereotype`."""
    one = rf"(?:{join_alternatives(phrases)})\b{{end-half}}"
    return rf"\b{{start-half}}({one}(?:\W+(?:\w{{1,3}}\W+)?{one})*)"


def _side(affirms: pl.Series) -> pl.Series:
    return affirms.replace_strict({True: AFFIRMED, False: DENIED}, return_dtype=pl.String)


def read_end(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """The side by which each clause ends, turned round by a negation before it."""
    texts = clauses["text"]
    flips = texts.str.replace(r"\S+\W*$", "").str.contains(
        anywhere((*words.negators, *words.equalities, *words.reversals))
    )
    return _side(texts.str.contains(ends(words.yes[:1])) ^ flips)


def read_option(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """The only option that each clause names and does not deny, null where there is none."""
    option = rf"(?:{join_alternatives((*words.first, *words.second))})\b"
    negated = rf"{anywhere(words.negators)}\s+(?:\S+\s+){{0,4}}?{option}"
    negates = rf"{option}\s+(?:\S+\s+){{0,2}}?{anywhere(words.negators)}"
    left = clauses["text"].str.replace_all(negated, " ").str.replace_all(negates, " ")
    named = pl.DataFrame(
        {"first": left.str.contains(anywhere(words.first)), "second": left.str.contains(anywhere(words.second))}
    )
    return named.select(
        pl.when(pl.col("first") & ~pl.col("second")).then(pl.lit(FIRST))
        .when(pl.col("second") & ~pl.col("first")).then(pl.lit(SECOND))
    ).to_series()  # fmt: skip
