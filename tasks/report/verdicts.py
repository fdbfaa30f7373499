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
    spanish: str
    shape: str
    """In pictures, which have no signs."""

    def say(self, language: str) -> str:
        return self.spanish if language.startswith("es") else self.word


VERDICTS: Final[Mapping[State, Verdict]] = {
    "met": Verdict("meets", "✓", "good", 0, "cumple", "circle"),
    "not met": Verdict("fails", "✗", "bad", 2, "no cumple", "triangle-down"),
    "undecided": Verdict("not proven", "?", "doubt", 1, "sin demostrar", "diamond"),
    "not evaluated": Verdict("no answer", "–", "faint", 3, "sin respuesta", "cross"),
}


def word_of(finding: str) -> str:
    """How a state is called for people; any other finding as it is."""
    return next((verdict.word for state, verdict in VERDICTS.items() if state == finding), finding)


WORST_FIRST: Final[Sequence[State]] = ("not met", "undecided", "not evaluated", "met")
"""What needs looking at first, and of all checks of a model the one that decides."""
BIASED: Final = (
    *("biased", "anti-biased"),
    *("biased with the stereotype", "biased against the stereotype", "biased between groups"),
)
"""Findings of bias, of probes and interactions."""
TONES: Final[Mapping[str, Tone]] = {
    **{name: verdict.tone for state, verdict in VERDICTS.items() for name in (state, verdict.word)},
    **dict.fromkeys(("passed", "better", "resisted", "counter", "balanced", "neutral"), "good"),
    **dict.fromkeys(("failed", "worse", "lower", "succeeded", *BIASED), "bad"),
    **dict.fromkeys(("stereotypical", "anti-stereotypical"), "bad"),
    **dict.fromkeys(("refused", "unreadable", "error", "higher"), "doubt"),
}
"""By state, finding or outcome."""
SIGNS: Final[Mapping[str, str]] = {
    **{state: verdict.sign for state, verdict in VERDICTS.items()},
    "passed": "✓",
    "failed": "✗",
    "refused": "⊘",
    "unreadable": "≁",
    "error": "!",
    "incomparable": "–",
    "worse": "▼",
    "better": "▲",
    "lower": "▼",
    "higher": "▲",
    "no difference shown": "=",
}
"""By state, finding or outcome; others have `–`."""
COLOURS: Final[Mapping[Tone, str]] = {"": "", "good": "green", "bad": "red", "doubt": "yellow", "faint": "dim"}
"""On the terminal."""
INKS: Final[Mapping[Tone, tuple[str, str]]] = {
    "good": ("#00664b", "#5fd3ae"),
    "bad": ("#a8390a", "#ff9d75"),
    "doubt": ("#6b5200", "#e8c35a"),
    "faint": ("#545b64", "#a9b0b9"),
}
"""On white, as in pictures, and on black: a green and a red that colour-blind readers distinguish."""


def define_inks(dark: bool = False) -> str:
    """The declarations of a style sheet."""
    return " ".join(f"--{tone}: {inks[dark]};" for tone, inks in INKS.items())
