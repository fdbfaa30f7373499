"""Turns responses into verdicts: one per case, and one per template and sample of an expected-value oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.meaning.text import excerpt, whole
from biasgrid.tasks.evaluate.oracle_reading import nothing_read, read_replies
from biasgrid.tasks.evaluate.oracles.outcomes import READING, prepare, read_column
from biasgrid.tasks.evaluate.verdicts import in_table_form, template_verdicts, with_ids


@dataclass(frozen=True, slots=True)
class Reading:
    """What an oracle reads in one reply; `outcome` is None for a number, which SQL compares."""

    outcome: str | None
    parsed_text: str | None
    parsed_value: Decimal | None
    reason: str


def read_reply(
    oracle: Oracle,
    text: str,
    finish_reason: str | None = None,
    language: LanguageCatalog | None = None,
    prompt: str | None = None,
) -> Reading:
    """The reading of one reply, identical to that of a column of replies with their prompts, or without any."""
    rule = oracle.model_dump_json()
    columns = {"text": whole(text), "finish_reason": finish_reason, "oracle": rule, "prompt": prompt}
    known = {name: [value] for name, value in columns.items() if name != "prompt" or prompt is not None}
    reply = pl.DataFrame(known, schema=dict.fromkeys(known, pl.String))
    row = read_column(prepare(reply, language), oracle, language).select(*READING).row(0)
    return Reading(*row)


def judge_cell(
    cases: pl.DataFrame,
    responses: pl.DataFrame,
    languages: Mapping[str, LanguageCatalog],
    evaluation_id: str,
    judged_at: datetime,
) -> pl.DataFrame:
    """The verdicts on `cases` (columns of CASES) by their oracles, in the columns and types of VERDICTS: instance
    rows in the order of the cases, then template rows.

    Each case uses its own reply among `responses` (columns of RESPONSES, purpose subject) or, if there is none,
    one to the same request.
    """
    replies = replies_to(cases, responses)
    judged = pl.concat([without_reply(replies), _read_answered(replies, languages)]).sort("order")
    instances = with_ids(_instances(judged), evaluation_id, judged_at)
    templates = with_ids(template_verdicts(instances, cases), evaluation_id, judged_at)
    return pl.concat([instances, templates])


def replies_to(cases: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
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


def without_reply(replies: pl.DataFrame) -> pl.DataFrame:
    """Cases without a reply, as errors with their reason."""
    missing = replies.filter(pl.col("response_id").is_null() | pl.col("error_class").is_not_null())
    named = pl.format("no reply: {}", excerpt(pl.col("error_class"), 60))
    reason = pl.coalesce(named, pl.lit("no reply: never asked"))
    return missing.with_columns(nothing_read()).with_columns(outcome=pl.lit("error"), reason=reason)


def with_reply(replies: pl.DataFrame) -> pl.DataFrame:
    """Cases with a reply."""
    return replies.filter(pl.col("response_id").is_not_null() & pl.col("error_class").is_null())


def _read_answered(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    came = with_reply(replies)
    prompt = pl.col("messages").list.last().struct.field("content").alias("prompt")
    return came.hstack(read_replies(came.with_columns(prompt), languages))


def _instances(judged: pl.DataFrame) -> pl.DataFrame:
    rows = judged.with_columns(
        level=pl.lit("instance"), assessor_kind=pl.lit("oracle"), assessor=pl.col("operation")
    )
    return in_table_form(rows)
