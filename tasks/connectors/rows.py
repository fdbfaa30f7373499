"""Converts an answer to its row of `responses`, and a case to its request."""

from __future__ import annotations

from typing import Any

import orjson

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, Message, Parameters, Request
from biasgrid.tasks.connectors.usage import cost_usd
from biasgrid.warehouse.hashing import content_hash

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
        "input_tokens": reply.input_tokens if reply else None,
        "output_tokens": reply.output_tokens if reply else None,
        "cost_usd": cost_usd(reply, target.prices) if reply and not answer.shared else None,
        "latency_ms": answer.latency_ms,
        "attempts": answer.attempts,
        "error_class": type(error).__name__ if error else None,
        "error_message": str(error) if error else None,
        "received_at": answer.received_at,
    }
