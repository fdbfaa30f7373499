"""A report as sections of text and tables; the terminal, Markdown, HTML and JSON render the same ones.

Texts are plain: each renderer escapes what its format would read as a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from biasgrid.tasks.report.verdicts import TONES, VERDICTS, State, Tone, word_of


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that stands out."""

    text: str
    tone: Tone = ""

    def __str__(self) -> str:
        return self.text


Text = str | Cell


@dataclass(frozen=True, slots=True)
class Heading:
    name: str
    is_number: bool = False
    is_extra: bool = False
    """Shown where there is room; a row's `below` replaces it elsewhere."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of all headings, extra ones last; `group` is what neighbouring rows have in common."""

    cells: Sequence[Text]
    group: str = ""
    below: Text = ""


@dataclass(frozen=True, slots=True)
class Table:
    headings: Sequence[Heading]
    rows: Sequence[Row]
    layout: Literal["grouped", "wrapped", "plain"] = "grouped"
    """`grouped`: the first column is wrapped, numbers stay whole; `wrapped`: every column is; `plain`: none is."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a table, sentences, and notes on how to read them; any of them may be empty."""

    title: str = ""
    table: Table | None = None
    lines: Sequence[Text] = ()
    notes: Sequence[Text] = ()


def headings(*names: str) -> tuple[Heading, ...]:
    return tuple(map(Heading, names))


def numbers(*names: str, is_extra: bool = False) -> tuple[Heading, ...]:
    """Headings of columns that are aligned to the right."""
    return tuple(Heading(name, is_number=True, is_extra=is_extra) for name in names)


def mark(text: str) -> Text:
    """The text in the tone of its finding, after `→` of the one that it has become."""
    tone = TONES.get(text.rpartition("→ ")[2], "")
    return Cell(text, tone) if tone else text


def mark_state(text: str, state: State) -> Text:
    """The finding in the tone of its state: what is not shown is no good news before it is proven."""
    word = word_of(text)
    return word if state == "undecided" else Cell(word, VERDICTS[state].tone)


def format_interval(low: float | None, high: float | None) -> str:
    """Two shares as `82.4–100.0%`."""
    return "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}%"


def lost_headings(words: Iterable[str]) -> tuple[Heading, ...]:
    """Extra columns of `lost_cells`."""
    return numbers(*words, is_extra=True)


def lost_cells(counts: Sequence[tuple[int, str]]) -> tuple[tuple[str, ...], Cell]:
    """How many replies prove nothing, and why: as cells, and as the line below that replaces them."""
    below = ", ".join(f"{count:,} {why}" for count, why in counts if count)
    return tuple(f"{count:,}" if count else "–" for count, _ in counts), Cell(below, "faint")


def failure_lines(run_id: str | None, failures: Sequence[tuple[str, int]]) -> list[Text]:
    """Why replies are missing, and how to resume the run, if it can be."""
    resume = [f"  resume with: biasgrid resume {run_id}"] if run_id else []
    return [*(f"  {count} × {reason}" for reason, count in failures), *resume]


def incomplete_lines(run_id: str | None, failures: Sequence[tuple[str, int]], lack: str) -> list[Text]:
    """That the run is incomplete and what it lacks, then as `failure_lines`."""
    return [Cell(f"INCOMPLETE: {lack}", "doubt"), *failure_lines(run_id, failures)]


def place_lines(places: Mapping[str, Path | str], mart: str) -> list[str]:
    """Where the results are, and a first query."""
    return [*(f"{name:<11}{path}" for name, path in places.items()), f'query      biasgrid sql "from {mart}"']
