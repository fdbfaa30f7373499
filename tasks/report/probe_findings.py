"""What the marts say about one probe, in the order in which people read it."""

from __future__ import annotations

from tasks.report.orders import TESTS

FINDINGS = f"""
    select *
    from marts.probe_findings
    where run_id = ?
    order by model, language, {TESTS},
        finding = 'biased' desc, q_value nulls last, pair
"""  # noqa: S608 - words of ours
RULES = "from marts.probe_outcomes where run_id = ? order by model, language"
