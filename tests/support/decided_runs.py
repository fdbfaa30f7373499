"""Audits whose decisions are given: lands them as a run, or as the pairs that the marts read."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from biasgrid.warehouse.storage.lake import Lake

GROUPS = ("men", "women")
Decisions = Sequence[Sequence[float | str]]
"""By document and pair: 1 selected, 0 not, another number a score, or an outcome such as `refused`."""


def land_audit(
    lake: Lake, reference: Decisions, compared: Decisions, run_id: str = "R1", kind: str = "yes_no", **stated: Any
) -> None:
    """One model's decisions about men, the reference, and women; `stated` are keys of the file."""
    land_groups(lake, dict(zip(GROUPS, (reference, compared), strict=True)), GROUPS[0], run_id, kind, **stated)


def land_groups(
    lake: Lake,
    decided: Mapping[str, Decisions],
    reference: str,
    run_id: str = "R1",
    kind: str = "yes_no",
    **stated: Any,
) -> None:
    """One model's decisions by group."""
    file = json.dumps({"audit": stated, "asking": {"coverage": 0.95}})
    run: dict[str, Any] = {
        "run_id": run_id,
        "event_id": "1",
        "state": "completed",
        "kind": "audit",
        "scenario_resolved": file,
    }
    run["started_at"] = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
    lake.write("runs", run_id, "1", pl.DataFrame([run]))
    for group, decisions in decided.items():
        rows = [
            (f"d{document}", f"names-{pair:02}", one)
            for document, own in enumerate(decisions)
            for pair, one in enumerate(own)
        ]
        keys = {"run_id": run_id, "cell_id": f"{run_id}-{group}", "model": "simulated/x", "requirement": group}
        _land_cell(lake, keys, rows, {"axis": "gender", "reference": reference, "decision": kind})


def _land_cell(
    lake: Lake, keys: Mapping[str, str], rows: Sequence[tuple[str, str, Any]], shared: Mapping[str, str]
) -> None:
    cases, verdicts = [], []
    for document, pair, decided in rows:
        case_id = f"{keys['cell_id']}-{document}-{pair}"
        ids = {"case_id": case_id, "template_id": document, "sample": 1}
        facets = {**shared, "pair": pair, "identity": case_id}
        about = {"concern": "sexism", "provider": "simulated", "language": "en_us", "input": "names"}
        named = {"reflection": "solo", "template": document, "instance_id": case_id, "request_key": case_id}
        cases.append({**keys, **ids, **about, **named, "facets": json.dumps(facets), "oracle_type": "audit"})
        is_read = not isinstance(decided, str)
        verdicts.append(
            {
                **{name: keys[name] for name in ("run_id", "cell_id")},
                **ids,
                "verdict_id": f"v-{case_id}",
                "evaluation_id": "E1",
                "level": "instance",
                "outcome": None if is_read else decided,
                "parsed_value": Decimal(str(decided)) if is_read else None,
            }
        )
    lake.write("cases", keys["run_id"], keys["cell_id"], pl.DataFrame(cases, infer_schema_length=None))
    frame = pl.DataFrame(verdicts, infer_schema_length=None, schema_overrides={"outcome": pl.String})
    lake.write("verdicts", keys["run_id"], keys["cell_id"], frame)
