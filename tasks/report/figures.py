"""Numbers and moments as people read them, on pages and on the terminal, with the signs of English."""

from __future__ import annotations

from datetime import datetime


def share(value: float | None) -> str:
    """A share as people read it; `–` where there is none."""
    return "–" if value is None else f"{value:.1%}"


def signed(value: float | None) -> str:
    """A score from −1 to 1, its sign said: `+0.31`; what rounds to none is `+0.00`."""
    return "–" if value is None else f"{round(value, 2) or 0.0:+.2f}".replace("-", "−")


def small(value: float | None) -> str:
    """An error probability: three digits behind the point tell enough."""
    return "–" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"


def coefficient(value: float | None) -> str:
    """An agreement beyond chance, from −1 to 1; above chance it has no sign."""
    return signed(value).removeprefix("+")


def moment(when: datetime | None) -> str:
    """To the minute."""
    return "–" if when is None else f"{when:%Y-%m-%d %H:%M} UTC"
