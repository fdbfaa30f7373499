"""Finds errors in English texts, such as `an woman`, `a 80-year-old`, `a women`."""

import re
from collections.abc import Iterator

from biasgrid.catalogs.lint.language.slips import Slip, match_slips

ARTICLE = re.compile(r"(?<![\w'’-])([Aa]n?)\s+[\"“'‘«(]?([A-Za-zÀ-ÿ0-9][\w'’-]*)")
AN_THOUGH = re.compile(r"hour|honest|honor|honour|heir|[fhlmnrsx]-", re.IGNORECASE)
A_THOUGH = re.compile(
    r"one(?![a-z])|once|eu|ewe|u[bcfhjkqrstv][aeiou]|unanim|ukrain|ui?y?ghur|uni(?![nm]|dent|deal)", re.IGNORECASE
)
"""Initial vowel letter but consonant sound: a European, a university, a one-way street, a useful tool."""
SPELT_AN = "AEFHILMNORSX"
VERB = "the verb must be plural"
PLURALS = (
    (
        re.compile(
            r"(?<![\w'’-])(an?|one|each|every)\s+((?:[\w-]+\s+)?(?:women|men|children|persons))(?!['’\w-])",
            re.IGNORECASE,
        ),
        "a plural takes no such word",
    ),
    (re.compile(r"^(?:Is|Was|Does|Has)\s+((?:wo)?men|children|\w+\s+people)\b(?!['’])"), VERB),
)
PLURAL_SUBJECT = (
    (
        re.compile(
            r"(?<![\w'’-])((?:wo)?men|children|persons|(?:old|young|poor|rich|black|white|asian)\s+people)"
            r"\s+(is|was|has|does)\b(?!\s+not\s+a\b)",
            re.IGNORECASE,
        ),
        VERB,
    ),
)
"""A singular verb after a plural subject, an error at the start of a sentence."""


def english_slips(text: str) -> Iterator[Slip]:
    """Errors of article and number in a text or a window of one."""
    for match in ARTICLE.finditer(text):
        if _is_article(text, match) and _is_wrong_article(match[1].lower(), match[2]):
            right = "a" if match[1].lower() == "an" else "an"
            yield Slip(match[0], f"write `{right} {match[2]}`", match.start())
    yield from match_slips(text, PLURALS)
    for slip in match_slips(text, PLURAL_SUBJECT):
        if not text[: slip.start].strip() or re.search(r"[.?!]\s+$", text[: slip.start]):
            yield slip


def _is_article(text: str, match: re.Match[str]) -> bool:
    """Whether `a` is an article, unlike the letter in `vitamin A is` or `A or B`."""
    if match[2].lower() in ("and", "or", "is", "in"):
        return False
    if match[1] != "A":
        return True
    before = text[: match.start()].rstrip(" \"“'‘«(")
    return not before or before[-1] in ".?!:;…"


def _is_wrong_article(article: str, word: str) -> bool:
    sounds = _starts_with_vowel(word)
    return sounds is not None and sounds != (article == "an")


def _starts_with_vowel(word: str) -> bool | None:
    """Whether a word starts with a vowel sound; None if it cannot be determined."""
    if word[0].isdigit():
        number = re.match(r"\d+", word)
        return word[0] == "8" or (number is not None and number[0] in ("11", "18"))
    letters = re.split(r"[^A-Za-zÀ-ÿ]", word)[0]
    if len(letters) > 1 and letters.isupper():
        return None if len(letters) > 3 or letters[0] == "U" else letters[0] in SPELT_AN
    if len(letters) == 1:
        return None if letters.isupper() and letters in "U" else word[0].upper() in SPELT_AN
    if AN_THOUGH.match(word):
        return True
    return word[0].lower() in "aeiouàáèéìíòóùú" and not A_THOUGH.match(word)
