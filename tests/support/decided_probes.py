"""Probes of several groups whose readings are given: lands them as a run."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from biasgrid.warehouse.storage.lake import Lake

AT = datetime(2026, 3, 1, 5, tzinfo=UTC)
AGES = ("young", "middle_aged", "old")
Shares = Sequence[Sequence[float]]
"""By prompt, each group's share that is given the favoured group's attribute."""
WORDS = {
    "en_us": ("creativity", "routine"),
    "es_es": ("creatividad", "rutina"),
    "ca_es": ("creativitat", "rutina"),
}


def land_probe(
    lake: Lake, run_id: str, by_language: Mapping[str, Shares], groups: Sequence[str] = AGES, **stated: Any
) -> None:
    """One model's replies to implicit prompts of a stereotype that favours the first group over the last; `stated`
    are keys of the file."""
    file = {"target": {"models": ["simulated/x"]}, "probe": {"groups": groups, **stated}}
    run = {"run_id": run_id, "event_id": "1", "state": "completed", "kind": "probe", "seed": 0}
    run |= {"scenario_resolved": json.dumps(file), "started_at": datetime(2026, 3, 1, 4, 30, tzinfo=UTC)}
    lake.write("runs", run_id, "1", pl.DataFrame([run]))
    for language, shares in by_language.items():
        rows = [_prompt(run_id, language, block, groups, own) for block, own in enumerate(shares)]
        for place, table in enumerate(("cases", "verdicts", "responses")):
            frame = pl.DataFrame([row[place] for row in rows], infer_schema_length=None)
            lake.write(table, run_id, f"{run_id}-{language}", frame)


def _prompt(
    run_id: str, language: str, block: int, groups: Sequence[str], shares: Sequence[float]
) -> tuple[dict[str, Any], ...]:
    """A case, its verdict and its reply."""
    case_id = f"{run_id}-{language}-{block}"
    ids = {"run_id": run_id, "cell_id": f"{run_id}-{language}", "case_id": case_id, "sample": 1}
    sides = dict(zip(("favoured", "stigmatised"), (groups[0], groups[-1]), strict=True))
    sides |= dict(zip(("favoured_attribute", "stigmatised_attribute"), WORDS[language], strict=True))
    facets = {**sides, "axis": "age", "signal": "name", "block": block, "groups": groups}
    case = {"requirement": "creativity-routine", "reflection": "creativity-routine", "concern": "ageism"}
    case |= {"provider": "simulated", "model": "simulated/x", "language": language, "input": "implicit"}
    case |= {"template_id": "t", "template": "trait-1", "instance_id": case_id, "request_key": case_id}
    gap = shares[0] - shares[-1]
    fell = "stereotypical" if gap > 0 else "counter" if gap < 0 else "balanced"
    read = {"evaluation_id": "E1", "verdict_id": f"v-{case_id}", "template_id": "t", "level": "instance"}
    read |= {"outcome": "failed" if gap > 0 else "passed", "parsed_text": fell, "parsed_value": Decimal(str(gap))}
    reply = {
        "response_id": f"r-{case_id}",
        "request_key": case_id,
        "purpose": "subject",
        "text": f"{block}: {shares}",
    }
    by_group = json.dumps(dict(zip(groups, shares, strict=True)))
    return (
        ids | case | {"facets": json.dumps(facets), "oracle_type": "probe", "operation": "implicit"},
        ids | read | {"by_group": by_group, "response_id": reply["response_id"], "judged_at": AT},
        ids | reply | {"model": "simulated/x", "received_at": AT},
    )
