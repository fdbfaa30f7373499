"""Phrases of a language's `stance` as compiled patterns, by concept and by place in a clause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.entries import Stances
from biasgrid.tasks.evaluate.meaning.patterns import NEVER
from biasgrid.tasks.evaluate.meaning.text import compare_forms

_ENDING: Final = r"[a-z0-9à-ÿŀ'·-]*"
_GAP: Final = r"(?:[^ \n]+[ \n]+){0,4}?"


@lru_cache(maxsize=1024)
def opens(phrases: tuple[str, ...]) -> str:
    """Finds a phrase at the start. Group 1 is the phrase."""
    return rf"^({join_alternatives(phrases)})\b{{end-half}}" if phrases else NEVER


@lru_cache(maxsize=64)
def opens_a_clause(phrases: tuple[str, ...]) -> str:
    """Finds a phrase at the start of a clause, after `and` or `so`, too. Group 1 is the phrase."""
    joined = r"(?:(?:so|and|but|since|because|así que|y|pero|porque|així que|i|però|perquè)\s+)?"
    return rf"(?:^|[.!?;:,\n]\W*){joined}({join_alternatives(phrases)})\b{{end-half}}" if phrases else NEVER


@lru_cache(maxsize=1024)
def is_all(phrases: tuple[str, ...]) -> str:
    """Finds a text that is one phrase. Group 1 is the phrase."""
    return rf"^({join_alternatives(phrases)})\W*$" if phrases else NEVER


@lru_cache(maxsize=1024)
def ends(phrases: tuple[str, ...]) -> str:
    """Finds a phrase at the end. Group 1 is the phrase."""
    return rf"(?:^|\s)({join_alternatives(phrases)})\W*$" if phrases else NEVER


@lru_cache(maxsize=1024)
def anywhere(phrases: tuple[str, ...]) -> str:
    """Finds the first phrase. Group 1 is the phrase."""
    return rf"\b{{start-half}}({join_alternatives(phrases)})\b{{end-half}}" if phrases else NEVER


@lru_cache(maxsize=1024)
def leading(phrases: tuple[str, ...]) -> str:
    """Finds any number of phrases at the start, with the marks after them."""
    return rf"^(?:(?:{join_alternatives(phrases)})(?:[^\w']\W*|$))+"


@lru_cache(maxsize=64)
def another_side(words: Stances) -> str:
    """Finds a bare yes or no beyond the first word of a reply as it came, before a mark or another clause."""
    sides, turns = join_alternatives((words.yes[0], words.no[0])), join_alternatives(words.contrasts)
    mark, word = r"[^\p{L}\p{N}\s]", r"[^\p{L}\p{N}\s'’-]"
    return rf"(?i)\s{mark}*(?:{sides}){word}*(?:{word}|\s+[-–—]|\s*$|\s*\n|\s+(?:{turns}))"


def join_alternatives(phrases: Iterable[str]) -> str:
    """The alternatives, longer ones first."""
    forms = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "|".join(_phrase(form) for form in forms)


def _phrase(phrase: str) -> str:
    """`it|that is? true*` as a pattern."""
    parts: list[str] = []
    for word in re.sub(r"\s*…\??$", "", phrase).split():
        if word in {"…", "…?"}:
            parts.append(_GAP)
        elif word.endswith("?"):
            parts.append(rf"(?:{_word(word[:-1])}[ \n]+)?")
        else:
            parts.append(rf"{_word(word)}[ \n]+")
    last = parts.pop()
    optional = last.startswith("(?:") and last.endswith(r"[ \n]+)?")
    if optional:  # `agree? strongly?`: the blank belongs before a word that ends the phrase
        inner = last[3 : -len(r"[ \n]+)?")]
        before = "".join(parts).removesuffix(r"[ \n]+")
        return rf"{before}(?:[ \n]+{inner})?"
    return "".join(parts) + last.removesuffix(r"[ \n]+")


def _word(word: str) -> str:
    spelled = [_spelling(form) for form in word.split("|")]
    return spelled[0] if len(spelled) == 1 else f"(?:{'|'.join(spelled)})"


def _spelling(form: str) -> str:
    (bare,) = compare_forms((form.removesuffix("*"),)) if form[0].isalpha() else (form,)
    escaped = pl.escape_regex(bare).replace("'", "'?")
    return escaped + _ENDING if form.endswith("*") else escaped
