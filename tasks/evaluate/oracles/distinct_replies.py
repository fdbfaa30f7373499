"""What was said in answer to what, numbered: equal replies have equal numbers, so that each is read once.

Numbers are compared and handed out sooner than texts are.
"""

from __future__ import annotations

from typing import Final, cast

import polars as pl

ASKED = ["language", "operation", "oracle", "finish_reason"]
"""What mostly stays from one reply to the next."""
_TOLD_APART: Final = ["language", "oracle", "finish_reason"]
"""An oracle's text holds its operation."""
SAID = [*ASKED, "text"]
"""All that an oracle reads a reply by."""
CODE = "code"
_SPARSE: Final = 4
"""Codes for each reply: more of them, and looking one up in a list of all takes more than numbering them anew."""


def coded(said: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """A code for each reply that is to be read, and each distinct one: `code` and `SAID`. Codes are hardly greater
    than there are replies."""
    code = _paired(_rules(said), numbered(said["text"])).alias(CODE)
    first = code.arg_unique()
    return code, said.select(pl.col(*SAID).gather(first)).with_columns(code.gather(first))


def _paired(rule: pl.Series, text: pl.Series) -> pl.Series:
    texts = _greatest(text) + 1
    if (_greatest(rule) + 1) * texts > _SPARSE * len(text):
        return (rule.cast(pl.UInt64) * texts + text).rank("dense")
    return rule * texts + text


def looked_up(code: pl.Series, codes: pl.Series) -> pl.Series:
    """Where each code stands in `codes`, which has all that occur, once."""
    places = pl.int_range(len(codes), dtype=pl.UInt32, eager=True)
    return pl.zeros(_greatest(code) + 1, pl.UInt32, eager=True).scatter(codes, places).gather(code)


def _greatest(numbers: pl.Series) -> int:
    return cast(int, numbers.max() or 0)


def _rules(said: pl.DataFrame) -> pl.Series:
    """Equal numbers for what was asked alike.

    Replies of one template stand together, so that its oracle is looked up once for all of them; a cell has one
    language, and mostly one finish reason.
    """
    varying = [said[name] for name in _TOLD_APART if _varies(said[name])]
    if not varying:
        return pl.zeros(said.height, pl.UInt32, eager=True)
    asked = pl.DataFrame(varying).to_struct()
    run = asked.rle_id()
    return (asked.gather(run.arg_unique()).rank("dense") - 1).gather(run)


def _varies(column: pl.Series) -> bool:
    return bool(len(column)) and column.ne_missing(column[0]).any()


def numbered(texts: pl.Series) -> pl.Series:
    """Equal numbers for equal texts; none is an empty one."""
    categories = pl.Categorical(pl.Categories.random())  # of its own: the shared ones keep every text for ever
    return texts.fill_null("").cast(categories).to_physical()
