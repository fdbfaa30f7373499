"""The identity of a request: the model that it reaches and the parameters that it sends."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.respondents import Assigning, Respondent
from biasgrid.warehouse.hashing import content_hash, hash_texts


def sent_parameters(
    target: Target,
    *,
    temperature: float | None,
    max_tokens: int | None,
    seed: int | None,
    json_schema: Mapping[str, object] | None = None,
) -> str:
    """The parameters that the model takes, as JSON; a schema keeps the order of its properties."""
    offered = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    sent: dict[str, object] = {
        name: value for name, value in offered.items() if name in target.parameters and value is not None
    }
    if json_schema is not None and target.structured:
        sent["json_schema"] = json_schema
    return orjson.dumps(dict(sorted(sent.items()))).decode()


NOT_SENT = {"prices", "limits", "own_limits", "batch", "tunes", "structured", "key_env", "endpoint"}


def fingerprint(target: Target, catalog: Catalog) -> str:
    """A hash of everything that affects a model's replies, without prices and limits."""
    reached = target.model_dump(mode="json", exclude=NOT_SENT)
    return content_hash(reached, _describe_source(target, catalog))


def _describe_source(target: Target, catalog: Catalog) -> object:
    """What answers in place of a service: an endpoint's request, a respondent, a recording or a local model."""
    if target.endpoint is not None:
        return target.endpoint.reaching()
    if target.connector == "simulated" and target.name in catalog.respondents:
        return _describe_respondent(catalog.respondents[target.name])
    recorded = Path(target.name.partition("#")[0])
    if target.connector == "replay" and recorded.is_file():
        return hashlib.sha256(recorded.read_bytes()).hexdigest()
    if target.connector == "transformers":
        return [_describe_file(path) for path in sorted(Path(target.name).glob("*")) if path.is_file()]
    return None


def _describe_respondent(respondent: Respondent) -> object:
    """What its replies depend on; one with default `assigning` keeps the key of its earlier replies."""
    assigns = respondent.assigning != Assigning()
    return respondent.model_dump(mode="json", exclude={"tuning"} if assigns else {"tuning", "assigning"})


SMALL = 64 * 10**6
"""Bytes of a file whose content is hashed, such as an adapter."""


def _describe_file(path: Path) -> tuple[str, int, str]:
    """Name, size and content hash of a local model's file; for large ones the time of writing."""
    told = path.stat()
    if told.st_size > SMALL:
        return path.name, told.st_size, str(told.st_mtime_ns)
    return path.name, told.st_size, hashlib.sha256(path.read_bytes()).hexdigest()


def request_key(fingerprint: str, parameters: str, sample: int, text: str) -> str:
    """The key of one request, as biasgrid.tasks.generate.cases computes it for a column of them."""
    return str(hash_texts([f"{fingerprint}\x1f{parameters}\x1f{sample}\x1f{text}"])[0])


def request_text(messages: Sequence[Mapping[str, str]]) -> str:
    """The text in a request's key: of a single message its content, else every role and text."""
    if len(messages) == 1:
        return messages[0]["content"]
    return "\x1f".join(part for message in messages for part in (message["role"], message["content"]))
