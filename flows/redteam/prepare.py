"""A red team before it runs, and the sessions that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.scenario.attack_target import ResolvedAttack, resolve_attack
from biasgrid.catalogs.scenario.targets import Given, Source, placed
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.rate_limits.caps import cap_mistakes
from biasgrid.flows.runs.prepare import Ready
from biasgrid.tasks.connectors.conversation.replaying_client import Participant
from biasgrid.tasks.connectors.keys import Secrets, missing_keys
from biasgrid.tasks.connectors.model_identity import fingerprint
from biasgrid.tasks.redteam.judge import JUDGEMENT_TOKENS
from biasgrid.tasks.redteam.plan import Attack, sessions
from biasgrid.tasks.redteam.session import Parties, Session

MESSAGE_TOKENS = 1_000
"""The longest message that an attacker may write."""


@dataclass(frozen=True)
class PreparedAttack(Ready):
    """A red team that can begin."""

    resolved: ResolvedAttack


SECTIONS = {
    "models": ("target", "--model"),
    "languages": ("target", "--language"),
    "strategies": ("redteam", "--strategy"),
    "attacker": ("redteam", "--attacker"),
    "judge": ("redteam", "--judge"),
    "pairs": ("redteam", "--pairs"),
    "axes": ("redteam", "--axis"),
    "sessions": ("redteam", "--sessions"),
    "turns": ("redteam", "--turns"),
    "seed": ("asking", "--seed"),
    "max_cost": ("asking", "--max-cost"),
    "max_requests": ("asking", "--max-requests"),
}
"""Where a target file has what may be given beside it, and by which option."""


def overrides(**given: Any) -> Given:
    """What was given, None aside, by its place in a target file."""
    return placed(SECTIONS, given)


def prepare_attack(source: Source, given: Given | None = None, secrets: Secrets | None = None) -> PreparedAttack:
    """Resolve a target file, check its models, keys and pairs. Raises UserError with all that is wrong."""

    def inspect(resolved: ResolvedAttack) -> Iterator[Problem]:
        yield from missing_keys(resolved.asked, secrets)
        yield from _unplayable(resolved)

    return PreparedAttack(resolve_attack(source, given, inspect), secrets)


def unsent(source: Source, given: Given | None = None) -> ResolvedAttack:
    """As `prepare_attack`, where nothing is sent: keys are not looked for."""
    return resolve_attack(source, given, _unplayable)


def _unplayable(resolved: ResolvedAttack) -> Iterator[Problem]:
    yield from cap_mistakes(resolved.asked, resolved.settings)
    if not any(True for _ in planned("unplanned", resolved)):
        what = "no attribute pair fits the target's languages, axes and sectors"
        yield Problem(what, "redteam.axes, target.sectors", "name other ones, or none")


def planned(run_id: str, resolved: ResolvedAttack) -> Iterator[tuple[Parties, list[Session]]]:
    """The sessions of a run, cell by cell, with who takes part in them."""
    judge, settings = resolved.judge, resolved.settings
    assert judge is not None  # noqa: S101 - a red team is not resolved without
    attack = Attack(resolved.file.target, resolved.file.redteam, settings.seed, resolved.attacker, judge)
    for target in resolved.targets.values():
        parties = _parties(resolved, target, judge)
        own = sessions(run_id, target, attack, resolved.catalog)
        for _, cell in groupby(own, key=lambda session: session.cell_id):
            yield parties, list(cell)


def _parties(resolved: ResolvedAttack, target: Target, judge: Target) -> Parties:
    settings, catalog = resolved.settings, resolved.catalog

    def party(model: Target, temperature: float | None, max_tokens: int | None) -> Participant:
        return Participant(model, fingerprint(model, catalog), temperature, max_tokens, settings.seed)

    return Parties(
        target=party(target, settings.temperature, settings.max_tokens),
        judge=party(judge, 0.0, JUDGEMENT_TOKENS),
        attacker=party(resolved.attacker, None, MESSAGE_TOKENS) if resolved.attacker else None,
    )
