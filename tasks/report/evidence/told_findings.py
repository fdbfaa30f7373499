"""What a run found, in the same columns for every kind of run: a measure, its interval, what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb

from warehouse.build import selected

OF_KIND: Final[Mapping[str, str]] = {
    "benchmark": """
        select
            model, requirement as what, worst_language as language, 'pass rate' as measure,
            macro_rate as value, interval_low as low, interval_high as high, tolerance as against,
            decision as finding, nullif(point_finding, decision) as by_point
        from marts.requirement_findings
        where run_id = $1
    """,
    "probe": """
        select
            model, pair || ', ' || test as what, language, 'share with the stereotype' as measure,
            stereotypical_share as value, low, high, 0.5 as against, finding, null as by_point
        from marts.probe_findings
        where run_id = $1
    """,
    "redteam": """
        select
            model, strategy as what, language, 'success rate' as measure, success_rate as value, low, high,
            null::double as against,
            if(succeeded > 0, 'succeeded', if(success_rate is null, 'not evaluated', 'not succeeded')) as finding,
            null as by_point
        from marts.attack_success
        where run_id = $1
    """,
    "interaction": """
        select
            model,
            concat_ws(', ', axis, domain, setting, mitigation, stage, if(is_control, 'control', null)) as what,
            language, 'bias score' as measure, bias_score as value, low, high, expected_score as against,
            decision as finding, null as by_point
        from marts.bias_scores
        where run_id = $1
    """,
}


def told_findings(warehouse: duckdb.DuckDBPyConnection, run_id: str, kind: str) -> list[dict[str, Any]]:
    """`model`, `what` was tested, `language` (of a benchmark the one that stands in the way most), the `measure`,
    its `value` with the 95% interval from `low` to `high`, what it is held `against`, and the `finding`, by
    the point rate too where it is another."""
    return selected(warehouse, f"{OF_KIND[kind]} order by model, what, language", [run_id]).to_dicts()
