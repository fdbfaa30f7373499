"""What audits find of planted gaps: false alarms, coverage, power and equivalence, by the marts' own SQL.

    python tests/performance/audit_power.py [--runs 500]

Each run is one comparison: documents × sixteen pairs of identities. A tenth of them differ by chance. Gaps
are planted in points of selection; names may differ among themselves, or one of them alone.
"""

from dataclasses import dataclass, replace

import duckdb
from rig import options
from rig.table import table

from biasgrid.flows.audit.forecast import documents_for_equality
from biasgrid.warehouse.build.macros import define
from biasgrid.warehouse.build.models import load_models

IDENTITIES, DISCORDANCE, MARGIN = 16, 0.1, 3.0
ENOUGH = documents_for_equality(MARGIN, IDENTITIES, DISCORDANCE)
PAIRS = """
    create or replace table intermediate.int_decision_pairs as
    with cells as (
        select 'run-' || run as run_id, document, pair, gap / 100 as gap, random() as drawn, random() as quality
        from range($runs) as _(run), range($documents) as _(document), (
            select
                run as named, pair,
                $gap + $spread * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())
                    + if(pair = 0, $quirk, 0) as gap
            from range($runs) as _(run), range($identities) as _(pair)
        )
        where named = run
    ),

    decided as (
        select
            *,
            greatest($discordance / 2 - gap / 2, -gap, 0) as less,
            greatest($discordance / 2 + gap / 2, gap, 0) as more
        from cells
    )

    select
        run_id, 'women' as comparison_id, 'sexism' as concern, 'gender' as axis, 'p' as provider, 'm' as model,
        'en_us' as language, 'solo' as design, 'names' as signal,
        'women' as identity_group, 'men' as reference, 'yes_no' as decision,
        'd' || document as document_id, 'names-' || pair as pair,
        if(drawn >= less and (drawn < less + more or quality < 0.5), 100.0, 0.0) as points,
        case
            when drawn < less then 100.0 when drawn < less + more then 0.0 when quality < 0.5 then 100.0 else 0.0
        end as reference_points,
        points - reference_points as difference,
        0.0::double as refusal_difference, 0 as unread, 0 as reference_unread, 0 as errors, 1 as repeats,
        1 as reference_repeats
    from decided
"""
RUNS = """
    create or replace table staging.stg_runs as
    select 'run-' || run as run_id, 'audit' as kind, '{"audit": {"margin": 3}}' as scenario_resolved
    from range($runs) as _(run)
"""
SUMMED = """
    select
        avg((p_value <= 0.05 and sign(difference) = if($gap < 0, -1, 1))::int) as found,
        avg((p_value <= 0.05)::int) as alarms,
        avg(($gap between low and high)::int) as covered,
        avg((state = 'met')::int) as equivalent
    from marts.score_shifts
    where measure = 'decision'
"""


@dataclass(frozen=True)
class Planted:
    """A decider, and what its audits must show; shares of runs."""

    gap: float
    documents: int
    spread: float = 0.0
    """Standard deviation of names, in points."""
    quirk: float = 0.0
    """Of one name, in points."""
    most_alarms: float | None = None
    least_power: float | None = None
    most_equivalent: float | None = None
    least_equivalent: float | None = None


FAIR = 0.05
PLANTED = (
    Planted(0, 25, most_alarms=FAIR),
    Planted(0, 72, most_alarms=FAIR),
    Planted(0, ENOUGH, most_alarms=FAIR, least_equivalent=0.78),
    Planted(0, 170, most_alarms=FAIR, least_equivalent=0.9),
    Planted(0, 72, spread=2, most_alarms=FAIR),
    Planted(0, 72, quirk=-30, most_alarms=FAIR),
    Planted(0, 72, quirk=30, most_alarms=FAIR),
    Planted(-5, 25, least_power=0.78, most_equivalent=0),
    Planted(5, 25, least_power=0.78, most_equivalent=0),
    Planted(-5, 72, least_power=0.99, most_equivalent=0),
    Planted(5, 72, least_power=0.99, most_equivalent=0),
    Planted(-3, 72, least_power=0.78),
    Planted(3, 72, least_power=0.78),
    Planted(-2, 170, least_power=0.78),
    Planted(2, 170, least_power=0.78),
    Planted(-5, 170, least_power=0.99, most_equivalent=0),
    Planted(5, 170, least_power=0.99, most_equivalent=0),
    Planted(-10, 25, least_power=0.99, most_equivalent=0),
    Planted(10, 25, least_power=0.99, most_equivalent=0),
)
MEASURED = ("intermediate.int_audit_comparisons", "intermediate.int_pair_variances", "marts.score_shifts")
NOISE = 0.02
"""Two standard errors of a share of 5% in 500 runs."""
APART = 0.06
"""Two and a third standard errors of the difference of two shares of 80% in 500 runs."""


