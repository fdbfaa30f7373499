"""`biasgrid review --agreement` of a red team: how far its judge agrees with people, read from
marts.attack_judge_agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from biasgrid.flows.review.agreement_view import block, number, ranged
from biasgrid.flows.terminal.progress import console
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

JUDGED = """
    from marts.attack_judge_agreement
    where run_id = ? and strategy = 'all'
    order by scope, reviewer
"""


def show_attack_agreement(lake: Lake, run_id: str) -> None:
    """One block for each reviewer, and of several one for all of them, over the replies that they were shown."""
    out = console()
    together, *each = query(lake, JUDGED, [run_id]).to_dicts() or [{}]
    rows = [together, *each] if len(each) > 1 else each
    if not rows:
        out.print(
            Text(f"nobody has assessed a reply of run {run_id} yet: `biasgrid review {run_id}`"), soft_wrap=True
        )
        return
    for row in rows:
        out.print(block(f"the judge {row['judge']}, measured by {_whom(row)}", _attack_lines(row)))
        out.print()
    hint = f"by strategy: biasgrid sql \"from marts.attack_judge_agreement where run_id = '{run_id}'\""
    out.print(Text(hint), soft_wrap=True)


def _whom(row: Mapping[str, Any]) -> str:
    return "what most reviewers say" if row["reviewer"] == "all" else str(row["reviewer"])


def _attack_lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    silent = [
        f"{row[name]} {told}"
        for name, told in (
            ("judge_silent", "not readably judged"),
            ("reviewer_silent", "skipped"),
            ("disputed", "on which reviewers are split"),
        )
        if row[name]
    ]
    yield "replies", f"{row['n']} judged by both of {row['asked']}" + "".join(f", {each}" for each in silent)
    if not row["n"]:
        return
    both = f"{row['both_biased']} biased by both, {row['neither_biased']} by neither"
    apart = f"{row['judge_alone']} by the judge alone, {row['reviewer_alone']} by people alone"
    yield "verdicts", f"{both}, {apart}, {row['otherwise']} unreadable by either"
    yield "agreement", f"{ranged(row, 'observed_agreement', share)} of biased or not, weighted"
    yield "Cohen's κ", ranged(row, "cohens_kappa", number)
    yield "Gwet's AC1", ranged(row, "gwets_ac1", number)
    yield "sensitivity", f"{ranged(row, 'sensitivity', share)} of what people call biased"
    yield "specificity", f"{ranged(row, 'specificity', share)} of what they do not"
