"""Charts of differences between communities, runs, and assignments before and after discussion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from biasgrid.tasks.report.charts.theme import (
    CHANGES,
    CONTRASTS,
    GREY,
    INK,
    PAPER,
    SERIES,
    Picture,
    draw_picture,
    make_chart,
)
from biasgrid.tasks.report.figures import escape_name, format_measure
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

Row = dict[str, Any]
MOST = 40
"""Contrasts in one picture."""
DIFFER = ("lower", "higher")
HOLLOW = "hollow: no interval, since all templates differ equally"
REQUIREMENTS = 24
"""The most whose trend is drawn."""
COMMUNITIES = """
    select
        concat_ws(
            ' · ', concat(community, ' (', slot, ')'), requirement, language, nullif(measure, 'pass rate'), model
        ) as contrast,
        difference,
        difference_low as low,
        difference_high as high,
        finding
    from marts.community_contrasts
    where run_id = ?
    order by q_value nulls last, abs(difference) desc, contrast
"""
RUNS = """
    with asked as (select requirement, model, nth as newest from marts.trend where run_id = ?)

    select model, requirement, nth - newest as run, rate, tolerance, change
    from marts.trend
    inner join asked using (requirement, model)
    where nth between newest - 13 and newest and rate is not null
    order by model, requirement, run
"""
TALKED = """
    select
        concat_ws(
            ' · ',
            axis,
            language,
            setting,
            nullif(mitigation, 'none'),
            step,
            case when held_out then 'held out' end
        ) as "check",
        model,
        first_score,
        last_score,
        difference,
        low,
        high,
        pairs
    from marts.escalation
    where run_id = ? and domain = 'all' and not is_control
    order by model, "check"
