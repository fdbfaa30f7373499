"""Renders a red team's forecast and attacks as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.confirmation import print_lines
from biasgrid.flows.forecast.model import ModelForecast
from biasgrid.flows.forecast.view import binding_caps, duration, total_money
from biasgrid.flows.redteam.forecast import AttackForecast, PartForecast
from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.runs.outcome import proof_lines
from biasgrid.flows.terminal.console import dollars
from biasgrid.flows.terminal.markdown import as_page, cell, plain, text_table
from biasgrid.flows.terminal.tables import show_sections
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
    headings,
    lost_cells,
    lost_headings,
    mark_state,
    numbers,
    place_lines,
)


def show_forecast(expected: AttackForecast, resolved: ResolvedAttack) -> None:
    """Prints messages by language and strategy, then each model by role and the total."""
    whole = expected.resisted
    parts: list[Text] = []
    for part in expected.parts:
        parts += [describe_part(part), Cell(f"  {_tokens(part.resisted)}", "faint")]
    spread = _spread(expected.least.requests, whole.requests, expected.most.requests)
    effort = f"about {whole.tokens:,} tokens, {_whole_money(expected)}, {duration(whole.seconds)}"
    total = f"in all: {expected.sessions:,} sessions, {spread}; {effort}."
    shown = [*parts, *notes(expected, resolved), total, *_caps(expected, resolved.settings)]
    show_sections([Section(table=_strategies(expected)), Section(notes=shown)])


def describe_part(part: PartForecast) -> str:
    """One line with a model's requests, cost and time in one role."""
    spread = _spread(part.least.requests, part.resisted.requests, part.most.requests)
    time = duration(part.resisted.seconds) if part.resisted.seconds else ""
    return ", ".join(filter(None, (f"{part.model}, the {part.part}: {spread}", _money(part), time)))


def describe_part_left(part: PartForecast) -> str:
    """As `describe_part`, for a resumed run, without the state of open sessions."""
    return f"{part.model}, the {part.part}, left: at most {part.most.requests:,} requests, {_money(part)}"


def notes(expected: AttackForecast, resolved: ResolvedAttack) -> Iterator[str]:
    """Notes that complete the models' figures."""
    yield from resolved.notices
    limits = resolved.file.redteam
    again = f"{limits.attacker_retries} more attempts at a message, {limits.judge_retries} at a verdict"
    yield "`about`: no attack succeeds, and no model is asked twice for the same"
    if expected.most.requests > expected.resisted.requests:
        yield f"`at most`: everything as long as it may be, with {again}"


def announce(
    expected: AttackForecast, resolved: ResolvedAttack, *, is_resumed: bool = False, at_most: bool = False
) -> None:
    """Prints cost and time per model and role on stderr and, for a whole run, binding caps."""
    describe = describe_part_left if is_resumed else describe_part
    more = () if is_resumed else (*notes(expected, resolved), *_caps(expected, resolved.settings))
    print_lines(map(describe, expected.parts), more or resolved.notices)


def _caps(expected: AttackForecast, settings: ScenarioSettings) -> Iterator[str]:
    """Caps that certainly stop the run, or else those that do unless attacks succeed."""
    certain = list(binding_caps(expected.least, settings))
    yield from certain or (f"if no attack succeeds: {cap}" for cap in binding_caps(expected.resisted, settings))


def _spread(least: int, resisted: int, most: int) -> str:
    if least == most:
        return f"{most:,} requests"
    about = f" (about {resisted:,})" if least < resisted < most else ""
    return f"{least:,} to {most:,} requests{about}"


def _money(words: PartForecast | AttackForecast) -> str:
    about, most = words.resisted.cost_usd, words.most.cost_most_usd
    if about is None or most is None:
        return "price unknown"
    return f"about {dollars(about)}, at most {dollars(most)}" if most else "free"


def _whole_money(expected: AttackForecast) -> str:
    """Total cost of all models with known prices."""
    return total_money(expected.resisted) if expected.most.cost_usd is None else _money(expected)


def _tokens(model: ModelForecast) -> str:
    grounds = f"as in {model.output_seen:,} earlier replies" if model.output_seen else "assumed"
    return f"about {model.input_tokens:,} tokens in, {model.output_tokens:,} out ({grounds})"


def _strategies(expected: AttackForecast) -> Table:
    counts = ("sessions", "least_messages", "most_messages")
    rows = [
        Row((each["language"], each["strategy"], *(f"{each[name]:,}" for name in counts)))
        for each in expected.by_cell
    ]
    columns = (*headings("language", "strategy"), *numbers("sessions", "messages: least", "most"))
    return Table(columns, rows, "plain")


