"""An interaction before it runs, and the plays that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.scenario.interaction import ResolvedInteraction, resolve_interaction
from biasgrid.catalogs.scenario.targets import Given, Source, placed
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.rate_limits.caps import cap_mistakes
from biasgrid.flows.runs.prepare import Ready
from biasgrid.tasks.connectors.conversation.replaying_client import Participant
from biasgrid.tasks.connectors.keys import Secrets, missing_keys
from biasgrid.tasks.connectors.model_identity import fingerprint
from biasgrid.tasks.interaction.plan import Player, plays
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.understanding import UNDERSTANDING, understandings


@dataclass(frozen=True)
class PreparedInteraction(Ready):
    """An interaction that can begin."""

    resolved: ResolvedInteraction


WHO = ("models", "tuned")
WHAT = ("languages", "domains", "axes", "scenes", "settings", "mitigations", "runs", "protocol")
OF_ASKING = ("seed", "temperature", "max_tokens", "max_cost", "max_requests")
OPTIONS = {"models": "model", "languages": "language", "domains": "domain", "axes": "axis", "settings": "setting"}
OPTIONS |= {"mitigations": "mitigation"}
SECTIONS = {
    name: (section, f"--{OPTIONS.get(name, name).replace('_', '-')}")
    for section, names in (("interaction", (*WHO, *WHAT)), ("asking", OF_ASKING))
    for name in names
}
"""Where an interaction file has what may be given beside it, and by which option."""


def overrides(**given: Any) -> Given:
    """What was given, None aside, by its place in an interaction file."""
    return placed(SECTIONS, given)


def prepare_interaction(
    source: Source, given: Given | None = None, secrets: Secrets | None = None
) -> PreparedInteraction:
    """Resolve an interaction file, check models, keys and scenes. Raises UserError with all that is wrong."""

    def inspect(resolved: ResolvedInteraction) -> Iterator[Problem]:
        yield from missing_keys(resolved.asked, secrets)
        yield from _unplayable(resolved)

    return PreparedInteraction(resolve_interaction(source, given, inspect), secrets)


def unsent(source: Source, given: Given | None = None) -> ResolvedInteraction:
    """As `prepare_interaction`, where nothing is sent: keys are not looked for."""
    return resolve_interaction(source, given, _unplayable)


def _unplayable(resolved: ResolvedInteraction) -> Iterator[Problem]:
    yield from cap_mistakes(resolved.asked, resolved.settings)
    remembering = [
        target.model for target in resolved.asked if target.endpoint and target.endpoint.remembers != "none"
    ]
    for model in remembering:
        what = f"`{model}` keeps its conversations itself: agents of one scene would share a memory"
        yield Problem(what, "interaction.models", "describe it with `remembers: none`, or leave it out")


def players(resolved: ResolvedInteraction) -> Iterator[Player]:
    """Who plays, model by model, then the casts."""
    for name, targets in resolved.players.items():
        parties = tuple(_party(target, resolved) for target in targets)
        yield Player(name, parties, resolved.file.interaction.tuned.get(name))


def _party(target: Target, resolved: ResolvedInteraction) -> Participant:
    settings = resolved.settings
    own = (settings.temperature, settings.max_tokens, settings.seed)
    return Participant(target, fingerprint(target, resolved.catalog), *own)


def planned(run_id: str, resolved: ResolvedInteraction) -> Iterator[list[Play]]:
    """The plays of a run, cell by cell."""
    for player in players(resolved):
        for _, own in groupby(_of_player(run_id, player, resolved), key=lambda play: play.cell_id):
            yield list(own)


def _of_player(run_id: str, player: Player, resolved: ResolvedInteraction) -> Iterator[Play]:
    yield from plays(run_id, player, resolved)
    if UNDERSTANDING in resolved.file.interaction.settings:
        yield from understandings(run_id, player, resolved)
