"""Turns responses into verdicts: one per case, and one per template and sample of an expected-value oracle."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.meaning.text import excerpt, whole
from biasgrid.tasks.evaluate.oracle_reading import nothing_read, read_replies
from biasgrid.tasks.evaluate.oracles.langbite_rule import FIRST_ALONE, read_next_to
from biasgrid.tasks.evaluate.oracles.outcomes import NO_TEXT, READING, VALUE, prepare, read_column
from biasgrid.tasks.evaluate.verdicts import (
    BY_ORACLE,
    Judging,
    Replies,
    in_table_form,
    template_verdicts,
    with_ids,
)


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
    columns = {"text": cut_text(whole(text)), "finish_reason": finish_reason, "oracle": rule, "prompt": prompt}
    known = {name: [value] for name, value in columns.items() if name != "prompt" or prompt is not None}
    reply = pl.DataFrame(known, schema=dict.fromkeys(known, pl.String))
    row = read_column(prepare(reply, language), oracle, language).select(*READING).row(0)
    return Reading(*row)


def judge_cases(cases: pl.DataFrame, responses: Replies, by: Judging) -> pl.DataFrame:
    """The verdicts on `cases` (columns of CASES) by their oracles, in the columns and types of VERDICTS: instance
    rows in the order of the cases, then template rows.

    Each case uses its own reply among `responses` (columns of RESPONSES, purpose subject) or, if there is none,
    one to the same request. Their texts are in memory a part at a time.
    """

    def read(own: pl.DataFrame) -> pl.DataFrame:
        asked = own.with_columns(prompt)
        readings = _read_in_parts(asked, by.languages)
        return readings.hstack(read_next_to(asked.select("text", "oracle").hstack(readings)))

    prompt = pl.col("messages").list.last().struct.field("content").alias("prompt")
    judged = read_cases(cases, responses, read).with_columns(_of_first_instance())
    instances = with_ids(in_table_form(judged.with_columns(**BY_ORACLE)), by.evaluation_id, by.judged_at)
    templates = with_ids(template_verdicts(instances, cases), by.evaluation_id, by.judged_at)
    return pl.concat([instances, templates])


def read_cases(
    cases: pl.DataFrame, responses: Replies, read: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    """`cases` in their order with the READING that `read` finds in their replies, given as rows with a `text`.

    The texts of one part are in memory at a time, and of a long one its start and its end are read.
    """
    parts = split(responses)
    heads = pl.concat(parts).select("purpose", "cell_id", "case_id", "request_key", "received_at", *HEAD).collect()
    replies = replies_to(cases, heads)
    left = replies.filter(pl.col("response_id").is_not_null() & pl.col("error_class").is_null())
    found = [_without_reply(replies)]
    for own in _join_parts(left, parts):
        found.append(own.drop("text").hstack(read(own)))
    return pl.concat(found, how="diagonal").sort("order")


def _join_parts(rows: pl.DataFrame, parts: Sequence[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Those of `rows` whose `response_id` is in `parts`, with the `text` that is read: small parts together."""
    held: list[pl.DataFrame] = []
    size = 0
    for part in parts:
        own = join_texts(rows, part, _cut("text"))
        rows = rows.join(own, on="response_id", how="anti", maintain_order="left")
        held += [own] if own.height else []
        size += int(own["text"].str.len_bytes().sum())
        if size >= READ_AT_ONCE:
            yield pl.concat(held)
            held, size = [], 0
    if held:
        yield pl.concat(held)


def _of_first_instance() -> pl.Expr:
    """LangBiTe's outcome, where it reads a reply at all."""
    is_read = pl.col("operation").is_in(FIRST_ALONE).not_() | (
        pl.int_range(pl.len()).over("cell_id", "template_id", "sample") == 0
    )
    return pl.when(is_read).then("langbite_outcome")


def split(responses: Replies) -> Sequence[pl.LazyFrame]:
    """The parts of `responses` whose texts fit into memory."""
    return [responses.lazy()] if isinstance(responses, pl.DataFrame) else responses


TEXT = pl.col("text")


def join_texts(rows: pl.DataFrame, part: pl.LazyFrame, text: pl.Expr = TEXT) -> pl.DataFrame:
    """Those of `rows` whose `response_id` is in a part of the replies, with the `text`."""
    wanted = pl.col("response_id").is_in(rows["response_id"].unique().implode())
    texts = part.filter(wanted).select("response_id", text).collect().unique("response_id")
    return rows.join(texts, on="response_id", maintain_order="left")


HEAD = ["response_id", "finish_reason", "error_class"]


