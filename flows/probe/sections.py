"""A probe's findings as sections: on the terminal, and as artifacts in Prefect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from biasgrid.flows.interaction.formatting import p_value
from biasgrid.flows.probe.outcome import ProbeOutcome
from biasgrid.flows.terminal.markdown import as_page, cell, plain, text_table
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.model import (
    Heading,
    Row,
    Section,
    Table,
    Text,
    format_interval,
    incomplete_lines,
    lost_cells,
    lost_headings,
    mark,
    numbers,
    place_lines,
)

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
    """The findings by pair, then the published rule and where the results are."""
    yield Section(table=Table(HEADINGS, [_row(row) for row in found.findings]))
    lack = incomplete_lines(found.run_id, found.failures, "coverage below the floor") if found.incomplete else ()
    rules = [_rule_line(row) for row in found.rules]
    yield Section(lines=[*rules, *lack, *place_lines(found.places, "marts.probe_findings")])


def _row(row: dict[str, Any]) -> Row:
    """Trials that went neither way, or compare nothing, are extra columns."""
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


async def publish(found: ProbeOutcome, target: str) -> None:
    """Create the artifacts of a finished probe: a table of findings, and a page with the summary."""
    from biasgrid.flows.results.artifacts import publish_findings

    table = ("probe-findings", "findings", [*map(_record, found.findings)])
    await publish_findings(table, "probe", page(found, target), target, found.run_id)


def page(found: ProbeOutcome, target: str) -> str:
    """Markdown; names from files are escaped."""
    biased = text_table(BIASED, [_biased(row) for row in found.biased])
    rules = text_table(RULES, [_rule(row) for row in found.rules])
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


def _rule(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{row[name]:,}" for name in ("prompts", "prompts_implicit", "prompts_both"))
    return (f"{row['model']} · {row['language']}", *counts, share(row["share_both"]), row["published_rule"])


def _biased(row: dict[str, Any]) -> tuple[str, ...]:
    of = f"{row['stereotypical']} of {row['stereotypical'] + row['counter']}"
    interval = format_interval(row["low"], row["high"])
    return (f"{row['model']} · {row['language']}", row["test"], row["pair"], of, interval, f"{row['q_value']:.2g}")


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
