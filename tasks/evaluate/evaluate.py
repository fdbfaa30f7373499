"""Responses to verdicts: every case gets one, every template of an expected-value oracle one per sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import cast

import polars as pl

from catalogs.oracle import Oracle
from catalogs.schema import LanguageCatalog
from tasks.evaluate.normalise import shown, whole
from tasks.evaluate.oracles import READING, prepared, read, read_choices
from tasks.evaluate.templates import template_verdicts
from tasks.evaluate.verdicts import in_table_form, with_ids


@dataclass(frozen=True, slots=True)
class Reading:
    """What an oracle reads in one reply; `outcome` is None where a number was read that SQL compares."""

    outcome: str | None
    parsed_text: str | None
    parsed_value: Decimal | None
    reason: str


def read_reply(
    oracle: Oracle, text: str, finish_reason: str | None = None, language: LanguageCatalog | None = None
) -> Reading:
    """One reply, read exactly as a column of them is."""
    reply = pl.DataFrame(
        {"text": [whole(text)], "finish_reason": [finish_reason], "oracle": [oracle.model_dump_json()]},
        schema={"text": pl.String, "finish_reason": pl.String, "oracle": pl.String},
    )
    row = read(prepared(reply, language), oracle, language).select(*READING).row(0)
    return Reading(*row)


def judge_cell(
    cases: pl.DataFrame,
    responses: pl.DataFrame,
    languages: Mapping[str, LanguageCatalog],
    evaluation_id: str,
    judged_at: datetime,
) -> pl.DataFrame:
    """The verdicts on `cases` (columns of CASES) by their oracles, in the columns and types of VERDICTS.

    Each case finds its reply among `responses` (columns of RESPONSES, purpose subject): its own or, where none
    landed for it, one to the same request. Instance rows come first, in the order of the cases, then template
    rows.
    """
    replies = _replies(cases, responses)
    judged = pl.concat([_unanswered(replies), _answered(replies, languages)]).sort("order")
    instances = with_ids(_instances(judged), evaluation_id, judged_at)
    templates = with_ids(template_verdicts(instances, cases), evaluation_id, judged_at)
    return pl.concat([instances, templates])


def _replies(cases: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """Cases with their reply: a success before an error, the newest of each."""
    arrived = (
        responses.filter(pl.col("purpose") == "subject")
        .with_columns(failed=pl.col("error_class").is_not_null())
        .sort("failed", "received_at", "response_id", descending=[False, True, False], nulls_last=True)
        .select("case_id", "request_key", *REPLY)
    )
    asked = cases.with_row_index("order")
    newest = arrived.unique("case_id", keep="first", maintain_order=True).drop("request_key")
    own = asked.join(newest, on="case_id")
    rest = asked.join(own, on="order", how="anti")
    alike = arrived.unique("request_key", keep="first", maintain_order=True).drop("case_id")
    return pl.concat([own, rest.join(alike, on="request_key", how="left")]).sort("order")


REPLY = ["response_id", "text", "finish_reason", "error_class"]


def _unanswered(replies: pl.DataFrame) -> pl.DataFrame:
    missing = replies.filter(pl.col("response_id").is_null() | pl.col("error_class").is_not_null())
    named = pl.format("no reply: {}", shown(pl.col("error_class"), 60))
    reason = pl.coalesce(named, pl.lit("no reply: never asked"))
    return missing.with_columns(_nothing_read()).with_columns(outcome=pl.lit("error"), reason=reason)


def _answered(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    came = replies.filter(pl.col("response_id").is_not_null() & pl.col("error_class").is_null())
    return came.hstack(read_replies(came, languages))


def read_replies(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """What oracles read in replies, in the columns of `READING`, row by row. Takes the columns `SAID`.

    Models answer thousands of constrained prompts in a few words: what was said is read once, however often. One
    partition per language and distinct oracle, each read with one compiled pattern; `choice`, where every item has
    an oracle of its own, in one for all.
    """
    coded = _coded(replies)
    spoken = replies.select(SAID).with_columns(coded).filter(coded.is_first_distinct())
    parts = [spoken.clear().select(CODE).with_columns(_nothing_read())]
    for (code,), said in spoken.partition_by("language", as_dict=True).items():
        language = languages.get(str(code))
        ready = prepared(said, language)
        chooses = (pl.col("operation") == "choice").fill_null(value=False)
        if (chosen := ready.filter(chooses)).height:
            parts.append(read_choices(chosen, language).select(CODE, *READING))
        for (rule,), part in ready.filter(~chooses).partition_by("oracle", as_dict=True).items():
            parts.append(read(part, Oracle.model_validate_json(str(rule)), language).select(CODE, *READING))
    told = coded.to_frame().join(pl.concat(parts), on=CODE, how="left", maintain_order="left")
    return told.select(*READING)


def _coded(replies: pl.DataFrame) -> pl.Series:
    """A number for each reply that is to be read, the same for the same: numbers are compared sooner than texts.

    Replies of one template stand together, so that its oracle is looked up once for all of them.
    """
    runs = replies.select(pl.struct(RULE).rle_id().alias("run"), *RULE)
    firsts = runs.filter(pl.col("run").is_first_distinct())
    rule = firsts.select(pl.struct(RULE).rank("dense").cast(pl.UInt64)).to_series().gather(runs["run"])
    for column in ("finish_reason", "text"):
        number = _numbered(replies[column])
        rule = rule * (cast(int, number.max() or 0) + 1) + number
    return rule.alias(CODE)


def _numbered(texts: pl.Series) -> pl.Series:
    """Equal texts have equal numbers, from 1; none has 0."""
    categories = pl.Categorical(pl.Categories.random())  # of its own: the shared ones keep every text for ever
    return (texts.cast(categories).to_physical().cast(pl.UInt64) + 1).fill_null(0)


RULE = ["language", "operation", "oracle"]
SAID = [*RULE, "text", "finish_reason"]
"""All that an oracle reads a reply by."""
CODE = "code"


def _nothing_read() -> list[pl.Expr]:
    return [pl.lit(None, dtype=kind).alias(name) for name, kind in READING.items()]


def _instances(judged: pl.DataFrame) -> pl.DataFrame:
    rows = judged.with_columns(
        level=pl.lit("instance"), assessor_kind=pl.lit("oracle"), assessor=pl.col("operation")
    )
    return in_table_form(rows)
