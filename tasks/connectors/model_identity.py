"""Identity of a request: its model and the parameters that are sent."""

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
    """The parameters that the model accepts, as JSON; a schema keeps the order of its properties."""
    offered = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    sent: dict[str, object] = {
        name: value for name, value in offered.items() if name in target.parameters and value is not None
    }
    if json_schema is not None and target.structured:
        sent["json_schema"] = json_schema
    return orjson.dumps(dict(sorted(sent.items()))).decode()


NOT_SENT = {"prices", "limits", "own_limits", "batch", "tunes", "structured", "key_env", "endpoint"}


def fingerprint(target: Target, catalog: Catalog) -> str:
    """A hash of everything that affects a model's replies; prices and limits are excluded."""
    reached = target.model_dump(mode="json", exclude=NOT_SENT)
    return content_hash(reached, _describe_source(target, catalog))


def _describe_source(target: Target, catalog: Catalog) -> object:
    """Description of an endpoint's request, a respondent, a recording or a local model."""
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
    """Everything that a respondent's replies depend on."""
    # Default `assigning` is left out, so that the keys of earlier replies stay valid.
    assigns = respondent.assigning != Assigning()
    return respondent.model_dump(mode="json", exclude={"tuning"} if assigns else {"tuning", "assigning"})


SMALL = 64 * 10**6
"""Largest size in bytes of files whose content is hashed, such as adapters."""


def _describe_file(path: Path) -> tuple[str, int, str]:
    """Name, size and content hash of a local model's file; for large files the modification time."""
    told = path.stat()
    if told.st_size > SMALL:
        return path.name, told.st_size, str(told.st_mtime_ns)
    return path.name, told.st_size, hashlib.sha256(path.read_bytes()).hexdigest()


def request_key(fingerprint: str, parameters: str, sample: int, text: str) -> str:
    """The key of one request, as biasgrid.tasks.generate.cases computes it for a column."""
    return str(hash_texts([f"{fingerprint}\x1f{parameters}\x1f{sample}\x1f{text}"])[0])


def request_text(messages: Sequence[Mapping[str, str]]) -> str:
    """The text in a request's key: the content of a single message, else every role and text."""
    if len(messages) == 1:
        return messages[0]["content"]
    return "\x1f".join(part for message in messages for part in (message["role"], message["content"]))
