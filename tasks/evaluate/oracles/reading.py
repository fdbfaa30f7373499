"""Columns of replies, read by their oracles: each thing that was said once, however often it was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.oracles.distinct_replies import CODE, SAID, coded, looked_up
from biasgrid.tasks.evaluate.oracles.openings import openings, quoting, settled
from biasgrid.tasks.evaluate.oracles.operations import READING, prepared, read, read_choices
from biasgrid.tasks.evaluate.oracles.text import quoted

NEVER: Final = pl.lit(value=False)
NONE: Final = pl.lit(None, dtype=pl.String)


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read, each thing once: how reply i was read stands in row `place[i]` of `parts`, whose columns are
    `READING`, `settled` and `quoting`."""

    place: pl.Series
    parts: pl.DataFrame

    def where(self, rows: pl.Series, holds: pl.Series) -> pl.Series:
        """Those of `rows` for whose part it holds."""
        return rows.filter(holds.gather(self.place.gather(rows)))

    def but(self, rows: pl.Series, others: Readings) -> Readings:
        """These, except in `rows`, which have others."""
        place = self.place.clone().scatter(rows, others.place + self.parts.height)
        parts = pl.concat([self.parts, others.parts.select(self.parts.columns)], rechunk=True)
        return Readings(place, parts)

    def by_row(self) -> pl.DataFrame:
        return self.parts.select(*READING)[self.place]


def read_replies(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """What oracles read in replies, in the columns of `READING`, row by row. Takes the columns `SAID`.

    Models answer thousands of prompts in a few words, or begin with them: what was said is read once, however
    often, and a long reply by its first clause where that settles it.
    """
    said = replies.select(SAID).rechunk()
    begun = openings(said)
    if not len(begun.row):
        return _read(said, languages).by_row()
    by_opening = _read(said.with_columns(begun.in_place(said["text"])), languages)
    readings = _whole_where_open(by_opening, said, begun.row, languages)
    return _in_their_own_words(readings, said, begun.row).by_row()


def _whole_where_open(
    readings: Readings, said: pl.DataFrame, begun: pl.Series, languages: Mapping[str, LanguageCatalog]
) -> Readings:
    """Replies whose opening does not settle how they are read, read to their end."""
    rows = readings.where(begun, ~readings.parts["settled"])
    if not len(rows):
        return readings
    again = _read(said[rows], languages)
    return readings.but(rows, Readings(again.place, again.parts.with_columns(quoting=NONE)))


def _in_their_own_words(readings: Readings, said: pl.DataFrame, begun: pl.Series) -> Readings:
    """A reason that quotes an opening quotes the whole reply."""
    rows = readings.where(begun, readings.parts["quoting"].is_not_null())
    if not len(rows):
        return readings
    parts = readings.parts[readings.place.gather(rows)].with_columns(said["text"].gather(rows)).lazy()
    own = parts.with_columns(reason=pl.concat_str("quoting", quoted(pl.col("text")))).collect()
    return readings.but(rows, Readings(pl.int_range(own.height, dtype=pl.UInt32, eager=True), own))


def _read(said: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> Readings:
    """One partition per language and distinct oracle, each read with one compiled pattern; `choice`, where every
    item has an oracle of its own, in one for all."""
    code, spoken = coded(said)
    parts = [spoken.clear().select(CODE).with_columns(*nothing_read(), settled=NEVER, quoting=NONE)]
    for (name,), of_language in spoken.partition_by("language", as_dict=True).items():
        language = languages.get(str(name))
        ready = prepared(of_language, language)
        chooses = (pl.col("operation") == "choice").fill_null(value=False)
        if (chosen := ready.filter(chooses)).height:
            parts.append(_in_parts(read_choices(chosen, language)))
        for (rule,), part in ready.filter(~chooses).partition_by("oracle", as_dict=True).items():
            oracle = Oracle.model_validate_json(str(rule))
            parts.append(_in_parts(read(part, oracle, language), settled(oracle, language), quoting(oracle)))
    once = pl.concat(parts, rechunk=True)
    return Readings(looked_up(code, once[CODE]), once.drop(CODE))


def _in_parts(reading: pl.DataFrame, is_settled: pl.Expr = NEVER, quoting: pl.Expr = NONE) -> pl.DataFrame:
    return reading.select(CODE, *READING, settled=is_settled, quoting=quoting)


def nothing_read() -> list[pl.Expr]:
    """The columns of `READING`, all null."""
    return [pl.lit(None, dtype=kind).alias(name) for name, kind in READING.items()]
