"""Texts of reports in each language."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import orjson

LANGUAGES = ("en_us", "es_es")
"""The first is the default."""
Speaker = Literal["pages", "script", "record"]
"""Pages from templates, the script of a benchmark's pages, the coverage record."""


@cache
def words(speaker: Speaker, language: str) -> dict[str, str]:
    """Texts by key, in which `{name}` stands for what is filled in: HTML in `pages`, plain elsewhere."""
    read = orjson.loads(files("biasgrid.tasks.report").joinpath("texts", speaker, f"{language}.json").read_bytes())
    return {str(key): str(text) for key, text in read.items()}
