"""The words, signs and colours of verdicts: one table for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

State = Literal["met", "not met", "undecided", "not evaluated"]
Tone = Literal["", "good", "bad", "doubt", "faint"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a state is shown to people; `rank` is its place where models are ordered, best supported first."""

    word: str
    sign: str
    tone: Tone
    rank: int


VERDICTS: Final[Mapping[State, Verdict]] = {
    "met": Verdict("meets", "✓", "good", 0),
    "not met": Verdict("fails", "✗", "bad", 2),
    "undecided": Verdict("not proven", "?", "doubt", 1),
    "not evaluated": Verdict("no answer", "–", "doubt", 3),
}
WORST_FIRST: Final[Sequence[State]] = ("not met", "undecided", "not evaluated", "met")
"""What needs looking at first, and of all checks of a model the one that decides."""
BIASED: Final = ("biased", "anti-biased", "biased with the stereotype", "biased against the stereotype")
"""Findings of bias, of probes and interactions."""
TONES: Final[Mapping[str, Tone]] = {
    **{state: verdict.tone for state, verdict in VERDICTS.items()},
    **dict.fromkeys(("passed", "better", "resisted", "counter", "balanced", "neutral"), "good"),
    **dict.fromkeys(("failed", "worse", "succeeded", *BIASED, "stereotypical", "anti-stereotypical"), "bad"),
    **dict.fromkeys(("refused", "unreadable", "error"), "doubt"),
}
"""By state, finding or outcome."""
COLOURS: Final[Mapping[Tone, str]] = {"": "", "good": "green", "bad": "red", "doubt": "yellow", "faint": "dim"}
"""On the terminal."""
