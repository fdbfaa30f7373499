"""Finds errors in Spanish texts, such as `de el hombre`, `un mujer`, `personas negros`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biasgrid.catalogs.lint.language.predicates import SPANISH_PREDICATES, Slip, predicate_slips

CONTRACTED = re.compile(r"(?<![\w-])([Dd]e|[Aa])\s+el(?![\w-])")
MALE = (
    r"(?:hombres?|chicos?|señor(?:es)?|niños?|padre|hijos?|hermanos?|varones|varón|vecinos?|alumnos?|maridos?|"
    r"abuelos?|pisos?|barrios?|países|país|años?|sueldos?)"
)
FEMALE = (
    r"(?:mujer(?:es)?|chicas?|señoras?|niñas?|madres?|hijas?|hermanas?|personas?|familias?|vecinas?|alumnas?|"
    r"esposas?|abuelas?|empresas?|escuelas?|viviendas?|parejas?)"
)
UN_FEMALE = re.compile(
    rf"(?<![\w-])(un|el|del|al|este|ese|aquel|algún|ningún|unos|los|estos|esos)\s+({FEMALE})\b", re.IGNORECASE
)
UNA_MALE = re.compile(
    rf"(?<![\w-])(una|la|esta|esa|aquella|alguna|ninguna|unas|las|estas|esas)\s+({MALE})\b", re.IGNORECASE
)
STEMS = (
    "negr|blanc|asiátic|latin|hispan|mestiz|gitan|african|europe|american|chin|rus|viej|honest|list|tont|perezos|"
    "violent|peligros|capacitad|preparad|educad|cristian|judí|ate|católic|extranjer|refugiad|discriminad|tratad|"
    "considerad|casad|solter|contratad|despedid"
)
DEGREE = r"(?:(?:más|menos|muy|tan)\s+)?"
PERSON_MALE = re.compile(rf"\b(personas?|mujer(?:es)?)\s+{DEGREE}((?:{STEMS})os?)\b", re.IGNORECASE)
MAN_FEMALE = re.compile(rf"\b(hombres?)\s+{DEGREE}((?:{STEMS})as?)\b", re.IGNORECASE)
Y_BEFORE_I = re.compile(r"(?<![\w¿-])y\s+h?i(?![aeou])\w+", re.IGNORECASE)
O_BEFORE_O = re.compile(r"(?<![\w¿-])o\s+h?o\w+", re.IGNORECASE)


def spanish_slips(text: str) -> Iterator[Slip]:
    """Errors of contraction, gender and conjunction in a text or a window of one."""
    for match in CONTRACTED.finditer(text):
        yield Slip(match[0], f"write `{'del' if match[1].lower() == 'de' else 'al'}`", match.start())
    for pattern, gender in ((UN_FEMALE, "feminine"), (UNA_MALE, "masculine")):
        for match in pattern.finditer(text):
            yield Slip(match[0], f"`{match[2]}` is {gender}", match.start())
    for pattern, gender in ((PERSON_MALE, "feminine"), (MAN_FEMALE, "masculine")):
        for match in pattern.finditer(text):
            what = f"`{match[1]}` is {gender}, and so must `{match[2]}` be"
            yield Slip(match[0], what, match.start())
    for pattern, right in ((Y_BEFORE_I, "e"), (O_BEFORE_O, "u")):
        for match in pattern.finditer(text):
            yield Slip(match[0], f"write `{right}` before this sound", match.start())
    yield from predicate_slips(text, SPANISH_PREDICATES)
