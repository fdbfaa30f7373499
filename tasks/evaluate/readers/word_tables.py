"""Words and patterns by language, as readers understand replies: English, Spanish and Catalan, without accents.

A reader takes the words of all languages at once: replies mix them, and prompts are often in another language.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from biasgrid.catalogs.loading.documents import load_yaml

_LANGUAGES: Final = ("english", "spanish", "catalan")


@cache
def _tables() -> dict[str, dict[str, str]]:
    folder = files("biasgrid.tasks.evaluate.readers")
    return {name: load_yaml((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in _LANGUAGES}


def word_set(*names: str, marks: str = "") -> frozenset[str]:
    """The words of these tables in all languages, and `marks` between blanks."""
    texts = [table[name] for name in names for table in _tables().values() if name in table]
    return frozenset(" ".join([*texts, marks]).split())


def pattern(name: str, *languages: str) -> str:
    """The alternatives of a table in these languages, or in all, as a group that captures nothing."""
    tables = _tables()
    texts = [tables[language][name] for language in languages or tables if name in tables[language]]
    return f"(?:{'|'.join(''.join(text.splitlines()) for text in texts)})"
