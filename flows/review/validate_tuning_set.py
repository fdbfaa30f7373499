"""`catalog validate`: two people judge the tuning set blind, and how far they agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.errors import Problem, UserError, position
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, tuning_examples
from biasgrid.flows.results.sql import refuse_to_replace
from biasgrid.flows.review.agreement import number
from biasgrid.flows.terminal.console import console, readable
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.review.concordance import Concordance, concordances, unknown_items
from biasgrid.tasks.review.tuning_sheets import Annotation, contradictions, item_of, read_sheet, sheets
from biasgrid.warehouse.storage.export_files import as_csv, write_text


def write_sheets(out: Path, language: str, seed: int, sections: int, *, force: bool = False) -> list[Path]:
    """Writes the sheets into a directory. Raises UserError."""
    examples = tuning_examples(load_catalog(), language, seed)
    if not examples:
        what = f"there are no assignments to tune on in `{language}`"
        raise UserError(Problem(what, "--language", "name another, or add them to catalogs/tuning"))
    written = {out / name: rows for name, rows in sheets(examples, language, seed, sections).items()}
    for path in written:
        refuse_to_replace(path, force=force)
    # the mark: some spreadsheets take a CSV without it for an old code page
    return [write_text(path, "\ufeff" + as_csv(rows)) for path, rows in written.items()]


def agreement(paths: Sequence[Path]) -> list[Concordance]:
    """How far the people of some sheets agree. Raises UserError with all that is wrong in any of them."""
    answers: list[Annotation] = []
    mistakes: list[Problem] = []
    for path in paths:
        try:
            own, wrong = read_sheet(path)
        except UserError as unread:
            own, wrong = [], list(unread.mistakes)
        answers += own
        mistakes += wrong
    examples, unknown = _examples(answers)
    mistakes += unknown or unknown_items(answers, examples)
    mistakes += contradictions(answers)
    if not mistakes and not answers:
        mistakes.append(Problem("no sheet has an answer", remedy="fill in `presence` or `reason_ok`"))
    if mistakes:
        raise UserError(sorted(mistakes, key=position))
    return concordances(answers, examples)


def _examples(answers: Sequence[Annotation]) -> tuple[dict[str, TuningExample], list[Problem]]:
    """By item, those of every language and seed of the sheets."""
    catalog = load_catalog()
    found: dict[str, TuningExample] = {}
    mistakes: list[Problem] = []
    for one in {one.drawn: one for one in reversed(answers)}.values():
        language, _, seed = one.drawn.rpartition("-")
        try:
            found |= {item_of(example): example for example in tuning_examples(catalog, language, int(seed))}
        except (UserError, ValueError):
            what = f"`{one.drawn[:40]}` in column `drawn` is no language and seed"
            mistakes.append(Problem(what, one.where, "put back what the sheet was written with"))
    return found, mistakes


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
