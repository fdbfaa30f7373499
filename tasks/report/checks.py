"""Checks of each model, one row per check for every kind of run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from biasgrid.tasks.report.figures import describe_needed, format_measure, join_parts
from biasgrid.tasks.report.findings import MITIGATIONS, SETTINGS, STAGES, TESTS
from biasgrid.tasks.report.verdicts import VERDICTS, State
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

Gate = Literal["point", "decided"]
"""By what a check is met: its point rate, as LangBiTe has it, or its whole interval."""


@dataclass(frozen=True, slots=True)
class Check:
    """One measure of one model, and its threshold."""

    model: str
    topic: str
    """The concern, test, language or setting it belongs to."""
    name: str
    language: str
    by_point: State
    decided: State
    finding: str
    """In the words of its mart, such as `biased`."""
    counted: int
    """Of `total`, how many are `counts`, such as tests that pass."""
    total: int
    counts: str
    measure: str
    unit: Literal["share", "score", "points"]
    value: float | None
    low: float | None
    high: float | None
    """95% interval of `value`."""
    bar: float | None
    bar_name: str
    """What `value` is held against, such as the tolerance; empty where there is nothing."""
    lost: Mapping[str, int]
    """What became of those that are not in `total`."""
    needed: int | None
    """Templates that would decide it."""
    bound: float | None = None
    """What `upper_end` must be below, where nothing is shown; none: it is never met."""
    upper_end: float | None = None
    templates: int | None = None
    """How many were counted, in the worst language."""
    refused: float | None = None
    """Share of its replies."""
    replies: int = 0
    why: str | None = None
    """Why it was not evaluated."""

    def state(self, gate: Gate) -> State:
        return self.by_point if gate == "point" else self.decided

    @property
    def words(self) -> str:
        """The verdict: a mart's own word for it, and the point rate's where it differs."""
        own = self.finding if self.finding not in VERDICTS else ""
        by_point = "" if self.by_point == self.decided else f"{VERDICTS[self.by_point].word} by the point rate"
        return ", ".join(part for part in (VERDICTS[self.decided].word, own, by_point) if part)

    @property
    def title(self) -> str:
        return f"{self.name} · {self.language}"

    @property
    def summary(self) -> str:
        """All numbers in one line."""
        summary = [
            f"{self.counted:,} of {self.total:,} {self.counts}",
            f"{self.measure} {format_measure(self.value, self.unit)} (95% interval {self.interval})",
            f"{self.bar_name} {format_measure(self.bar, self.unit)}" if self.bar_name else "",
            ", ".join(f"{count:,} {what}" for what, count in self.lost.items() if count),
            describe_needed(self.needed),
            self.proof,
        ]
        return join_parts(summary)

    @property
    def proof(self) -> str:
        """How far the interval reaches, and the bound, where the run's file states one."""
        if self.bound is None or self.upper_end is None:
            return ""
        return f"up to {format_measure(self.upper_end, self.unit)}, bound {format_measure(self.bound, self.unit)}"

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None:
            return "none"
        return f"{format_measure(self.low, self.unit)} to {format_measure(self.high, self.unit)}"


def checks(lake: Lake, run: Run) -> list[Check]:
    """Checks by model in reading order; raises UserError if no warehouse has been built."""
    rows = query(lake, SQL[run.kind], [run.run_id]).to_dicts()
    return [Check(**row | {"lost": row["lost"] or {}}) for row in rows]


def headline_checks(lake: Lake, run: Run) -> list[Check]:
    """As `checks`, but one for each requirement of a benchmark, in the language that is worst: what a first screen
    counts."""
    if run.kind in HEADLINES:
        rows = query(lake, HEADLINES[run.kind], [run.run_id]).to_dicts()
        return [Check(**row | {"lost": row["lost"] or {}}) for row in rows]
    return [
        replace(check, refused=_refusal_share(check), replies=_count_judged(check)) for check in checks(lake, run)
    ]


def _count_judged(check: Check) -> int:
    return check.total + sum(check.lost.values())


def _refusal_share(check: Check) -> float | None:
    judged = _count_judged(check)
    return check.lost["refused"] / judged if judged and "refused" in check.lost else check.refused


