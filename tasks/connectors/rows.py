"""Converts an answer to its row of `responses`, and a case to its request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.respondents import Assigning, Respondent
from biasgrid.tasks.connectors.api import Answer, Message, Parameters, Request
from biasgrid.tasks.connectors.usage import cost_usd
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
        return target.endpoint.request_fields()
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
    stat = path.stat()
    if stat.st_size > SMALL:
        return path.name, stat.st_size, str(stat.st_mtime_ns)
    return path.name, stat.st_size, hashlib.sha256(path.read_bytes()).hexdigest()


def request_key(fingerprint: str, parameters: str, sample: int, text: str) -> str:
    """The key of one request, as biasgrid.tasks.generate.cases computes it for a column."""
    return str(hash_texts([f"{fingerprint}\x1f{parameters}\x1f{sample}\x1f{text}"])[0])


def request_text(messages: Sequence[Mapping[str, str]]) -> str:
    """The text in a request's key: the content of a single message, else every role and text."""
    if len(messages) == 1:
        return messages[0]["content"]
    return "\x1f".join(part for message in messages for part in (message["role"], message["content"]))


Case = dict[str, Any]
"""A row of `cases`."""


def to_request(case: Case) -> Request:
    """The request of a case; one with a `session` belongs to that conversation."""
    messages = tuple(Message(message["role"], message["content"]) for message in case["messages"])
    parameters = Parameters(**orjson.loads(case["parameters"]))
    return Request(messages, parameters, case["request_key"], case["sample"], case.get("session"))


def response_row(case: Case, target: Target, answer: Answer, *, purpose: str = "subject") -> dict[str, Any]:
    """The row of a reply or error; its id depends on request and arrival, for `reused_from` in other cells."""
    reply, error = answer.reply, answer.error
    arrived = content_hash(case["run_id"], case["request_key"], answer.received_at.isoformat())
    return {
        "run_id": case["run_id"],
        "response_id": content_hash(arrived, case["case_id"]) if answer.shared else arrived,
        "reused_from": arrived if answer.shared else None,
        "cell_id": case["cell_id"],
        "case_id": case["case_id"],
        "purpose": purpose,
        "provider": target.provider,
        "model": target.model,
        "messages": case["messages"],
        "parameters": case["parameters"],
        "request_key": case["request_key"],
        "sample": case["sample"],
        "text": reply.text if reply else None,
        "model_reported": reply.model_reported if reply else None,
        "finish_reason": reply.finish_reason if reply else None,
        "host": reply.host if reply else None,
        "note": reply.note if reply else None,
        "raw": error.body if error else None,
        "input_tokens": reply.input_tokens if reply else None,
        "output_tokens": reply.output_tokens if reply else None,
        "cost_usd": cost_usd(reply, target.prices) if reply and not answer.shared else None,
        "latency_ms": answer.latency_ms,
        "attempts": answer.attempts,
        "error_class": type(error).__name__ if error else None,
        "error_message": str(error) if error else None,
        "received_at": answer.received_at,
    }
