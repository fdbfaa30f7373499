"""A file that another command is for: told as what it is, and not by each of its keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalogs.mistakes import Mistake, UserMistake


@dataclass(frozen=True, slots=True)
class FileKind:
    """What such a file is called, the keys that only it has, and the commands that take it."""

    called: str
    keys: frozenset[str]
    commands: tuple[str, ...]


SCENARIO: Final = FileKind("a scenario", frozenset({"scenario", "requirements"}), ("run",))
TARGET: Final = FileKind("a target file", frozenset({"target"}), ("probe", "redteam"))
INTERACTION: Final = FileKind("an interaction file", frozenset({"interaction"}), ("interact",))
KINDS: Final = (SCENARIO, TARGET, INTERACTION)


def refuse_other_files(path: Path | None, wanted: FileKind) -> None:
    """Raises UserMistake for a file that has the keys of another kind and none of those wanted. What is wrong with
    any other file whoever reads it tells better."""
    keys = _keys(path) if path else frozenset[str]()
    found = next((kind for kind in KINDS if kind.keys & keys), None)
    if found is None or wanted.keys & keys:
        return
    commands = " or ".join(f"`biasgrid {command} {path}`" for command in found.commands)
    raise UserMistake(Mistake(f"is {found.called}, and {wanted.called} is wanted", str(path), f"try {commands}"))


def _keys(path: Path) -> frozenset[str]:
    from catalogs.documents import read_document

    try:
        value = read_document(path).value
    except UserMistake:
        return frozenset()
    return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()
