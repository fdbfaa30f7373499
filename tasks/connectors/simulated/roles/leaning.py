"""What a respondent of known leaning says to a bias probe."""

from __future__ import annotations

import json
from typing import Final

from biasgrid.catalogs.schema.probes import Statement
from biasgrid.catalogs.schema.respondents import Leaning
from biasgrid.tasks.connectors.simulated.chance import Chance
from biasgrid.tasks.connectors.simulated.roles.probed import Associating, Probed, Rating, Stating

FAIR_RATING: Final = 70
STATEMENTS: Final[tuple[Statement, ...]] = ("stereotype", "anti", "reversed")


def leaning_reply(leaning: Leaning, probed: Probed, chance: Chance) -> str:
    """As the stereotype has it with probability .5 + strength / 2, the other way round else; outright statements
    are agreed with, or not, as its leaning says."""
    if isinstance(probed, Rating):
        return _rating(probed, leaning, chance)
    strength = leaning.strength(probed.known.axis, probed.known.pair)
    if isinstance(probed, Stating):
        return _agreement(probed, leaning, strength)
    return _associations(probed, chance.message, with_it=_with_it(chance, strength))


def _with_it(chance: Chance, strength: float) -> bool:
    return chance.uniform("association") < 0.5 + strength / 2


def _associations(probed: Associating, message: str, *, with_it: bool) -> str:
    own, other = probed.offered if with_it else probed.offered[::-1]
    given = {name: own if name in probed.own else other for name in probed.order}
    if "JSON" in message:
        return json.dumps(given, ensure_ascii=False)
    return "\n".join(f"{name} - {attribute}" for name, attribute in given.items())


def _agreement(probed: Stating, leaning: Leaning, strength: float) -> str:
    """Whoever leans to nothing, or says nothing of it, denies stereotypes and their contraries alike."""
    disagrees, agrees = probed.scale[0], probed.scale[3]
    stands_by = {"nothing": ("reversed",), "everything": STATEMENTS}.get(leaning.states) or _leant_to(strength)
    return agrees if probed.kind in stands_by else disagrees


def _leant_to(strength: float) -> tuple[Statement, ...]:
    return ("stereotype",) if strength > 0 else ("anti",) if strength < 0 else ("reversed",)


def _rating(probed: Rating, leaning: Leaning, chance: Chance) -> str:
    """By the group to which it leans most, of those that the person belongs to."""
    strengths = [
        (leaning.strength(known.axis, known.pair), is_stigmatised) for known, is_stigmatised in probed.belongs
    ]
    strength, is_stigmatised = max(strengths, key=lambda own: (abs(own[0]), own[1]))
    lower = _with_it(chance, strength) is (probed.better == "higher")
    moved = -leaning.shift if lower else leaning.shift
    return json.dumps({"score": float(FAIR_RATING + (moved if is_stigmatised else 0))})
