"""Formats numbers, times, counts and names for people, escaped for their output format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

from biasgrid.catalogs.text_safety import excerpt


def format_count(count: int, noun: str) -> str:
    """A count with its noun: `1 reply`, `1,250 replies`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def share(value: float | None) -> str:
    """A share for people; `–` if there is none."""
    return "–" if value is None else f"{value:.1%}"


def format_score(value: float | None) -> str:
    """A score from −1 to 1 with its sign: `+0.31`; what rounds to none is `+0.00`."""
    return "–" if value is None else f"{round(value, 2) or 0.0:+.2f}".replace("-", "−")


def small(value: float | None) -> str:
    """An error probability with three decimals."""
    return "–" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"


def coefficient(value: float | None) -> str:
    """An agreement beyond chance, from −1 to 1; above chance it has no sign."""
    return format_score(value).removeprefix("+")


def moment(when: datetime | None) -> str:
    """To the minute."""
    return "–" if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def describe_worst(row: Mapping[str, Any]) -> str:
    """Of three groups or more the one at the greatest disadvantage, and the test that shows it, of a row of
    marts.probe_findings; empty where none is shown."""
    if row["worst_group"] is None:
        return ""
    worst, better = (escape_name(row[f"{name}_group"]) for name in ("worst", "better"))
    rates = [share(row[f"{name}_rate"]) for name in ("worst", "better")]
    return f"{worst} {rates[0]}, {better} {rates[1]}, p {small(row['p_adjusted'])}"


LONGEST = 300
"""Signs of a name that are shown."""
_SIGN = re.compile(r"[^\w\s\-/,·–’×]|_")


def format_measure(value: float | None, unit: Literal["share", "score", "points"]) -> str:
    """A share in percent, a score from −1 to 1 or points with their sign; `none` where there is no number."""
    if value is None:
        return "none"
    if unit == "points":
        return f"{round(value, 1) or 0.0:+.1f} points".replace("-", "−")
    return share(value) if unit == "share" else format_score(value)


MOST_TEMPLATES: Final = 1000
"""Templates beyond which no library shows anything: the rate is too near the tolerance."""
TOO_NEAR: Final = "no library of templates can show this: the rate is too near the tolerance"


def describe_needed(templates: int | None) -> str:
    """What would decide an undecided finding; empty if not applicable."""
    if templates is None:
        return ""
    return TOO_NEAR if templates > MOST_TEMPLATES else f"needs ≥ {templates:,} templates"


def join_parts(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)


def format_points(value: float | None) -> str:
    """A difference with its sign: `−4.2`; what rounds to none is `+0.0`."""
    return "–" if value is None else f"{round(value, 1) or 0.0:+.1f}".replace("-", "−")


def format_cost(usd: float) -> str:
    return f"US$ {usd:,.2g}" if usd < 0.1 else f"US$ {usd:,.2f}"


def escape_name(text: object) -> str:
    """The text on one line, control and format characters escaped, and shortened."""
    return excerpt(" ".join(str(text).split()), LONGEST)


def escape_markdown(text: object) -> str:
    """Markdown that shows the text literally: special characters are character references."""
    return _SIGN.sub(lambda found: f"&#{ord(found[0])};", escape_name(text))


def format_code(text: object) -> str:
    """A name from a file, in Markdown: within `<code>` GitHub makes links neither of people nor of addresses."""
    return f"<code>{escape_markdown(text)}</code>"
