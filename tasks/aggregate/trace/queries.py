"""SQL of the traces of benchmarks, over the table `scope`: the prompts that an id leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from biasgrid.warehouse.build.sql_quoting import literal


def select_rows(relation: str, names: Sequence[str], keys: Iterable[Sequence[object]]) -> str:
    """A SELECT of the rows of `relation` whose columns `names` have one of these `keys`."""
    wanted = ",\n    ".join(f"({', '.join(map(_as_sql, key))})" for key in keys)
    return f"select *\nfrom {relation}\nwhere ({', '.join(names)}) in (\n    {wanted}\n)\norder by all"


def _as_sql(value: object) -> str:
    return str(value).lower() if isinstance(value, int) else literal(str(value))


SCOPE = """
    create temp table scope as
    select run_id, cell_id, case_id, template_id, sample, requirement, model
    from staging.stg_cases
    where run_id = $run_id and ({where}){model}
"""

MODELS = "select distinct model from staging.stg_cases where run_id = $run_id and ({where})"

IN_SCOPE = """
    select
        count(*) as prompts,
        count(distinct (cell_id, template_id, sample)) as tests,
        count(distinct cell_id) as cells
    from scope
"""

FINDINGS = """
    select findings.*, criteria.rationale, criteria.delta, criteria.max_refusals
    from marts.requirement_findings as findings
    left join staging.stg_criteria as criteria using (run_id, requirement)
    semi join scope using (run_id, requirement, model)
    order by findings.requirement, findings.model
"""

CELLS = """
    select *
    from marts.pass_rates
    semi join {wanted} using (run_id, cell_id)
    order by model, requirement, rate nulls first, cell_id
"""

TESTS = """
    with templates as (
        select distinct on (cell_id, template_id)
            run_id, cell_id, template_id, template, template_text, operation, oracle
        from staging.stg_cases
        semi join {wanted} using (run_id, cell_id, template_id)
        order by cell_id, template_id
    ),

    verdicts as (
        select * from staging.stg_verdicts where level = 'template'
    )

    select
        tests.*,
        templates.* exclude (run_id, cell_id, template_id),
        verdicts.verdict_id,
        verdicts.reason,
        compared.min_value,
        compared.max_value,
        compared.spread,
        compared.admissible_spread,
        compared.communities_at_min,
        compared.communities_at_max
    from intermediate.int_template_tests as tests
    inner join templates using (run_id, cell_id, template_id)
    left join verdicts using (run_id, cell_id, template_id, sample)
    left join intermediate.int_same_value_tests as compared using (run_id, cell_id, template_id, sample)
    semi join {wanted} using (run_id, cell_id, template_id, sample)
    order by tests.cell_id, templates.template, tests.sample
"""

BY_CELL = """
    select cell_id, coalesce(tests.outcome, 'not judged') as outcome, count(*) as tests
    from intermediate.int_template_tests as tests
    semi join scope using (run_id, cell_id, template_id, sample)
    group by all
    order by all
"""

CELLS_BY_FINDING = """
    select requirement, model, point_finding, count(*) as cells
    from marts.pass_rates
    semi join scope using (run_id, cell_id)
    group by all
    order by all
"""

EXAMPLES = """
    create temp table examples as
    with judged as (
        select
            scope.*,
            coalesce(verdicts.outcome, tests.outcome, 'not judged') as outcome
        from scope
        left join (select * from staging.stg_verdicts where level = 'instance') as verdicts
            using (run_id, cell_id, case_id)
        left join intermediate.int_template_tests as tests
            on
                scope.run_id = tests.run_id
                and scope.cell_id = tests.cell_id
                and scope.template_id = tests.template_id
                and scope.sample = tests.sample
    ),

    ranked as (
        select
            *,
            case outcome when 'passed' then 3 when 'refused' then 2 when 'not judged' then 1 else 0 end as rank
        from judged
    ),

    -- what did not pass first; one of each cell before a second of any
    spread_out as (
        select
            *,
            row_number() over (partition by cell_id, rank order by case_id) as place
        from ranked
    )

    select run_id, cell_id, case_id, template_id, sample, requirement, model
    from spread_out
    order by rank, place, cell_id, case_id
    limit $examples
"""

CASES = """
    select
        cases.run_id,
        cases.cell_id,
        cases.case_id,
        cases.template_id,
        cases.sample,
        cases.instance_id,
        cases.request_key,
        cases.communities,
        cases.communities_label,
        cases.messages,
        cases.parameters
    from staging.stg_cases as cases
    semi join examples using (run_id, cell_id, case_id)
    order by cases.cell_id, cases.template_id, cases.sample, cases.instance_id, cases.case_id
"""

RESPONSES = """
    select
        replies.case_id,
        replies.cell_id,
        replies.response_id,
        replies.purpose,
        replies.model,
        replies.model_reported,
        if(replies.purpose = 'subject', null, replies.messages) as messages,
        replies.request_key,
        replies.text,
        replies.finish_reason,
        replies.error_class,
        replies.error_message,
        replies.attempts,
        replies.latency_ms,
        replies.cost_usd,
        replies.is_answer,
        replies.reused_from,
        first_given.run_id as reused_from_run,
        replies.received_at
    from staging.stg_responses as replies
    left join staging.stg_responses as first_given on replies.reused_from = first_given.response_id
    where
        (replies.run_id, replies.cell_id, replies.case_id)
        in (select (run_id, cell_id, case_id) from examples)
    order by replies.purpose desc, replies.received_at, replies.response_id
"""

STANDING = """
    select verdicts.* exclude (unit_key)
    from staging.stg_verdicts as verdicts
    where
        verdicts.level = 'instance'
        and (verdicts.run_id, verdicts.cell_id, verdicts.case_id)
        in (select (run_id, cell_id, case_id) from examples)
"""

ASSESSMENTS = """
    select assessments.* exclude (run_id, evaluation_id)
    from staging.stg_assessments as assessments
    where
        (assessments.run_id, assessments.cell_id, assessments.case_id)
        in (select (run_id, cell_id, case_id) from examples)
    order by assessments.assessed_at, assessments.assessment_id
"""

STANDS_IN = "select count(*) as replies from staging.stg_responses where reused_from = $id"
