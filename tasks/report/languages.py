"""Texts of reports in each language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import orjson

from biasgrid.tasks.report.verdicts import VERDICTS

LANGUAGES = ("en_us", "es_es")
"""The first is the default."""
Speaker = Literal["pages", "script", "record", "answer"]
"""Pages from templates, the script of a benchmark's pages, the coverage record, the answer in words."""
VERDICT_KEY: Final[Mapping[Speaker, str]] = {
    "pages": "value",
    "script": "value",
    "record": "finding",
    "answer": "verdict",
}


def format_figures(number: str, language: str) -> str:
    """A number as the language writes it, of one as Python does."""
    own = words("pages", language)
    signs = {",": "thousands", ".": "point", "%": "percent"}
    written = number.translate({ord(sign): own[f"number.{name}"] for sign, name in signs.items()})
    return written.replace(" points", own["number.points"])


@cache
def words(speaker: Speaker, language: str) -> dict[str, str]:
    """Texts by key, in which `{name}` stands for what is filled in: HTML in `pages`, plain elsewhere. Those of one
    kind of run have files of their own."""
    folder = files("biasgrid.tasks.report").joinpath("texts", speaker)
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(f"{language}.json"))
    own = (orjson.loads(folder.joinpath(name).read_bytes()) for name in names)
    read = {key: text for texts in own for key, text in texts.items()}
    verdicts = {f"{VERDICT_KEY[speaker]}.{state}": one.say(language) for state, one in VERDICTS.items()}
    return verdicts | {str(key): str(text) for key, text in read.items()}
