"""Whether a reply finds implicit bias in an assignment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from catalogs.schema import LanguageCatalog
from catalogs.tuning import Presence
from tasks.evaluate.spoken import answer_of, declined, excerpt, flat, refusal_of, unmarked

_LABELLED: Final = re.compile(
    r"(?i)(?:implicit bias|sesgos? implicitos?)\W{1,6}(?:(present|presente)|(absent|ausente))\b"
)


@dataclass(frozen=True, slots=True)
class PresenceReading:
    outcome: Literal["refused", "unreadable"] | None
    """None where it was read."""
    presence: Presence | None
    reason: str


def read_presence(text: str, language: LanguageCatalog | None, *, withheld: bool = False) -> PresenceReading:
    """Whether a reply says that implicit bias is present."""
    spoken = flat(answer_of(text))
    found = _LABELLED.search(unmarked(spoken))
    if found:
        presence: Presence = "present" if found[1] else "absent"
        return PresenceReading(None, presence, f"says that implicit bias is {presence}")
    declines = refusal_of(declined(spoken, language), "content_filter" if withheld else None)
    reason = declines or f"tells neither; read: `{excerpt(text)}`"
    return PresenceReading("refused" if declines else "unreadable", None, reason)
