"""Columns of replies, read by their oracles: each thing that was said once, however often it was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import polars as pl

from catalogs.oracle import Oracle
from catalogs.schema import LanguageCatalog
from tasks.evaluate.normalise import quoted
from tasks.evaluate.openings import openings, quoting, settled
from tasks.evaluate.oracles import READING, prepared, read, read_choices

ASKED = ["language", "operation", "oracle", "finish_reason"]
"""What mostly stays from one reply to the next."""
SAID = [*ASKED, "text"]
"""All that an oracle reads a reply by."""
CODE = "code"
NEVER: Final = pl.lit(value=False)
NONE: Final = pl.lit(None, dtype=pl.String)


def read_replies(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """What oracles read in replies, in the columns of `READING`, row by row. Takes the columns `SAID`.

    Models answer thousands of prompts in a few words, or begin with them: what was said is read once, however
    often, and a long reply by its first clause where that settles it.
    """
    said = replies.select(SAID)
    opening = openings(said)
    begun = opening.is_not_null().arg_true()
    coded, parts = _read(_shortened(said, opening, begun), languages)
    open_still = begun.filter(coded.gather(begun).is_in(parts.filter(~pl.col("settled"))[CODE].implode()))
    if len(open_still):
        again, more = _read(said[open_still], languages)
        above = cast(int, coded.max()) + 1
        coded = coded.scatter(open_still, again + above)
        parts = pl.concat([parts, more.with_columns(pl.col(CODE) + above, quoting=NONE)])
    told = coded.to_frame().join(parts, on=CODE, how="left", maintain_order="left")
    return _in_their_own_words(told, said, begun).select(*READING)


def _shortened(said: pl.DataFrame, opening: pl.Series, begun: pl.Series) -> pl.DataFrame:
    return said.with_columns(text=opening.zip_with(opening.is_not_null(), said["text"])) if len(begun) else said


def _in_their_own_words(told: pl.DataFrame, said: pl.DataFrame, begun: pl.Series) -> pl.DataFrame:
    """A reason that quotes an opening quotes the whole reply."""
    places = begun.filter(told["quoting"].gather(begun).is_not_null())
    if not len(places):
        return told
    words = pl.DataFrame([told["quoting"].gather(places), said["text"].gather(places)])
    reasons = words.select(pl.concat_str("quoting", quoted(pl.col("text")))).to_series()
    return told.with_columns(told["reason"].scatter(places, reasons))


def _read(said: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> tuple[pl.Series, pl.DataFrame]:
    """The code of each row, and by code `READING`, `settled` and `quoting`.

    One partition per language and distinct oracle, each read with one compiled pattern; `choice`, where every item
    has an oracle of its own, in one for all.
    """
    coded = _coded(said)
    spoken = said.select(SAID).with_columns(coded).filter(coded.is_first_distinct())
    parts = [spoken.clear().select(CODE).with_columns(*nothing_read(), settled=NEVER, quoting=NONE)]
    for (code,), of_language in spoken.partition_by("language", as_dict=True).items():
        language = languages.get(str(code))
        ready = prepared(of_language, language)
        chooses = (pl.col("operation") == "choice").fill_null(value=False)
        if (chosen := ready.filter(chooses)).height:
            parts.append(_in_parts(read_choices(chosen, language)))
        for (rule,), part in ready.filter(~chooses).partition_by("oracle", as_dict=True).items():
            oracle = Oracle.model_validate_json(str(rule))
            parts.append(_in_parts(read(part, oracle, language), settled(oracle, language)))
    return coded, pl.concat(parts)


def _in_parts(reading: pl.DataFrame, is_settled: pl.Expr = NEVER) -> pl.DataFrame:
    return reading.select(CODE, *READING, settled=is_settled, quoting=quoting())


def _coded(replies: pl.DataFrame) -> pl.Series:
    """A number for each reply that is to be read, the same for the same: numbers are compared sooner than texts.

    Replies of one template stand together, so that its oracle is looked up once for all of them.
    """
    runs = replies.select(pl.struct(ASKED).rle_id().alias("run"), *ASKED)
    firsts = runs.filter(pl.col("run").is_first_distinct())
    rule = firsts.select(pl.struct(ASKED).rank("dense").cast(pl.UInt64)).to_series().gather(runs["run"])
    number = _numbered(replies["text"])
    return (rule * (cast(int, number.max() or 0) + 1) + number).alias(CODE)


def _numbered(texts: pl.Series) -> pl.Series:
    """Equal texts have equal numbers, from 1; none has 0."""
    categories = pl.Categorical(pl.Categories.random())  # of its own: the shared ones keep every text for ever
    return (texts.cast(categories).to_physical().cast(pl.UInt64) + 1).fill_null(0)


def nothing_read() -> list[pl.Expr]:
    """The columns of `READING`, all null."""
    return [pl.lit(None, dtype=kind).alias(name) for name, kind in READING.items()]
