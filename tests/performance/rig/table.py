"""What is measured, as text: tables, and ratios next to their bounds."""

from collections.abc import Sequence


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The first column to the left, numbers to the right."""
    cells = [list(columns), *([_format_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(text.ljust(width) if at == 0 else text.rjust(width) for at, (text, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join(["", title, *(f"  {line}" for line in lines)])


def at_least(what: str, value: float, bound: float) -> str:
    return _verdict(what, value, "at least", bound, value >= bound)


def at_most(what: str, value: float, bound: float) -> str:
    return _verdict(what, value, "at most", bound, value <= bound)


def _verdict(what: str, value: float, how: str, bound: float, holds: bool) -> str:
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"  {what}: {shown} ({how} {bound:g}: {'holds' if holds else 'does not hold'})"


def _format_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"
    return "–" if value is None else str(value)
