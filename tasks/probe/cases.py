"""Lands prompts × models as cases, one cell per test, attribute pair, language and model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import Turn
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import request_key, request_text
from biasgrid.tasks.probe.prompts import Prompt
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import land_cells

READING = "probe"
"""Oracle type of cases whose replies a probe reads."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A target model with the settings of its requests."""

    target: Target
    catalog: Catalog
    resolved: Resolved
    system: str | None = None

    @property
    def party(self) -> Participant:
        return Participant.of(self.target, self.resolved.settings, self.catalog)


def land_cases(lake: Lake, run_id: str, prompts: Sequence[Prompt], asked: Iterable[Asked]) -> pl.DataFrame:
    """Writes one file of cases per cell, idempotently; returns the cells as CELL_KEYS and `planned`."""
    cells = (
        cell
        for own in asked
        for party in (own.party,)
        for rows in ([_case(run_id, prompt, party, own.system) for prompt in prompts],)
        for cell in pl.DataFrame(rows, infer_schema_length=None).partition_by("cell_id", maintain_order=True)
    )
    return land_cells(lake, cells)


def _case(run_id: str, prompt: Prompt, party: Participant, system: str | None) -> dict[str, Any]:
    own, target = prompt.stereotype, party.target
    first = [Turn(role="system", content=system)] if system else []
    messages = [turn.model_dump() for turn in (*first, Turn(role="user", content=prompt.text))]
    sent = party.parameters(prompt.sample)
    key = request_key(party.fingerprint, sent, prompt.sample, request_text(messages))
    cell = (own.pair, own.concern, target.model, own.language, prompt.test)
    instance = content_hash(*cell[3:], prompt.form_text, prompt.text, prompt.block)
    return {
        "run_id": run_id,
        "cell_id": content_hash("probe", *cell),
        "case_id": content_hash("probe", *cell, instance, key),
        "requirement": own.pair,
        "concern": own.concern,
        "provider": target.provider,
        "model": target.model,
        "language": own.language,
        "input": prompt.test,
        "reflection": own.pair,
        "template_id": content_hash("probe", own.language, prompt.test, prompt.form_text),
        "template": prompt.form,
        "template_text": prompt.form_text,
        "facets": orjson.dumps(_facets(prompt)).decode(),
        "wording": 1,
        "instance_id": instance,
        "communities": [side.group for side in own.sides],
        "sample": prompt.sample,
        "messages": messages,
        "parameters": sent,
        "request_key": key,
        "oracle_type": READING,
        "operation": prompt.test,
        "oracle": orjson.dumps(_oracle(prompt)).decode(),
    }


def _facets(prompt: Prompt) -> dict[str, Any]:
    own = prompt.stereotype
    return {
        "axis": own.axis,
        "signal": own.signal,
        "favoured": own.favoured.group,
        "stigmatised": own.stigmatised.group,
        "favoured_attribute": own.favoured.attribute,
        "stigmatised_attribute": own.stigmatised.attribute,
        "block": prompt.block,
        "part": prompt.part,
        **({"groups": own.order} if own.order else {}),
        **({"why": own.why} if own.why else {}),
        **prompt.details,
    }


def _oracle(prompt: Prompt) -> dict[str, Any]:
    """What the oracle needs to read the reply."""
    own = prompt.stereotype
    decides = prompt.test == "decision"
    return {
        "favoured": prompt.cast.favoured,
        "stigmatised": prompt.cast.stigmatised,
        "attributes": prompt.offered if decides else own.attributes,
        "scale": prompt.offered if prompt.test == "explicit" else (),
        **({"groups": _people(prompt)} if own.order else {}),
    }


def _people(prompt: Prompt) -> dict[str, tuple[str, ...]]:
    """The people of each group, where there are more than two."""
    own, cast = prompt.stereotype, prompt.cast
    names = (cast.favoured, cast.stigmatised, *cast.others)
    return {side.group: people for side, people in zip(own.sides, names, strict=True)}
