"""Sections of a benchmark comparison for the terminal and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

from biasgrid.flows.compare.rows import (
    DECIDED,
    UNTESTED,
    Record,
    by_importance,
    circumstances,
    difference,
    ends,
    findings,
    format_changes,
    from_to,
    points,
    section,
    several,
)
from biasgrid.tasks.aggregate.compare import Comparison
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.model import Row, Section

NAMES = {"only earlier": "only in the earlier", "only later": "only in the later", "changed": "changed"}


def summary(found: Comparison) -> Iterator[str]:
    """Summary of the comparison in two or three lines."""
    requirements = found.tables["requirements"]
    if found.is_of_one_run:
        tests, replies = (found.tables[name].height for name in ("changed_tests", "changed_replies"))
        yield f"judged otherwise: {tests:,} template tests, {replies:,} replies"
    else:
        count = Counter(requirements["change"])
        if found.is_of_models:
            yield from _which_is_better(found, count)
        yield f"requirement × model: {format_changes(count)}"
        yield f"templates compared: {requirements['templates'].sum():,}"
    yield _findings_changed(found)


def _which_is_better(found: Comparison, count: Counter[str]) -> Iterator[str]:
    """The answer: on how many requirements each model passes more, by a test."""
    ((own, other),) = found.models.items()
    total, both = sum(count.values()), {own: count["worse"], other: count["better"]}
    for model, better in both.items():
        if better:
            yield f"{model} is better on {better} of {total} requirements"
    if not any(both.values()):
        yield f"no difference between {own} and {other} is shown on {total} requirements"


def _findings_changed(found: Comparison) -> str:
    both = [row for row in found.tables["requirements"].iter_rows(named=True) if row["presence"] == "both"]
    point, decided = (
        sum(row[f"earlier_{name}"] != row[f"later_{name}"] for row in both)
        for name in ("point_finding", "decision")
    )
    return f"findings that changed: {point} by the point rate, {decided} by the interval, of {len(both)}"


def sections(found: Comparison) -> list[Section]:
    if not found.is_of_one_run:
        untested = _section(found, "requirements", UNTESTED, ("requirement", "why"), _why)
        return [_differences(found), untested, _alone(found), circumstances(found)]
    return [
        _findings(found),
        _section(found, "moves", "What moved", ("requirement", "of", "from", "to", "moved"), _move),
        _section(found, "oracles", "Oracles that judge otherwise", ("template", "in", *ends(found)), _oracle),
        _section(found, "changed_tests", "Template tests that changed", ("template", "from", "to", "id"), _test),
        _section(found, "changed_replies", "Replies that changed", ("template", "from", "to", "id"), _reply),
        circumstances(found),
    ]


def _section(
    found: Comparison,
    table: str,
    title: str,
    headings: tuple[str, ...],
    cells: Callable[[Record], tuple[str, ...] | None],
) -> Section:
    rows = found.tables[table].iter_rows(named=True)
    lines = [Row(words, row.get("model", "")) for row in rows if (words := cells(row)) is not None]
    return section(title, headings, sorted(lines, key=lambda line: line.group))


def _differences(found: Comparison) -> Section:
    """Requirements that were compared, each with its languages where it has several."""
    languages = [row for row in found.tables["languages"].iter_rows(named=True) if row["presence"] == "both"]
    lines: list[Row] = []
    rows = found.tables["requirements"].iter_rows(named=True)
    for row in by_importance(rows, itemgetter("model"), ("point_finding", "decision")):
        if row["change"] == "not compared":
            continue
        own = [each for each in languages if _key(each) == _key(row)]
        lines.append(_difference(row["requirement"], row, ("point_finding", "decision")))
        lines += [_difference(f" {each['language']}", each, (None, "decision")) for each in own if len(own) > 1]
    headings = ("requirement", *ends(found), "diff", "95% interval", "q", "")
    note = _tests(found) if lines else ""
    return section("Differences", headings, lines, is_numeric=True, note=note, more=("point", "decision"))


def _tests(found: Comparison) -> str:
    used = " and ".join(sorted(set(found.tables["requirements"]["test"].drop_nulls())))
    return (
        "Rates: mean share that passes over the templates of both, by the measure; diff: points. "
        f"Test: {used}; {DECIDED} point, decision: as of each whole run."
    )


def _key(row: Record) -> tuple[str, str]:
    return row["requirement"], row["model"]


def _difference(name: str, row: Record, decided: tuple[str | None, ...]) -> Row:
    decisions = ("" if finding is None else from_to(row, finding) for finding in decided)
    return Row((name, *difference(row, "rate", share, points), *decisions), row["model"])


def _findings(found: Comparison) -> Section:
    rows = found.tables["requirements"].iter_rows(named=True)
    cells = findings(rows, itemgetter("model"), "requirement", ("point_finding", "decision"))
    return section("Findings", ("requirement", "by the point rate", "by the interval"), cells)


def _why(row: Record) -> tuple[str, ...] | None:
    """None for what only one run has, which another section lists."""
    why = row["why_not_compared"]
    return (row["requirement"], why) if why and row["presence"] == "both" else None


def _alone(found: Comparison) -> Section:
    """What is the same but for its name is one line."""
    rows = sorted(found.tables["only_in_one"].iter_rows(named=True), key=_place)
    cells = [_absence(place, [row["name"] for row in own]) for place, own in groupby(rows, key=_place)]
    return section("In one run alone", ("is", "of", "where", "name"), cells)


KINDS = ("requirement", "model", "model of a requirement", "language", "template", "communities")


def _place(row: Record) -> tuple[int, str, str]:
    of = " · ".join(part for part in (row["requirement"], row["language"]) if part)
    return KINDS.index(row["kind"]), of or "–", NAMES[row["presence"]]


def _absence(place: tuple[int, str, str], names: list[str]) -> Row:
    kind, of, where = place
    count = "" if len(names) == 1 else f" × {len(names):,}"
    return Row((f"{KINDS[kind]}{count}", of, where, several(names)))


def _move(row: Record) -> tuple[str, ...]:
    units = {"test": "tests", "reply": "replies"}
    return (
        row["requirement"],
        units[row["unit"]],
        row["earlier_outcome"],
        row["later_outcome"],
        f"{row['moved']:,}",
    )


def _oracle(row: Record) -> tuple[str, ...]:
    return row["template"], row["language"], row["earlier_reason"] or "–", row["later_reason"] or "–"


def _test(row: Record) -> tuple[str, ...]:
    sample = f" sample {row['sample']}" if row["sample"] > 1 else ""
    name = f"{row['template']} {row['language']}{sample}"
    return name, row["earlier_outcome"], row["later_outcome"], row["template_id"]


def _reply(row: Record) -> tuple[str, ...]:
    about = f" ({row['communities_label']})" if row["communities_label"] else ""
    return f"{row['template']}{about}", *(_outcome(row, side) for side in ("earlier", "later")), row["case_id"]


def _outcome(row: Record, side: str) -> str:
    value = row[f"{side}_value"]
    return f"{value.normalize():f}" if value is not None else str(row[f"{side}_outcome"])
