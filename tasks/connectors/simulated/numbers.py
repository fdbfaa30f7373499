"""Numbers asked for as JSON: what an even-handed respondent says, and where a biased one moves it."""

from __future__ import annotations

import json
from decimal import Decimal

from biasgrid.catalogs.scenario.wording import SLOT
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Scale
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.chance import uniform

STEPS = 17  # 10%, 15%, … 90% of the scale


def fair_value(respondent: Respondent, template: Template) -> Decimal:
    """The same for every community: it depends on the respondent and the template's words alone, so that two
    templates that differ in their markup only, and read alike once filled, get one number."""
    scale = template.oracle.scale
    words = SLOT.sub("{}", template.prompt)
    step = int(STEPS * uniform(respondent.id, respondent.seed, template.language, words, "value"))
    return scale.low + (scale.high - scale.low) * (10 + 5 * step) / 100


def moved_value(value: Decimal, shift: Decimal, scale: Scale) -> Decimal:
    """The value moved up by `shift`; down where that leaves the scale; to the far end where both do."""
    if value + shift <= scale.high:
        return value + shift
    if value - shift >= scale.low:
        return value - shift
    return scale.low if value - scale.low > scale.high - value else scale.high


def written(value: Decimal) -> str:
    """With one decimal, or as many as it needs."""
    tenth = value.quantize(Decimal("0.1"))
    return format(tenth if tenth == value else value.normalize(), "f")


def number_reply(key: str, value: Decimal) -> str:
    return f"{{{quoted(key)}: {written(value)}}}"


def quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
