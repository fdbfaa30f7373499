"""User errors (exit code 2, nothing sent): what is wrong, the value, its place and the remedy."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """One user error: `what` (value in backticks), `where` (file and line, option, variable) and `remedy`."""

    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n    → {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{advice}"


class UserError(Exception):
    """Raised before anything is sent or written; contains all problems found."""

    def __init__(self, mistakes: Problem | Iterable[Problem]) -> None:
        self.mistakes = (mistakes,) if isinstance(mistakes, Problem) else tuple(mistakes)
        super().__init__(self.mistakes)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)


def position(mistake: Problem) -> tuple[str, int]:
    """Sort key of a problem: file, then line."""
    file, _, line = mistake.where.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (mistake.where, 0)


def place(path: Path | str, line: int | None = None) -> str:
    """`file:line`, the form that editors and terminals open."""
    return f"{path}:{line}" if line else str(path)


def nearest(word: str, known: Iterable[str], meaning: Mapping[str, str] | None = None) -> str:
    """A remedy with the closest known names, or all of a few; `meaning` maps a name to the one offered."""
    names = sorted({(meaning or {}).get(name, name) for name in known})
    close = close_names(word, known, meaning)
    if close:
        return "did you mean " + " or ".join(f"`{name}`" for name in close) + "?"
    return "known: " + ", ".join(f"`{name}`" for name in names) if 0 < len(names) <= 24 else ""


def close_names(word: str, known: Iterable[str], meaning: Mapping[str, str] | None = None) -> list[str]:
    """At most three known names closest to `word`, closest first."""
    spelled = {name.lower(): (meaning or {}).get(name, name) for name in sorted(known)}
    close = difflib.get_close_matches(word.lower(), spelled, n=3, cutoff=0.6)
    return list(dict.fromkeys(spelled[name] for name in close))
