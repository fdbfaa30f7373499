"""Renders an audit's documents, forecast and findings as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.flows.audit.forecast import AuditForecast
from biasgrid.flows.audit.outcome import AuditOutcome
from biasgrid.flows.forecast.confirmation import model_lines, print_lines
from biasgrid.flows.forecast.view import binding_caps, describe_model, duration, total_money
from biasgrid.flows.interaction.formatting import p_value
from biasgrid.flows.terminal.markdown import as_page, cell, plain, text_table
from biasgrid.flows.terminal.tables import show_sections
from biasgrid.tasks.audit.prompts import list_prompts
from biasgrid.tasks.report.figures import format_points, share
from biasgrid.tasks.report.model import (
    Cell,
    Row,
    Section,
    Table,
    Text,
    headings,
    incomplete_lines,
    mark_state,
    numbers,
    place_lines,
)

DISCLAIMER: Final = (
    "This is no audit under New York City's Local Law 144 or any other statute. It shows how this system "
    "decides about these documents. It is no claim about applicants, and no proof that no difference exists."
)
CELL: Final = ("design", "signal", "group")
OF_SCORES: Final = "points of score"
OF_RATES: Final = "points of selection"


def show_forecast(expected: AuditForecast, resolved: ResolvedAudit) -> None:
    """Prints decisions by signal and group, then each model, the total and what they can show."""
    whole = expected.whole
    rows = [Row((*(str(c[name]) for name in CELL), f"{c['decisions']:,}")) for c in whole.by_cell]
    models: list[Text] = [f"{name}: {describe_model(model)}" for name, model in whole.models.items()]
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    total = f"in all: {whole.instances:,} decisions a model, {whole.requests:,} requests, {effort}."
    caps = (*resolved.notices, *binding_caps(whole, resolved.settings))
    table = Table((*headings(*CELL), *numbers("decisions")), rows, "plain")
    power = describe_power(expected, resolved.audit.margin)
    show_sections([Section(table=table), Section(notes=[*models, *power, total, *caps, DISCLAIMER])])


def describe_power(expected: AuditForecast, margin: float | None) -> Iterator[str]:
    """What the documents can show, where as many of the pairs differ by chance as the file states."""
    own = f"{expected.documents:,} documents, {expected.pairs:,} pairs in each comparison."
    if not expected.needed:
        yield f"{own} How far apart scores must be to be shown depends on how much they vary by chance."
        return
    needed = ", ".join(
        f"{points} points {count:,}" for points, count in sorted(expected.needed.items(), reverse=True)
    )
    by_chance = f"if {100 * expected.discordance:g}% of pairs differ by chance"
    yield f"{own} Documents that show a difference with power .8, {by_chance}: {needed}."
    if expected.needed_for_equality is not None:
        few = ", more than there are" if expected.needed_for_equality > expected.documents else ""
        what = f"Documents that show a fair system to be within {margin:g} points, {by_chance}"
        yield f"{what}: {expected.needed_for_equality:,}{few}."


def announce(
    expected: AuditForecast, resolved: ResolvedAudit, *, is_resumed: bool = False, at_most: bool = False
) -> None:
    """Prints cost and time per model on stderr and, for a whole run, power and caps."""
    caps = () if is_resumed else (*resolved.notices, *binding_caps(expected.whole, resolved.settings))
    power = () if is_resumed else describe_power(expected, resolved.audit.margin)
    print_lines(model_lines(expected.whole, is_resumed=is_resumed), [*power, *caps])


HEADINGS: Final = (
    *headings("group", "signal", "finding"),
    *numbers("group", "reference", "difference", "95% interval", "q", "pairs"),
)


def sections(found: AuditOutcome) -> Iterator[Section]:
    """Findings by group and signal, ratios, refusals, flips, and where the results are."""
    decided = [row for row in found.shifts if row["measure"] == "decision"]
    yield Section("Differences", Table(HEADINGS, [_row(row) for row in decided]), [*map(describe_shift, decided)])
    refusals = [row for row in found.shifts if row["measure"] == "refusal"]
    if refusals:
        yield Section("Refused or unreadable", Table(HEADINGS, [_row(row) for row in refusals]))
    if found.ratios:
        yield Section("Impact ratios", _ratios(found), notes=["Four-fifths is information, no legal verdict."])
    if found.order:
        yield Section("Order of shortlists", _orders(found))
    if found.ranks:
        yield Section("Ranks after scoring", _ranks(found), ["0 the lowest score, 100 the highest."])
    if found.flips:
        yield Section("Pairs that show it", _flips(found), [f"all of them: {FLIPS_QUERY}"])
    lack = incomplete_lines(found.run_id, found.failures, "coverage below the floor") if found.incomplete else ()
    yield Section(
        lines=[*lack, *place_lines(found.places, "marts.score_shifts")], notes=[Cell(DISCLAIMER, "faint")]
    )


FLIPS_QUERY: Final = 'biasgrid sql "from marts.decision_flips"'


def _row(row: dict[str, Any]) -> Row:
    is_refusal = row["measure"] == "refusal"
    shares = (row["unread_share"], row["reference_unread_share"])
    rates = [None if one is None else 100 * one for one in shares]
    own, reference = rates if is_refusal else (row["points"], row["reference_points"])
    finding = row["not_evaluated_because"] or row["finding"]
    return Row(
        (
            f"{row['identity_group']} : {row['reference']}",
            row["signal"],
            mark_state(finding, row["state"]),
            *map(_number, (own, reference)),
            *_difference_cells(row),
            f"{row['pairs']:,}",
        ),
        " · ".join((row["model"], row["language"])),
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def interval(row: dict[str, Any]) -> str:
    return "–" if row["low"] is None else f"{format_points(row['low'])} to {format_points(row['high'])}"


def describe_shift(row: dict[str, Any]) -> Text:
    """The finding of one comparison in words."""
    unit = OF_SCORES if row["decision"] == "score" else OF_RATES
    who = f"{row['model']}: {row['identity_group']} by {row['signal']}"
    amount = f"{abs(row['difference'] or 0):.1f} {unit}"
    between = f"(95% interval {interval(row)})"
    margin = "" if row["margin"] is None else f"{row['margin']:g} points"
    match row["finding"]:
        case "lower" | "higher":
            within = f", shown to be within {margin}" if row["state"] == "met" else ""
            text = f"{who}: {amount} {row['finding']} than {row['reference']} {between}{within}"
            return Cell(text, "bad" if row["state"] == "not met" else "good")
        case "no more than the margin apart":
            return Cell(f"{who}: no more than {margin} from {row['reference']} {between}", "good")
        case "too few documents or identities to show equality" as few:
            return f"{who}: no difference from {row['reference']} shown {between}, {few} within {margin}"
        case "no difference shown":
            lack = f", and not shown to be within {margin}" if margin else "; that is no proof that there is none"
            return f"{who}: no difference from {row['reference']} shown {between}{lack}"
        case _:
            return Cell(f"{who}: no answer, {row['not_evaluated_because']}", "doubt")


def _ratios(found: AuditOutcome) -> Table:
    columns = (*headings("group", "signal"), *numbers("rate", "reference", "ratio", "95% interval", "four-fifths"))
    return Table(columns, [_ratio(row) for row in found.ratios])


def _ratio(row: dict[str, Any]) -> Row:
    ends = (
        "–"
        if row["low"] is None
        else f"{row['low']:.2f} to {'∞' if row['high'] is None else format(row['high'], '.2f')}"
    )
    four_fifths = "–" if row["impact_ratio"] is None else "yes" if row["is_four_fifths"] else "no"
    ratio = "–" if row["impact_ratio"] is None else f"{row['impact_ratio']:.2f}"
    rates = (share(row["selection_rate"]), share(row["reference_rate"]))
    who = f"{row['identity_group']} : {row['reference']}"
    return Row((who, row["signal"], *rates, ratio, ends, four_fifths), " · ".join((row["model"], row["language"])))


def _difference_cells(row: dict[str, Any]) -> tuple[Text, ...]:
    """A difference with its interval and its adjusted p."""
    return format_points(row["difference"]), interval(row), p_value(row["q_value"])


def _orders(found: AuditOutcome) -> Table:
    columns = (
        *headings("signal", "finding"),
        *numbers("first half", "second half", "difference", "95% interval", "q"),
    )
    rows = [
        Row(
            (
                row["signal"],
                row["finding"],
                *(share(row[name]) for name in ("early_rate", "late_rate")),
                *_difference_cells(row),
            ),
            " · ".join((row["model"], row["language"])),
        )
        for row in found.order
    ]
    return Table(columns, rows)


def _ranks(found: AuditOutcome) -> Table:
    names = numbers("rank", "reference", "difference", "95% interval", "q")
    rows = [
        Row(
            (
                f"{row['identity_group']} : {row['reference']}",
                row["signal"],
                row["finding"],
                *map(_number, (row["mean_rank"], row["reference_rank"])),
                *_difference_cells(row),
            ),
            " · ".join((row["model"], row["language"])),
        )
        for row in found.ranks
    ]
    return Table((*headings("group", "signal", "finding"), *names), rows)


def _flips(found: AuditOutcome) -> Table:
    columns = (*headings("document", "identity", "reference"), *numbers("decided", "reference"))
    rows = [
        Row(
            (
                row["document"],
                row["identity"],
                row["reference_identity"],
                _describe_points(row, "points", found),
                _describe_points(row, "reference_points", found),
            ),
            " · ".join((row["model"], row["signal"])),
        )
        for row in found.flips
    ]
    return Table(columns, rows)


def _describe_points(row: dict[str, Any], name: str, found: AuditOutcome) -> str:
    is_score = found.shifts[0]["decision"] == "score"
    words = {100.0: "selected", 0.0: "not selected"}
    return _number(row[name]) if is_score else words.get(row[name], f"{row[name]:.0f}%")


SUMMARY: Final = ("model", "group", "signal", "measure", "finding", "difference", "95% interval", "q")


def page(found: AuditOutcome, name: str) -> str:
    """Markdown; names from files are escaped."""
    rows = [tuple(str(value) for value in record.values()) for record in records(found)]
    text = [str(describe_shift(row)) for row in found.shifts if row["measure"] == "decision"]
    shown = [Section("Differences", text_table(SUMMARY, rows), [*map(plain, text)], (DISCLAIMER,))]
    return as_page(name, plain(str(found)), shown)


def records(found: AuditOutcome) -> list[dict[str, Any]]:
    """Rows of the artifact with all comparisons."""
    return [
        {
            "model": cell(row["model"]),
            "group": cell(f"{row['identity_group']} : {row['reference']}"),
            "signal": row["signal"],
            "measure": row["measure"],
            "finding": row["finding"],
            "difference": format_points(row["difference"]),
            "95% interval": interval(row),
            "q": p_value(row["q_value"]),
        }
        for row in found.shifts
    ]


def preview_sections(resolved: ResolvedAudit, *, every: bool = False) -> Iterator[Section]:
    """What a person checks before: what is replaced, one document with its slots, and first prompts."""
    rows = [
        Row((one.text, one.slot, f"{one.times:,}"), document.id)
        for document in resolved.documents
        for one in document.masked.replaced
    ]
    unchanged = [one.id for one in resolved.documents if not one.masked.replaced]
    lines = [f"nothing is replaced in: {', '.join(unchanged)}"] if unchanged else []
    table = Table((*headings("text", "slot"), *numbers("times")), rows)
    yield Section(f"Replaced in {len(resolved.documents):,} documents", table if rows else None, lines)
    for document in resolved.documents if every else resolved.documents[:1]:
        yield Section(f"{document.id}, with slots", lines=document.masked.text.splitlines())
    yield from _first_prompts(resolved)


def _first_prompts(resolved: ResolvedAudit) -> Iterator[Section]:
    """The first prompt of each design, signal and group, whole."""
    seen: set[tuple[str, str, str]] = set()
    for prompt in list_prompts(resolved):
        key = (prompt.design, prompt.signal, prompt.group)
        if key not in seen:
            seen.add(key)
            shown = [prompt.members[0].identity.shown] if len(prompt.members) == 1 else []
            title = " · ".join(["Sent", *(key if prompt.design != "solo" else key[1:]), *shown])
            yield Section(title, lines=prompt.text.splitlines())
