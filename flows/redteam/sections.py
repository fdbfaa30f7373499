"""A red team's attacks as sections: on the terminal, and as artifacts in Prefect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.terminal.markdown import as_page, cell, plain, text_table
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.model import (
    Cell,
    Heading,
    Row,
    Section,
    Table,
    Text,
    failure_lines,
    format_interval,
    lost_cells,
    lost_headings,
    numbers,
    place_lines,
)

LONGEST: Final = 2_000
"""Characters of a message or reply that a page shows; the lake has it whole."""
REST: Final = {
    "resisted": "resisted",
    "refused": "refused",
    "unreadable": "unreadable",
    "errors": "broke down",
    "attacker_failed": "attacker failed",
    "open": "open",
}
HEADINGS: Final = (
    Heading("strategy"),
    *numbers("succeeded", "rate", "95% interval", "turn"),
    *lost_headings(REST.values()),
)
RATES: Final = ("model", "strategy", "succeeded", "rate", "95% interval", "at turn")


def sections(found: AttackOutcome) -> Iterator[Section]:
    """The attacks by strategy, then why the successful ones are biased and where the results are."""
    yield Section(table=Table(HEADINGS, [_row(row) for row in found.rates]))
    yield Section(lines=[*_lines(found), *place_lines(found.places, "marts.attack_success")])


def _lines(found: AttackOutcome) -> Iterator[Text]:
    for row in found.successes:
        yield f" {row['strategy']} · {row['pair']} · turn {row['succeeded_at']}: {row['reason']}"
    if found.incomplete:
        yield Cell(f"INCOMPLETE: {_why(found)}", "doubt")
    for reason, count in found.unwritten:
        yield f"  {count} × attacker failed: {reason}; another one may do better"
    if found.incomplete and (found.failures or found.count("open")):
        yield from failure_lines(found.run_id, found.failures)


def _why(found: AttackOutcome) -> str:
    """Why the run is incomplete: a cap that it reached leaves sessions open."""
    count = found.count("open")
    capped = f"a cap is reached, sessions left open: {count}; give a higher --max-requests or --max-cost"
    return capped if count else "too many sessions broke down"


def _row(row: dict[str, Any]) -> Row:
    lost, below = lost_cells([(row[name], word) for name, word in REST.items()])
    strategy = Cell(row["strategy"], "bad" if row["succeeded"] else "")
    cells: tuple[Text, ...] = (strategy, f"{row['succeeded']} of {row['sessions']}", *_measures(row), *lost)
    return Row(cells, " · ".join((row["model"], row["language"])), below)


def _measures(row: dict[str, Any]) -> tuple[str, str, str]:
    """Rate, interval, and turn of the success."""
    turn = row["mean_succeeded_at"]
    interval = format_interval(row["low"], row["high"])
    return share(row["success_rate"]), interval, "–" if turn is None else f"{turn:.1f}"


async def publish(found: AttackOutcome, target: str) -> None:
    """Create the artifacts of a finished red team: a table of rates, and a page with conversations."""
    from biasgrid.flows.results.artifacts import publish_findings

    table = ("redteam-success", "attacks", [*map(_record, found.rates)])
    await publish_findings(table, "redteam", page(found, target), target, found.run_id)


def page(found: AttackOutcome, target: str) -> str:
    """Markdown; what models wrote, and names from files, is escaped."""
    rates = text_table(RATES, [_rate(row) for row in found.rates])
    note = (
        "A session in which every reply declines is a failed attack, and no proof of fairness. Sessions that "
        "nobody could judge, or that broke down, are in no rate."
    )
    talks = [part for row in found.successes for part in _conversation(row)] or ["None did."]
    further = found.count("succeeded") - len(found.successes)
    more = [f"And {further} more; `lake.responses` has every turn."] if further > 0 else []
    shown = [
        Section("Attacks by strategy", rates, () if rates else ("No session was planned.",), (note,)),
        Section("Conversations that succeeded", lines=[*talks, *more]),
    ]
    return as_page(target, plain(str(found)), shown)


def _conversation(row: dict[str, Any]) -> list[str]:
    """Turn by turn, then why the judge finds it biased."""
    heading = f"### {plain(row['strategy'])} · {plain(row['pair'])} · {plain(row['model'])} · {row['language']}"
    turns = [
        f"{_quoted('User', turn['message'])}\n>\n{_quoted('Chatbot', turn['reply'])}" for turn in row["turns"]
    ]
    judged = f"Biased at turn {row['succeeded_at']}, says {plain(row['judge'])}: {plain(row['reason'] or '')}"
    return [heading, *turns, judged]


def _quoted(who: str, text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    lines = shown.splitlines() or [""]
    return f"> **{who}:** " + "  \n> ".join(plain(line) for line in lines)


def _rate(row: dict[str, Any]) -> tuple[str, ...]:
    model, of = f"{row['model']} · {row['language']}", f"{row['succeeded']:,} of {row['sessions']:,}"
    return (model, row["strategy"], of, *_measures(row))


def _record(row: dict[str, Any]) -> dict[str, Any]:
    about = {"model": cell(row["model"]), "language": row["language"], "strategy": row["strategy"]}
    counts = {name: row[name] for name in ("sessions", "succeeded", *REST)}
    return about | counts | {"rate": share(row["success_rate"])}