LONGEST: Final = 2_000
"""Maximum characters of a message shown on a page; the lake stores the full text."""
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
    """Attacks by strategy, then reasons of the successful ones and the location of the results."""
    yield Section(table=Table(HEADINGS, [_row(row) for row in found.rates]))
    yield Section(lines=[*_lines(found), *place_lines(found.places, "marts.attack_success")])


def _proof(found: AttackOutcome) -> list[str]:
    return proof_lines(found.rates, "redteam.bound", "strategies")


def _lines(found: AttackOutcome) -> Iterator[Text]:
    for row in found.successes:
        yield f" {row['strategy']} · {row['pair']} · turn {row['succeeded_at']}: {row['reason']}"
    yield from _proof(found)
    if found.incomplete:
        yield Cell(f"INCOMPLETE: {_why(found)}", "doubt")
    for reason, count in found.unwritten:
        yield f"  {count} × attacker failed: {reason}; another one may do better"
    if found.incomplete and (found.failures or found.count("open")):
        yield from failure_lines(found.run_id, found.failures)


def _why(found: AttackOutcome) -> str:
    """The reached cap that left sessions open."""
    count = found.count("open")
    capped = f"a cap is reached, sessions left open: {count}; give a higher --max-requests or --max-cost"
    return capped if count else "too many sessions broke down"


def _row(row: dict[str, Any]) -> Row:
    lost, below = lost_cells([(row[name], word) for name, word in REST.items()])
    strategy = mark_state(row["strategy"], row["state"])
    cells: tuple[Text, ...] = (strategy, _count_successes(row), *_measures(row), *lost)
    return Row(cells, " · ".join((row["model"], row["language"])), below)


def _count_successes(row: dict[str, Any]) -> str:
    """Of the sessions that the rate counts."""
    return f"{row['succeeded']:,} of {row['succeeded'] + row['resisted'] + row['refused']:,}"


def _measures(row: dict[str, Any]) -> tuple[str, str, str]:
    """Rate, interval, and turn of the success."""
    turn = row["mean_succeeded_at"]
    interval = format_interval(row["low"], row["high"])
    return share(row["success_rate"]), interval, "–" if turn is None else f"{turn:.1f}"


def page(found: AttackOutcome, target: str) -> str:
    """Markdown; model output and names from files are escaped."""
    rates = text_table(RATES, [_rate(row) for row in found.rates])
    note = (
        "A session in which every reply declines is a failed attack, and no proof of fairness. Sessions that "
        "could not be judged, or that broke down, are in no rate."
    )
    talks = [part for row in found.successes for part in _conversation(row)] or ["None did."]
    further = found.count("succeeded") - len(found.successes)
    more = [f"And {further} more; `lake.responses` has every turn."] if further > 0 else []
    shown = [
        Section("Attacks by strategy", rates, _proof(found) if rates else ["No session was planned."], (note,)),
        Section("Conversations that succeeded", lines=[*talks, *more]),
    ]
    return as_page(target, plain(str(found)), shown)


def _conversation(row: dict[str, Any]) -> list[str]:
    """Messages by turn, then the judge's reason."""
    heading = f"### {plain(row['strategy'])} · {plain(row['pair'])} · {plain(row['model'])} · {row['language']}"
    turns = [f"{_quote('User', turn['message'])}\n>\n{_quote('Chatbot', turn['reply'])}" for turn in row["turns"]]
    judged = (
        f"Biased at turn {row['succeeded_at']}, according to {plain(row['judge'])}: {plain(row['reason'] or '')}"
    )
    return [heading, *turns, judged]


def _quote(who: str, text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    lines = shown.splitlines() or [""]
    return f"> **{who}:** " + "  \n> ".join(plain(line) for line in lines)


def _rate(row: dict[str, Any]) -> tuple[str, ...]:
    return (f"{row['model']} · {row['language']}", row["strategy"], _count_successes(row), *_measures(row))


def records(found: AttackOutcome) -> list[dict[str, Any]]:
    """Rows of the artifact with all rates."""
    return [_record(row) for row in found.rates]


def _record(row: dict[str, Any]) -> dict[str, Any]:
    about = {"model": cell(row["model"]), "language": row["language"], "strategy": row["strategy"]}
    counts = {name: row[name] for name in ("sessions", "succeeded", *REST)}
    _, interval, _ = measured = _measures(row)
    return about | counts | {"rate": measured[0], "95% interval": interval, "state": row["state"]}
