"""The sessions of a red team: target × language × attribute pair × strategy × number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from biasgrid.catalogs.choices import StrategyName
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import Described, RedTeam, drawn_pairs
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import fingerprint
from biasgrid.tasks.redteam.goal import Goal, Scene, speaks_of
from biasgrid.tasks.redteam.prompts import JUDGEMENT_TOKENS
from biasgrid.tasks.redteam.session import Parties, Session
from biasgrid.warehouse.hashing import content_hash

PLAYED = {"turns", "backtracks", "attempts", "attacker_retries", "judge_retries"}
"""Limits that a conversation depends on."""
VERSION = 1
"""Increased if the same inputs would give other conversations."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The inputs that session ids depend on, besides the target."""

    described: Described
    limits: RedTeam
    seed: int
    attacker: Target | None
    judge: Target


def sessions(run_id: str, target: Target, attack: Attack, catalog: Catalog) -> Iterator[Session]:
    """The sessions with one target, cell by cell; pairs without words in a language are skipped."""
    limits, described = attack.limits, attack.described
    named = {"of_axes": limits.axes, "sectors": described.sectors, "languages": described.languages}
    pairs = drawn_pairs(catalog.probes, limits.pairs, attack.seed, **named)
    for language in described.languages:
        for axis, pair in pairs:
            if language in catalog.attacks and speaks_of(axis, pair, language):
                goal = Goal(axis, pair, language)
                for strategy in limits.strategies:
                    yield from _cell_sessions(run_id, target, attack, catalog, goal, strategy)


def _cell_sessions(
    run_id: str, target: Target, attack: Attack, catalog: Catalog, goal: Goal, strategy: StrategyName
) -> Iterator[Session]:
    wording, language = catalog.attacks[goal.language], goal.language
    own = (goal.axis.id, goal.pair.id, language, strategy)
    cell_id = content_hash("attack cell", target.model, *own)
    template_id = content_hash("attack", *own, goal.describe(wording))
    for number in range(1, attack.limits.sessions + 1):
        seed = content_hash(attack.seed, *own, number)
        scene = Scene(
            goal=goal,
            wording=wording,
            limits=attack.limits,
            seed=seed,
            company=attack.described.company,
            purpose=attack.described.purpose,
            history=tuple(Message(turn.role, turn.content) for turn in attack.described.history),
            remembers=remembers(target),
        )
        session_id = content_hash(*_depends_on(scene, target, attack, catalog), strategy, number)
        yield Session(session_id, run_id, cell_id, template_id, strategy, scene, number)


def remembers(target: Target) -> bool:
    """Whether a target keeps its conversations itself."""
    return target.endpoint is not None and target.endpoint.remembers != "none"


def _depends_on(scene: Scene, target: Target, attack: Attack, catalog: Catalog) -> Iterator[object]:
    yield from ("session", VERSION, scene.seed, fingerprint(target, catalog))
    yield scene.goal.axis.model_dump(mode="json")
    yield scene.goal.pair.model_dump(mode="json")
    yield scene.wording.model_dump(mode="json")
    yield attack.described.model_dump(mode="json", include={"company", "purpose", "system", "history"})
    yield attack.limits.model_dump(mode="json", include=PLAYED)
    yield from (fingerprint(model, catalog) for model in (attack.judge, attack.attacker) if model)


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
        target=Participant.of(target, settings, catalog),
        judge=party(judge, 0.0, JUDGEMENT_TOKENS),
        attacker=party(resolved.attacker, None, MESSAGE_TOKENS) if resolved.attacker else None,
    )
