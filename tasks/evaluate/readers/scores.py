"""The number from 0 to 100 that a reply gives a person, read as the rules of oracles/numbers.py read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracles.outcomes import prepared, read
from biasgrid.tasks.evaluate.oracles.text import whole

_COLUMNS: Final = {"text": pl.String, "finish_reason": pl.String}


@dataclass(frozen=True, slots=True)
class Score:
    value: Decimal | None
    """None where no number within 0 to 100 can be told."""
    refused: bool
    """It tells none, and declines, abstains by −1, or was withheld by the provider."""
    reason: str


def read_scores(
    replies: Sequence[tuple[str, str | None]], language: LanguageCatalog | None, key: str = "score"
) -> list[Score]:
    """One score for each reply, a text and its finish reason; a thousand at once cost little more than one."""
    rows = [(whole(text), finish_reason) for text, finish_reason in replies]
    frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    told = read(prepared(frame, language), Oracle(operation="allSameValue", key=key), language)
    columns = told.select("outcome", "parsed_value", "reason").rows()
    return [Score(value, outcome == "refused", reason) for outcome, value, reason in columns]


def read_score(
    text: str, language: LanguageCatalog | None, key: str = "score", finish_reason: str | None = None
) -> Score:
    return read_scores([(text, finish_reason)], language, key)[0]
