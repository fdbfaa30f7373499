"""The number that a reply gives in a sentence: `The probability is 93 percent.`, `Twelve months.`

Only where there is no doubt which one is meant: it is the only number of the reply or of what follows its last
colon, and the reply is short or ends with it and its unit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import LanguageCatalog, Numerals

_SHORT: Final = 6
"""Words of a reply that is little more than its number."""
_DIGITS: Final = r"(?<![\w.,/])[-+]?\d+(?:[.,]\d+)*(?![\w/])"
_ENDING: Final = r"\s*(?:%|percent\b|per ?cent\b|por ciento\b)?(?:\s+(?:\w+|out of|sobre) ?\w*)?\W*$"
_OF_HUNDRED: Final = r"\s+(?:out of|on|over|sobre|de)\s+(?:100|a hundred|cent|cien)\b"
_PERCENT: Final = re.compile(r"\b(?:percent|per cent|por ciento|por cien)\b")


def find_prose_numbers(plain: pl.Series, language: LanguageCatalog | None) -> pl.Series:
    """The number as digits with any percent sign, null where it is none or in doubt, of texts that are `plain`."""
    numerals = language.numerals if language else None
    return pl.Series(plain.name, [_find(text, numerals) for text in plain], dtype=pl.String)


def _find(text: str, numerals: Numerals | None) -> str | None:
    if re.search(r"[{}\[\]]", text):
        return None
    digits = re.sub(_OF_HUNDRED, "", _PERCENT.sub("%", text))
    spelled = _spell_out(digits, numerals) if numerals else digits
    return _only_number(spelled) or _only_number(spelled.rpartition(":")[2])


def _only_number(text: str) -> str | None:
    found = list(re.finditer(_DIGITS, text))
    if len(found) != 1:
        return None
    rest = text[found[0].end() :]
    percent = re.match(r"\s*%", rest)
    if len(text.split()) > _SHORT and not percent and not re.match(_ENDING, rest):
        return None
    return found[0][0] + ("%" if percent else "")


def _spell_out(text: str, numerals: Numerals) -> str:
    spelled, values = _spellings(numerals)
    return spelled.sub(lambda found: str(values[found[0]]), text)


@lru_cache(maxsize=16)
def _spellings(numerals: Numerals) -> tuple[re.Pattern[str], dict[str, int]]:
    """Words of all numbers but one, which is an article, too."""
    values = {word: number for word, number in numerals.spelled.items() if number != 1}
    longest = sorted(values, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b"), values
