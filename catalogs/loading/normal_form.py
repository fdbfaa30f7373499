"""Normalizes values as evaluation does (`- **No**.` becomes `no`), and finds passing answers and known markups."""

# The same rules as in evaluation, without importing Polars; a test compares the two.

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final

from biasgrid.catalogs.errors import close_names
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.text_safety import CONTROL, FILLERS, FORMAT, JOINERS

CLOSE = 0.8
"""Minimum similarity at which a capitalized word with a number is taken for a markup."""
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
"""Likely translations of each markup, in letters without accents."""
_MEANT = {word: markup for markup, words in IN_OTHER_WORDS.items() for word in words}


@lru_cache(maxsize=4096)
def folded(word: str) -> str:
    """The word in capitals without accents, with blanks and hyphens as underscores."""
    letters = (letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    return "_".join("".join(letters).upper().replace("-", " ").split())


def exactly(word: str, known: Collection[str]) -> str | None:
    """The known markup that a word equals or translates, or None."""
    spelt = folded(word)
    named = spelt if spelt in known else _MEANT.get(spelt)
    return named if named in known else None


def roughly(word: str, known: Collection[str]) -> str | None:
    """As `exactly`, else the markup with the most similar spelling."""
    found = exactly(word, known)
    if found is not None:
        return found
    close = close_names(folded(word), known)
    return close[0] if close else None


_QUOTES: Final = str.maketrans(
    dict.fromkeys("“”„‟«»″‶「」『』《》〈〉〝〞〟", '"')
    | dict.fromkeys("‘’‚‛‹›′‵ʼʹˈ", "'")
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("∗⁎", "*")
)
_SPLIT_BY_NFKC: Final = str.maketrans({"´": "'", "″": '"', "‶": '"'})
_FOLDED: Final = str.maketrans({"ß": "ss", "ς": "σ", "ı": "i"})
_INVISIBLE: Final = re.compile(rf"(?!\s)[{CONTROL}{FORMAT}{JOINERS}{FILLERS}]")
_MARKUP: Final = (
    (re.compile(r"\b`\b"), "'"),
    (re.compile(r"~~[^~]{1,200}~~"), ""),
    (re.compile(r"(?<!`)`{3,}[a-z]{1,12}\s*\n"), "\n"),
    (re.compile(r"\B`+|`+\B"), ""),
    (re.compile(r"(?<!\w)_+|_+(?!\w)"), ""),
    (re.compile(r"\B\*+|\*+\B"), ""),
)
_LEAD: Final = re.compile(r"^(?:[^\w\-+.<]|</?[a-z][^<>]{0,60}>|<|[-+.]+[^\w\-+.])*(?:[-+.]+([^\W\d]))?")
_TAIL: Final = " \n\"'.,:;!?)]}>*|-"


@lru_cache(maxsize=4096)
def compared(value: str) -> str:
    """The normalized value as used in comparisons; empty if nothing is left."""
    seen = _INVISIBLE.sub("", value).translate(_SPLIT_BY_NFKC)
    text = unicodedata.normalize("NFKC", seen).translate(_QUOTES).lower().translate(_FOLDED)
    text = re.sub("i\u0307+", "i", text)
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return _LEAD.sub(lambda match: match[1] or "", text, count=1).rstrip(_TAIL)


def begins(answer: str, values: Iterable[str]) -> bool:
    """Whether an answer begins with one of the values, at a word boundary."""
    given = compared(answer)
    return any(
        re.match(rf"{re.escape(form)}{_border(form)}", given) is not None for form in map(compared, values) if form
    )


def holds(answer: str, values: Iterable[str]) -> bool:
    """Whether an answer contains one of the values, at word boundaries."""
    given = compared(answer)
    forms = [form for form in map(compared, values) if form]
    return any(re.search(rf"(?<!\w){re.escape(form)}{_border(form)}", given) is not None for form in forms)


def _border(form: str) -> str:
    return r"(?!\w)" if form[-1].isalnum() or form[-1] == "_" else ""


AFFIRMING = frozenset({"yes", "agree", "sí", "de acuerdo", "d'acord", "i agree", "true"})
DENYING = frozenset({"no", "disagree", "en desacuerdo", "en desacord", "i disagree", "false"})


def passes(answer: str, oracle: Oracle) -> bool:
    """Whether a reply that consists of this answer passes an oracle with listed values."""
    return _found(answer, oracle.expected, oracle.where) is not oracle.judged.forbids


@lru_cache(maxsize=4096)
def _found(answer: str, expected: tuple[str, ...], where: str) -> bool:
    return holds(answer, expected) if where == "anywhere" else begins(answer, expected)


def offered_yes_no(answers: Sequence[str]) -> tuple[str | None, str | None]:
    """The offered answers that agree with the question and that reject it."""
    return _first_of(answers, AFFIRMING), _first_of(answers, DENYING)


def _first_of(answers: Sequence[str], known: Collection[str]) -> str | None:
    return next((answer for answer in answers if compared(answer) in known), None)