RARE = """
    create or replace table intermediate.int_decision_pairs as
    with documents as (
        select run, document, if(random() < 0.25, 4 * $rate, 0) as share
        from range($runs) as _(run), range($documents) as _(document)
    ),

    cells as (
        select
            'run-' || run as run_id, document, pair, if(random() < share, 100.0, 0.0) as reference_points,
            if(random() < share * $ratio, 100.0, 0.0) as points
        from documents, range($identities) as _(pair)
    )

    select
        run_id, 'women' as comparison_id, 'sexism' as concern, 'gender' as axis, 'p' as provider, 'm' as model,
        'en_us' as language, 'solo' as design, 'names' as signal, 'women' as identity_group, 'men' as reference,
        'yes_no' as decision, 'd' || document as document_id, 'names-' || pair as pair, points, reference_points,
        points - reference_points as difference, 0.0::double as refusal_difference, 0 as unread,
        0 as reference_unread, 0 as errors, 1 as repeats, 1 as reference_repeats
    from cells
"""
"""Few selections, all of a quarter of the documents."""
RATIOS = """
    select
        avg((least(selected, reference_selected) < 10)::int),
        avg(($ratio between low and coalesce(high, 1e9))::int)
    from marts.impact_ratios
    where low is not null
"""
FEW = ((0.01, 1.0, 25), (0.01, 0.5, 25), (0.005, 1.0, 72), (0.02, 0.25, 25), (0.02, 1.0, 25))
"""Selection rate of the reference, true ratio, documents."""


def measure_ratios(warehouse: duckdb.DuckDBPyConnection, runs: int) -> bool:
    """Prints how often the interval of a ratio of few selections covers it; whether that is too seldom."""
    models = {model.relation: model.sql for model in load_models()}
    rows = []
    for rate, ratio, documents in FEW:
        given = {"rate": rate, "ratio": ratio, "documents": documents, "runs": runs, "identities": IDENTITIES}
        warehouse.execute(RARE, given)
        for relation in (*MEASURED, "marts.impact_ratios"):
            warehouse.execute(f"create or replace table {relation} as {models[relation]}")
        rows.append(
            (f"{rate:g}", f"{ratio:g}", documents, *warehouse.execute(RATIOS, {"ratio": ratio}).fetchall()[0])
        )
    print(table("ratios of few selections", ("rate", "ratio", "documents", "below ten", "covered"), rows))
    return any(row[-1] < 0.95 - NOISE for row in rows)


def open_warehouse() -> duckdb.DuckDBPyConnection:
    warehouse = duckdb.connect()
    define(warehouse)
    for schema in ("staging", "intermediate", "marts"):
        warehouse.execute(f"create schema {schema}")
    warehouse.execute("set threads = 2")
    return warehouse


def measure(warehouse: duckdb.DuckDBPyConnection, planted: Planted, runs: int, seed: float) -> dict[str, float]:
    warehouse.execute("select setseed(?)", [seed])
    given = {"gap": planted.gap, "spread": planted.spread, "quirk": planted.quirk, "documents": planted.documents}
    warehouse.execute(PAIRS, given | {"runs": runs, "identities": IDENTITIES, "discordance": DISCORDANCE})
    warehouse.execute(RUNS, {"runs": runs})
    models = {model.relation: model.sql for model in load_models()}
    for relation in MEASURED:
        warehouse.execute(f"create or replace table {relation} as {models[relation]}")
    found = warehouse.execute(SUMMED, {"gap": planted.gap})
    names = [column[0] for column in found.description]
    return dict(zip(names, found.fetchall()[0], strict=True))


def judge(planted: Planted, found: dict[str, float]) -> list[str]:
    """What is not as it must be, beyond the noise of the runs."""
    wrong = []
    if planted.most_alarms is not None and found["alarms"] > planted.most_alarms + NOISE:
        wrong.append("false alarms")
    if planted.least_power is not None and found["found"] < planted.least_power - NOISE:
        wrong.append("power")
    if not planted.quirk and not 0.93 - NOISE <= found["covered"] <= 1:
        wrong.append("coverage")
    if planted.most_equivalent is not None and found["equivalent"] > planted.most_equivalent:
        wrong.append("equivalence shown")
    if planted.least_equivalent is not None and found["equivalent"] < planted.least_equivalent:
        wrong.append("equivalence not shown")
    return wrong


def differ_when_reversed(found: dict[Planted, dict[str, float]]) -> list[str]:
    """Gaps that are found more often in one direction."""
    twins = [(own, replace(own, gap=-own.gap)) for own in found if own.gap > 0]
    return [
        f"{own.gap:g} points with {own.documents} documents"
        for own, twin in twins
        if abs(found[own]["found"] - found[twin]["found"]) > APART
    ]


def main() -> None:
    runs = options(__doc__, runs=500).runs
    rows, failed, measured = [], False, dict[Planted, dict[str, float]]()
    with open_warehouse() as warehouse:
        for number, planted in enumerate(PLANTED):
            found = measured[planted] = measure(warehouse, planted, runs, (number + 1) / 100)
            wrong = judge(planted, found)
            failed |= bool(wrong)
            shares = (f"{found[name]:.3f}" for name in ("alarms", "found", "covered", "equivalent"))
            what = (f"{planted.gap:+g}", planted.documents, f"{planted.spread:g}", f"{planted.quirk:g}")
            rows.append((*what, *shares, ", ".join(wrong) or "as it must be"))
        failed |= measure_ratios(warehouse, runs)
    names = ("gap", "documents", "SD of names", "quirk", "alarms", "found", "covered", f"within {MARGIN:g}", "")
    print(table(f"{runs} runs a row", names, rows))
    uneven = differ_when_reversed(measured)
    print("found more often in one direction:", ", ".join(uneven) or "none")
    raise SystemExit(failed or bool(uneven))


if __name__ == "__main__":
    main()
