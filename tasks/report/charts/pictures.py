"""A run's pictures: what it measured with intervals, and all the other charts as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from biasgrid.tasks.report.charts.differences import contrasts, escalation, trend
from biasgrid.tasks.report.charts.theme import (
    GREY,
    HIGH,
    INK,
    LOW,
    MIDDLE,
    PAPER,
    Picture,
    Words,
    draw_picture,
    make_chart,
)
from biasgrid.tasks.report.checks import Check, checks
from biasgrid.tasks.report.figures import escape_markdown, escape_name, format_measure, share
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import VERDICTS
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.export_files import write_bytes, write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

Row = dict[str, Any]
MODELS, BOARD, CHECKS = 16, 60, 80
"""As many as can still be read: models of the grid, of the leaderboard, checks of the grid."""
LEGEND = "Share that passes, by each measure; white: at the tolerance, orange: below it, green: above"
LEADERBOARD = """
    select model, concern as "check", rate, tolerance, decision as state
    from marts.requirement_findings
    where run_id = ?
    qualify row_number() over (
        partition by model, concern
        order by
            list_position(['not met', 'undecided', 'not evaluated', 'met'], decision),
            rate - tolerance,
            requirement
    ) = 1
    order by concern, model
"""
"""Of each concern the requirement that decides."""
CELLS = """
    select
        model,
        concat(requirement, ' · ', language) as "check",
        concat(input, ' · ', reflection) as cell,
        rate,
        tolerance,
        decision as state
    from marts.pass_rates
    where run_id = ?
    order by model, requirement, language, input, reflection
