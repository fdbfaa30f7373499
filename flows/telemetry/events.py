"""What sinks receive, and the ids of traces and spans: a span leads to its row in the warehouse, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

FLUSH_MS = 5_000
"""Milliseconds for a collector to take what is left, before a command ends."""
ReplyRow = Mapping[str, Any]
"""A row of `responses`."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run whose marts are built."""

    run_id: str
    kind: str
    scenario: str
    state: str
    verdicts: Mapping[tuple[str, str], int]
    """Number of verdicts by model and outcome."""


def trace_of(run_id: str) -> int:
    """The trace of a run, 128 bits."""
    return int.from_bytes(sha256(run_id.encode()).digest()[:16])


def span_of(own_id: str) -> int:
    """The span of a reply by its `response_id`, or of a run, 64 bits."""
    return int.from_bytes(sha256(own_id.encode()).digest()[16:24])
