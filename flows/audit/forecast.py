"""Estimates requests, tokens, cost, time and power of an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Final

import polars as pl

from biasgrid.catalogs.audit.audit_file import Auditing
from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.flows.forecast.reply_estimates import observed_replies
from biasgrid.flows.forecast.totals import Forecast, OfWhole, forecast_prompts, leave_out, without_answered
from biasgrid.tasks.audit.prompts import list_prompts

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake

POINTS: Final = (2, 3, 5)
"""Differences whose detection is planned."""
QUANTILES: Final = 1.96 + 0.8416
"""Of a two-sided test at 5% with power .8."""
ONE_SIDED: Final = 1.645
"""Of a 90% interval."""
T_FACTOR: Final = 1.15
EQUALITY_FACTOR: Final = 1.3
"""Student's t with few clusters, and a variance that is the larger of two ways, need so much more than the normal
distribution; `tests/performance/audit_power.py` measures both."""


@dataclass(frozen=True, slots=True)
class AuditForecast(OfWhole):
    """Forecast of all decisions, and what they can show."""

    whole: Forecast
    pairs: int
    """Of decisions, in each comparison."""
    documents: int
    needed: dict[int, int]
    """By points of difference: documents that show it with power .8. Empty of scores."""
    discordance: float
    """Share of pairs that is assumed to differ by chance."""
    needed_for_equality: int | None
    """Documents that show a fair system to be within the margin with power .8; None without one."""


def documents_needed(points: float, identities: int, discordance: float) -> int:
    """Documents for power .8 to show a difference, two-sided at 5%, of selections that differ by chance in a share
    `discordance` of pairs."""
    variance = discordance - (points / 100) ** 2
    pairs = (QUANTILES * T_FACTOR * sqrt(max(variance, 0.0)) / (points / 100)) ** 2
    return ceil(pairs / identities)


def documents_for_equality(margin: float, identities: int, discordance: float) -> int:
    """Documents for power .8 to show that selections of a fair system are no more than `margin` points apart.

    Its 90% interval is then no wider than the margin, and a share of documents as large as that is not missed.
    """
    share = min(margin / 100, 0.99)
    pairs = discordance * (2 * ONE_SIDED * EQUALITY_FACTOR / share) ** 2
    return ceil(max(pairs / identities, log(0.05) / log(1 - share)))


def forecast(resolved: ResolvedAudit, lake: Lake | None = None, *, brief: bool = False) -> AuditForecast:
    """Forecast of a checked audit with reply lengths from `lake`; `brief`: without a tokenizer."""
    settings, targets = resolved.settings, list(resolved.targets.values())
    observed = observed_replies(lake, targets, settings.max_tokens) if lake else {}
    asked = _frame(resolved)
    cells = (
        asked.group_by(["design", "signal", "group"], maintain_order=True)
        .agg(pl.len().alias("decisions"))
        .to_dicts()
    )
    whole = forecast_prompts(asked, cells, resolved, observed, brief=brief)
    named = ((f"{cell['design']} · {cell['signal']} · {cell['group']}", cell["decisions"]) for cell in cells)
    pairs, documents = resolved.audit.pairs, len(resolved.documents)
    needed, equality = _documents(resolved.audit)
    chance = resolved.audit.discordance
    return AuditForecast(leave_out(whole, named, settings), pairs * documents, documents, needed, chance, equality)


def _documents(audit: Auditing) -> tuple[dict[int, int], int | None]:
    """Documents by points of a difference, and those for equality; none of scores, whose spread is unknown."""
    if audit.decision.kind == "score":
        return {}, None
    given = audit.pairs, audit.discordance
    needed = {points: documents_needed(points, *given) for points in POINTS}
    return needed, None if audit.margin is None else documents_for_equality(audit.margin, *given)


def forecast_rest(resolved: ResolvedAudit, lake: Lake, run_id: str) -> AuditForecast:
    """Forecast less stored replies of a resumed run."""
    expected = forecast(resolved, lake, brief=True)
    left = without_answered(expected.whole, lake.scan("responses", run_id))
    return replace(expected, whole=left)


def _frame(resolved: ResolvedAudit) -> pl.DataFrame:
    """One row per prompt and repeat, its text preceded by the system message."""
    concern = next(iter(resolved.concerns))
    before = f"{resolved.audit.system}\n" if resolved.audit.system else ""
    rows = [
        (prompt.design, prompt.signal, prompt.group, concern, concern, prompt.signal, repeat, before + prompt.text)
        for prompt in list_prompts(resolved)
        for repeat in range(resolved.audit.repeats)
    ]
    names = ("design", "signal", "group", "concern", "pair", "input", "sample", "text")
    kinds = {name: pl.Int64 if name == "sample" else pl.String for name in names}
    return pl.DataFrame(rows, schema=kinds, orient="row")
