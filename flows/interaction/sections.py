"""Renders an interaction's forecast and scores as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import typer

from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.forecast.confirmation import announce
from biasgrid.flows.forecast.view import duration, in_short, total_money
from biasgrid.flows.interaction.forecast import InteractionForecast
from biasgrid.flows.interaction.formatting import difference, interval, told
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.terminal.markdown import as_page, cell, plain, text_table
from biasgrid.flows.terminal.tables import show_sections
from biasgrid.tasks.report.figures import format_score, share
from biasgrid.tasks.report.model import (
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


def show_interaction_forecast(expected: InteractionForecast) -> None:
    """Prints plays by setting, then each model and the total."""
    whole = expected.whole
    about, counts = ("language", "setting", "mitigation"), ("scenes", "plays", "requests")
    rows = [
        Row((*(str(each[name]) for name in about), *(f"{each[name]:,}" for name in counts)))
        for each in whole.by_cell
    ]
    models = [f"{name}: {in_short(model)}" for name, model in whole.models.items()]
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    total = f"in all: {expected.plays:,} plays, {whole.requests:,} requests; {effort}."
    table = Table((*headings(*about), *numbers(*counts)), rows, "plain")
    show_sections([Section(table=table), Section(notes=[*models, total])])


def announce_interaction(
    expected: InteractionForecast, settings: ScenarioSettings, *, is_resumed: bool = False
) -> None:
    """Prints cost and time per model on stderr and, for a whole run, binding caps."""
    if not is_resumed:
        typer.echo(f"{expected.plays:,} plays of scenes", err=True)
    announce(expected.whole, settings, is_resumed=is_resumed)


LOST: Final = {
    **{name: name for name in ("shared", "unassigned", "invented", "refused", "unreadable")},
    "errors": "failed",
}
MEASURES: Final = ("score", "95% interval", "by chance")
CHANGE: Final = ("before", "after", "difference", "95% interval", "p")
SCORES: Final = (Heading("setting"), *numbers(*MEASURES), Heading("decision"), *lost_headings(LOST.values()))
CHOSEN: Final = (Heading("setting"), *numbers("chosen", "share", "95% interval", "by chance"))
CHANGES: Final = (Heading("setting"), *numbers("before", "after", "change", "95% interval", "p"))
KINDS: Final = {"is_control": "controls", "held_out": "held out"}
COUNTS: Final = ("scenes", "replies", "stereotypical", "anti_stereotypical", "neutral", "ties")


def sections(found: InteractionOutcome) -> Iterator[Section]:
    """Scores over all domains, choices, effects of discussion and mitigation, then the location of the results."""
    tables = (
        (SCORES, [_score(row) for row in (*found.overall, *found.controls)]),
        (CHOSEN, [_chosen(row) for row in found.choices]),
        (CHANGES, [_change(row, "talking", "step") for row in found.talked]),
        (CHANGES, [_change(row, "mitigation", "stage") for row in found.mitigated]),
    )
    for columns, rows in tables:
        if rows:
            yield Section(table=Table(columns, rows))
    lack = incomplete_lines(found.run_id, found.failures, "coverage below the floor") if found.incomplete else ()
    understood = [_understood_line(row) for row in found.understanding]
    yield Section(lines=[*understood, *lack, *place_lines(found.places, "marts.bias_scores")])


def _score(row: dict[str, Any]) -> Row:
    lost, below = lost_cells([(row[name], word) for name, word in LOST.items()])
    cells: tuple[Text, ...] = (_setting(row), *_measures(row), mark(row["decision"]), *lost)
    return Row(cells, _about(row), below)


def _measures(row: dict[str, Any]) -> tuple[str, str, str]:
    return format_score(row["bias_score"]), interval(row), format_score(row["expected_score"])


def _setting(row: dict[str, Any]) -> str:
    stage = "" if row["stage"] == "only" else row["stage"]
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    return " · ".join(part for part in (row["setting"], mitigation, stage) if part)


def _about(row: dict[str, Any]) -> str:
    """Common values of one group of rows."""
    kinds = [name for name in ("is_control", "held_out") if row.get(name)]
    return " · ".join([row["model"], row["language"], row["axis"], *map(KINDS.__getitem__, kinds)])


def _chosen(row: dict[str, Any]) -> Row:
    """Number of choices for the first of the two groups."""
    of_first = f"{row['first_group']}: {row['first_chosen']} of {row['first_chosen'] + row['second_chosen']}"
    own, low, high, chance = map(share, (row["first_share"], row["low"], row["high"], row["expected_share"]))
    return Row((_setting(row), of_first, own, f"{low} to {high}", chance), f"{_about(row)} · {row['scene']}")


def _change(row: dict[str, Any], what: str, last: str) -> Row:
    names = ("setting", "mitigation", last)
    parts = [str(row[name]).removeprefix("first ") for name in names if row[name] != "none"]
    return Row((" · ".join(parts), *difference(row)), f"what {what} changed · {_about(row)}")


def _understood_line(row: dict[str, Any]) -> str:
    right = row["true_positives"] + row["true_negatives"]
    of = f"{right} of {row['replies']} assignments ({share(row['accuracy'])})"
    return f"{row['model']} · {row['language']}: tells rightly whether implicit bias is present in {of}"


async def publish(found: InteractionOutcome, name: str) -> None:
    """Creates the artifacts of a finished interaction: a table of scores and a summary page."""
    from biasgrid.flows.results.artifacts import publish_findings

    scores = ("interaction-scores", "scores", [*map(_record, found.bias_scores)])
    await publish_findings(scores, "interaction", page(found, name), name, found.run_id)


def page(found: InteractionOutcome, name: str) -> str:
    """Markdown; names from files are escaped."""
    scores = text_table(("model", "setting", "stage", *MEASURES, "decision"), [*map(_scored, found.overall)])
    note = (
        "The score is the share of stereotypical assignments less that of anti-stereotypical ones, −1 to 1, "
        "beside what it would be if tasks were dealt out at random. Its interval is clustered by scene."
    )
    changes = ("model", "setting", "step", *CHANGE)
    mitigated = ("model", "setting", "mitigation", "stage", *CHANGE)
    understood = ("model", "accuracy", "95% interval", "present: right, wrong", "absent: right, wrong")
    shown = [
        Section("Who is given which task", scores, () if scores else ("No scene was played.",), (note,)),
        *_section("What talking changed", changes, found.talked, _changed),
        *_section("What mitigation changed", mitigated, found.mitigated, _mitigated),
        *_section("Whether implicit bias is recognised", understood, found.understanding, _understood),
    ]
    return as_page(name, plain(str(found)), shown)


def _section(
    title: str,
    names: tuple[str, ...],
    rows: Sequence[dict[str, Any]],
    cells: Callable[[dict[str, Any]], tuple[str, ...]],
) -> Iterator[Section]:
    if rows:
        yield Section(title, text_table(names, [*map(cells, rows)]))


def _scored(row: dict[str, Any]) -> tuple[str, ...]:
    return (told(row), _mitigated_setting(row), row["stage"], *_measures(row), row["decision"])


def _changed(row: dict[str, Any]) -> tuple[str, ...]:
    return (told(row), _mitigated_setting(row), row["step"], *difference(row))


def _mitigated(row: dict[str, Any]) -> tuple[str, ...]:
    return (told(row), row["setting"], row["mitigation"], row["stage"], *difference(row))


def _understood(row: dict[str, Any]) -> tuple[str, ...]:
    present = f"{row['true_positives']}, {row['false_negatives']}"
    absent = f"{row['true_negatives']}, {row['false_positives']}"
    return (told(row), share(row["accuracy"]), format_interval(row["low"], row["high"]), present, absent)


def _mitigated_setting(row: dict[str, Any]) -> str:
    mitigation = "" if row["mitigation"] == "none" else f" · {row['mitigation']}"
    return f"{row['setting']}{mitigation}"


def _record(row: dict[str, Any]) -> dict[str, Any]:
    names = ("language", "axis", "domain", "is_control", "held_out", "setting", "mitigation", "stage", "decision")
    kept = {name: row[name] for name in (*names, *COUNTS, *LOST)}
    return {"model": cell(row["model"])} | kept | dict(zip(MEASURES, _measures(row), strict=True))
