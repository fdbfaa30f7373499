"""The first screen of a run: the answer in words, a line for each model, the worst replies, the next commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from biasgrid.catalogs.text_safety import excerpt
from biasgrid.flows.terminal.console import one_line
from biasgrid.flows.terminal.tables import fold_name
from biasgrid.tasks.report.answer import Answer, ModelAnswer
from biasgrid.tasks.report.examples import Example, spread_out
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.verdicts import COLOURS, VERDICTS

LINES: Final = 25
"""Lines of a screen at 80 columns; narrower ones have as many more."""
WIDTH: Final = 80
EXAMPLES: Final = 2
QUESTION: Final = 2
"""Lines of a question that are shown."""
FEWEST: Final = 4
"""Models that have a line of their own, however long the rest is."""
LEAST: Final = 16
"""Columns below which the worst check of a model has a line of its own, or is left out if there are many."""


@dataclass(frozen=True)
class Screen:
    """What is shown, and of how many models and examples."""

    answer: Answer
    examples: Sequence[Example]
    place: str = ""
    """The option that names the data, if it is needed."""
    notices: Sequence[str] = ()
    """What a person must know besides, such as a judge that does not qualify."""
    ending: str = ""
    """What the exit code means."""

    def show(self, out: Console) -> None:
        """Prints as much as fits into LINES."""
        for line in self._fit(out):
            out.print(line, soft_wrap=True, highlight=False)

    def _fit(self, out: Console) -> list[Text]:
        count = len(self.answer.models)
        for most, shown, examples in ((3, count, EXAMPLES), (3, count, 1), (1, count, 1), (1, 0, 1)):
            lines = [*self._lines(out, most, shown or self._room(out, most), examples)]
            if len(lines) <= _most_lines(out):
                break
        return lines

    def _room(self, out: Console, most: int) -> int:
        """How many models there is room for."""
        return max(FEWEST, _most_lines(out) - len([*self._lines(out, most, 0, 1)]))

    def _lines(self, out: Console, most: int, models: int, examples: int) -> Iterator[Text]:
        answer = self.answer
        yield from _wrap(out, answer.head, "dim")
        for number, sentence in enumerate(answer.sentences(most)):
            yield from _wrap(out, sentence, "" if number else "bold")
        for notice in self.notices:
            yield from _wrap(out, notice, "yellow")
        yield from _model_lines(answer.models, models, out.width)
        yield from self._example_lines(out, examples)
        yield from self._next_lines()
        if self.ending:
            yield from _wrap(out, self.ending)

    def _example_lines(self, out: Console, count: int) -> Iterator[Text]:
        shown = spread_out(self.examples)[:count]
        for number, one in enumerate(shown):
            label = "" if number else "Worst reply  " if len(shown) == 1 else "Worst replies  "
            where = f"{one.model} on {one.check} ({one.template})"
            for at, line in enumerate(_wrap(out, label + where)):
                line.stylize("bold", 0, 0 if at else len(label))
                yield line
            if one.question:
                yield from _wrap(out, f"“{one.question}”", indent="  ", most=QUESTION)
            for text in one.answers:
                yield Text(f"  {excerpt(one_line(text), out.width - 2)}")

    def _next_lines(self) -> Iterator[Text]:
        steps = self.answer.next_steps(self.place)
        for one in spread_out(self.examples)[:1]:
            words = ("biasgrid", "trace", one.template, "--model", one.model, "--run", self.answer.short)
            steps.insert(-1, f"{shlex.join(words)}{self.place}")
        for number, step in enumerate(steps):
            yield Text.assemble(("      " if number else "Next  ", "bold"), one_line(step))


def _most_lines(out: Console) -> int:
    return LINES * max(WIDTH, out.width) // out.width


def _wrap(out: Console, text: str, style: str = "", indent: str = "", most: int | None = None) -> Iterator[Text]:
    """At `most` so many lines, broken between words; a name that is wider than a line stays whole."""
    lines = wrap(
        one_line(text),
        out.width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most,
        placeholder="…",
    )
    for line in lines:
        yield Text(line, style=style)


def _model_lines(models: Sequence[ModelAnswer], shown: int, width: int) -> Iterator[Text]:
    if not models:
        return
    rows = [_cells(one) for one in models[:shown]]
    headings = ("model", "verdict", "worst", "refused")
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    left = width - 2 - widths[0] - widths[1] - widths[3] - 6
    kept = [0, 1, 2, 3] if left >= min(LEAST, widths[2]) else [0, 1, 3]
    widths[2] = min(widths[2], max(left, 0))
    yield Text(_line("", [headings[at] for at in kept], [widths[at] for at in kept]), style="bold")
    for one, row in zip(models, rows, strict=False):
        verdict = VERDICTS[one.state]
        line, *rest = _fold_row(row, widths) if 2 in kept else [row]
        cells = [line[at] for at in kept]
        yield Text(_line(verdict.sign, cells, [widths[at] for at in kept]), style=COLOURS[verdict.tone])
        for more in rest:
            yield Text(_line("", more, widths), style=COLOURS[verdict.tone])
        if 2 not in kept and len(models) <= FEWEST:
            yield Text(f"    {row[2]}", style=COLOURS[verdict.tone])
    if len(models) > shown:
        yield Text(f"  … and {len(models) - shown:,} more models: `--all`")


def _cells(one: ModelAnswer) -> tuple[str, str, str, str]:
    return one_line(one.model), one.verdict, one_line(" ".join(one.worst).rstrip()), share(one.refused)


def _fold_row(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """The row, and below it what its third cell has no room for."""
    first, *rest = fold_name(row[2], widths[2])
    return [[row[0], row[1], first, row[3]], *([["", "", more, ""] for more in rest])]


def _line(sign: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    *left, last = [*zip(cells, widths, strict=True)]
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in left]
    return "  ".join([f"{sign or ' '} {padded[0]}", *padded[1:], f"{last[0]:>{last[1]}}"]).rstrip()
