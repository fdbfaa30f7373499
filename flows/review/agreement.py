"""`biasgrid review --agreement`: how far reviewers, oracle and judge agree. `catalog validate`: how far two people
do who judge the tuning set blind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.errors import Problem, UserError, position
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, tuning_examples
from biasgrid.flows.results.sql import refuse_to_replace
from biasgrid.flows.terminal.console import console, readable
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.review.tuning_sheets import (
    Annotation,
    Concordance,
    concordances,
    contradictions,
    item_of,
    read_sheet,
    sheets,
    unknown_items,
)
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.export_files import as_csv, write_text
from biasgrid.warehouse.storage.lake import Lake

PAIRS = """
    from marts.judge_agreement
    where run_id = ? and scope = 'all'
    order by list_position(['person', 'oracle', 'model'], reference_kind), reference, assessor_kind desc, assessor
"""
SILENT = ("skipped", "refused", "unreadable", "failed")


def show_agreement(lake: Lake, run_id: str) -> None:
    """One block per pair of assessors, over all replies of the run that both were shown."""
    rows = query(lake, PAIRS, [run_id]).to_dicts()
    blocks = [block(f"{_who(row, 'assessor')}, measured by {_who(row, 'reference')}", _lines(row)) for row in rows]
    _show_blocks(blocks, run_id, "by concern, language and model", "judge_agreement")


def _show_blocks(blocks: Sequence[Table], run_id: str, finer: str, mart: str) -> None:
    """The blocks, and a query for the rows of `finer` scope; without blocks, how to review."""
    out = console()
    for shown in blocks:
        out.print(shown)
        out.print()
    hint = f"{finer}: biasgrid sql \"from marts.{mart} where run_id = '{run_id}'\""
    none = f"no reply of run {run_id} has been assessed yet: `biasgrid review {run_id}`"
    out.print(Text(hint if blocks else none), soft_wrap=True)


def block(title: str, lines: Iterable[tuple[str, str]]) -> Table:
    """Lines of name and value under a title."""
    table = Table(box=None, pad_edge=False, show_header=False, title=Text(readable(title), style="bold"))
    table.title_justify = "left"
    for name, show in lines:
        table.add_row(Text(name), Text(readable(show)))
    return table


def _who(row: Mapping[str, Any], side: str) -> str:
    kind, name = row[f"{side}_kind"], row[side]
    return {"oracle": "the oracle", "model": f"the judge {name}"}.get(kind, str(name))


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    silent = [f"{row[f'assessor_{name}']} {name}" for name in SILENT if row[f"assessor_{name}"]]
    silent += [f"{row['reference_silent']} not judged by the other"] if row["reference_silent"] else []
    yield "replies", f"{row['n']} judged by both of {row['asked']}" + "".join(f", {each}" for each in silent)
    if not row["n"]:
        return
    both = f"{row['true_passed']} pass by both, {row['true_failed']} fail by both"
    apart = f"{row['false_passed']} passed that should fail, {row['false_failed']} failed that should pass"
    yield "verdicts", f"{both}, {apart}, {row['otherwise']} refused or unreadable by either"
    yield "agreement", f"{share(row['observed_agreement'])} of passed and failed, weighted"
    yield "Cohen's κ", format_interval(row, "cohens_kappa", number)
    yield "Gwet's AC1", format_interval(row, "gwets_ac1", number)
    yield "sensitivity", format_interval(row, "sensitivity", share)
    yield "specificity", format_interval(row, "specificity", share)
    yield "pass rate", f"{share(row['raw_pass_rate'])}, corrected {format_interval(row, 'corrected_rate', share)}"


def format_interval(row: Mapping[str, Any], name: str, show: Any) -> str:
    """A number of a row, with its interval if it has one."""
    if row[f"{name}_low"] is None:
        return str(show(row[name]))
    return f"{show(row[name])} ({show(row[f'{name}_low'])} to {show(row[f'{name}_high'])})"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


JUDGED = """
    from marts.attack_judge_agreement
    where run_id = ? and strategy = 'all'
    order by scope, reviewer
"""


def show_attack_agreement(lake: Lake, run_id: str) -> None:
    """One block for each reviewer, and of several one for all of them, over the replies that they were shown."""
    together, *each = query(lake, JUDGED, [run_id]).to_dicts() or [{}]
    rows = [together, *each] if len(each) > 1 else each
    blocks = [block(f"the judge {row['judge']}, measured by {_whom(row)}", _attack_lines(row)) for row in rows]
    _show_blocks(blocks, run_id, "by strategy", "attack_judge_agreement")


def _whom(row: Mapping[str, Any]) -> str:
    return "what most reviewers say" if row["reviewer"] == "all" else str(row["reviewer"])


def _attack_lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "judge_silent": "not readably judged",
        "reviewer_silent": "skipped",
        "disputed": "on which reviewers are split",
    }
    silent = [f"{row[name]} {why}" for name, why in names.items() if row[name]]
    yield "replies", f"{row['n']} judged by both of {row['asked']}" + "".join(f", {each}" for each in silent)
    if not row["n"]:
        return
    both = f"{row['both_biased']} biased by both, {row['neither_biased']} by neither"
    apart = f"{row['judge_alone']} by the judge alone, {row['reviewer_alone']} by people alone"
    yield "verdicts", f"{both}, {apart}, {row['otherwise']} unreadable by either"
    yield "agreement", f"{format_interval(row, 'observed_agreement', share)} of biased or not, weighted"
    yield "Cohen's κ", format_interval(row, "cohens_kappa", number)
    yield "Gwet's AC1", format_interval(row, "gwets_ac1", number)
    yield "sensitivity", f"{format_interval(row, 'sensitivity', share)} of what people call biased"
    yield "specificity", f"{format_interval(row, 'specificity', share)} of what they do not"


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
