"""From a chart to its files: SVG with title and description for who does not see it, and PNG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape  # written, never read

import altair as alt
import vl_convert

from biasgrid.tasks.report.charts.theme import CONFIG

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


def plotted(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart of rows that the picture itself holds. Altair's own types are wider than what it returns."""
    return alt.Chart(alt.InlineData(values=[*map(dict, rows)]))


def drawn(name: str, title: str, told: str, chart: Any, notes: Iterable[str] = ()) -> Picture:
    """`told` is what the picture shows, in words; `notes` stand below the title. Nothing is fetched to draw it."""
    headed = chart.properties(title=alt.TitleParams(text=title, subtitle=list(notes)))
    spec = headed.to_dict() | {"config": CONFIG, "background": CONFIG["background"], "padding": CONFIG["padding"]}
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return Picture(name, title, told, _told(svg, title, told))


def _told(svg: str, title: str, told: str) -> str:
    end = svg.index(">")
    words = f"<title>{escape(title)}</title><desc>{escape(told)}</desc>"
    return f'{svg[:end]} role="img">{words}{svg[end + 1 :]}'
