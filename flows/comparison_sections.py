"""What a comparison tells people, in words: the same sections on the terminal and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flows.outcome import share
from tasks.aggregate.chosen import Chosen
from tasks.aggregate.compare import Comparison

Row = Mapping[str, Any]
Line = tuple[str, tuple[str, ...]]
"""A group, mostly a model, and the cells; a group may be empty."""
CHANGES = ("worse", "better", "no difference shown", "not compared")
NAMES = {"only earlier": "only in the earlier", "only later": "only in the later", "changed": "changed"}


@dataclass(frozen=True, slots=True)
class Section:
    """A table. The first column is folded where it is too long; each row stands under its group."""

    title: str
    headings: tuple[str, ...]
    rows: list[Line]
    numbers: bool = False
    """Whether all columns but the first hold numbers."""
    note: str = ""


def head(found: Comparison) -> list[str]:
    """Which two are compared, and what comes of it in a few lines."""
    lines = [f"earlier  {_side(found.earlier)}", f"later    {_side(found.later)}"]
    if found.later.run.run_id < found.earlier.run.run_id:
        lines.append("the run that is named first is the newer one")
    lines += [f"{own} is compared with {other}" for own, other in found.models.items()]
    if found.left_out:
        lines.append(f"in no comparison: {', '.join(found.left_out)}")
    return [*lines, _moved(found) if found.is_of_one_run else _changes(found), _findings_changed(found)]


def _side(chosen: Chosen) -> str:
    run = chosen.run
    judged = "" if len(chosen.evaluations) == 1 else f", evaluation {chosen.evaluation_id}"
    begun = f", {run.started_at:%Y-%m-%d %H:%M} UTC" if run.started_at else ""
    return f"{run.run_id}{judged} ({run.state}{begun})"


def _changes(found: Comparison) -> str:
    requirements = found.tables["requirements"]
    count = Counter(requirements["change"])
    told = ", ".join(f"{count[change]} {change}" for change in CHANGES)
    return f"requirement × model: {told}; on {requirements['prompts'].sum():,} prompts judged in both"


def _moved(found: Comparison) -> str:
    tests, replies = (found.tables[name].height for name in ("changed_tests", "changed_replies"))
    return f"judged otherwise: {tests:,} template tests, {replies:,} replies"


def _findings_changed(found: Comparison) -> str:
    both = [row for row in found.tables["requirements"].iter_rows(named=True) if row["presence"] == "both"]
    point, decided = (
        sum(row[f"earlier_{name}"] != row[f"later_{name}"] for row in both)
        for name in ("point_finding", "decision")
    )
    return f"findings that changed: {point} by the point rate, {decided} by the interval, of {len(both)}"


def sections(found: Comparison) -> list[Section]:
    """Those that have anything to tell."""
    told = _of_evaluations(found) if found.is_of_one_run else _of_runs(found)
    return [section for section in told if section.rows]


def _of_runs(found: Comparison) -> list[Section]:
    return [
        _differences(found),
        _findings(found),
        _section(found, "requirements", "Not compared", ("requirement", "why"), _why),
        _section(found, "only_in_one", "In one run alone", ("name", "is", "of", "where"), _absence),
        _circumstances(found),
    ]


def _of_evaluations(found: Comparison) -> list[Section]:
    return [
        _findings(found),
        _section(found, "moves", "What moved", ("requirement", "of", "from", "to", "moved"), _move),
        _section(
            found, "oracles", "Oracles that judge otherwise", ("template", "in", "earlier", "later"), _oracle
        ),
        _section(found, "changed_tests", "Template tests that changed", ("template", "from", "to", "id"), _test),
        _section(found, "changed_replies", "Replies that changed", ("template", "from", "to", "id"), _reply),
        _circumstances(found),
    ]


def _section(
    found: Comparison,
    table: str,
    title: str,
    headings: tuple[str, ...],
    told: Callable[[Row], tuple[str, ...] | None],
) -> Section:
    rows = found.tables[table].iter_rows(named=True)
    cells = [(row.get("model", ""), words) for row in rows if (words := told(row)) is not None]
    return Section(title, headings, sorted(cells, key=lambda row: row[0]))


def _differences(found: Comparison) -> Section:
    """Requirements that were compared, each with its languages, whose intervals decide."""
    languages = list(found.tables["languages"].iter_rows(named=True))
    rows: list[Line] = []
    for row in _by_model(found.tables["requirements"].iter_rows(named=True)):
        if row["change"] == "not compared":
            continue
        rows.append((row["model"], _difference(row["requirement"], row, "rate")))
        own = (each for each in languages if _key(each) == _key(row) and each["presence"] == "both")
        rows += [(each["model"], _difference(f" {each['language']}", each, "macro_rate")) for each in own]
    headings = ("requirement", "before", "after", "diff", "p", "q", "")
    return Section("Differences", headings, rows, numbers=True, note=_tests(found) if rows else "")


def _tests(found: Comparison) -> str:
    used = " and ".join(sorted(set(found.tables["requirements"]["test"].drop_nulls())))
    return (
        "A requirement: share of the prompts judged in both that pass. A language: mean over its templates [95% "
        f"interval]. diff: points, on the prompts judged in both. Test: {used}; q: p adjusted for all tests here; "
        "–: no difference shown at .05."
    )


def _by_model(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["model"], row["requirement"]))


def _key(row: Row) -> tuple[str, str]:
    return row["requirement"], row["model"]


def _difference(name: str, row: Row, rate: str) -> tuple[str, ...]:
    change = "–" if row["change"] == "no difference shown" else row["change"]
    sides = [_rate(row, side, rate) for side in ("earlier", "later")]
    moved = "–" if row["difference"] is None else f"{100 * row['difference']:+.1f}"
    chances = (chance(row[name]) for name in ("p_value", "q_value"))
    return (name, *sides, moved, *chances, "–" if change == "not compared" else change)


def _rate(row: Row, side: str, rate: str) -> str:
    """With its interval in whole percent, which is as much as a line holds."""
    low, high = row.get(f"{side}_interval_low"), row.get(f"{side}_interval_high")
    told = row[f"{side}_{rate}"]
    if told is None or low is None or high is None:
        return share(told)
    return f"{100 * told:.0f}% [{100 * low:.0f}–{100 * high:.0f}]"


def chance(value: float | None) -> str:
    """A p or q value, as papers print it."""
    if value is None:
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def _findings(found: Comparison) -> Section:
    rows = [
        (row["model"], (row["requirement"], *(_from_to(row, name) for name in ("point_finding", "decision"))))
        for row in _by_model(found.tables["requirements"].iter_rows(named=True))
        if row["presence"] == "both"
    ]
    return Section("Findings", ("requirement", "by the point rate", "by the interval"), rows)


def _from_to(row: Row, name: str) -> str:
    before, after = row[f"earlier_{name}"], row[f"later_{name}"]
    return str(before) if before == after else f"{before} → {after}"


def _why(row: Row) -> tuple[str, ...] | None:
    return (row["requirement"], row["why_not_compared"]) if row["why_not_compared"] else None


def _absence(row: Row) -> tuple[str, ...]:
    of = " · ".join(part for part in (row["requirement"], row["language"]) if part)
    return row["name"], row["kind"], of or "–", NAMES[row["presence"]]


def _move(row: Row) -> tuple[str, ...]:
    units = {"test": "tests", "reply": "replies"}
    return (
        row["requirement"],
        units[row["unit"]],
        row["earlier_outcome"],
        row["later_outcome"],
        f"{row['moved']:,}",
    )


def _oracle(row: Row) -> tuple[str, ...]:
    return row["template"], row["language"], row["earlier_reason"] or "–", row["later_reason"] or "–"


def _test(row: Row) -> tuple[str, ...]:
    sample = f" sample {row['sample']}" if row["sample"] > 1 else ""
    name = f"{row['template']} {row['language']}{sample}"
    return name, row["earlier_outcome"], row["later_outcome"], row["template_id"]


def _reply(row: Row) -> tuple[str, ...]:
    about = f" ({row['communities_label']})" if row["communities_label"] else ""
    return f"{row['template']}{about}", *(_outcome(row, side) for side in ("earlier", "later")), row["case_id"]


def _outcome(row: Row, side: str) -> str:
    value = row[f"{side}_value"]
    return f"{value.normalize():f}" if value is not None else str(row[f"{side}_outcome"])


def _circumstances(found: Comparison) -> Section:
    rows: list[Line] = [
        ("", (f"{row['what']} {row['name']}", row["earlier"] or "–", row["later"] or "–"))
        for row in found.circumstances.iter_rows(named=True)
    ]
    return Section("What else differs", ("", "earlier", "later"), rows)