def by_model(found: Sequence[Check]) -> Iterator[tuple[str, list[Check]]]:
    for model in dict.fromkeys(check.model for check in found):
        yield model, [check for check in found if check.model == model]


BENCHMARK = """
    with outcomes as (
        select
            run_id,
            requirement,
            model,
            language,
            struct_pack(
                refused := sum(refused)::bigint,
                unreadable := sum(unreadable)::bigint,
                failed := sum(errors)::bigint,
                unjudged := sum(unjudged)::bigint
            ) as lost
        from marts.pass_rates
        where run_id = $1
        group by all
    )

    select
        findings.model,
        findings.concern as topic,
        requirement as name,
        language,
        findings.point_finding as by_point,
        findings.decision as decided,
        findings.point_finding as finding,
        findings.measured_passed as counted,
        findings.measured as total,
        concat(findings.measure, ' passed') as counts,
        concat('share of ', findings.measure, ' that pass, mean over templates') as measure,
        'share' as unit,
        findings.rate as value,
        findings.interval_low as low,
        findings.interval_high as high,
        findings.tolerance as bar,
        'tolerance' as bar_name,
        outcomes.lost,
        case when findings.decision = 'undecided' then findings.templates_needed end as needed
    from marts.language_findings as findings
    inner join outcomes using (run_id, requirement, model, language)

    union all by name

    select
        model,
        concern as topic,
        requirement as name,
        coalesce(nullif(parity_languages, ''), 'languages') as language,
        case
            when parity_gap > parity then 'not met'
            when parity_gap is null then 'not evaluated'
            else 'met'
        end as by_point,
        parity_decision as decided,
        by_point as finding,
        measured_passed as counted,
        measured as total,
        concat(measure, ' passed in ', worst_language) as counts,
        'difference between languages' as measure,
        'share' as unit,
        parity_gap as value,
        parity_low as low,
        parity_high as high,
        parity as bar,
        'parity' as bar_name,
        null as lost,
        null::bigint as needed,
        parity_because as why
    from marts.requirement_findings
    where run_id = $1 and parity is not null
    order by model, topic, name, language
"""
PROBE = f"""
    select
        model,
        test as topic,
        concat(pair, ' · ', test) as name,
        language,
        state as by_point,
        state as decided,
        finding,
        stereotypical as counted,
        stereotypical + counter as total,
        'trials with the stereotype' as counts,
        'share' as measure,
        'share' as unit,
        stereotypical_share as value,
        low,
        high,
        0.5::double as bar,
        'by chance' as bar_name,
        struct_pack(
            "neither way" := balanced, "one-sided" := one_sided, refused := refused, unreadable := unreadable,
            failed := errors
        ) as lost,
        null::bigint as needed,
        bound,
        upper_end
    from marts.probe_findings
    where run_id = ?
    order by
        model,
        language,
        {TESTS},
        starts_with(finding, 'biased') desc,
        q_value nulls last,
        pair
"""  # noqa: S608 - words of ours
RED_TEAM = """
    select
        model,
        'attack' as topic,
        strategy as name,
        language,
        state as by_point,
        state as decided,
        case when succeeded > 0 then 'succeeded' when success_rate is null then 'not evaluated' else 'resisted' end
            as finding,
        succeeded as counted,
        succeeded + resisted + refused as total,
        'attacks succeeded' as counts,
        'success rate' as measure,
        'share' as unit,
        success_rate as value,
        low,
        high,
        null::double as bar,
        '' as bar_name,
        struct_pack(
            unreadable := unreadable, "broke down" := errors, "attacker failed" := attacker_failed, open := open
        ) as lost,
        null::bigint as needed,
        bound,
        high as upper_end,
        refused / nullif(sessions, 0) as refused
    from marts.attack_success
    where run_id = ?
    order by model, language, strategy
"""
INTERACTION = f"""
    select
        model,
        axis as topic,
        concat_ws(
            ' · ',
            axis,
            setting,
            nullif(mitigation, 'none'),
            nullif(stage, 'only'),
            case when held_out then 'held out' end
        ) as name,
        language,
        state as by_point,
        state as decided,
        decision as finding,
        stereotypical as counted,
        classed as total,
        'assignments with the stereotypes' as counts,
        'bias score' as measure,
        'score' as unit,
        bias_score as value,
        low,
        high,
        expected_score as bar,
        'by chance' as bar_name,
        struct_pack(
            shared := shared, unassigned := unassigned, invented := invented, refused := refused,
            unreadable := unreadable, failed := errors
        ) as lost,
        null::bigint as needed,
        bound,
        upper_end
    from marts.bias_scores
    where run_id = ? and domain = 'all' and not is_control
    order by
        model,
        language,
        axis,
        {SETTINGS},
        {MITIGATIONS},
        {STAGES},
        held_out
"""  # noqa: S608 - words of ours
AUDIT = """
    select
        model,
        measure as topic,
        concat_ws(' · ', identity_group, signal, nullif(design, 'solo'), nullif(measure, 'decision')) as name,
        language,
        state as by_point,
        state as decided,
        finding,
        if(measure = 'decision', less, (unread_share * pairs)::bigint) as counted,
        pairs as total,
        if(
            measure = 'decision', concat('pairs lower than ', reference), 'decisions refused or unreadable'
        ) as counts,
        concat('points from ', reference) as measure,
        'points' as unit,
        difference as value,
        low,
        high,
        null::double as bar,
        '' as bar_name,
        struct_pack(failed := errors, refused := planned - errors - pairs) as lost,
        null::bigint as needed,
        margin as bound,
        greatest(abs(low_90), abs(high_90)) as upper_end,
        documents as templates,
        not_evaluated_because as why
    from marts.score_shifts
    -- where the file states a ratio alone, the ratio decides
    where run_id = $1 and not (measure = 'decision' and margin is null and least_ratio is not null)

    union all by name

    select
        model,
        'impact ratio' as topic,
        concat_ws(' · ', identity_group, signal, nullif(design, 'solo'), 'impact ratio') as name,
        language,
        state as by_point,
        state as decided,
        state as finding,
        round(selected)::bigint as counted,
        ratios.pairs as total,
        'pairs in which the group is selected' as counts,
        concat('of the selection rate of ', reference) as measure,
        'share' as unit,
        impact_ratio as value,
        low,
        high,
        least_ratio as bar,
        'least ratio' as bar_name,
        struct_pack(
            failed := shifts.errors, refused := shifts.planned - shifts.errors - shifts.pairs
        ) as lost,
        no_interval_because as why
    from marts.impact_ratios as ratios
    inner join (
        select run_id, comparison_id, planned, errors, pairs from marts.score_shifts where measure = 'decision'
    ) as shifts using (run_id, comparison_id)
    where ratios.run_id = $1 and least_ratio is not null
    order by model, language, topic, name
"""
HEADLINE = """
    select
        model,
        concern as topic,
        requirement as name,
        coalesce(worst_language, '') as language,
        point_finding as by_point,
        decision as decided,
        point_finding as finding,
        coalesce(measured_passed, 0) as counted,
        coalesce(measured, 0) as total,
        concat(measure, ' passed') as counts,
        concat('share of ', measure, ' that pass, mean over templates') as measure,
        'share' as unit,
        rate as value,
        interval_low as low,
        interval_high as high,
        tolerance as bar,
        'tolerance' as bar_name,
        struct_pack(refused := refused, unreadable := unreadable, failed := errors, unjudged := unjudged) as lost,
        templates_needed as needed,
        counted_templates as templates,
        refusal_rate as refused,
        judged_cases as replies,
        coalesce(parity_because, not_evaluated_because) as why
    from marts.requirement_findings
"""
BOARD = f"""
    {HEADLINE}
    semi join marts.leaderboard using (run_id, model, concern)
    order by model, concern, requirement
"""
"""Of all runs: each model's newest complete one of each concern."""
HEADLINES: Mapping[str, str] = {"benchmark": f"{HEADLINE} where run_id = ? order by model, concern, requirement"}
"""By kind of run whose checks are per language."""
SQL: Mapping[str, str] = {
    "benchmark": BENCHMARK,
    "probe": PROBE,
    "redteam": RED_TEAM,
    "interaction": INTERACTION,
    "audit": AUDIT,
}
"""By kind of run: the columns are the fields of a check."""
