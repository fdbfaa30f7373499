"""What tells one request from another: the model that is reached, and what is sent beside the messages."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

from catalogs.catalog import Catalog
from catalogs.models import Target
from warehouse.identity import content_hash


def parameters(target: Target, *, temperature: float | None, max_tokens: int | None, seed: int | None) -> str:
    """What is sent beside the messages, as JSON: only what the model takes."""
    offered = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    sent = {name: value for name, value in offered.items() if name in target.parameters and value is not None}
    return orjson.dumps(sent, option=orjson.OPT_SORT_KEYS).decode()


NOT_SENT = {"prices", "limits", "own_limits", "batch", "key_env"}


def fingerprint(target: Target, catalog: Catalog) -> str:
    """What tells one model's replies from another's: everything that reaches it, but not its price or limits."""
    reached = target.model_dump(mode="json", exclude=NOT_SENT)
    return content_hash(reached, _behind(target, catalog))


def _behind(target: Target, catalog: Catalog) -> object:
    """What answers in place of a service: a respondent's definition, the content of a file of replies."""
    if target.connector == "simulated" and target.name in catalog.respondents:
        return catalog.respondents[target.name].model_dump(mode="json")
    recorded = Path(target.name.partition("#")[0])
    if target.connector == "replay" and recorded.is_file():
        return hashlib.sha256(recorded.read_bytes()).hexdigest()
    return None
