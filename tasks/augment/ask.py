"""Sends an order to a model: every reply is stored before it is read, and stored replies are reused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from biasgrid.catalogs.schema.models import patient
from biasgrid.tasks.augment.order import Order, Part, SceneOrder
from biasgrid.tasks.augment.prompts import request_text
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import (
    Generator,
    PartRequest,
    Sender,
    land_replies,
    last_by_key,
    stored_replies,
)
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

KIND = "generator"
TOKENS = (800, 400)
"""Tokens of a reply without entries, and of each entry."""


@dataclass(frozen=True, slots=True)
class Request:
    """An order with its generator and its requests, one per part."""

    order: Order | SceneOrder
    generator: Generator
    parts: tuple[PartRequest[Part], ...]

    @property
    def session(self) -> str:
        return str(self.parts[0].case["run_id"])

    @property
    def prompts(self) -> list[str]:
        return [each.text for each in self.parts]


@dataclass(frozen=True, slots=True)
class Replies:
    """Results of the requests: rows of `responses` by request key, and the keys of those paid earlier."""

    answered: Mapping[str, dict[str, Any]]
    failed: Mapping[str, dict[str, Any]]
    kept: frozenset[str]


def build_request(order: Order | SceneOrder, generator: Generator) -> Request:
    """The requests of an order; the same order on the same library has the same keys."""
    parts = [generator.request(part, request_text(order, part)) for part in order.parts]
    session = f"augment-{content_hash([each.key for each in parts])}"
    own = tuple(PartRequest(each.part, {**each.case, "run_id": session}) for each in parts)
    return Request(order, generator, own)


async def ask(lake: Lake, request: Request, model_pool: ModelPool, retries: int = 3) -> Replies:
    """The replies to the requests, stored ones included, with errors as rows; on cancellation, requests in
    flight are still stored. Raises RunBusy if another process runs the same requests."""
    with RunLock(lake, request.session):
        recover(lake, request.session)
        before = last_by_key(stored_replies(lake, request.parts).sort("received_at"))
        sender = Sender(patient(request.generator.target), model_pool, retries)
        rows = await land_replies(lake, request.parts, sender, before, session=request.session)
    answered = {key: row for key, row in rows.items() if row["text"] is not None}
    failed = {key: row for key, row in rows.items() if row["text"] is None}
    return Replies(answered, failed, frozenset(before))