"""


def leaderboard(lake: Lake, run_id: str) -> Picture | None:
    """Models by concern; None for a single model, which other pictures show as well."""
    rows = _rows(lake, LEADERBOARD, run_id)
    models = _distinct(rows, "model")
    if len(models) < 2:
        return None
    shown = [row for row in rows if row["model"] in models[:BOARD]]
    above = alt.Axis(orient="top", labelAngle=-35)
    chart = _tiles(shown, alt.X("check:N", sort=None, title=None, axis=above), alt.Y("model:N", title=None))
    text = f"Heat map of {len(models)} models by concern, of each the requirement that decides. {_lowest(rows)}"
    return draw_picture("leaderboard", "Models by concern", text, chart, [LEGEND, *_count_hidden(shown, rows)])


def grid(lake: Lake, run_id: str) -> Picture | None:
    """Every cell, model by model."""
    rows = _rows(lake, CELLS, run_id)
    if not rows:
        return None
    models, checks = _distinct(rows, "model")[:MODELS], _distinct(rows, "check")[:CHECKS]
    shown = [row for row in rows if row["model"] in models and row["check"] in checks]
    below = alt.Axis(labelAngle=0, labelExpr="split(datum.label, ' · ')", labelFontSize=9, ticks=False)
    tiles = _tiles(
        shown, alt.X("cell:N", sort=None, title=None, axis=below), alt.Y("check:N", sort=None, title=None)
    )
    by_model = alt.Facet("model:N", sort=None, header=alt.Header(title=None))
    chart = tiles.facet(facet=by_model, columns=min(3, len(models))).resolve_axis(x="independent")
    text = f"Heat map of {len(rows)} cells, share that passes. {_lowest(rows)}"
    return draw_picture("grid", "The grid", text, chart, [LEGEND, *_count_hidden(shown, rows)])


def _rows(lake: Lake, sql: str, run_id: str) -> list[Row]:
    return [_tile(row) for row in query(lake, sql, [run_id]).to_dicts()]


def _tile(row: Row) -> Row:
    """With names made harmless, and how far the rate is from the tolerance, −1 to 1 of the way there is."""
    text = {key: escape_name(row[key]) for key in ("model", "check", "cell") if key in row}
    rate, tolerance = row["rate"], row["tolerance"]
    way = 0.0 if rate is None else tolerance if rate < tolerance else 1 - tolerance
    margin = None if rate is None else (rate - tolerance) / way if way else 0.0
    word = VERDICTS[row["state"]].word
    return row | text | {"state": word, "margin": margin, "label": share(rate)}


def _tiles(rows: Sequence[Row], x: alt.X, y: alt.Y) -> Any:
    base = make_chart(rows).encode(x=x, y=y)
    scale = alt.Scale(domain=[-1, 0, 1], range=[LOW, MIDDLE, HIGH], clamp=True)
    tiles = base.mark_rect(stroke=PAPER).encode(color=alt.Color("margin:Q", scale=scale, legend=None))
    numbers = base.mark_text(dx=7, fontSize=11, color=INK).encode(text="label:N")
    signs = base.mark_point(filled=True, size=38, opacity=1, xOffset=-18, color=INK).encode(
        shape=Words.of_kind(BENCHMARK).shape("state")
    )
    return alt.layer(tiles, numbers, signs).properties(width=alt.Step(66), height=alt.Step(24))


def _distinct(rows: Sequence[Row], key: str) -> list[str]:
    return [*dict.fromkeys(row[key] for row in rows)]


def _count_hidden(shown: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    return [f"{len(shown):,} of {len(rows):,} tiles"] if len(shown) < len(rows) else []


def _lowest(rows: Sequence[Row]) -> str:
    rated = sorted((row for row in rows if row["rate"] is not None), key=lambda row: row["rate"])
    text = (
        f"{row['check']}{', ' + row['cell'] if 'cell' in row else ''} of {row['model']} {row['label']}"
        for row in rated[:5]
    )
    return f"The lowest: {'; '.join(text)}." if rated else "None could be evaluated."


MOST = 300
"""Checks in one picture."""
STEP = 22
"""Pixels from a check to the next."""


def measures(kind: str, found: Sequence[Check]) -> Picture | None:
    """What has no value is named all the same. None where there is no check."""
    if not found:
        return None
    rows = [_row(check, kind) for check in found[:MOST]]
    left = [f"The first {MOST} of {len(found)}"] if len(found) > MOST else []
    rows_of_facets = alt.Row("model:N", sort=None, header=alt.Header(labelOrient="top", title=None))
    chart = _layers(rows, found[0], Words.of_kind(kind)).facet(row=rows_of_facets, spacing=12)
    text = _describe(found, kind)
    return draw_picture(
        "measures", report_kind(kind).title, text, chart.resolve_scale(y="independent"), [_legend(found[0]), *left]
    )


def _row(check: Check, kind: str) -> dict[str, Any]:
    return {
        "model": escape_name(check.model),
        "check": escape_name(check.title),
        "finding": _finding(check, kind),
        "lack": "" if check.value is not None else _finding(check, kind),
        **{field: getattr(check, field) for field in ("value", "low", "high", "bar")},
    }


def _finding(check: Check, kind: str) -> str:
    return VERDICTS[check.decided].word if kind == BENCHMARK else check.finding


def _legend(check: Check) -> str:
    bar = f"; bars: {check.bar_name}" if check.bar_name else ""
    of = f" of {check.counts}" if check.measure == "share" else ""
    return f"{check.measure.capitalize()}{of}; lines: 95% interval{bar}"


def _layers(rows: Sequence[dict[str, Any]], first: Check, words: Words) -> Any:
    axis = alt.Axis(format=".0%" if first.unit == "share" else "+.1f", title=None, orient="bottom")
    lowest, highest = _domain(rows, first)
    x = alt.X("low:Q", scale=alt.Scale(domain=[lowest, highest]), axis=axis)
    base = make_chart(rows).encode(y=alt.Y("check:N", sort=None, title=None))
    lines = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=words.colour("finding"))
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x="value:Q", color=words.colour("finding"), shape=words.shape("finding")
    )
    bars = base.mark_tick(color=INK, thickness=2, size=16).encode(x="bar:Q")
    lacking = base.mark_text(color=GREY, align="left", dx=6).encode(x=alt.datum(lowest), text="lack:N")
    layers = alt.layer(bars, lines, points, lacking)
    return layers.properties(width=420, height=alt.Step(STEP))


def _domain(rows: Sequence[dict[str, Any]], first: Check) -> tuple[float, float]:
    """Ends of the axis: points have none of their own."""
    reach = 1.0
    if first.unit == "points":
        ends = [abs(row[field]) for row in rows for field in ("value", "low", "high") if row[field] is not None]
        reach = max(ends, default=reach)
    return (0, 1) if first.unit == "share" else (-reach, reach)


def _describe(found: Sequence[Check], kind: str) -> str:
    """How many of what, and those that are not met, the first of them by name."""
    count = Counter(_finding(check, kind) for check in found)
    counted = ", ".join(f"{number} {finding}" for finding, number in count.most_common())
    unmet = [check for check in found if check.decided == "not met"]
    named = "; ".join(
        f"{escape_name(one.title)} of {escape_name(one.model)} {format_measure(one.value, one.unit)}"
        for one in unmet[:8]
    )
    more = f"; and {len(unmet) - 8} more" if len(unmet) > 8 else ""
    models = len({check.model for check in found})
    text = f"{len(found)} checks of {models} model{'' if models == 1 else 's'} with 95% intervals: {counted}."
    return f"{text} First to look at: {named}{more}." if named else text


MORE = {"benchmark": (leaderboard, grid, contrasts, trend), "interaction": (escalation,)}
"""Further pictures; every kind of run has `measures`."""


def pictures(lake: Lake, run: Run, found: Sequence[Check]) -> list[Picture]:
    """Charts that have data; raises UserError if no warehouse has been built."""
    made = [measures(run.kind, found), *(draw(lake, run.run_id) for draw in MORE.get(run.kind, ()))]
    return [picture for picture in made if picture]


def files(run: Run, made: Iterable[Picture]) -> dict[str, str | bytes]:
    """By name: SVG and PNG of each, and a page of Markdown with their descriptions."""
    text: dict[str, str | bytes] = {}
    page = [f"# {run.kind} `{run.run_id}`"]
    for picture in made:
        text |= {f"{picture.name}.svg": picture.svg, f"{picture.name}.png": picture.png()}
        words = escape_markdown(picture.alt)
        page += [f"## {picture.title}", f"![{words}]({picture.name}.svg)", words]
    return text | {"pictures.md": "\n\n".join(page) + "\n"}


def write_pictures(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes SVG and PNG of each picture, and `pictures.md` with their descriptions."""
    run = find_run(lake, run_id)
    written = files(run, pictures(lake, run, checks(lake, run)))
    return [
        write_bytes(out / name, page) if isinstance(page, bytes) else write_text(out / name, page)
        for name, page in written.items()
    ]
