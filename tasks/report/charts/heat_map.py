"""Pass rates as tiles: models by concern, and the whole grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from biasgrid.tasks.report.charts.theme import (
    HIGH,
    INK,
    LOW,
    MIDDLE,
    PAPER,
    REQUIREMENTS,
    Picture,
    draw_picture,
    make_chart,
)
from biasgrid.tasks.report.figures import escape_name
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

Row = dict[str, Any]
MODELS, BOARD, CHECKS = 16, 60, 80
"""As many as can still be read: models of the grid, of the leaderboard, checks of the grid."""
LEGEND = "Share that passes, by each measure; white: at the tolerance, orange: below it, blue: above"
LEADERBOARD = """
    select
        model,
        concern as "check",
        min(rate) as rate,
        arg_min(tolerance, rate) as tolerance,
        case
            when bool_or(point_finding = 'not met') then 'not met'
            when bool_and(point_finding = 'met') then 'met'
            else 'not evaluated'
        end as state
    from marts.requirement_findings
    where run_id = ?
    group by model, concern
    order by concern, model
"""
CELLS = """
    select
        model,
        concat(requirement, ' · ', language) as "check",
        concat(input, ' · ', reflection) as cell,
        rate,
        tolerance,
        point_finding as state
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
    text = f"Heat map of {len(models)} models by concern, lowest rate of its requirements. {_lowest(rows)}"
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
    return row | text | {"margin": margin, "label": "–" if rate is None else f"{rate:.0%}"}


def _tiles(rows: Sequence[Row], x: alt.X, y: alt.Y) -> Any:
    base = make_chart(rows).encode(x=x, y=y)
    scale = alt.Scale(domain=[-1, 0, 1], range=[LOW, MIDDLE, HIGH], clamp=True)
    tiles = base.mark_rect(stroke=PAPER).encode(color=alt.Color("margin:Q", scale=scale, legend=None))
    numbers = base.mark_text(dx=7, fontSize=11, color=INK).encode(text="label:N")
    signs = base.mark_point(filled=True, size=38, opacity=1, xOffset=-18, color=INK).encode(
        shape=REQUIREMENTS.shape("state", "by the point rate")
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
