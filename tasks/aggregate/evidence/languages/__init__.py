"""What the coverage record says, in each language that it speaks."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import orjson


@cache
def words(language: str) -> dict[str, str]:
    """Plain texts by key, in which `{name}` stands for what is filled in."""
    read = orjson.loads(files(__name__).joinpath(f"{language}.json").read_bytes())
    return {str(key): str(text) for key, text in read.items()}
