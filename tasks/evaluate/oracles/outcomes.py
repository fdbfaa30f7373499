"""What reading a reply adds to its row, for every operation: its outcome, what was read, and the reason.

Order of reading: what the oracle looks for, then a refusal, then an unreadable reply, then the rest. A reply that
cannot be read never passes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.meaning.patterns import anywhere, contains, opens, opens_a_clause
from biasgrid.tasks.evaluate.meaning.refusals import refusal, withheld_reason
from biasgrid.tasks.evaluate.meaning.text import core, excerpt, plain, quote, strip_reasoning

VALUE: Final = pl.Decimal(18, 6)
READING: Final[Mapping[str, pl.DataType]] = {
    "outcome": pl.String(),
    "parsed_text": pl.String(),
    "parsed_value": VALUE,
    "reason": pl.String(),
}
NO_TEXT: Final = pl.lit(None, dtype=pl.String)
NO_VALUE: Final = pl.lit(None, dtype=VALUE)


def prepare(replies: pl.DataFrame, language: LanguageCatalog | None) -> pl.DataFrame:
    """Adds what every oracle of a language reads: `plain`, `compared`, `declined`, `filtered`.

    Takes the columns `text` and `finish_reason`; a missing text is an empty one.
    """
    filled = replies.with_columns(pl.col("text").fill_null("")).with_columns(
        answer=strip_reasoning(pl.col("text"))
    )
    forms = filled.with_columns(plain=plain(pl.col("answer"))).with_columns(compared=core(pl.col("plain")))
    return forms.with_columns(
        declined=refusal(pl.col("compared"), language), filtered=withheld_reason(pl.col("finish_reason"))
    )


def read_column(replies: pl.DataFrame, oracle: Oracle, language: LanguageCatalog | None) -> pl.DataFrame:
    """Prepared replies with the columns of `READING` added.

    `outcome` is null where a number was read: SQL compares it with those of the other communities.
    """
    frame: pl.DataFrame = oracle.judged.reader(replies, oracle, language)
    read = _mark_refusals(frame, language) if oracle.reading == "meaning" else frame
    return _mark_withheld(read) if read["filtered"].null_count() < read.height else read


def add_outcome(
    replies: pl.DataFrame,
    passes: pl.Expr,
    reason: pl.Expr,
    unread: pl.Expr,
    parsed_text: pl.Expr = NO_TEXT,
    parsed_value: pl.Expr = NO_VALUE,
) -> pl.DataFrame:
    """Prepared replies with the columns of `READING`; null `passes` gives a refusal or unreadable, with the
    reason `unread`."""
    parsed = replies.with_columns(
        passes=passes, parsed_text=parsed_text, parsed_value=parsed_value, why=reason, why_unread=unread
    )
    is_read = pl.col("passes").is_not_null()
    outcome = pl.when("passes").then(pl.lit("passed")).when(is_read).then(pl.lit("failed"))
    return parsed.with_columns(
        outcome=outcome.otherwise(pl.when(refuses()).then(pl.lit("refused")).otherwise(pl.lit("unreadable"))),
        reason=pl.when(is_read).then("why").otherwise(unread_reason(pl.col("why_unread"))),
    )


def _mark_refusals(read: pl.DataFrame, language: LanguageCatalog | None) -> pl.DataFrame:
    """Replies without any reading are refused where a clause of theirs declines in any words."""
    rows = (read["outcome"] == "unreadable").arg_true()
    if language is None or language.stance is None or not len(rows):
        return read
    plain = read["plain"].gather(rows)
    words = language.stance
    doubts = contains(plain, opens((*words.hedged, *words.unknowable)))
    weighs = contains(plain, anywhere(words.undecided)) & ~contains(plain, opens_a_clause(words.declines))
    doubts |= weighs & (read["parsed_text"].gather(rows) == "hedged").fill_null(value=False)
    declines = contains(plain, opens_a_clause(words.declines))
    # `I don't disagree at all` is no refusal: words of unwillingness count where no two sides are understood
    one = ~read["parsed_text"].gather(rows).is_in(["both", "hedged"]).fill_null(value=False)
    declines |= one & contains(plain, opens_a_clause(words.unwilling))
    declines &= ~doubts
    refused = rows.filter(declines)
    reason = (
        plain.filter(declines).to_frame("text").select(pl.format("declines to answer: {}", quote(pl.col("text"))))
    )
    return read.with_columns(
        read["outcome"].scatter(refused, "refused"), read["reason"].scatter(refused, reason.to_series())
    )


def _mark_withheld(read: pl.DataFrame) -> pl.DataFrame:
    """What the provider let through of a reply that it withheld never passes, and its number is not compared."""
    counts = pl.col("outcome").is_null() & pl.col("parsed_value").is_not_null()
    withheld = pl.col("filtered").is_not_null() & (counts | (pl.col("outcome") == "passed"))
    return read.with_columns(
        outcome=pl.when(withheld).then(pl.lit("refused")).otherwise("outcome"),
        reason=pl.when(withheld).then(_by_provider()).otherwise("reason"),
        parsed_value=pl.when(~(withheld & counts).fill_null(value=False)).then("parsed_value"),
    )


def refuses() -> pl.Expr:
    return pl.col("declined").is_not_null() | pl.col("filtered").is_not_null()


def _by_provider() -> pl.Expr:
    return pl.format("withheld by the provider: finish reason `{}`", excerpt(pl.col("filtered")))


def unread_reason(otherwise: pl.Expr) -> pl.Expr:
    """Why nothing was read: a refusal, a reply without content, or else `otherwise`."""
    declines = pl.format("declines to answer: `{}`", excerpt(pl.col("declined")))
    text = excerpt(pl.col("text"))
    nothing = pl.format("nothing to read in the reply: `{}`", text)
    has_content = pl.col("compared").str.contains(r"[\p{L}\p{N}]")
    empty = pl.when(text == "").then(pl.lit("the reply is empty")).otherwise(nothing)
    return (
        pl.when(refuses())
        .then(pl.coalesce(declines, _by_provider()))
        .when(~has_content)
        .then(empty)
        .otherwise(otherwise)
    )


def __getattr__(name: str) -> Any:
    """`add_outcome` under its previous name."""
    if name != "judged":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    warnings.warn("`judged` is now `add_outcome`; the old name is removed in 0.2", FutureWarning, stacklevel=2)
    return add_outcome