def replies_to(cases: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """Cases with the HEAD of their reply: a success before an error, the newest of each."""
    arrived = (
        responses.filter(pl.col("purpose") == "subject")
        .with_columns(failed=pl.col("error_class").is_not_null())
        .sort("failed", "received_at", "response_id", descending=[False, True, False], nulls_last=True)
        .select("cell_id", "case_id", "request_key", *HEAD)
    )
    asked = cases.with_row_index("order")
    newest = arrived.unique("case_id", keep="first", maintain_order=True).drop("cell_id", "request_key")
    own = asked.join(newest, on="case_id")
    rest = asked.join(own, on="order", how="anti")
    request = ["cell_id", "request_key"]
    alike = arrived.unique(request, keep="first", maintain_order=True).drop("case_id")
    return pl.concat([own, rest.join(alike, on=request, how="left")]).sort("order")


def _without_reply(replies: pl.DataFrame) -> pl.DataFrame:
    """Cases without a reply, as errors with their reason."""
    missing = replies.filter(pl.col("response_id").is_null() | pl.col("error_class").is_not_null())
    named = pl.format("no reply: {}", excerpt(pl.col("error_class"), 60))
    reason = pl.coalesce(named, pl.lit("no reply: never asked"))
    return missing.with_columns(nothing_read(), langbite_outcome=NO_TEXT).with_columns(
        outcome=pl.lit("error"), reason=reason
    )


LONG_BYTES, READ_AT_ONCE = 20_000, 300_000
"""Bytes: of a reply that is read with few others, and of what is read at once of these."""
_ONE_AT_A_TIME = threading.Lock()
"""Of threads that read long replies: Polars uses all cores for one, and memory is that of one."""
MOST_READ = 200_000
"""Characters that oracles read of a reply: half of them at its start, half at its end."""


def cut_text(text: str) -> str:
    """What is read of a reply."""
    is_long = len(text.encode(errors="replace")) > MOST_READ
    return f"{text[: MOST_READ // 2]}\n{text[-MOST_READ // 2 :]}" if is_long else text


def _cut(name: str) -> pl.Expr:
    text, half = pl.col(name), MOST_READ // 2
    cut = pl.concat_str(text.str.head(half), pl.lit("\n"), text.str.tail(half))
    return pl.when(text.str.len_bytes() > MOST_READ).then(cut).otherwise(text).alias(name)


def _read_in_parts(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """As `read_replies`, in memory that does not grow with long replies: clauses take 200 times their text."""
    size = replies["text"].str.len_bytes()
    if not (size > LONG_BYTES).any():
        return read_replies(replies, languages)
    part = pl.when(size > LONG_BYTES).then(1 + size.cum_sum() // READ_AT_ONCE).otherwise(0).alias("part")
    parts = replies.with_columns(part).with_row_index("row").partition_by("part", maintain_order=True)
    with _ONE_AT_A_TIME:
        read = [read_replies(own, languages).with_columns(own["row"]) for own in parts]
    return pl.concat(read).sort("row").drop("row")


def judge_decisions(cases: pl.DataFrame, responses: Replies, by: Judging) -> pl.DataFrame:
    """The verdicts on `cases` that ask for a decision: outcome null and `parsed_value` 1 for selected, 0 for not
    selected, or a score; or refused, unreadable, error."""

    def read(came: pl.DataFrame) -> pl.DataFrame:
        read = _read_in_parts(came.with_columns(prompt), by.languages).select(*READING)
        return _read_fields(came.select("text", "facets", "oracle").hstack(read)).select(*READING)

    prompt = pl.col("messages").list.last().struct.field("content").alias("prompt")
    rows = read_cases(cases, responses, read)
    selects = pl.col("outcome").replace_strict({"passed": 1, "failed": 0}, default=None, return_dtype=pl.Int8)
    decided = rows.with_columns(
        **BY_ORACLE,
        parsed_value=pl.coalesce(selects.cast(VALUE), "parsed_value"),
        parsed_text=pl.when(selects == 1).then(pl.lit("selected")).when(selects == 0).then(pl.lit("not selected")),
        outcome=pl.when(selects.is_null()).then("outcome"),
    )
    return with_ids(in_table_form(decided), by.evaluation_id, by.judged_at)


FIELD_READ: Final = ("outcome", "reason")
"""What a field decides instead of the whole reply."""


def _read_fields(rows: pl.DataFrame) -> pl.DataFrame:
    """Replies with their readings; outcome and reason anew of those whose facets list rejecting words."""
    if not rows["facets"].str.contains('"rejected"', literal=True).any():
        return rows
    given = rows.select("text", "facets", "oracle", *FIELD_READ).to_dicts()
    read = [
        _read_field(row) if '"rejected"' in (row["facets"] or "") else {name: row[name] for name in FIELD_READ}
        for row in given
    ]
    return rows.with_columns(pl.DataFrame(read, schema={name: rows.schema[name] for name in FIELD_READ}))


def _read_field(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Refusals and errors as read from the whole reply; the rest from the field."""
    oracle = json.loads(row["oracle"])
    word = None if row["text"] is None else find_field(row["text"], oracle["key"])
    if word is None:
        is_read = row["outcome"] in ("passed", "failed")
        return {
            "outcome": "unreadable" if is_read else row["outcome"],
            "reason": f"has no `{oracle['key']}`" if is_read else row["reason"],
        }
    return decide_field(word, oracle["expected"], json.loads(row["facets"])["rejected"])


def decide_field(word: str, selected: list[str], rejected: list[str]) -> dict[str, str | None]:
    """The outcome of what a field holds, and the reason."""
    for outcome, listed in (("passed", selected), ("failed", rejected)):
        if any(_begins_with(word, one) for one in listed):
            return {"outcome": outcome, "reason": f"the field holds `{word[:60]}`"}
    return {"outcome": "unreadable", "reason": f"the field holds neither decision: `{word[:60]}`"}


def _begins_with(word: str, one: str) -> bool:
    """Alone, or before a mark that ends it: `approve.`, but not `approve later`."""
    return re.match(rf"{re.escape(one.casefold())}\s*(?:$|[.,;:!(\n–—-])", word.casefold()) is not None


def find_field(text: str, key: str) -> str | None:
    """What the field holds: of JSON its value, else the rest of the last line that begins with its name."""
    quoted = re.search(rf'(?i)"{re.escape(key)}"\s*:\s*("(?:[^"\\]|\\.)*"|[\w.+-]+)', text)
    if quoted:
        return quoted[1].strip('"').strip()
    lines = re.findall(rf"(?im)^[\W_]*{re.escape(key)}[*_` ]*[:=：][*_` ]*(.*?)[*_`\s]*$", text)
    return lines[-1].strip("\"'") if lines else None
