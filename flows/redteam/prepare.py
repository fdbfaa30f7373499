"""Plans the sessions of a red team before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import fingerprint
from biasgrid.tasks.redteam.plan import Attack, sessions
from biasgrid.tasks.redteam.prompts import JUDGEMENT_TOKENS
from biasgrid.tasks.redteam.session import Parties, Session

MESSAGE_TOKENS = 1_000
"""Maximum tokens of an attacker message."""


def plan_by_cell(run_id: str, resolved: ResolvedAttack) -> Iterator[tuple[Parties, list[Session]]]:
    """Sessions of a run by cell, with the models in each role."""
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
