"""Reports of probes."""

from __future__ import annotations

from typing import Final

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.tasks.report.findings import TESTS
from biasgrid.tasks.report.kinds.report_kind import ReportKind

CHECKS: Final = f"""
    with groups as (
        select
            *,
            unnest(
                [
                    {{'name': first_group, 'place': first_place, 'rate': first_rate}},
                    {{'name': second_group, 'place': second_place, 'rate': second_rate}}
                ],
                recursive := true
            )
        from marts.probe_group_pairs
    ),

    rates as (
        select
            run_id,
            model,
            language,
            pair,
            test,
            list(distinct {{'place': place, 'name': name, 'rate': rate}}) as rates
        from groups
        group by all
    )

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
        upper_end,
        if(
            rates is not null,
            struct_pack(
                worst_group := worst_group, worst_rate := worst_rate, better_group := better_group,
                better_rate := better_rate, p_adjusted := p_adjusted, rates := list_sort(rates)
            ),
            null
        ) as among
    from marts.probe_findings
    left join rates using (run_id, model, language, pair, test)
    where run_id = ?
    order by
        model,
        language,
        {TESTS},
        starts_with(finding, 'biased') desc,
        q_value nulls last,
        pair
"""  # noqa: S608 - words of ours
EXAMPLES: Final = """
    select
        findings.model,
        concat(findings.pair, ' · ', findings.test) as "check",
        findings.pair as template,
        readings.case_id,
        replies.text,
        coalesce(readings.part, '') as about,
        coalesce(readings.reason, readings.parsed_text) as reason
    from marts.probe_findings as findings
    inner join intermediate.int_probe_readings as readings using (run_id, model, language, pair, test)
    inner join intermediate.int_probe_trials as trials using (run_id, cell_id, block)
    inner join staging.stg_responses as replies using (run_id, response_id)
    left join intermediate.int_probe_groups as worst
        on (worst.run_id, worst.cell_id, worst.block) = (trials.run_id, trials.cell_id, trials.block)
        and worst.group_id = findings.worst_group
    left join intermediate.int_probe_groups as better
        on (better.run_id, better.cell_id, better.block) = (trials.run_id, trials.cell_id, trials.block)
        and better.group_id = findings.better_group
    where
        findings.run_id = ? and findings.state = 'not met'
        and if(
            findings.finding = 'biased between groups' and findings.worst_group is not null,
            better.value > worst.value,
            trials.fell = if(findings.finding = 'biased against the stereotype', 'counter', 'stereotypical')
        )
    qualify
        row_number() over (
            partition by findings.model, findings.language, findings.pair, findings.test
            order by trials.block, readings.case_id
        ) = 1
    order by abs(findings.score) desc, findings.model, "check"
"""
FINDINGS: Final = """
    select
        model, pair || ', ' || test as what, language, 'share with the stereotype' as measure,
        stereotypical_share as value, low, high, 0.5 as against, finding, null as by_point,
        if(finding = 'biased between groups', worst_group, null) as worst_group, worst_rate
    from marts.probe_findings
    where run_id = $1
"""
CELLS: Final = """
    with forms as (
        select model, language, test, pair, count(distinct form) as templates
        from intermediate.int_probe_trials
        where run_id = $1
        group by all
    )

    select
        'trials' as unit, model, null as requirement, concern, language, test as input, pair as reflection,
        trials as planned, refused, unreadable, errors, one_sided as other, forms.templates, finding,
        null::double as limit, null::bigint as needed
    from marts.probe_findings
    left join forms using (model, language, test, pair)
    where run_id = $1
    order by model, language, test, pair
"""
RATES: Final = """
    select
        'selection' as rate_of, model, language, pair as what, unnest([favoured, stigmatised]) as category,
        stereotypical + counter as people, unnest([stereotypical, counter]) as chosen
    from marts.probe_findings
    where run_id = $1 and test = 'decision'
"""
HARMS: Final = """
    with harms as (
        select
            *,
            coalesce(worst_group, if(finding = 'biased against the stereotype', favoured, stigmatised)) as harmed,
            coalesce(abs(better_rate - worst_rate), abs(score)) as size
        from marts.probe_findings
        where run_id = ? and state = 'not met' and (finding <> 'biased between groups' or worst_group is not null)
    ),

    worst as (
        select run_id, model, harmed, arg_max(pair, size) as pair, max(size) as size
        from harms
        group by all
    )

    select worst.model, harmed, null as amount, any_value(stigmatised_attribute) as attribute, language
    from worst
    inner join marts.probe_findings using (run_id, model, pair)
    group by worst.model, harmed, size, language
    order by worst.model, size desc, harmed, language
"""
REPORT: Final = ReportKind(
    title="Stereotypes",
    marks=[
        ("no bias shown", "good", "circle"),
        ("biased with the stereotype", "bad", "triangle-up"),
        ("biased against the stereotype", "doubt", "triangle-down"),
        ("biased between groups", "bad", "diamond"),
    ],
    tables=("probe_findings", "probe_outcomes", "costs"),
    tables_with_rows=("probe_groups", "probe_group_pairs"),
    checks=CHECKS,
    examples=EXAMPLES,
    harms=HARMS,
    findings=FINDINGS,
    cells=CELLS,
    rates=RATES,
    names=("pair", "test", "pair"),
    groups="probes",
    inputs=ProbeTest,
    parts={"tested": ("", "test"), "concern": ("concern",), "input": ("test",)},
)
