"""Words and patterns by language, as readers understand replies: English, Spanish and Catalan, without accents.

A reader takes the words of all languages at once: replies mix them, and prompts are often in another language.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import yaml

_LANGUAGES: Final = ("english", "spanish", "catalan")


@cache
def _tables() -> dict[str, dict[str, str]]:
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    folder = files("biasgrid.tasks.evaluate.readers")
    return {
        language: yaml.load((folder / f"{language}.yaml").read_text(encoding="utf-8"), loader)  # noqa: S506 - both are safe
        for language in _LANGUAGES
    }


def word_set(*names: str, marks: str = "") -> frozenset[str]:
    """The words of these tables in all languages, and `marks` between blanks."""
    texts = [table[name] for name in names for table in _tables().values() if name in table]
    return frozenset(" ".join([*texts, marks]).split())


def pattern(name: str, *languages: str) -> str:
    """The alternatives of a table in these languages, or in all, as a group that captures nothing."""
    tables = _tables()
    texts = [tables[language][name] for language in languages or tables if name in tables[language]]
    return f"(?:{'|'.join(''.join(text.splitlines()) for text in texts)})"
