"""Shared chart theme with colours for colour-blind readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from xml.sax.saxutils import escape  # written, never read

import altair as alt
import vl_convert

from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import INKS

GOOD, BAD, GREY = (INKS[tone][0] for tone in ("good", "bad", "faint"))
SERIES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#C44E00", GREY, "#000000"]
"""After Okabe and Ito (2008)."""
LOW, MIDDLE, HIGH = "#E99A6F", "#F7F7F7", "#6DBFA6"
"""Of tiles; ink can be read on all of them."""
INK, FAINT, PAPER = "#1F2933", "#D5D9DE", "#FFFFFF"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first comes with the renderer, so that a picture is the same on every machine."""


@dataclass(frozen=True, slots=True)
class Words:
    """Findings as marks: word by word a colour and a shape."""

    words: Sequence[str]
    colours: Sequence[str]
    shapes: Sequence[str]

    @classmethod
    def of_kind(cls, kind: str) -> Self:
        words, tones, shapes = zip(*report_kind(kind).marks, strict=True)
        return cls(words, [INKS[tone][0] for tone in tones], shapes)

    def colour(self, field: str, title: str | None = None) -> alt.Color:
        return alt.Color(f"{field}:N", scale=alt.Scale(domain=[*self.words], range=[*self.colours]), title=title)

    def shape(self, field: str, title: str | None = None) -> alt.Shape:
        return alt.Shape(f"{field}:N", scale=alt.Scale(domain=[*self.words], range=[*self.shapes]), title=title)


CONTRASTS = Words(
    ("lower", "higher", "no difference shown"), (BAD, GOOD, GREY), ("triangle-down", "triangle-up", "circle")
)
CHANGES = Words(("worse", "better"), (BAD, GOOD), ("triangle-down", "triangle-up"))
MARGIN = 16
ROOM = 36
"""Pixels to the left of names: a font that replaces ours may be wider."""
LABEL = 260
"""Pixels of a name, beyond which it is cut."""

_TEXT = {"labelColor": INK, "titleColor": INK, "titleFontWeight": 400}
CONFIG: dict[str, Any] = {
    "background": PAPER,
    "padding": {"left": ROOM, "top": MARGIN, "right": MARGIN, "bottom": MARGIN},
    "font": FONT,
    "title": {"anchor": "start", "color": INK, "fontSize": 15, "subtitleColor": "#52606D", "subtitlePadding": 4},
    "view": {"stroke": FAINT},
    "axis": _TEXT | {"gridColor": "#E9ECEF", "labelLimit": LABEL},
    "header": {"labelColor": INK, "labelFontWeight": 700, "labelLimit": 420, "labelAnchor": "start"},
    "legend": _TEXT | {"labelLimit": LABEL, "orient": "bottom"},
}


TALLEST = 20_000
"""Pixels; what is taller makes no PNG that programs open."""


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    """Of its files, such as `pass-rates`."""
    title: str
    alt: str
    """What it shows, in words."""
    svg: str

    def png(self) -> bytes:
        """Twice the size, for screens of high resolution; smaller where it would be too tall."""
        height = float(_SIZE.search(self.svg)[1]) if _SIZE.search(self.svg) else 0.0  # type: ignore[index]
        return bytes(vl_convert.svg_to_png(self.svg, scale=min(2.0, TALLEST / max(height, 1.0))))


_SIZE = re.compile(r'<svg [^>]*height="([\d.]+)"')


def make_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart of rows that the picture itself holds. Altair's own types are wider than what it returns."""
    return alt.Chart(alt.InlineData(values=[*map(dict, rows)]))


def draw_picture(name: str, title: str, text: str, chart: Any, notes: Iterable[str] = ()) -> Picture:
    """A chart with a description and `notes` below its title, drawn offline."""
    headed = chart.properties(title=alt.TitleParams(text=title, subtitle=list(notes)))
    spec = headed.to_dict() | {"config": CONFIG, "background": CONFIG["background"], "padding": CONFIG["padding"]}
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return Picture(name, title, text, _add_description(svg, title, text))


def _add_description(svg: str, title: str, text: str) -> str:
    end = svg.index(">")
    words = f"<title>{escape(title)}</title><desc>{escape(text)}</desc>"
    return f'{svg[:end]} role="img">{words}{svg[end + 1 :]}'
