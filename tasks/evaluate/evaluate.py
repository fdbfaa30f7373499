"""Turns responses into verdicts: one per case, and one per template and sample of an expected-value oracle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    if len(text.encode(errors="replace")) > MOST_READ:
        text = f"{text[: MOST_READ // 2]}\n{text[-MOST_READ // 2 :]}"
    columns = {"text": whole(text), "finish_reason": finish_reason, "oracle": rule, "prompt": prompt}
    known = {name: [value] for name, value in columns.items() if name != "prompt" or prompt is not None}
    reply = pl.DataFrame(known, schema=dict.fromkeys(known, pl.String))
    row = read_column(prepare(reply, language), oracle, language).select(*READING).row(0)
    return Reading(*row)


def judge_cell(
    cases: pl.DataFrame,
    responses: pl.DataFrame | Sequence[pl.LazyFrame],
    languages: Mapping[str, LanguageCatalog],
    evaluation_id: str,
    judged_at: datetime,
) -> pl.DataFrame:
    """The verdicts on `cases` (columns of CASES) by their oracles, in the columns and types of VERDICTS: instance
    rows in the order of the cases, then template rows.

    Each case uses its own reply among `responses` (columns of RESPONSES, purpose subject) or, if there is none,
    one to the same request. Their texts are in memory a part at a time.
    """
    parts = [responses.lazy()] if isinstance(responses, pl.DataFrame) else responses
    heads = pl.concat(parts).select("purpose", "case_id", "request_key", "received_at", *HEAD).collect()
    replies = replies_to(cases, heads, HEAD)
    judged = pl.concat([without_reply(replies), _read_answered(replies, parts, languages)]).sort("order")
    instances = with_ids(_instances(judged), evaluation_id, judged_at)
    templates = with_ids(template_verdicts(instances, cases), evaluation_id, judged_at)
    return pl.concat([instances, templates])


HEAD = ["response_id", "finish_reason", "error_class"]
REPLY = [*HEAD, "text"]


def replies_to(cases: pl.DataFrame, responses: pl.DataFrame, columns: Sequence[str] = REPLY) -> pl.DataFrame:
    """Cases with `columns` of their reply: a success before an error, the newest of each."""
    arrived = (
        responses.filter(pl.col("purpose") == "subject")
        .with_columns(failed=pl.col("error_class").is_not_null())
        .sort("failed", "received_at", "response_id", descending=[False, True, False], nulls_last=True)
        .select("case_id", "request_key", *columns)
    )
    asked = cases.with_row_index("order")
    newest = arrived.unique("case_id", keep="first", maintain_order=True).drop("request_key")
    own = asked.join(newest, on="case_id")
    rest = asked.join(own, on="order", how="anti")
    alike = arrived.unique("request_key", keep="first", maintain_order=True).drop("case_id")
    return pl.concat([own, rest.join(alike, on="request_key", how="left")]).sort("order")


def without_reply(replies: pl.DataFrame) -> pl.DataFrame:
    """Cases without a reply, as errors with their reason."""
    missing = replies.filter(pl.col("response_id").is_null() | pl.col("error_class").is_not_null())
    named = pl.format("no reply: {}", excerpt(pl.col("error_class"), 60))
    reason = pl.coalesce(named, pl.lit("no reply: never asked"))
    return missing.with_columns(nothing_read()).with_columns(outcome=pl.lit("error"), reason=reason)


def with_reply(replies: pl.DataFrame) -> pl.DataFrame:
    """Cases with a reply."""
    return replies.filter(pl.col("response_id").is_not_null() & pl.col("error_class").is_null())


def _read_answered(
    replies: pl.DataFrame, parts: Iterable[pl.LazyFrame], languages: Mapping[str, LanguageCatalog]
) -> pl.DataFrame:
    """Cases with a reply and what was read in it. Loads the texts of one part at a time."""
    left = with_reply(replies)
    prompt = pl.col("messages").list.last().struct.field("content").alias("prompt")
    read = [left.clear().with_columns(nothing_read())]
    for part in parts:
        wanted = pl.col("response_id").is_in(left["response_id"].unique().implode())
        texts = part.filter(wanted).select("response_id", "text").collect().unique("response_id")
        own = left.join(texts, on="response_id", maintain_order="left")
        left = left.join(texts, on="response_id", how="anti", maintain_order="left")
        if own.height:
            read.append(own.drop("text").hstack(_read_in_parts(own.with_columns(prompt), languages)))
    return pl.concat(read)


LONG_BYTES, READ_AT_ONCE = 20_000, 300_000
"""Bytes: of a reply that is read with few others, and of what is read at once of these."""
MOST_READ = 200_000
"""Characters that oracles read of a reply: half of them at its start, half at its end."""


def _read_in_parts(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """As `read_replies`, in memory that does not grow with long replies: clauses take 200 times their text."""
    if not (replies["text"].str.len_bytes() > LONG_BYTES).any():
        return read_replies(replies, languages)
    text, end = pl.col("text"), pl.col("text").str.tail(MOST_READ // 2)
    cut = pl.concat_str(text.str.head(MOST_READ // 2), pl.lit("\n"), end)
    rows = replies.with_columns(pl.when(text.str.len_bytes() > MOST_READ).then(cut).otherwise(text).alias("text"))
    size = rows["text"].str.len_bytes()
    part = pl.when(size > LONG_BYTES).then(1 + size.cum_sum() // READ_AT_ONCE).otherwise(0).alias("part")
    parts = rows.with_columns(part).with_row_index("row").partition_by("part", maintain_order=True)
    read = [read_replies(own, languages).with_columns(own["row"]) for own in parts]
    return pl.concat(read).sort("row").drop("row")


def _instances(judged: pl.DataFrame) -> pl.DataFrame:
    rows = judged.with_columns(
        level=pl.lit("instance"), assessor_kind=pl.lit("oracle"), assessor=pl.col("operation")
    )
    return in_table_form(rows)
