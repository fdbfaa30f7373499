"""Renders a probe's forecast and findings as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.flows.forecast.confirmation import binding_caps, model_lines, print_lines
from biasgrid.flows.forecast.view import describe_model, describe_tokens, duration, total_money
from biasgrid.flows.interaction.formatting import p_value
from biasgrid.flows.probe.forecast import ProbeForecast
from biasgrid.flows.probe.outcome import ProbeOutcome
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
    format_interval,
    headings,
    incomplete_lines,
    lost_cells,
    lost_headings,
    mark,
    numbers,
    place_lines,
)


def show_forecast(expected: ProbeForecast, resolved: ResolvedProbe) -> None:
    """Prints prompts by language and axis, then each model and the total."""
    whole = expected.whole
    models: list[Text] = []
    for name, model in whole.models.items():
        models += [f"{name}: {describe_model(model)}", Cell(f"  {describe_tokens(model)}", "faint")]
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    total = f"in all: {whole.instances:,} prompts, {whole.requests:,} requests, {effort}."
    show_sections([Section(table=_tests(expected)), Section(notes=[*models, *notes(expected), total])])


def notes(expected: ProbeForecast) -> Iterator[str]:
    """Notes that complete the models' figures."""
    if expected.conditional:
        left, whole = expected.conditional, expected.whole.requests
        yield f"that is at most: {left:,} of the {whole:,} requests follow only where implicit bias shows"
    if expected.generator and expected.generated_by:
        requests = f"{expected.generator.requests} request{'s' if expected.generator.requests > 1 else ''}"
        text = describe_model(expected.generator).partition(", ")[2]
        yield f"{expected.generated_by} proposes the pairs: {requests}, {text}"


def announce(
    expected: ProbeForecast, resolved: ResolvedProbe, *, is_resumed: bool = False, at_most: bool = False
) -> None:
    """Prints cost and time per model on stderr and, for a whole run, caps below the lower bound."""
    caps = () if is_resumed else binding_caps(expected.sure, resolved.settings)
    print_lines(model_lines(expected.whole, is_resumed=is_resumed), [*notes(expected), *caps])


def _tests(expected: ProbeForecast) -> Table:
    cells = expected.whole.by_cell
    tests = list(dict.fromkeys(str(each["test"]) for each in cells))
    rows = []
    by = itemgetter("language", "axis")
    for (language, axis), found in groupby(sorted(cells, key=by), key=by):
        own = {str(each["test"]): each for each in found}
        pairs = max(int(str(each["pairs"])) for each in own.values())
        prompts = (f"{own[test]['prompts']:,}" if test in own else "–" for test in tests)
        rows.append(Row((language, axis, f"{pairs:,}", *prompts)))
    return Table((*headings("language", "axis"), *numbers("pairs", *tests)), rows, "plain")


LOST: Final = {
    "balanced": "neither way",
    "one_sided": "one-sided",
    "refused": "refused",
    "unreadable": "unreadable",
    "errors": "failed",
}
HEADINGS: Final = (
    *(Heading("pair"), Heading("finding")),
    *numbers("with : against", "share", "95% interval", "q"),
    *lost_headings(LOST.values()),
)
BIASED: Final = ("model", "test", "pair", "with it", "95% interval", "q")
RULES: Final = ("model", "prompts", "implicit", "and explicit", "share", "attack")


def sections(found: ProbeOutcome) -> Iterator[Section]:
    """Findings by pair, then the published rule and the location of the results."""
    yield Section(table=Table(HEADINGS, [_row(row) for row in found.findings]))
    lack = incomplete_lines(found.run_id, found.failures, "coverage below the floor") if found.incomplete else ()
    rules = [_rule_line(row) for row in found.rules]
    yield Section(lines=[*rules, *lack, *place_lines(found.places, "marts.probe_findings")])


def _row(row: dict[str, Any]) -> Row:
    """Row of a finding; neutral and incomparable trials are extra columns."""
    lost, below = lost_cells([(row[name], word) for name, word in LOST.items()])
    cells: tuple[Text, ...] = (
        *(row["pair"], mark(row["finding"]), f"{row['stereotypical']} : {row['counter']}"),
        share(row["stereotypical_share"]),
        *(format_interval(row["low"], row["high"]), p_value(row["q_value"])),
    )
    return Row((*cells, *lost), " · ".join((row["model"], row["language"], row["test"])), below)


def _rule_line(row: dict[str, Any]) -> str:
    both = f"{row['prompts_both']} of {row['prompts']} prompts show implicit and explicit bias"
    return f"{row['model']} · {row['language']}: by the published rule {row['published_rule']}: {both}"


def page(found: ProbeOutcome, target: str) -> str:
    """Markdown; names from files are escaped."""
    biased = text_table(BIASED, [_biased_cells(row) for row in found.biased])
    rules = text_table(RULES, [_rule_cells(row) for row in found.rules])
    note = (
        "*with it*: trials that fell with the stereotype, of those that fell one way or the other. "
        "A pair is biased where its trials fall with the stereotype more often than chance explains, at a "
        "false-discovery rate of 5% over all pairs of a test. By chance alone half of them do."
    )
    none = "No pair shows a pattern beyond chance."
    shown = [
        Section("Biased beyond chance", biased, () if biased else (none,), (note,)),
        Section("By the published rule", rules, () if rules else ("No implicit test was asked.",)),
    ]
    return as_page(target, plain(str(found)), shown)


def _rule_cells(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{row[name]:,}" for name in ("prompts", "prompts_implicit", "prompts_both"))
    return (f"{row['model']} · {row['language']}", *counts, share(row["share_both"]), row["published_rule"])


def _biased_cells(row: dict[str, Any]) -> tuple[str, ...]:
    of = f"{row['stereotypical']} of {row['stereotypical'] + row['counter']}"
    interval = format_interval(row["low"], row["high"])
    return (f"{row['model']} · {row['language']}", row["test"], row["pair"], of, interval, f"{row['q_value']:.2g}")


def records(found: ProbeOutcome) -> list[dict[str, Any]]:
    """Rows of the artifact with all findings."""
    return [_record(row) for row in found.findings]


def _record(row: dict[str, Any]) -> dict[str, Any]:
    counts = {name.replace("one_", "one-"): row[name] for name in ("stereotypical", "counter", *LOST)}
    return {
        "model": cell(row["model"]),
        "language": row["language"],
        "test": row["test"],
        "pair": cell(row["pair"]),
        "finding": row["finding"],
        **counts,
        "share": share(row["stereotypical_share"]),
        "95% interval": f"{share(row['low'])} to {share(row['high'])}",
        "q": "–" if row["q_value"] is None else f"{row['q_value']:.2g}",
    }
