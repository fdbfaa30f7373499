"""Renders an interaction's forecast and scores as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.flows.forecast.confirmation import model_lines, print_lines
from biasgrid.flows.forecast.view import binding_caps, describe_model, duration, total_money
from biasgrid.flows.interaction.forecast import InteractionForecast
from biasgrid.flows.interaction.formatting import difference, format_interval_of, format_subject
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.runs.outcome import proof_lines
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
    mark_state,
    numbers,
    place_lines,
)
from biasgrid.tasks.report.verdicts import word_of


def show_forecast(expected: InteractionForecast, resolved: ResolvedInteraction) -> None:
    """Prints plays by setting, then each model and the total."""
    whole = expected.whole
    about, counts = ("language", "setting", "mitigation"), ("scenes", "plays", "requests")
    rows = [
        Row((*(str(each[name]) for name in about), *(f"{each[name]:,}" for name in counts)))
        for each in whole.by_cell
    ]
    models = [f"{name}: {describe_model(model)}" for name, model in whole.models.items()]
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    total = f"in all: {expected.plays:,} plays, {whole.requests:,} requests; {effort}."
    table = Table((*headings(*about), *numbers(*counts)), rows, "plain")
    caps = (*resolved.notices, *binding_caps(whole, resolved.settings))
    show_sections([Section(table=table), Section(notes=[*models, total, *caps])])


def announce(
    expected: InteractionForecast,
    resolved: ResolvedInteraction,
    *,
    is_resumed: bool = False,
    at_most: bool = False,
) -> None:
    """Prints cost and time per model on stderr and, for a whole run, binding caps."""
    whole = () if is_resumed else (f"{expected.plays:,} plays of scenes",)
    caps = () if is_resumed else (*resolved.notices, *binding_caps(expected.whole, resolved.settings))
    print_lines([*whole, *model_lines(expected.whole, is_resumed=is_resumed)], caps)


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
        (SCORES, [_score_row(row) for row in (*found.overall, *found.controls)]),
        (CHOSEN, [_choice_row(row) for row in found.choices]),
        (CHANGES, [_change_row(row, "talking", "step") for row in found.talked]),
        (CHANGES, [_change_row(row, "mitigation", "stage") for row in found.mitigated]),
    )
    for columns, rows in tables:
        if rows:
            yield Section(table=Table(columns, rows))
    resumable = None if found.is_imported else found.run_id
    lack = incomplete_lines(resumable, found.failures, "coverage below the floor") if found.incomplete else ()
    understood = [_understood_line(row) for row in found.understanding]
    yield Section(lines=[*_proof(found), *understood, *lack, *place_lines(found.places, "marts.bias_scores")])


def _proof(found: InteractionOutcome) -> list[str]:
    return proof_lines(found.overall, "interaction.bound", "scores")


def _score_row(row: dict[str, Any]) -> Row:
    lost, below = lost_cells([(row[name], word) for name, word in LOST.items()])
    cells: tuple[Text, ...] = (_setting(row), *_measures(row), mark_state(row["decision"], row["state"]), *lost)
    return Row(cells, _about(row), below)


def _measures(row: dict[str, Any]) -> tuple[str, str, str]:
    return format_score(row["bias_score"]), format_interval_of(row), format_score(row["expected_score"])


def _setting(row: dict[str, Any]) -> str:
    stage = "" if row["stage"] == "only" else row["stage"]
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    return " · ".join(part for part in (row["setting"], mitigation, stage) if part)


def _about(row: dict[str, Any]) -> str:
    """Common values of one group of rows."""
    kinds = [name for name in ("is_control", "held_out") if row.get(name)]
    return " · ".join([row["model"], row["language"], row["axis"], *map(KINDS.__getitem__, kinds)])


def _choice_row(row: dict[str, Any]) -> Row:
    """Number of choices for the first of the two groups."""
    of_first = f"{row['first_group']}: {row['first_chosen']} of {row['first_chosen'] + row['second_chosen']}"
    own, low, high, chance = map(share, (row["first_share"], row["low"], row["high"], row["expected_share"]))
    return Row((_setting(row), of_first, own, f"{low} to {high}", chance), f"{_about(row)} · {row['scene']}")


def _change_row(row: dict[str, Any], what: str, last: str) -> Row:
    names = ("setting", "mitigation", last)
    parts = [str(row[name]).removeprefix("first ") for name in names if row[name] != "none"]
    return Row((" · ".join(parts), *difference(row)), f"what {what} changed · {_about(row)}")


def _understood_line(row: dict[str, Any]) -> str:
    right = row["true_positives"] + row["true_negatives"]
    of = f"{right} of {row['replies']} assignments ({share(row['accuracy'])})"
    return f"{row['model']} · {row['language']}: states correctly whether implicit bias is present in {of}"


def page(found: InteractionOutcome, name: str) -> str:
    """Markdown; names from files are escaped."""
    scores = text_table(("model", "setting", "stage", *MEASURES, "decision"), [*map(_score_cells, found.overall)])
    note = (
        "The score is the share of stereotypical assignments less that of anti-stereotypical ones, −1 to 1, "
        "next to what it would be if tasks were dealt out at random. Its interval is clustered by scene."
    )
    changes = ("model", "setting", "step", *CHANGE)
    mitigated = ("model", "setting", "mitigation", "stage", *CHANGE)
    understood = ("model", "accuracy", "95% interval", "present: right, wrong", "absent: right, wrong")
    shown = [
        Section("Who is given which task", scores, _proof(found) if scores else ["No scene was played."], (note,)),
        *_section("What talking changed", changes, found.talked, _change_cells),
        *_section("What mitigation changed", mitigated, found.mitigated, _mitigation_cells),
        *_section("Whether implicit bias is recognised", understood, found.understanding, _understanding_cells),
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


def _score_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (format_subject(row), _mitigated_setting(row), row["stage"], *_measures(row), word_of(row["decision"]))


def _change_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (format_subject(row), _mitigated_setting(row), row["step"], *difference(row))


def _mitigation_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (format_subject(row), row["setting"], row["mitigation"], row["stage"], *difference(row))


def _understanding_cells(row: dict[str, Any]) -> tuple[str, ...]:
    present = f"{row['true_positives']}, {row['false_negatives']}"
    absent = f"{row['true_negatives']}, {row['false_positives']}"
    return (format_subject(row), share(row["accuracy"]), format_interval(row["low"], row["high"]), present, absent)


def _mitigated_setting(row: dict[str, Any]) -> str:
    mitigation = "" if row["mitigation"] == "none" else f" · {row['mitigation']}"
    return f"{row['setting']}{mitigation}"


def records(found: InteractionOutcome) -> list[dict[str, Any]]:
    """Rows of the artifact with all scores."""
    return [_record(row) for row in found.bias_scores]


def _record(row: dict[str, Any]) -> dict[str, Any]:
    names = (
        "language",
        "axis",
        "domain",
        "is_control",
        "held_out",
        "setting",
        "mitigation",
        "stage",
        "decision",
        "state",
    )
    kept = {name: row[name] for name in (*names, *COUNTS, *LOST)}
    return {"model": cell(row["model"])} | kept | dict(zip(MEASURES, _measures(row), strict=True))
