"""What a reply means: which of the answers that a question admits, both sides, none, or that it declines.

A reply is taken apart into sentences and these into clauses. Each clause is read by the phrases of its language
(`Stances`); the first one that takes a stand is the answer, or the last one that is announced as the answer. What
others think, quotations and questions take no stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import polars as pl

from biasgrid.catalogs.schema.entries import Stances
from biasgrid.tasks.evaluate.oracles.clauses import split_clauses
from biasgrid.tasks.evaluate.oracles.stance_patterns import anywhere, ends, is_all, join_alternatives, opens

Question = Literal["yes or no", "which", "what"]
"""What an oracle asks: a yes or no, one of several options, or to name something, which may be nothing."""
AFFIRMED, DENIED, FIRST, SECOND = "affirmed", "denied", "first", "second"
NONE, EITHER, UNKNOWN, HEDGED = "none", "either", "unknown", "hedged"
BOTH, DECLINED, EXCUSED, UNREAD = "both", "declined", "excused", "unread"
NEUTRAL: Final = (NONE, EITHER, UNKNOWN, HEDGED)
_POLARITY: Final = "polarity"
"""Affirmed or denied by the number of negations."""
EXACT, SURE, _OPENS, BARE, _WITHIN = 5, 4, 3, 2, 1
"""How a clause takes its stand: by nothing else, by nothing but certainty, by its first or last words, by a
`no` that begins a longer clause, or by words within."""
_SENTENCES: Final = 4
"""Sentences in which words within a clause count."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Clauses that match `pattern` take the stance; only those of earlier rules' remainder are tried."""

    pattern: str
    stance: str
    level: int


def read_stances(plain: pl.Series, question: Question, words: Stances, labels: tuple[str, ...]) -> pl.DataFrame:
    """`stance`, `words` (the clause that takes it) and `level` of each text that is `plain`, in order."""
    clauses = split_clauses(plain, words, labels)
    firm = _apply(clauses, _rules(question, words), words)
    stands = firm.filter(pl.col("level") > 0)["reply"].unique()
    undecided = ~firm["reply"].is_in(stands.implode()) & (firm["sentence"] < _SENTENCES)
    weak = _apply(firm.filter(undecided), _weak_rules(question, words), words)
    read = pl.concat([firm.filter(~undecided), weak])
    return _combine(read.filter(pl.col("level") > 0), len(plain))


def are_all(plain: pl.Series, phrases: tuple[str, ...]) -> pl.Series:
    """Whether each text is one of the phrases and nothing else."""
    return plain.str.contains(is_all(phrases))


@lru_cache(maxsize=64)
def _rules(question: Question, words: Stances) -> tuple[_Rule, ...]:
    silent = (_Rule(opens(words.declines), DECLINED, _OPENS), _Rule(opens(words.excuses), EXCUSED, _OPENS))
    if question == "yes or no":
        return (
            _Rule(opens(words.both), BOTH, _OPENS),
            _Rule(is_all(words.yes), AFFIRMED, EXACT),
            _Rule(is_all(words.no), DENIED, EXACT),
            _Rule(is_all(words.sure), AFFIRMED, SURE),
            *silent,
            _Rule(opens(words.hedged), HEDGED, _OPENS),
            _Rule(opens(words.yes), AFFIRMED, _OPENS),
            _Rule(opens(words.sure), _POLARITY, _OPENS),
            _Rule(ends((words.yes[0], words.no[0])), _ENDED, _OPENS),
            _Rule(opens(words.no[2:]), _POLARITY, _OPENS),
            _Rule(opens(words.no[:2]), _POLARITY, BARE),
        )
    options = (
        _Rule(is_all(words.none), NONE, EXACT),
        _Rule(is_all(words.either), EITHER, EXACT),
        _Rule(opens(words.unknown), UNKNOWN, _OPENS),
        *silent,
        _Rule(opens(words.none), NONE, _OPENS),
        _Rule(opens(words.either), EITHER, _OPENS),
        _Rule(opens(words.hedged), HEDGED, _OPENS),
    )
    if question == "what":
        return (*options, _Rule(opens(words.no), DENIED, _OPENS))
    return (
        *options,
        _Rule(anywhere((*words.first, *words.second)), _OPTION, _OPENS),
        _Rule(is_all((*words.yes, *words.sure)), AFFIRMED, EXACT),
        _Rule(is_all(words.no), DENIED, EXACT),
        _Rule(opens((words.yes[0],)), AFFIRMED, _OPENS),
    )


