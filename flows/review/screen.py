"""A reviewer's screen: one reply at a time, one key per verdict; model text cannot control the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from biasgrid.flows.terminal.console import console, readable
from biasgrid.tasks.review.units import OUTCOMES, Shown

LONGEST: Final = 3_000
"""Characters of a prompt or a reply that are shown at first."""
VERDICTS: Final = {outcome[0]: outcome for outcome in OUTCOMES}
SKIP, BACK, MORE, QUIT = "s", "b", "m", "q"
COMMANDS: Final = "(capital: with a reason) · s skip · b back · m more · q quit"
DECIDING_KEYS: Final = (
    "p passed · f failed · r refused · u unreadable, each with a reason · s skip · m more · q quit"
)


@dataclass(frozen=True, slots=True)
class Key:
    """What was pressed: a verdict, with whether a reason follows, or a command."""

    name: str
    with_reason: bool = False

    @property
    def outcome(self) -> str | None:
        return VERDICTS.get(self.name)


class Screen:
    """Where a reviewer reads and answers: keys on a terminal, lines where standard input is a file or a pipe."""

    def __init__(self) -> None:
        self._out: Console = console()
        self._has_keys = sys.stdin.isatty()

    @property
    def has_ended(self) -> bool:
        """Whether there is neither a terminal nor a line of input."""
        lines = getattr(sys.stdin, "buffer", None)
        return not self._has_keys and lines is not None and not lines.peek(1)

    def print(self, words: str, style: str = "") -> None:
        self._out.print(Text(readable(words), style=style), soft_wrap=True)

    def show(self, title: str, shown: Shown, notes: Iterable[str] = (), *, whole: bool = False) -> None:
        """A reply with its prompt and rule; `notes` follow it."""
        self._out.print()
        self._out.print(Rule(Text(readable(title)), align="left"))
        self._part("PROMPT", shown.prompt, whole=whole)
        self._part("REPLY", shown.reply, whole=whole, style="bold")
        self._part("RULE", shown.rule, whole=True)
        for line in notes:
            self.print(line)

    def read_verdict(self, title: str, shown: Shown, keys: str, known: str, notes: Sequence[str] = ()) -> Key:
        """Shows a reply, the whole of it where that is asked for, until a key answers it. Raises as `key`."""
        self.show(title, shown, notes)
        while (key := self.key(keys, known)).name == MORE:
            self.show(title, shown, notes, whole=True)
        return key

    def key(self, keys: str, known: str) -> Key:
        """The next key of `known`; `q` at the end of input. Raises KeyboardInterrupt at Ctrl-C."""
        while True:
            self.print(keys, "dim")
            pressed = self._read_key()
            if pressed.lower() in known and len(pressed) == 1:
                return Key(pressed.lower(), with_reason=pressed.isupper())
            self.print(f"`{pressed}` is none of the keys")

    def line(self, question: str) -> str:
        """A line of text; empty if none is given."""
        self._out.print(Text(question), end="")
        given = sys.stdin.readline()
        return " ".join(given.split())

    def _read_key(self) -> str:
        if not self._has_keys:
            given = sys.stdin.readline()
            return given.strip() if given else QUIT
        try:
            return typer.getchar()
        except EOFError:
            return QUIT

    def _part(self, name: str, text: str, *, whole: bool, style: str = "") -> None:
        rest = 0 if whole else max(len(text) - LONGEST, 0)
        shown = text if not rest else f"{text[:LONGEST]} … ({rest:,} more characters: m)"
        self._out.print(Text.assemble((f"{name}\n", "dim"), (readable(shown or "(empty)"), style)))
