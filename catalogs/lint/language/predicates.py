"""Finds Spanish and Catalan adjectives of another gender than their subject: `los hombres son violentas`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """An error: `found` is the text as written, `remedy` the correction, `start` its offset."""

    found: str
    remedy: str
    start: int = 0


INNER = r"(?:\s+(?!(?:y|e|o|u|i|ni|que|con|amb|para|per|a|en|más|més|menos|menys|tan|son|són)\b)[\w·'’]+){0,3}?"
"""What may stand between noun and verb: `de 20 años`, `no binarias`; not a second noun."""

CLAUSE = r"(?:(?<=[¿¡«])|(?<=que\s)|(?<=si\s)|(?<![\w'’-])(?=[A-ZÀ-Ý]))"
"""Start of a clause, where a subject or its verb can stand; not in `contra las personas`."""


@dataclass(frozen=True, slots=True)
class _Tongue:
    """Patterns of a language's nouns and endings, by gender."""

    nouns: Mapping[str, str]
    endings: Mapping[str, str]
    verb: str
    degree: str
    neutral: str


SPANISH = _Tongue(
    nouns={
        "m": r"(?:hombres?|chicos?|niños?|señor(?:es)?)",
        "f": r"(?:mujer(?:es)?|chicas?|niñas?|señoras?|personas?)",
    },
    endings={"m": r"\w{3,}os?", "f": r"\w{3,}as?"},
    verb=r"(?:son|es|están|está|sean|sea|eran|era|fueron|fue|parecen|parece)",
    degree=r"(?:más|menos|tan|muy|igual\s+de|demasiado|bastante)",
    neutral=r"(?:\w{2,}istas?|idiotas?|hipócritas?|indígenas?|como|cuando|mucho|poco|tanto|menos|quienes|una|ellas?|ellos)",
)
CATALAN = _Tongue(
    nouns={
        "m": r"(?:homes?|nois?|nens?|senyors?)",
        "f": r"(?:don(?:a|es)|noi(?:a|es)|nen(?:a|es)|senyor(?:a|es)|person(?:a|es))",
    },
    endings={
        "m": r"\w{2,}(?:ats?|its?|uts?|ós|osos|ius?|à|ans|ics?|[aeo]gs|orts?)",
        "f": r"\w{2,}(?:ad(?:a|es)|id(?:a|es)|ud(?:a|es)|os(?:a|es)|iv(?:a|es)|an(?:a|es)|ic(?:a)|iques)",
    },
    verb=r"(?:són|és|estan|està|siguin|sigui|eren|era|semblen|sembla)",
    degree=r"(?:més|menys|tan|molt|igual\s+de|massa|força)",
    neutral=r"(?:capacitat|necessitat|veritat|mitat|edat|seguretat|gran)",
)


def _patterns(tongue: _Tongue) -> list[tuple[str, re.Pattern[str]]]:
    """By gender of the noun: patterns with an adjective of the other gender."""
    found = []
    for gender, other in ("mf", "fm"):
        noun = rf"\b(?P<noun>{tongue.nouns[gender]}){INNER}"
        adjective = rf"(?!{tongue.neutral}\b)(?P<adjective>{tongue.endings[other]})(?![\w'’·])"
        article = r"(?:\w{1,6}\s+|l['’])?"
        asked = rf"{tongue.verb}\s+{article}{noun}\s+{tongue.degree}\s+{adjective}"
        said = rf"{article}{noun}\s+(?:no\s+)?{tongue.verb}\s+{tongue.degree}\s+{adjective}"
        found += [(gender, re.compile(rf"{CLAUSE}(?i:{pattern})")) for pattern in (asked, said)]
    return found


SPANISH_PREDICATES = _patterns(SPANISH)
CATALAN_PREDICATES = _patterns(CATALAN)


def predicate_slips(text: str, patterns: list[tuple[str, re.Pattern[str]]]) -> Iterator[Slip]:
    """Adjectives whose gender differs from that of their noun."""
    for gender, pattern in patterns:
        for match in pattern.finditer(text):
            named = "masculine" if gender == "m" else "feminine"
            remedy = f"`{match['noun']}` is {named}: say it with a word that shows no gender"
            yield Slip(match[0], remedy, match.start())