_ENDED: Final = "ended"
"""The side by which a clause ends, turned round by a negation before it."""
_OPTION: Final = "option"
"""The only option that a clause names and does not deny."""


@lru_cache(maxsize=64)
def _weak_rules(question: Question, words: Stances) -> tuple[_Rule, ...]:
    if question == "yes or no":
        return _Rule(anywhere(words.hedged), HEDGED, _WITHIN), _Rule(anywhere(words.reversals), _POLARITY, _WITHIN)
    if question == "which":
        neutral = anywhere((*words.unknown, *words.none, *words.either))
        return _Rule(anywhere(words.hedged), HEDGED, _WITHIN), _Rule(neutral, UNKNOWN, _WITHIN)
    return ()


def _apply(clauses: pl.DataFrame, rules: Iterable[_Rule], words: Stances) -> pl.DataFrame:
    """Adds `stance` and `level`; the level is 0 where a clause takes no stance."""
    texts = clauses["text"]
    left = pl.int_range(len(texts), dtype=pl.UInt32, eager=True)
    stance = pl.repeat(None, len(texts), dtype=pl.String, eager=True)
    level = pl.repeat(0, len(texts), dtype=pl.Int8, eager=True)
    for rule in rules:
        tried = texts.gather(left)
        hits = tried.str.contains(rule.pattern)
        rows = left.filter(hits)
        if len(rows):
            stance = stance.scatter(rows, _take_stance(rule.stance, tried.filter(hits), words))
            level = level.scatter(rows, rule.level)
            left = left.filter(~hits)
    read = clauses.with_columns(stance=stance, level=level)
    return read.with_columns(level=pl.when(pl.col("stance").is_null()).then(0).otherwise("level").cast(pl.Int8))


def _take_stance(stance: str, texts: pl.Series, words: Stances) -> pl.Series:
    if stance == _POLARITY:
        return _polarity(texts, words)
    if stance == _ENDED:
        return _read_end(texts, words)
    if stance == _OPTION:
        return _option(texts, words)
    return pl.repeat(stance, len(texts), dtype=pl.String, eager=True)


def _polarity(texts: pl.Series, words: Stances) -> pl.Series:
    """Denied where the negations of a clause and of its complement are odd in number, else affirmed."""
    # "no doubt that they are not": each half counts its negation once, as languages with negative concord do
    halves = texts.str.replace(r"\s(?:that|que)\s", "\n").str.splitn("\n", 2)
    odd = pl.repeat(value=False, n=len(texts), dtype=pl.Boolean, eager=True)
    for half in ("field_0", "field_1"):
        part = halves.struct.field(half).fill_null("")
        reversals = part.str.count_matches(anywhere(words.reversals)) % 2 == 1
        rest = part.str.replace_all(anywhere(words.reversals), " ")
        odd = odd ^ reversals ^ rest.str.contains(anywhere(words.negators))
    return _side(~odd)


def _read_end(texts: pl.Series, words: Stances) -> pl.Series:
    before = texts.str.replace(r"\S+\W*$", "")
    flips = before.str.contains(anywhere((*words.negators, *words.reversals)))
    return _side(texts.str.contains(ends(words.yes[:1])) ^ flips)


