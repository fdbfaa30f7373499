"""Requests proposals from a generator: each reply lands before it is read and is never requested again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.scenario.references import Resolved
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import Described
from biasgrid.tasks.connectors.api import Answer
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.rows import Case, fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import answer_all
from biasgrid.tasks.probe.request import Part, request_text
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

CELL = "generator"
"""Prefix of the names of files with these replies."""
TOKENS_FOR_ONE, TOKENS_BESIDE = 300, 500
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A part with its request as a row of `cases`."""

    part: Part
    case: Case

    @property
    def key(self) -> str:
        return str(self.case["request_key"])


@dataclass(frozen=True, slots=True)
class Earlier:
    """Time window of replies of other runs that may be reused."""

    oldest: datetime
    began: datetime


def requests(
    run_id: str, parts: Sequence[Part], described: Described, target: Target, resolved: Resolved
) -> list[Request]:
    """One request per part; the same file on the same catalog has the same keys."""
    return [Request(part, _case(run_id, part, described, target, resolved)) for part in parts]


async def ask(
    lake: Lake,
    asked: Sequence[Request],
    target: Target,
    model_pool: ModelPool,
    *,
    retries: int,
    earlier: Earlier | None = None,
    may_ask: bool = True,
) -> dict[str, Row]:
    """Rows of `responses` by request key, failed requests included: landed in this run, reused from other runs,
    or received now; unless `may_ask`, only those that landed in this run."""
    run_id, cell = asked[0].case["run_id"], asked[0].case["cell_id"]
    found = _landed(lake, run_id, asked)
    if not may_ask:
        return found
    journal = Journal(lake, run_id, cell)
    try:
        for key, row in (_stand_ins(lake, asked, found, earlier) if earlier else {}).items():
            journal.append(row)
            found[key] = row
        missing = [each.case for each in asked if each.key not in found]
        landing = _landing(journal, found, target)
        await answer_all(model_pool, target, missing, to_request, landing, retries=retries)
    finally:
        journal.land()
    return found


def _landing(journal: Journal, rows: dict[str, Row], target: Target) -> Callable[[Case, Answer], None]:
    def land(case: Case, answer: Answer) -> None:
        row = response_row(case, target, answer, purpose="generator")
        journal.append(row)
        rows[case["request_key"]] = row

    return land


def _landed(lake: Lake, run_id: str, asked: Sequence[Request]) -> dict[str, Row]:
    """The first reply to each request in this run, so that a resumed run keeps its proposals."""
    keys = [each.key for each in asked]
    own = lake.scan("responses", run_id, name=f"{CELL}-*").filter(
        pl.col("request_key").is_in(keys), pl.col("purpose") == "generator", pl.col("text").is_not_null()
    )
    return _by_key(own.sort("received_at", descending=True))


def _stand_ins(lake: Lake, asked: Sequence[Request], found: Mapping[str, Row], earlier: Earlier) -> dict[str, Row]:
    """The newest reply of other runs to each open request, as a row of this run with no cost."""
    cases = {each.key: each.case for each in asked if each.key not in found}
    others = lake.scan("responses", name=f"{CELL}-*").filter(
        pl.col("request_key").is_in(list(cases)),
        pl.col("purpose") == "generator",
        pl.col("text").is_not_null(),
        pl.col("reused_from").is_null(),
        pl.col("received_at").is_between(earlier.oldest, earlier.began),
    )
    newest = _by_key(others.sort("received_at"))
    return {key: _stand_in(row, cases[key]) for key, row in newest.items()}


def _by_key(rows: pl.LazyFrame) -> dict[str, Row]:
    """The last row of each key."""
    return {row["request_key"]: row for row in rows.collect().iter_rows(named=True)}


def _stand_in(row: Row, case: Case) -> Row:
    own = {name: case[name] for name in ("run_id", "cell_id", "case_id")}
    response_id = content_hash(*own.values(), row["response_id"])
    stands = {"response_id": response_id, "reused_from": row["response_id"], "cost_usd": 0.0, "attempts": 0}
    return {**row, **own, **stands}


def _case(run_id: str, part: Part, described: Described, target: Target, resolved: Resolved) -> Case:
    seed = (resolved.settings.seed + part.number - 1) % 2**31
    most = TOKENS_BESIDE + TOKENS_FOR_ONE * part.count
    sent = sent_parameters(target, temperature=None, max_tokens=most, seed=seed)
    told = [{"role": "user", "content": request_text(part, described, resolved.catalog)}]
    # the key contains the seed: another seed sends a new request, even if the model ignores seeds
    key = content_hash("loader", fingerprint(target, resolved.catalog), sent, told, seed)
    return {
        "run_id": run_id,
        "cell_id": f"{CELL}-{part.language}",
        "case_id": key,
        "messages": told,
        "parameters": sent,
        "sample": 1,
        "request_key": key,
    }
