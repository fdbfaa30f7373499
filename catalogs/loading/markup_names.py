"""Which markup a placeholder means, however it is spelt: accents, lower case, another language's word."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from functools import lru_cache

from biasgrid.catalogs.errors import close_names

CLOSE = 0.8
"""How alike a numbered word in capitals must be to a markup to be taken for it."""
IN_OTHER_WORDS = {
    "AGE": ("EDAD", "EDAT"),
    "COUNTRY": ("PAIS", "NACIONALIDAD", "NACIONALITAT", "NATIONALITY"),
    "GENDER": ("GENERO", "GENERE", "SEXO", "SEXE"),
    "POLITICAL_VIEW": ("IDEOLOGIA", "IDEOLOGY", "OPINION_POLITICA", "OPINIO_POLITICA"),
    "PRONOUN": ("PRONOMBRE", "PRONOM"),
    "RELIGION": ("RELIGIO",),
    "SEXUAL_ORIENTATION": ("ORIENTACION_SEXUAL", "ORIENTACIO_SEXUAL"),
    "SKIN_COLOR": (
        "SKIN_COLOUR",
        "COLOR_PIEL",
        "COLOR_DE_PIEL",
        "COLOR_DE_LA_PIEL",
        "COLOR_PELL",
        "COLOR_DE_PELL",
        "COLOR_DE_LA_PELL",
    ),
}
"""What a translator makes of a markup, in letters without accents."""
_MEANT = {word: markup for markup, words in IN_OTHER_WORDS.items() for word in words}


@lru_cache(maxsize=4096)
def folded(word: str) -> str:
    """A word in capitals, without accents, its blanks and hyphens as underscores."""
    letters = (letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    return "_".join("".join(letters).upper().replace("-", " ").split())


def exactly(word: str, known: Collection[str]) -> str | None:
    """The known markup that a word is, or is a translation of."""
    spelt = folded(word)
    named = spelt if spelt in known else _MEANT.get(spelt)
    return named if named in known else None


def roughly(word: str, known: Collection[str]) -> str | None:
    """As `exactly`, or the markup that is spelt most like the word."""
    found = exactly(word, known)
    if found is not None:
        return found
    close = close_names(folded(word), known)
    return close[0] if close else None
