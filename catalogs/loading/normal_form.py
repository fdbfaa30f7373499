"""What evaluation leaves of an expected value before it compares: `- **No**.` and `«No»` are `no`.

The same rules as those of evaluation, in plain Python, since a catalog is checked without the packages that judge
a million replies; a test holds the two to the same forms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from biasgrid.catalogs.text_safety import CONTROL, FILLERS, FORMAT, JOINERS

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
    """A value as replies are compared with it; empty where nothing of it would be."""
    seen = _INVISIBLE.sub("", value).translate(_SPLIT_BY_NFKC)
    text = unicodedata.normalize("NFKC", seen).translate(_QUOTES).lower().translate(_FOLDED)
    text = re.sub("i\u0307+", "i", text)
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return _LEAD.sub(lambda match: match[1] or "", text, count=1).rstrip(_TAIL)


def begins(answer: str, values: Iterable[str]) -> bool:
    """Whether an answer begins with one of the values, on the border of a word."""
    said = compared(answer)
    return any(_opens(said, form) for form in map(compared, values) if form)


def holds(answer: str, values: Iterable[str]) -> bool:
    """Whether an answer holds one of the values, on borders of words."""
    said = compared(answer)
    forms = [form for form in map(compared, values) if form]
    return any(re.search(rf"(?<!\w){re.escape(form)}{_border(form)}", said) is not None for form in forms)


def _opens(said: str, form: str) -> bool:
    return re.match(rf"{re.escape(form)}{_border(form)}", said) is not None


def _border(form: str) -> str:
    return r"(?!\w)" if form[-1].isalnum() or form[-1] == "_" else ""
