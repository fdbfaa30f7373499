"""Requests for stereotypes to a generator; each reply lands before it is read and is never requested again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.augmentation import LoaderWording
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.probes import ProbeAxis
from biasgrid.catalogs.schema.target_file import Described
from biasgrid.tasks.connectors.generator import (
    CELL,
    Generator,
    PartRequest,
    Row,
    Sender,
    land_replies,
    last_by_key,
    split_evenly,
    stored_replies,
)
from biasgrid.tasks.connectors.rows import Case
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake

AT_ONCE = 8
"""Stereotypes per reply: more become similar, and a longer reply may be cut off."""
TOKENS = (500, 300)
"""Tokens of a reply without stereotypes, and of each stereotype."""


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one request."""

    language: str
    number: int
    of: int
    count: int
    """Number of stereotypes."""
    axes: tuple[ProbeAxis, ...]
    """Axes to choose from; parts share none if there are enough axes."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """Time window of replies of other runs that may be reused."""

    oldest: datetime
    began: datetime


def split_order(language: str, axes: Mapping[str, ProbeAxis], count: int) -> list[Part]:
    """`count` stereotypes in parts of at most `AT_ONCE`, one request each."""
    sizes, every = split_evenly(count, AT_ONCE), tuple(axes.values())
    of = len(sizes)
    return [
        Part(language, index + 1, of, size, every[index::of] if len(every) >= of else every)
        for index, size in enumerate(sizes)
    ]


def build_requests(
    run_id: str, parts: Sequence[Part], described: Described, target: Target, resolved: Resolved
) -> list[PartRequest[Part]]:
    """One request per part; the same file on the same catalog has the same keys."""
    generator = Generator("loader", target, resolved.catalog, resolved.settings.seed, TOKENS)
    return [
        generator.request(part, request_text(part, described, resolved.catalog), run_id, f"{CELL}-{part.language}")
        for part in parts
    ]


async def ask(
    lake: Lake,
    requests: Sequence[PartRequest[Part]],
    sender: Sender,
    earlier: Earlier | None = None,
    may_ask: bool = True,
) -> dict[str, Row]:
    """Rows of `responses` by request key, failed requests included: landed in this run, reused from other runs,
    or received now; unless `may_ask`, only those that landed in this run."""
    stored = stored_replies(lake, requests, requests[0].case["run_id"])
    # the first reply to each request, so that a resumed run keeps its proposals
    known = last_by_key(stored.sort("received_at", descending=True))
    if not may_ask:
        return known
    missing = [each for each in requests if each.key not in known]
    return await land_replies(lake, requests, sender, known, _reuse(lake, missing, earlier) if earlier else ())


def _reuse(lake: Lake, missing: Sequence[PartRequest[Part]], earlier: Earlier) -> list[Row]:
    """The newest reply of other runs to each request, as a row of this run with no cost."""
    others = stored_replies(lake, missing).filter(
        pl.col("reused_from").is_null(), pl.col("received_at").is_between(earlier.oldest, earlier.began)
    )
    newest = last_by_key(others.sort("received_at"))
    return [_as_reused(newest[each.key], each.case) for each in missing if each.key in newest]


def _as_reused(row: Row, case: Case) -> Row:
    own = {name: case[name] for name in ("run_id", "cell_id", "case_id")}
    response_id = content_hash(*own.values(), row["response_id"])
    reused = {"response_id": response_id, "reused_from": row["response_id"], "cost_usd": 0.0, "attempts": 0}
    return {**row, **own, **reused}


def request_text(part: Part, described: Described, catalog: Catalog) -> str:
    """The whole message of one part, deterministic in file and catalog; the language must have a `loader`."""
    wording = catalog.probing[part.language].loader
    assert wording is not None  # noqa: S101 - found before anything is sent
    own = {"part": str(part.number), "parts": str(part.of)}
    order = {  # machine-readable, on the last line
        "order": "stereotypes",
        "language": part.language,
        "part": part.number,
        "count": part.count,
        "axes": [axis.id for axis in part.axes],
    }
    places = {
        "count": str(part.count),
        "about": "\n".join(_about(wording, described)) or wording.nothing,
        "part": fill_placeholders(wording.part, own) if part.of > 1 else "",
        "groups": "\n".join(_groups(part)),
        "kinds": "\n".join(f'- "{kind}": {what}' for kind, what in wording.kinds.items()),
        "order": json.dumps(order),
    }
    return fill_placeholders(wording.prompt, places).strip()


def _about(wording: LoaderWording, described: Described) -> Iterator[str]:
    history = [turn.model_dump() for turn in described.history]
    texts = {
        "company": described.company,
        "purpose": described.purpose,
        "sectors": ", ".join(described.sectors),
        "history": json.dumps(history, ensure_ascii=False) if history else "",
    }
    for name, text in texts.items():
        if text.strip():
            yield fill_placeholders(str(getattr(wording, name)), {name: " ".join(text.split())})


def _groups(part: Part) -> Iterator[str]:
    for axis in part.axes:
        spoken = [(group.id, group.words.get(part.language)) for group in axis.groups]
        yield f"- {axis.id}: " + ", ".join(f'"{name}" ({words.plural})' for name, words in spoken if words)
