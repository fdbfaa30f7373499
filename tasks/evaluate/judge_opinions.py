"""What a judge made of the replies that it heard, as rows: a verdict, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.tasks.evaluate.judge import Judgement, read_judgement
from biasgrid.tasks.evaluate.oracles.refusals import refusal, withheld
from biasgrid.tasks.evaluate.oracles.text import compared, whole
from biasgrid.warehouse.hashing import hashed
from biasgrid.warehouse.storage.assessments import BLIND, GIVEN, in_assessment_form, with_rule_keys


@dataclass(frozen=True, slots=True)
class Said:
    """A judge's reply."""

    text: str
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Opinion:
    """`state`: given, or refused or unreadable where the judge's reply holds no verdict."""

    judgement: Judgement
    state: str


def opinions(said: Mapping[str, Said], languages: Iterable[LanguageCatalog]) -> dict[str, Opinion]:
    """What was said, read, by the same keys."""
    read = {key: read_judgement(reply.text) for key, reply in said.items()}
    unread = {key: said[key] for key, judgement in read.items() if judgement.outcome is None}
    declined = _declined(unread, tuple(languages))
    return {
        key: Opinion(judgement, GIVEN if judgement.outcome else "refused" if key in declined else "unreadable")
        for key, judgement in read.items()
    }


def _declined(unread: Mapping[str, Said], languages: Iterable[LanguageCatalog]) -> set[str]:
    """Whose replies decline to judge: by the provider's word for it, or in a phrase of any language."""
    replies = pl.DataFrame(
        [(key, whole(reply.text), reply.finish_reason) for key, reply in unread.items()],
        schema={"key": pl.String, "text": pl.String, "finish_reason": pl.String},
        orient="row",
    )
    found = [withheld(pl.col("finish_reason")), *(refusal(pl.col("text"), language) for language in languages)]
    plain = replies.with_columns(compared(pl.col("text")))
    return set(plain.filter(pl.any_horizontal(each.is_not_null() for each in found))["key"])


def assessments(
    heard: pl.DataFrame, verdicts: pl.DataFrame, given: Mapping[str, Opinion], judge: str, at: datetime
) -> pl.DataFrame:
    """One row of ASSESSMENTS per reply put before the judge (`heard`, as of `contested`), by verdict_id; `failed`
    where the judge never answered."""
    said = pl.DataFrame(
        [(key, one.state, one.judgement.outcome, one.judgement.reason) for key, one in given.items()],
        schema={"verdict_id": pl.String, "said": pl.String, "judged": pl.String, "why": pl.String},
        orient="row",
    )
    of_unit = verdicts.select("verdict_id", "run_id", "evaluation_id", "cell_id", "template_id", "sample")
    rows = heard.join(of_unit, on="verdict_id", maintain_order="left")
    rows = rows.join(said, on="verdict_id", how="left", maintain_order="left")
    id_parts = (pl.col("verdict_id"), pl.lit("model"), pl.lit(judge))
    ids = rows.select(pl.concat_str(id_parts, separator="\x1f")).to_series()
    told = with_rule_keys(rows).with_columns(
        assessment_id=hashed(ids),
        purpose=pl.lit(BLIND),
        assessor_kind=pl.lit("model"),
        assessor=pl.lit(judge),
        state=pl.col("said").fill_null("failed"),
        stratum=pl.col("outcome"),
        outcome=pl.col("judged"),
        reason=pl.coalesce("why", pl.lit("the judge gave no reply")),
        assessed_at=pl.lit(at),
    )
    return in_assessment_form(told)