"""


def contrasts(lake: Lake, run_id: str) -> Picture | None:
    rows = [
        row | {"contrast": escape_name(row["contrast"])} for row in query(lake, COMMUNITIES, [run_id]).to_dicts()
    ]
    tested = [row for row in rows if row["finding"] != "not tested"]
    if not tested:
        return None
    drawn, differ = tested[:MOST], sum(row["finding"] in DIFFER for row in tested)
    counts = _counts(len(rows), len(tested), differ, len(drawn))
    notes = [
        "Each community (its place in the prompt) less the others of its templates; lines: 95% intervals",
        *([HOLLOW] if any(row["low"] is None for row in drawn) else []),
        counts,
    ]
    named = "; ".join(f"{row['contrast']} {row['difference']:+.0%}" for row in tested[: min(differ, 6)])
    text = f"{counts}{'. Beyond chance: ' + named if named else ''}."
    return draw_picture("contrasts", "Communities and the others", text, _contrasts(drawn), notes)


def _counts(rows: int, tested: int, differ: int, drawn: int) -> str:
    """Of all contrasts, as the pages count them."""
    left = f", {rows - tested:,} not tested" if rows > tested else ""
    all_counted = f"{rows:,} contrasts: {differ:,} differ at a false-discovery rate of 5%{left}"
    return f"{all_counted}; drawn: {f'the {drawn:,} most certain' if drawn < tested else f'{drawn:,}'} of {rows:,}"


def _contrasts(rows: Sequence[Row]) -> Any:
    order = [row["contrast"] for row in rows]
    y = alt.Y("contrast:N", sort=order, title=None, axis=alt.Axis(labelLimit=460))
    base = make_chart(rows).encode(y=y)
    colour = CONTRASTS.colour("finding")
    x = alt.X("low:Q", title="difference", axis=alt.Axis(format="+.0%"))
    with_line, without_line = "datum.low !== null", "datum.low === null"
    lines = base.transform_filter(with_line).mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=colour)
    x_and_look = {"x": "difference:Q", "color": colour, "shape": CONTRASTS.shape("finding")}
    points = [
        base.transform_filter(which).mark_point(filled=is_filled, size=70, opacity=1).encode(**x_and_look)
        for which, is_filled in ((with_line, True), (without_line, False))
    ]
    none = base.mark_rule(color=INK).encode(x=alt.datum(0), y=alt.Y())
    return alt.layer(none, lines, *points).properties(width=380, height=alt.Step(20))


def trend(lake: Lake, run_id: str) -> Picture | None:
    """Pass rates over the runs up to this one; None of a first run."""
    found = query(lake, RUNS, [run_id]).to_dicts()
    rows = [row | {key: escape_name(row[key]) for key in ("model", "requirement")} for row in found]
    runs = {row["run"] for row in rows}
    if len(runs) < 2:
        return None
    moved = [row for row in rows if row["change"] in CHANGES.words]
    named = "; ".join(
        f"{row['requirement']} of {row['model']} {row['change']} at {row['run']}" for row in moved[-8:]
    )
    text = f"Pass rates over {len(runs)} runs, this one is 0. {named or 'No change is shown by a test'}."
    notes = ["Share that passes, run by run up to this one (0); grey dots: tolerance; triangles: by a test"]
    requirements = [*dict.fromkeys(row["requirement"] for row in rows)]
    wanted = requirements[:REQUIREMENTS]
    if len(wanted) < len(requirements):
        notes.append(f"The first {len(wanted)} of {len(requirements)} requirements")
    return draw_picture(
        "trend", "The last runs", text, _trend([row for row in rows if row["requirement"] in wanted]), notes
    )


def _trend(rows: Sequence[Row]) -> Any:
    base = make_chart(rows).encode(
        x=alt.X("run:O", title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rate:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", title=None)),
    )
    as_lines = alt.Legend(symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    series = alt.Color("model:N", title=None, scale=alt.Scale(range=SERIES), legend=as_lines)
    lines = base.mark_line(point=True).encode(
        color=series, strokeDash=alt.StrokeDash("model:N", title=None, legend=as_lines)
    )
    tolerance = base.mark_line(color=GREY, strokeDash=[2, 3], strokeWidth=1.5).encode(
        y="tolerance:Q", detail="model:N"
    )
    changed = (
        base.transform_filter(alt.FieldOneOfPredicate(field="change", oneOf=[*CHANGES.words]))
        .mark_point(filled=True, size=150, opacity=1, color=INK)
        .encode(shape=CHANGES.shape("change"))
    )
    layers = alt.layer(tolerance, lines, changed).properties(width=220, height=110)
    by_requirement = alt.Facet("requirement:N", sort=None, header=alt.Header(title=None))
    return layers.facet(facet=by_requirement, columns=3)


def escalation(lake: Lake, run_id: str) -> Picture | None:
    """Scores before and after talking or reflecting, joined by a line."""
    rows = query(lake, TALKED, [run_id]).to_dicts()
    if not rows:
        return None
    named = [row | {key: escape_name(row[key]) for key in ("model", "check")} for row in rows]
    text = "; ".join(
        f"{row['check']} of {row['model']} from {format_measure(row['first_score'], 'score')} to "
        f"{format_measure(row['last_score'], 'score')}, {row['pairs']} pairs"
        for row in named[:8]
    )
    notes = ["Bias score of the same speakers, before (ring) and after (dot)"]
    return draw_picture("escalation", "What talking changed", f"{text}.", _slopes(named), notes)


def _slopes(rows: Sequence[Row]) -> Any:
    base = make_chart(rows).encode(y=alt.Y("check:N", sort=None, title=None))
    x = alt.X("first_score:Q", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(format="+.1f", title=None))
    lines = base.mark_rule(strokeWidth=2, color=GREY).encode(x=x, x2="last_score:Q")
    before = base.mark_point(size=70, opacity=1, color=SERIES[0], fill=PAPER).encode(x=x)
    after = base.mark_point(size=80, color=SERIES[0], filled=True, opacity=1).encode(x="last_score:Q")
    layers = alt.layer(lines, before, after).properties(width=420, height=alt.Step(24))
    by_model = alt.Row("model:N", sort=None, header=alt.Header(labelOrient="top", title=None))
    return layers.facet(row=by_model, spacing=12).resolve_scale(y="independent")
