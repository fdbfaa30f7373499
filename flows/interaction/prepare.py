"""Plans the plays of an interaction before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.connectors.rows import fingerprint
from biasgrid.tasks.interaction.plan import Player, plays
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.understanding import UNDERSTANDING, understandings


def players(resolved: ResolvedInteraction) -> Iterator[Player]:
    """Players by model, then the casts."""
    for name, targets in resolved.players.items():
        parties = tuple(_party(target, resolved) for target in targets)
        yield Player(name, parties, resolved.file.interaction.tuned.get(name))


def _party(target: Target, resolved: ResolvedInteraction) -> Participant:
    settings = resolved.settings
    own = (settings.temperature, settings.max_tokens, settings.seed)
    return Participant(target, fingerprint(target, resolved.catalog), *own)


def plan_by_cell(run_id: str, resolved: ResolvedInteraction) -> Iterator[list[Play]]:
    """Plays of a run, cell by cell."""
    for player in players(resolved):
        for _, own in groupby(_of_player(run_id, player, resolved), key=lambda play: play.cell_id):
            yield list(own)


def _of_player(run_id: str, player: Player, resolved: ResolvedInteraction) -> Iterator[Play]:
    yield from plays(run_id, player, resolved)
    if UNDERSTANDING in resolved.file.interaction.settings:
        yield from understandings(run_id, player, resolved)
