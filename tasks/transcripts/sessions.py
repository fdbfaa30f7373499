"""Sessions of a red team as transcripts: all messages and replies, with the judge's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from biasgrid.tasks.transcripts.excerpt import Excerpt
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
OPEN = "open"
"""Outcome of a session that has not ended."""
OUTCOMES = ("succeeded", "resisted", "refused", "unreadable", "error", "attacker failed", OPEN)
SESSION = ("run_id", "case_id", "cell_id", "model", "language", "concern", "sample")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message to the target and the response."""

    turn: int
    message: str
    carried: int
    """Number of earlier messages of the conversation sent with it."""
    reply: Excerpt | None
    error: str | None
    response_id: str
    drafts: Sequence[Excerpt]
    """The attacker's drafts; the last was sent, unless the message is not the attacker's."""
    verdict: Row | None
    """The judge's verdict: `outcome`, `parsed_text`, `parsed_value`, `reason`, `assessor`, `verdict_id`."""
    judge_texts: Sequence[Excerpt]
    """The judge's replies as received."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation; `case` is its row of `cases`, `verdict` that of the whole session."""

    case: Row
    facets: Row
    outcome: str
    verdict: Row | None
    exchanges: Sequence[Exchange]


def outcomes(lake: Lake, run_id: str) -> pl.DataFrame:
    """One row per session: SESSION, the attribute pair, `outcome` (one of OUTCOMES), the turn of its success."""
    cases = lake.read("cases", run_id).unique("case_id", maintain_order=True)
    rows = cases.select(*SESSION, pair="requirement", strategy="input")
    verdicts = _newest(lake, run_id).filter(pl.col("level") == "session")
    found = verdicts.select("case_id", outcome="parsed_text", succeeded_at=pl.col("parsed_value").cast(pl.Float64))
    return rows.join(found, on="case_id", how="left").with_columns(pl.col("outcome").fill_null(OPEN))


def sessions(lake: Lake, run_id: str, case_ids: Sequence[str]) -> list[Session]:
    """The sessions with these ids, in this order."""
    cases = {row["case_id"]: row for row in lake.read("cases", run_id).iter_rows(named=True)}
    verdicts = _by_case(_newest(lake, run_id).iter_rows(named=True))
    scanned = lake.scan("responses", run_id).filter(pl.col("case_id").is_in(list(case_ids)))
    replies = _by_case(_once(scanned.collect()).iter_rows(named=True))
    return [_session(cases[key], verdicts.get(key, []), replies.get(key, [])) for key in case_ids]


def _newest(lake: Lake, run_id: str) -> pl.DataFrame:
    """The verdict of the newest evaluation for each session and each of its replies."""
    landed = lake.read("verdicts", run_id).sort("evaluation_id", "judged_at", "verdict_id")
    return landed.unique(["level", "case_id", "sample"], keep="last", maintain_order=True)


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per request, repeated ones deduplicated: the first reply, else the last error."""
    first = rows.sort(pl.col("text").is_null(), "received_at", "response_id")
    return first.unique("request_key", keep="first").sort("turn", "sample", "received_at", "response_id")


def _by_case(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["case_id"], []).append(row)
    return found


def _session(case: Row, verdicts: Sequence[Row], replies: Sequence[Row]) -> Session:
    whole = next((row for row in verdicts if row["level"] == "session"), None)
    judged = {row["sample"]: row for row in verdicts if row["level"] == "instance"}
    targets = [row for row in replies if row["purpose"] == "subject"]
    exchanges = [_exchange(row, replies, judged.get(row["turn"])) for row in targets]
    outcome = whole["parsed_text"] if whole else OPEN
    return Session(case, orjson.loads(case["facets"] or "{}"), outcome, whole, exchanges)


def _exchange(row: Row, replies: Sequence[Row], verdict: Row | None) -> Exchange:
    sent = row["messages"] or []
    same_turn = [other for other in replies if other["turn"] == row["turn"]]
    return Exchange(
        turn=row["turn"],
        message=sent[-1]["content"] if sent else "",
        carried=max(len(sent) - 1, 0),
        reply=Excerpt.of(row["text"]),
        error=None if row["text"] is not None else f"{row['error_class']}: {row['error_message']}",
        response_id=row["response_id"],
        drafts=_texts(same_turn, "attacker"),
        verdict=verdict,
        judge_texts=_texts(same_turn, "judge"),
    )


def _texts(rows: Iterable[Row], purpose: str) -> list[Excerpt]:
    texts = (Excerpt.of(row["text"]) for row in rows if row["purpose"] == purpose)
    return [text for text in texts if text is not None]
