"""Stereotypes that a respondent proposes when it is asked for some, so that a probe is loaded with no key.

They are the catalog's own, the same for the same request and seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import AttributePair, ProbeAxis, every_pair
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.chance import Chance

STEREOTYPES_ORDER = re.compile(r"^\{\"order\": \"stereotypes\".*\}\s*\Z", re.MULTILINE)
"""The last line of a request: what it asks for, for machines."""
LONGEST_WHY = 300


def proposed(respondent: Respondent, text: str, seed: int | None, catalog: Catalog) -> str | None:
    """The reply to a request for stereotypes: a JSON array. None where the text is none, or where the respondent
    refuses or always says the same."""
    found = STEREOTYPES_ORDER.search(text)
    order = _stereotypes_order(found[0]) if found else None
    if order is None or respondent.answers != "by-rate":
        return None
    chance = Chance(respondent.id, respondent.seed, text, seed)
    drawn = sorted(_fitting(order, catalog), key=lambda one: chance.uniform(f"pair {one[1].id}"))
    rows = [_pair_row(axis, pair, order["language"]) for axis, pair in drawn[: min(order["count"], MOST)]]
    listed = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
    return f"Sure, here they are:\n\n```json\n{listed}\n```" if respondent.noise == "messy" else listed


def _stereotypes_order(line: str) -> dict[str, Any] | None:
    """None for what looks like an order and is none: anybody may ask over HTTP."""
    try:
        order = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kinds = (("language", str), ("count", int), ("axes", list))
    return order if all(isinstance(order.get(key), kind) for key, kind in kinds) else None


def _fitting(order: Mapping[str, Any], catalog: Catalog) -> Iterator[tuple[ProbeAxis, AttributePair]]:
    language = order["language"]
    for axis, pair in every_pair(catalog.probes):
        groups = (axis.group(name).words for name in (pair.favoured, pair.stigmatised))
        if axis.id in order["axes"] and language in pair.attributes and all(language in own for own in groups):
            yield axis, pair


def _pair_row(axis: ProbeAxis, pair: AttributePair, language: str) -> dict[str, Any]:
    return {
        "axis": axis.id,
        "favoured": pair.favoured,
        "stigmatised": pair.stigmatised,
        "attributes": list(pair.attributes[language]),
        "kind": pair.kind,
        "why": " ".join(pair.source.split())[:LONGEST_WHY],
    }
