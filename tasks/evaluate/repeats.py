"""What was said in answer to what, numbered: equal replies have equal numbers, so that each is read once.

Numbers are compared and handed out sooner than texts are.
"""

from __future__ import annotations

from typing import Final

import polars as pl

ASKED = ["language", "operation", "oracle", "finish_reason"]
"""What mostly stays from one reply to the next."""
_TOLD_APART: Final = ["language", "oracle", "finish_reason"]
"""An oracle's text holds its operation."""
SAID = [*ASKED, "text"]
"""All that an oracle reads a reply by."""
CODE = "code"
_TEXTS: Final = 2**32


def coded(said: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """A code for each reply that is to be read, and each distinct one: `code` and `SAID`."""
    code = (_rules(said) * _TEXTS + _numbered(said["text"])).alias(CODE)
    first = code.arg_unique()
    return code, said.select(pl.col(*SAID).gather(first)).with_columns(code.gather(first))


def _rules(said: pl.DataFrame) -> pl.Series:
    """Equal numbers for what was asked alike.

    Replies of one template stand together, so that its oracle is looked up once for all of them.
    """
    run = said.select(pl.struct(_TOLD_APART).rle_id()).to_series()
    firsts = said.select(pl.struct(pl.col(*_TOLD_APART).gather(run.arg_unique())).rank("dense").cast(pl.UInt64))
    return firsts.to_series().gather(run)


def _numbered(texts: pl.Series) -> pl.Series:
    """Equal numbers for equal texts; none is an empty one."""
    categories = pl.Categorical(pl.Categories.random())  # of its own: the shared ones keep every text for ever
    return texts.fill_null("").cast(categories).to_physical()
