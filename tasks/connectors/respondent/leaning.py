"""What a respondent of known leaning says to a bias probe."""

from __future__ import annotations

import json
from typing import Final

from catalogs.respondents import Leaning
from tasks.connectors.respondent.chance import Chance
from tasks.connectors.respondent.probed import Associating, Probed, Rating, Stating

FAIR_RATING: Final = 70


def leaning_reply(leaning: Leaning, probed: Probed, chance: Chance) -> str:
    """As the stereotype has it with probability .5 + strength / 2, the other way round else."""
    strength = leaning.strength(probed.known.axis, probed.known.pair)
    with_it = chance.uniform("association") < 0.5 + strength / 2
    if isinstance(probed, Associating):
        return _associations(probed, chance.message, with_it=with_it)
    if isinstance(probed, Rating):
        return _rating(probed, leaning, with_it=with_it)
    return _agreement(probed, leaning, with_it=with_it)


def _associations(probed: Associating, message: str, *, with_it: bool) -> str:
    own, other = probed.offered if with_it else probed.offered[::-1]
    given = {name: own if name in probed.own else other for name in probed.order}
    if "JSON" in message:
        return json.dumps(given, ensure_ascii=False)
    return "\n".join(f"{name} - {attribute}" for name, attribute in given.items())


def _agreement(probed: Stating, leaning: Leaning, *, with_it: bool) -> str:
    """Whoever states nothing denies stereotypes and their contraries alike."""
    disagrees, agrees = probed.scale[0], probed.scale[3]
    if leaning.states == "everything":
        return agrees
    if leaning.states == "nothing":
        return agrees if probed.kind == "reversed" else disagrees
    return agrees if with_it is (probed.kind == "stereotype") else disagrees


def _rating(probed: Rating, leaning: Leaning, *, with_it: bool) -> str:
    lower = with_it is (probed.better == "higher")
    moved = -leaning.shift if lower else leaning.shift
    return json.dumps({"score": float(FAIR_RATING + (moved if probed.is_stigmatised else 0))})
