"""A reply as it is compared: one spelling for quotes, dashes, markup, case and blanks. Evidence stays as it is.

`plain` keeps the whole text, for numbers under a key; `to_compared` also drops what stands before the first word
and after the last, for words at the start. Both are idempotent, linear in the length of the text, and applied
to expected values and to refusal phrases exactly as to replies.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import polars as pl

from biasgrid.catalogs.text_safety import FILLERS

_VARIANTS: Final = {
    **dict.fromkeys("“”„‟«»″‶「」『』《》〈〉〝〞〟", '"'),
    **dict.fromkeys("‘’‚‛‹›′‵ʼʹˈ", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("∗⁎", "*"),
}
_SPLIT_BY_NFKC: Final = {"´": "'", "″": '"', "‶": '"'}
"""Quotes that NFKC takes apart: an acute accent would become a blank and a combining mark."""

_FOLDED: Final = {"ß": "ss", "ς": "σ", "ı": "i"}
"""Letters that case folding changes beyond lower case, and the dotless ı: HAYIR in lower case is `hayir`."""

_MARKED: Final = r"[^\x20-)+-;=-^a-}]"
"""Characters that `plain` changes in addition to case and blanks: all but printable ASCII, and of that `*<_`~`."""

_INVISIBLE: Final = rf"[[\p{{Cf}}\p{{Cc}}{FILLERS}]--\s]"
_UNDERSCORES: Final = r"\b{start}_+|_+\b{end}"
_STARS: Final = r"\B\*+|\*+\B"
"""Emphasis around words, underscores first; `2*3` and `snake_case` keep theirs."""
_FENCE: Final = r"`{3,}[a-z]{1,12}\s*\n"
"""The opening of a code block that names its language."""
_CODE: Final = r"\B`+|`+\B"
_STRUCK: Final = r'~~[^~"{}\n]{1,200}~~'
"""Struck-through text, which is removed; no part of an object is."""
_BREAK: Final = r"\s*[\n\r\x0B\x0C\x{85}\x{2028}\x{2029}]\s*"
_BLANK: Final = r"[^\S\n]{2,}|[^\S\n ]"  # a lone space, by far the most frequent, is left as it is

_LEAD: Final = (
    r"^(?:[^\w\-+.<]|</?[a-z][^<>]{0,60}>|<|[-+.]+[^\w\-+.])*"  # quotes, bullets, headings, emoji, tags
    r"(?:[-+.]+([^\W\d]))?"  # a dash before a word opens a dialogue; before a digit it is a sign
)
_TAIL: Final = " \n\"'.,:;!?)]}>*|-"

_COMPARED: Final = re.compile(r"[a-z]+(?:[ '][a-z]+)*")
"""Words that are compared as they are, such as most of a catalog: without Polars, a thousand of them are."""

_REASONING: Final = r"(?si)^(?:\s*<think(?:ing)?>(?:.*?</think(?:ing)?>|.*$))+"


def plain(text: pl.Expr) -> pl.Expr:
    """One form for Unicode variants, quotes, dashes, emphasis, blanks and case; a line break stays one."""
    return text.map_batches(_plain, return_dtype=pl.String)


def _plain(texts: pl.Series) -> pl.Series:
    """Most replies are bare ASCII, in which only case and blanks vary: the others alone take all steps."""
    simple = texts.str.to_lowercase().str.replace_all(" {2,}", " ").str.strip_chars(" ")
    rows = texts.str.contains(_MARKED).arg_true()
    if not len(rows):
        return simple
    name = texts.name
    others = texts.gather(rows).to_frame(name).select(plain_of_any(pl.col(name))).to_series()
    return simple.scatter(rows, others)


def plain_of_any(text: pl.Expr) -> pl.Expr:
    """`plain`, step by step."""
    seen = text.str.replace_all(_INVISIBLE, "").str.replace_many(_SPLIT_BY_NFKC)
    folded = _fold(_unicode(seen, "NFKC", r"[^\x00-\x7f]").str.replace_many(_VARIANTS))
    unmarked = _unicode(
        _strip_marks(folded), "NFC", r"\p{M}"
    )  # folding and markup may part a letter from its mark
    return unmarked.str.replace_all(_BREAK, "\n").str.replace_all(_BLANK, " ").str.strip_chars()


def to_compared(text: pl.Expr) -> pl.Expr:
    """`plain` from its first word to its last: `- **No**.` and `«No»` become `no`."""
    return core(plain(text))


def core(plain_text: pl.Expr) -> pl.Expr:
    """What `to_compared` keeps of a text that is `plain` already."""
    return plain_text.str.replace(_LEAD, "$1").str.strip_chars_end(_TAIL)


def strip_reasoning(text: pl.Expr) -> pl.Expr:
    """The reply without the reasoning that some models put first, between think tags.

    Reasoning that never ends holds no answer: nothing is left of it.
    """
    return text.str.replace(_REASONING, "")


def whole(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can hold and Polars cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1024)
def compare_forms(values: tuple[str, ...]) -> tuple[str, ...]:
    """`to_compared` for the few values of a catalog, in their order."""
    if all(map(_COMPARED.fullmatch, values)):
        return values
    catalog = pl.DataFrame({"value": values}, schema={"value": pl.String})
    return tuple(catalog.select(to_compared(pl.col("value"))).to_series())


def plain_form(value: str) -> str:
    """`plain` for one value of a catalog."""
    return str(pl.select(plain(pl.lit(value))).item())


def quote(text: pl.Expr) -> pl.Expr:
    """A reply as a reason ends with it."""
    return pl.format("`{}`", excerpt(text))


def excerpt(text: pl.Expr, length: int = 80) -> pl.Expr:
    """A text as a reason quotes it: one line, at most `length` characters, without control characters."""
    line = text.str.slice(0, 2 * length).str.replace_all(r"\s{2,}|[^\S ]", " ").str.strip_chars()
    visible = line.str.replace_all(r"[\p{Cc}\p{Cf}]", "\ufffd").str.replace_all("`", "'")
    cut = visible.str.len_chars() > length
    return pl.when(cut).then(visible.str.slice(0, length - 1) + "…").otherwise(visible)


def _strip_marks(text: pl.Expr) -> pl.Expr:
    apostrophes = text.str.replace_all(r"\b`\b", "'")  # don`t
    kept = apostrophes.str.replace_all(_STRUCK, "").str.replace_all(_FENCE, "\n")
    return kept.str.replace_all(_CODE, "").str.replace_all(_UNDERSCORES, "").str.replace_all(_STARS, "")


def _unicode(text: pl.Expr, form: Literal["NFC", "NFKC"], where: str) -> pl.Expr:
    """Normalises only the rows that match `where`: it costs as much as all other steps, and few rows need it."""

    def normalise_rows(texts: pl.Series) -> pl.Series:
        rows = texts.str.contains(where).arg_true()
        return texts.clone().scatter(rows, texts.gather(rows).str.normalize(form)) if len(rows) else texts

    return text.map_batches(normalise_rows, return_dtype=pl.String)


def _fold(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_many(_FOLDED).str.replace_all(r"i\x{307}+", "i")
