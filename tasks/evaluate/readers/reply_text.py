"""Normalises single replies in plain Python, since each reply of a probe is read against its own names.

`normalize` works as oracles/text.py does, but keeps case (Will is a name, will a verb) and drops accents. Results
are bounded, and every step is linear in the reply.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.text_safety import replace_invisible
from biasgrid.tasks.connectors.api import FILTERED
from biasgrid.tasks.evaluate.meaning.text import compare_forms

READ: Final = 40_000
"""Maximum characters of a reply that are read; longer replies are endless loops."""
_OPENING: Final = 6_000
"""Characters within which a reply declines."""

_SAME: Final = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″‶「」『』《》〈〉〝〞〟", '"'),
        **dict.fromkeys("‘’‚‛‹›′‵ʼʹˈ´", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("∗⁎•‣◦▪●", "*"),
        **dict.fromkeys("→⇒⟶➔➜➡⟹⇨►▶👉", "→"),
        **dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"),
        "\u00a0": " ",
        "·": "",
    }
)
_INVISIBLE: Final = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]"
)
_THOUGHT: Final = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_ENDS: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[,.;:!?(\"-]\W{0,4}(?:\w{1,20} )?\Z")
"""Start of a clause, with or without a word such as `but`."""
_BEFORE: Final = 30

_STRUCK: Final = re.compile(r"~~[^~]{1,200}~~")
_BREAKS: Final = re.compile(r"</?(?:br|p|li|tr|ul|ol|div|h[1-6])\b[^<>\n]{0,60}>", re.IGNORECASE)
_IN_ROW: Final = re.compile(r"(?<=[^\n|])<br ?/?>(?=[^\n|]{1,400}\|)", re.IGNORECASE)
_CELLS: Final = re.compile(r"</?t[dh]\b[^<>\n]{0,60}>", re.IGNORECASE)
_TAGS: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,20}(?:\s[^<>\n]{0,60})?/?>")
_LEADERS: Final = re.compile(r"\.{4,}")
_LATEX: Final = re.compile(r"\\(?:right|long|Right)\w{0,20}arrow|\\to\b")
_SPELT: Final = re.compile(r"\\(?:text|boxed|mathrm|textbf)\b|[${}\\](?=\\)|\$")
_MARKED: Final = re.compile(r"[<~*_`$\\]|\.{4}")
"""Quick test for markup."""
_EMPHASIS: Final = re.compile(r"(?<!\w)_+|_+(?!\w)|[*`]+")


def strip_reasoning(text: str) -> str:
    """The reply without the reasoning between think tags at its start; empty if that never ends."""
    begun = 0
    while opened := _THOUGHT.match(text, begun):
        ended = _THOUGHT_ENDS.search(text, opened.end())
        if ended is None:
            return ""
        begun = ended.end()
    return text[begun : begun + READ]


def normalize(text: str) -> str:
    """One form for Unicode variants, quotes, dashes and arrows, without accents; case, markup and lines are
    unchanged."""
    if text.isascii():
        return text.translate(_SAME)
    split = unicodedata.normalize("NFKD", text.translate(_SAME)).translate(_SAME)
    return _INVISIBLE.sub("", split)


def strip_markup(flat_text: str) -> str:
    """The text without Markdown, HTML and LaTeX marks; rows stay lines, cells stay between bars."""
    if not _MARKED.search(flat_text):
        return flat_text
    rows = _IN_ROW.sub(", ", _STRUCK.sub("", flat_text))
    lines = _CELLS.sub(" | ", _BREAKS.sub("\n", rows))
    return _EMPHASIS.sub("", _SPELT.sub("", _LATEX.sub("→", _TAGS.sub("", _LEADERS.sub(":", lines)))))


def fold(text: str) -> str:
    """`normalize` in lower case, with single blanks, for comparing words."""
    return " ".join(normalize(text).casefold().split())


def find_refusal(flat_text: str, language: LanguageCatalog | None) -> str | None:
    """The refusal phrase at the start of any clause of a reply, or None."""
    spoken = ". ".join(
        " ".join(line.split()) for line in strip_markup(flat_text[:_OPENING]).casefold().split("\n")
    )
    for phrase in _phrases(language.refusals if language else ()):
        start = spoken.find(phrase)
        while start >= 0:
            if _begins_a_clause(spoken, start, start + len(phrase)):
                return phrase
            start = spoken.find(phrase, start + 1)
    return None


def withheld_by(finish_reason: str | None) -> str | None:
    """The finish reason of a reply that the provider filtered, or None."""
    return finish_reason if (finish_reason or "").lower() in FILTERED else None


def explain_refusal(phrase: str | None, finish_reason: str | None) -> str | None:
    """The reason why a reply without an answer is a refusal, or None if it is not."""
    if phrase:
        return f"declines to answer: `{phrase}`"
    if withheld_by(finish_reason):
        return f"withheld by the provider: finish reason `{excerpt(finish_reason or '')}`"
    return None


def excerpt(text: str, length: int = 80) -> str:
    """A text as a reason quotes it: one line, at most `length` characters, without control characters."""
    line = " ".join(text[: 2 * length].split()).replace("`", "'")
    visible = replace_invisible(line)
    return visible if len(visible) <= length else f"{visible[: length - 1]}…"


@lru_cache(maxsize=64)
def _phrases(refusals: tuple[str, ...]) -> tuple[str, ...]:
    """The phrases, longest first, so that `i can't assist` is not reported as `i can't`."""
    forms = {fold(form) for form in compare_forms(refusals) if form}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _begins_a_clause(spoken: str, start: int, end: int) -> bool:
    before = spoken[max(0, start - _BEFORE) : start]
    cut = start > _BEFORE
    return (
        not spoken[end : end + 1].isalnum() and _CLAUSE.search(f"x{before}" if cut else f".{before}") is not None
    )


_LANGUAGES: Final = ("english", "spanish", "catalan")


@cache
def _tables() -> dict[str, dict[str, str]]:
    folder = files("biasgrid.tasks.evaluate.readers")
    return {name: load_yaml((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in _LANGUAGES}


def word_set(*names: str, marks: str = "") -> frozenset[str]:
    """The words of these tables in all languages, and `marks` between blanks."""
    texts = [table[name] for name in names for table in _tables().values() if name in table]
    return frozenset(" ".join([*texts, marks]).split())


def lines_of(name: str) -> list[str]:
    """The lines of a table in all languages."""
    return [line for table in _tables().values() for line in table[name].splitlines()]


def words_of(name: str, language: str) -> list[str]:
    """The words of a table in their order."""
    return _tables()[language][name].split()


def numbers_of(name: str) -> dict[str, int]:
    """The place of each word in its language's table, counted from 1."""
    tables = _tables()
    return {word: number for language in tables for number, word in enumerate(words_of(name, language), start=1)}


def pattern(name: str, *languages: str) -> str:
    """The alternatives of a table in these languages, or in all, as a group that captures nothing."""
    tables = _tables()
    texts = [tables[language][name] for language in languages or tables if name in tables[language]]
    return f"(?:{'|'.join(''.join(text.splitlines()) for text in texts)})"