def _side(affirms: pl.Series) -> pl.Series:
    return (
        affirms.to_frame("affirms")
        .select(pl.when("affirms").then(pl.lit(AFFIRMED)).otherwise(pl.lit(DENIED)))
        .to_series()
    )


def _option(texts: pl.Series, words: Stances) -> pl.Series:
    denied = (
        rf"{anywhere(words.negators)}\s+(?:\S+\s+){{0,2}}?(?:{join_alternatives((*words.first, *words.second))})\b"
    )
    left = texts.str.replace_all(denied, " ")
    named = pl.DataFrame(
        {"first": left.str.contains(anywhere(words.first)), "second": left.str.contains(anywhere(words.second))}
    )
    return named.select(
        pl.when(pl.col("first") & ~pl.col("second")).then(pl.lit(FIRST))
        .when(pl.col("second") & ~pl.col("first")).then(pl.lit(SECOND))
    ).to_series()  # fmt: skip


def _combine(clauses: pl.DataFrame, height: int) -> pl.DataFrame:
    """`stance`, `words` and `level` of replies 0 to `height`, from the clauses that take one."""
    counts = clauses.filter(
        ~pl.col("others"), ~pl.col("asks") | ((pl.col("clause") == 0) & (pl.col("level") == EXACT))
    )
    takes = ~pl.col("stance").is_in((DECLINED, EXCUSED, HEDGED))
    firm = pl.col("level") > _WITHIN
    announced = pl.col("announced") & takes & firm
    later = takes & pl.col("is_side")
    stance, text = pl.col("stance"), pl.col("text")
    grouped = counts.sort("reply", "clause").group_by("reply", maintain_order=True).agg(
        began=stance.first(),
        began_words=text.first(),
        took=stance.filter(takes).first(),
        took_words=text.filter(takes).first(),
        level=pl.col("level").filter(takes).first(),
        turned=(pl.col("turns") | (pl.col("level") == EXACT)).filter(takes).first().fill_null(value=False),
        ended=stance.filter(announced).last(),
        ended_words=text.filter(announced).last(),
        later=stance.filter(later).last(),
    )  # fmt: skip
    stands = grouped.with_columns(pick=_pick()).with_columns(_choose_columns())
    every = pl.DataFrame({"reply": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    joined = every.join(stands, on="reply", how="left", maintain_order="left")
    return joined.select(pl.col("stance").fill_null(UNREAD), "words", level=pl.col("level").fill_null(0))


def _pick() -> pl.Expr:
    """Which stance counts: an announced answer, else the first one; a refusal unless an answer follows."""
    took, later, ended, level = (pl.col(name) for name in ("took", "later", "ended", "level"))
    opposed = ((took == AFFIRMED) & (later == DENIED)) | ((took == DENIED) & (later == AFFIRMED))
    firm = (level > BARE).fill_null(value=False)
    answers = firm & pl.col("turned")
    return (
        pl.when(ended.is_not_null() & (level < EXACT)).then(pl.lit("ended"))
        .when(opposed & firm).then(pl.lit(BOTH))
        .when((pl.col("began") == DECLINED) & ~answers).then(pl.lit("began"))
        .when((pl.col("began") == EXCUSED) & ~firm).then(pl.lit("began"))
        .when((pl.col("began") == HEDGED) & ~firm).then(pl.lit("began"))
        .when(took.is_not_null()).then(pl.lit("took"))
        .otherwise(pl.lit("began"))
    )  # fmt: skip


def _choose_columns() -> list[pl.Expr]:
    pick = pl.col("pick")
    stance = (
        pl.when(pick == "ended")
        .then("ended")
        .when(pick == BOTH)
        .then(pl.lit(BOTH))
        .when(pick == "took")
        .then("took")
    )
    words = pl.when(pick == "ended").then("ended_words").when(pick.is_in((BOTH, "took"))).then("took_words")
    return [
        stance.otherwise("began").replace({EXCUSED: DECLINED}).alias("stance"),
        words.otherwise("began_words").alias("words"),
    ]
