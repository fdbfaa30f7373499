"""What reading a reply adds to its row, for every operation: its outcome, what was read, and the reason.

Order of reading: what the oracle looks for, then a refusal, then an unreadable reply, then the rest. A reply that
cannot be read never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracles.refusals import refusal, withheld
from biasgrid.tasks.evaluate.oracles.text import answered, core, plain, shown

VALUE: Final = pl.Decimal(18, 6)
READING: Final[Mapping[str, pl.DataType]] = {
    "outcome": pl.String(),
    "parsed_text": pl.String(),
    "parsed_value": VALUE,
    "reason": pl.String(),
}
NO_TEXT: Final = pl.lit(None, dtype=pl.String)
NO_VALUE: Final = pl.lit(None, dtype=VALUE)


def prepared(replies: pl.DataFrame, language: LanguageCatalog | None) -> pl.DataFrame:
    """Adds what every oracle of a language reads: `plain`, `compared`, `declined`, `filtered`.

    Takes the columns `text` and `finish_reason`; a missing text is an empty one.
    """
    filled = replies.with_columns(pl.col("text").fill_null("")).with_columns(answer=answered(pl.col("text")))
    forms = filled.with_columns(plain=plain(pl.col("answer"))).with_columns(compared=core(pl.col("plain")))
    return forms.with_columns(
        declined=refusal(pl.col("compared"), language), filtered=withheld(pl.col("finish_reason"))
    )


def read(replies: pl.DataFrame, oracle: Oracle, language: LanguageCatalog | None) -> pl.DataFrame:
    """Prepared replies with the columns of `READING` added.

    `outcome` is null where a number was read: SQL compares it with those of the other communities.
    """
    read_column: pl.DataFrame = oracle.judged.reader(replies, oracle, language)
    return read_column


def judged(
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


def refuses() -> pl.Expr:
    return pl.col("declined").is_not_null() | pl.col("filtered").is_not_null()


def has_content() -> pl.Expr:
    return pl.col("compared").str.contains(r"[\p{L}\p{N}]")


def unread_reason(otherwise: pl.Expr) -> pl.Expr:
    """Why nothing was read: a refusal, a reply without content, or else `otherwise`."""
    declines = pl.format("declines to answer: `{}`", shown(pl.col("declined")))
    by_provider = pl.format("withheld by the provider: finish reason `{}`", shown(pl.col("filtered")))
    text = shown(pl.col("text"))
    nothing = pl.format("nothing to read in the reply: `{}`", text)
    empty = pl.when(text == "").then(pl.lit("the reply is empty")).otherwise(nothing)
    return (
        pl.when(refuses())
        .then(pl.coalesce(declines, by_provider))
        .when(~has_content())
        .then(empty)
        .otherwise(otherwise)
    )
