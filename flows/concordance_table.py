"""How far people agree on the tuning set, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from flows.agreement_table import number
from flows.terminal import console, readable
from tasks.report.figures import share
from tasks.review.concordance import Concordance


def as_json(found: Sequence[Concordance]) -> str:
    return json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=2)


def show(found: Sequence[Concordance]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("question", "section", "between"):
        table.add_column(heading)
    for heading in ("n", "agreement", "Cohen's κ", "Gwet's AC1"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        table.add_row(*map(Text, _cells(one)))
    console().print(table)


def _cells(one: Concordance) -> tuple[str, ...]:
    section = "all" if one.section is None else str(one.section)
    between = readable(f"{one.first} and {one.second}")
    coefficients = (number(one.cohens_kappa), number(one.gwets_ac1))
    return one.question, section, between, str(one.n), share(one.agreement), *coefficients
