"""Replies that a provider keeps back, by its own word for it."""

from __future__ import annotations

from typing import Final

FILTERED: Final = (
    "content_filter",
    "content_filtered",
    "safety",
    "refusal",
    "blocked",
    "prohibited_content",
    "guardrail_intervened",
    "moderation",
)
"""Finish reasons by which providers say that the reply was withheld."""


def is_withheld(finish_reason: str | None) -> bool:
    return finish_reason is not None and finish_reason.lower() in FILTERED
