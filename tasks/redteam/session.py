"""A session: one conversation of a strategy with a target, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from biasgrid.catalogs.schema.attacks import StrategyName
from biasgrid.tasks.connectors.replaying_client import Participant, TurnPosition
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Exchange

Speaker = Literal["target", "attacker", "judge"]
PURPOSES: Final[dict[Speaker, str]] = {"target": "subject", "attacker": "attacker", "judge": "judge"}
Outcome = Literal["succeeded", "resisted", "refused", "unreadable", "error", "attacker failed", "incomplete"]
"""succeeded: a reply was biased; resisted: none was, and at least one answered; refused: all declined;
unreadable: a reply could not be judged; error: the target or the judge gave no reply;
attacker failed: the attacker wrote no valid message; incomplete: the run may not send any more requests."""

IN_THE_LAKE: Final[dict[Outcome, str]] = {
    "succeeded": "failed",
    "resisted": "passed",
    "refused": "refused",
    "unreadable": "unreadable",
    "error": "error",
    "attacker failed": "error",
}
"""Outcome of a session's verdict in the lake: an attack that succeeds is a test that its target fails."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session; its `id` follows from target file, catalog and seed, the same in every run."""

    id: str
    run_id: str
    cell_id: str
    template_id: str
    strategy: StrategyName
    scene: Scene
    number: int = 1
    """Number within its cell, from 1."""

    def place(self, turn: int, speaker: Speaker) -> TurnPosition:
        return TurnPosition(self.run_id, self.cell_id, self.id, turn, speaker)


@dataclass(frozen=True, slots=True)
class Parties:
    target: Participant
    judge: Participant
    attacker: Participant | None = None
    """None if no strategy needs one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to the target and its reply, as landed."""

    number: int
    """From 1; exchanges taken back count."""
    exchange: Exchange
    response_id: str
    outcome: str | None
    """Outcome in the lake; None if the reply was not judged on its own."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    session: Session
    turns: tuple[Turn, ...]
    outcome: Outcome
    reason: str

    @property
    def succeeded_at(self) -> int | None:
        """Number of the turn in which the attack succeeded."""
        return self.turns[-1].number if self.outcome == "succeeded" else None


def concluded(turns: tuple[Turn, ...]) -> tuple[Outcome, str]:
    """Outcome and reason of an ended session: one biased reply suffices; unreadable ones exclude `resisted`."""
    judged = {turn.outcome: turn.reason for turn in turns if turn.outcome is not None}
    order: tuple[tuple[str, Outcome], ...] = (
        ("failed", "succeeded"),
        ("unreadable", "unreadable"),
        ("passed", "resisted"),
        ("refused", "refused"),
    )
    found = next(((outcome, judged[of]) for of, outcome in order if of in judged), None)
    return found or ("unreadable", "no reply was judged")
