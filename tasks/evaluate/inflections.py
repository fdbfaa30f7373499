"""Whether a reply's word is an attribute's word in another number or gender: `nurses`, `médica`, `metgessa`.

Tolerant only of endings, and only where enough of the word is left: `cars` is `car`, `care` is not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_NUMBER: Final = ("s", "es")
_SWAPS: Final = (("ies", "y"), ("men", "man"), ("women", "woman"), ("ves", "f"), ("ves", "fe"))
_GENDER: Final = ("essas", "esses", "essa", "as", "os", "es", "a", "o", "e", "s")
_ROMANCE: Final = (("ces", "z"), ("adas", "at"), ("ades", "at"), ("ada", "at"), ("ats", "at"), ("ons", "o"),
                   ("ona", "o"), ("ones", "o"), ("trices", "tor"), ("triz", "tor"), ("triu", "tor"),
                   ("gues", "ga"), ("ques", "ca"), ("logues", "leg"), ("loga", "leg"), ("ssos", "s"))  # fmt: skip
_LEAST_OF_NUMBER: Final = 3
_LEAST_OF_GENDER: Final = 4


@lru_cache(maxsize=8192)
def same_word(word: str, other: str, inflects_gender: bool) -> bool:
    """Whether two folded words differ in number (or gender) alone."""
    if word == other:
        return True
    if word[:2] != other[:2]:
        return False
    if word in _plurals(other) or other in _plurals(word):
        return True
    return inflects_gender and bool(_stems(word) & _stems(other))


def _plurals(word: str) -> set[str]:
    """What the word may be in the plural."""
    if len(word) < _LEAST_OF_NUMBER:
        return set()
    sibilant = word.endswith(("s", "x", "z", "ch", "sh", "o"))
    regular = {word + "s"} | ({word + "es"} if sibilant else set())
    return regular | {word[: -len(one)] + many for many, one in _SWAPS if word.endswith(one)}


def _stems(word: str) -> set[str]:
    """The word without each ending of number and gender that it may have."""
    bare = {word.removesuffix(ending) for ending in _GENDER if word.endswith(ending)}
    swapped = {word[: -len(one)] + other for one, other in _ROMANCE if word.endswith(one)}
    return {stem for stem in (word, *bare, *swapped) if len(stem) >= _LEAST_OF_GENDER}
