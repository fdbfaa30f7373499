"""What pages of probes, red teams and interactions say, in each language that they speak."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import orjson

LANGUAGES = ("en_us", "es_es")
"""The first is spoken where none is asked for."""


@cache
def words(language: str) -> dict[str, str]:
    """Texts by key: HTML, in which `{name}` stands for what is filled in."""
    read = orjson.loads(files(__name__).joinpath(f"{language}.json").read_bytes())
    return {str(key): str(text) for key, text in read.items()}
