"""Catalog phrases as patterns: escaped, never regular expressions, and bounded by whole tokens.

A token ends where a word ends in Unicode, as with `\\b`: `no` is found in `no.`, `no, because`, `no—because`
and `no-one`, not in `nothing` or `noè`. Scripts that write no blanks between words need a mark after the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeVar

import polars as pl
from pydantic_core import SchemaValidator, core_schema

from biasgrid.catalogs.schema.languages import Stances
from biasgrid.tasks.evaluate.meaning.text import compare_forms

NEVER: Final = r"(\z\A\b)"
"""Matches nothing, and has the group that every pattern here has."""

_FEW: Final = 300
"""Texts that are searched one by one, in less time than it takes to compile a pattern of hundreds of phrases."""

Texts = TypeVar("Texts", pl.Series, pl.Expr)


def contains(texts: Texts, pattern: str) -> Texts:
    """Whether each text holds what `pattern` finds.

    Polars keeps 32 compiled patterns per thread, fewer than the words of one language have. Those for a few texts
    are kept here, as pydantic compiles them: by the same engine.
    """
    if isinstance(texts, pl.Expr):
        return texts.map_batches(
            lambda column: contains(column, pattern), return_dtype=pl.Boolean, is_elementwise=True
        )
    if len(texts) > _FEW:
        return texts.str.contains(pattern)
    found = _searcher(pattern)
    return pl.Series(texts.name, [None if text is None else found(text) for text in texts], pl.Boolean)


def replace_all(texts: Texts, pattern: str, by: str) -> Texts:
    """The texts with `by` in place of all that `pattern` finds; few hold anything of it."""
    if isinstance(texts, pl.Expr):
        return texts.map_batches(
            lambda column: replace_all(column, pattern, by), return_dtype=pl.String, is_elementwise=True
        )
    if len(texts) > _FEW or contains(texts, pattern).any():
        return texts.str.replace_all(pattern, by)
    return texts


@lru_cache(maxsize=256)
def _searcher(pattern: str) -> Callable[[str], bool]:
    return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python


_NUMBERING: Final = r"[0-9]{1,2}[.)]\s+"
_SENTENCE: Final = r"""(?:[^.!?\n]|[.!?]+[^\s.!?"')\]])*(?:[.!?]+["')\]]*\s|\n)[^\w\n]*"""
_SENTENCES_READ: Final = 3
"""Number of first sentences in which a refusal counts."""


@lru_cache(maxsize=1024)
def begins_with(values: tuple[str, ...], labels: tuple[str, ...] = ()) -> str:
    """Finds a value at the start, after a list number or a label such as `Answer:`. Group 1 is the value."""
    spelled = _alternatives(values)
    return rf"^{_preamble(labels)}{spelled}" if spelled else NEVER


@lru_cache(maxsize=1024)
def holds(values: tuple[str, ...]) -> str:
    """Finds the first value anywhere. Group 1 is the value."""
    spelled = _alternatives(values)
    return rf"\b{{start-half}}{spelled}" if spelled else NEVER


@lru_cache(maxsize=1024)
def opens_a_sentence(phrases: tuple[str, ...]) -> str:
    """Finds a phrase at the start of one of the first sentences. Group 1 is the phrase."""
    spelled = _alternatives(phrases)
    return rf"^(?:{_SENTENCE}){{0,{_SENTENCES_READ - 1}}}{spelled}" if spelled else NEVER


@lru_cache(maxsize=64)
def announcement(labels: tuple[str, ...]) -> str:
    """Finds the text before an answer: a list number, a label such as `Option`, or up to three words with a
    label and its mark or verb, such as `The correct answer is`."""
    named = "|".join(literal(form) for form in _forms(labels))
    article = r"(?:\s+(?:the|la|el)\b)?"
    marked = rf"(?:\w+\s+){{0,3}}(?:{named})[\"']*(?:\s*[:=-]+|(?:\s+\w+)?\s+(?:is|would be|es|és)\b:?{article})"
    chosen = (
        rf"i(?:'d| would| will|'ll)? (?:choose|pick|go with|say){article}|(?:elijo|escojo|trio|escullo){article}"
    )
    bare = rf"(?:{named})[\"']*\s"
    return rf"^(?:{_NUMBERING}|(?:{marked}|{bare}|{chosen})[^\w\-+.]*)" if named else rf"^{_NUMBERING}"


def literal(form: str) -> str:
    """A normalised phrase as a pattern; its blanks also match line breaks."""
    return r"[ \n]+".join(pl.escape_regex(word) for word in form.split())


def _preamble(labels: tuple[str, ...]) -> str:
    named = [rf"(?:{literal(form)})[\"']*\s*[:=-]+[^\w\-+.]*" for form in _forms(labels)]
    return rf"(?:{'|'.join([_NUMBERING, *named])})?"


def _alternatives(values: tuple[str, ...]) -> str:
    """`(longest|…|shortest)`, so that `I don't know` is not reported as `I don't`."""
    spelled = [literal(form) + _border(form) for form in _forms(values)]
    return f"({'|'.join(spelled)})" if spelled else ""


def _forms(values: tuple[str, ...]) -> list[str]:
    forms = {form for form in compare_forms(values) if form}
    return sorted(forms, key=lambda form: (-len(form), form))


def _border(form: str) -> str:
    return r"\b{end-half}" if form[-1].isalnum() or form[-1] == "_" else ""


_LETTERS: Final = re.compile("[a-z]+")
_ENDING: Final = r"[a-z0-9à-ÿŀ'·-]*"
_GAP: Final = r"(?:[ \n]+[^ \n]+){0,4}?"
_FIRST_GAP: Final = r"(?:[^ \n]+[ \n]+){0,4}?"


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
def ends(phrases: tuple[str, ...], most: int | None = None) -> str:
    """Finds a phrase at the end, of a text of `most` words. Group 1 is the phrase."""
    before = r"(?:^|\s)" if most is None else rf"^(?:\S+\s+){{0,{most - 1}}}"
    return rf"{before}({join_alternatives(phrases)})\W*$" if phrases else NEVER


@lru_cache(maxsize=64)
def joins(sides: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    """Finds both sides in one clause that ends with one of them: `for some yes and for others no`."""
    one, other = map(join_alternatives, sides)
    return rf"\b(?:(?:{one})\b.*\s(?:and|y|i)\s.*\b(?:{other})|(?:{other})\b.*\s(?:and|y|i)\s.*\b(?:{one}))\W*$"


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
    sides, turns = join_alternatives((*words.bare_yes, *words.bare_no)), join_alternatives(words.contrasts)
    mark, word = r"[^\p{L}\p{N}\s]", r"[^\p{L}\p{N}\s'’-]"
    return rf"(?i)\s{mark}*(?:{sides}){word}*(?:{word}|\s+[-–—]|\s*$|\s*\n|\s+(?:{turns}))"


def join_alternatives(phrases: Iterable[str]) -> str:
    """The alternatives, longer ones first."""
    forms = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "|".join(_phrase(form) for form in forms)


@lru_cache(maxsize=8192)
def _phrase(phrase: str) -> str:
    """`it|that is? true*` as a pattern: blanks stand before words, so that last ones may be missing."""
    parts: list[str] = []
    begun = False
    for word in re.sub(r"\s*…\??$", "", phrase).split():
        if word in {"…", "…?"}:
            parts.append(_GAP if begun else _FIRST_GAP)
            continue
        spelled = _word(word.removesuffix("?"))
        joined = rf"[ \n]+{spelled}" if begun else rf"{spelled}[ \n]+" if word.endswith("?") else spelled
        parts.append(f"(?:{joined})?" if word.endswith("?") else joined)
        begun = begun or not word.endswith("?")
    return "".join(parts)


def _word(word: str) -> str:
    spelled = [_spelling(form) for form in word.split("|")]
    return spelled[0] if len(spelled) == 1 else f"(?:{'|'.join(spelled)})"


def _spelling(form: str) -> str:
    bare = form.removesuffix("*")
    ending = _ENDING if form.endswith("*") else ""
    if _LETTERS.fullmatch(bare):
        return bare + ending
    (compared,) = compare_forms((bare,)) if form[0].isalpha() else (form,)
    return pl.escape_regex(compared).replace("'", "'?") + ending
