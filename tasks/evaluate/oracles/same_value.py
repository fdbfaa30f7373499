"""`allSameValue`: the number under a key of a reply that should be JSON, and often is not quite.

Searched in this order: the quoted key in an object (bare, fenced, nested, cut off, with prose around it);
the quoted key anywhere; the bare key (`Probability: 15%`); a reply that is nothing but a number. Of several
objects the first counts, of a key given twice in one object the last, as JSON parsers have it.

Decimal throughout. A point is a decimal mark. A comma is one too (`15,5`), but `1,500` can be 1500 or 1.5 and is
not read; with both marks, or with one mark that repeats, the groups of three decide (`1.500,00`, `1,500,000`).
Ranges and second numbers are not read either; in a sentence, a number is read that is alone in a short reply or
after the last colon, or ends it with its unit. A percent sign is dropped, or divides where the scale ends at 1.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog, Numerals
from biasgrid.catalogs.schema.oracle import Oracle, Scale
from biasgrid.tasks.evaluate.meaning.patterns import literal
from biasgrid.tasks.evaluate.meaning.refusals import refusal
from biasgrid.tasks.evaluate.meaning.text import core, excerpt, plain_form
from biasgrid.tasks.evaluate.oracles.langbite_rule import read_by_langbite
from biasgrid.tasks.evaluate.oracles.outcomes import NO_TEXT, VALUE, refuses, unread_reason

_SHORT: Final = 6
"""Words of a reply that is little more than its number."""
_DIGITS: Final = r"(?<![\w.,/])[-+]?\d+(?:[.,]\d+)*(?![\w/])"
_ENDING: Final = r"\s*(?:%|percent\b|per ?cent\b|por ciento\b)?(?:\s+(?:\w+|out of|sobre) ?\w*)?\W*$"
_OF_HUNDRED: Final = r"\s+(?:out of|on|over|sobre|de)\s+(?:100|a hundred|cent|cien)\b|\s*/\s*100\b"
_PERCENT: Final = re.compile(r"\b(?:percent|per cent|por ciento|por cien)\b")


def find_prose_numbers(plain: pl.Series, language: LanguageCatalog | None) -> pl.Series:
    """The number as digits with any percent sign, null where it is none or in doubt, of texts that are `plain`."""
    numerals = language.numerals if language else None
    return pl.Series(plain.name, [_find(text, numerals) for text in plain], dtype=pl.String)


def _find(text: str, numerals: Numerals | None) -> str | None:
    if re.search(r"[{}\[\]]", text):
        return None
    digits = re.sub(_OF_HUNDRED, "", _PERCENT.sub("%", text))
    spelled = _spell_out(digits, numerals) if numerals else digits
    return _only_number(spelled) or _only_number(spelled.rpartition(":")[2])


def _only_number(text: str) -> str | None:
    found = list(re.finditer(_DIGITS, text))
    if len({number[0] for number in found}) != 1:  # `30% (thirty percent)` repeats it
        return None
    rest = text[found[0].end() :]
    percent = re.match(r"\s*%", rest)
    if len(text.split()) > _SHORT and not percent and not re.match(_ENDING, rest):
        return None
    return found[0][0] + ("%" if percent else "")


def _spell_out(text: str, numerals: Numerals) -> str:
    spelled, values = _spellings(numerals)
    return spelled.sub(lambda found: str(values[found[0]]), text)


@lru_cache(maxsize=16)
def _spellings(numerals: Numerals) -> tuple[re.Pattern[str], dict[str, int]]:
    """Words of all numbers but one, which is an article, too."""
    values = {word: number for word, number in numerals.spelled.items() if number != 1}
    longest = sorted(values, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b"), values


_WIDE: Final = pl.Decimal(38, 18)
_ABSTAINED: Final = -1
"""Value by which a model abstains, as templates offer it; never a result."""
_WINDOW: Final = 80
_CUT: Final = ("length", "max_tokens", "max_output_tokens", "model_length", "incomplete")
_ENDED: Final = ("stop", "eos_token", "eos", "stop_sequence", "end_turn", "succeeded", "completed")

_VALUE: Final = (
    r"^(?<quote>[\"'])?\s*[~≈±]?\s*(?<sign>[-+])?"
    r"(?<digits>[0-9][0-9.,]*[0-9]|[0-9]|[.,][0-9]+)(?<exponent>e[-+]?[0-9]+)?"
    r"(?<percent>\s*%)?(?<rest>(?s:.*))$"
)
_BARE: Final = r"^[\"'\s]*([-+]?[0-9][0-9.,]*\s*%?[\"'\s.]*)$"
_SECOND: Final = r"^\p{L}|^\s*(?:[-~:x×^⁄/_*]|\.\.+|\p{L}{1,3}\b)?\s*[-+]?[.,]?[0-9]"
"""A range, a product, a magnitude: `10-20`, `10 to 20`, `2 x 10`, `1 500`, `15k`."""

_DECIMAL: Final = r"^[0-9]*[.,]?[0-9]+$"
_UNCLEAR: Final = r"^[1-9][0-9]{0,2},[0-9]{3}$"
_ENGLISH: Final = r"^[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]+|(?:,[0-9]{3}){2,})$"
_CONTINENTAL: Final = r"^[0-9]{1,3}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,})$"


def read_numbers(replies: pl.DataFrame, oracle: Oracle, language: LanguageCatalog | None) -> pl.DataFrame:
    """Prepared replies with the columns of `READING`; `outcome` is null where a number on the scale was read."""
    if oracle.reading == "langbite":
        return read_by_langbite(replies, oracle)
    found = _with_number(_with_prose(replies, oracle.key or "", language), oracle.key or "", oracle.scale)
    inside = pl.col("number").is_between(pl.lit(oracle.scale.low), pl.lit(oracle.scale.high))
    number = pl.col("number")
    declined = pl.when(number.is_null()).then(core(pl.col("held")))
    placed = found.with_columns(
        declined=pl.coalesce("declined", refusal(declined, language)),
        inside=inside.fill_null(value=False),
        abstained=((number == pl.lit(_ABSTAINED)) & ~inside).fill_null(value=False),
    )
    return placed.with_columns(
        outcome=_outcome(),
        # in full, where the column of numbers rounds it
        parsed_text=pl.when(pl.col("inside") & (number != number.cast(VALUE).cast(_WIDE))).then(_digits(number)),
        parsed_value=pl.when("inside").then(pl.col("number")).cast(VALUE),
        reason=_reason(oracle),
    )


def _digits(number: pl.Expr) -> pl.Expr:
    return number.cast(_WIDE).cast(pl.String).str.strip_chars_end("0").str.strip_chars_end(".")


def _outcome() -> pl.Expr:
    silent = pl.col("number").is_null() & refuses()
    return (
        pl.when("inside")
        .then(NO_TEXT)
        .when(pl.col("abstained") | silent)
        .then(pl.lit("refused"))
        .otherwise(pl.lit("unreadable"))
    )


def _reason(oracle: Oracle) -> pl.Expr:
    name = excerpt(pl.lit(oracle.key or ""), 40)
    number = _digits(pl.col("number"))
    scale = pl.lit(f"{oracle.scale.low:f} to {oracle.scale.high:f}")
    return (
        pl.when("inside")
        .then(pl.format("`{}` is {}", name, number))
        .when("abstained")
        .then(pl.format("abstained: `{}` is -1", name))
        .when(pl.col("number").is_not_null())
        .then(pl.format("`{}` is {}, outside the scale {}", name, number, scale))
        .otherwise(unread_reason(pl.col("trouble")))
    )


def _with_prose(replies: pl.DataFrame, key: str, language: LanguageCatalog | None) -> pl.DataFrame:
    """Adds where the number may stand: `in_object`, `elsewhere`, `bare`, and `prose` where these hold no digit."""
    placed = replies.with_columns(_find_values(replies["plain"], key), prose=NO_TEXT)
    held = placed.select(pl.coalesce("in_object", "elsewhere", "bare")).to_series()
    rows = (~held.str.contains(r"[0-9]")).fill_null(value=True).arg_true()
    texts = held.gather(rows).str.extract(r"^([^,}\n]*)").fill_null(placed["plain"].gather(rows))
    return placed.with_columns(placed["prose"].scatter(rows, find_prose_numbers(texts, language)))


def _with_number(replies: pl.DataFrame, key: str, scale: Scale) -> pl.DataFrame:
    """Adds `held` (text after the key), `number` (Decimal, null where none is read) and `trouble` (why none is).

    Reads the columns of `_with_prose` and `finish_reason`. The number is not yet compared
    with the scale.
    """
    found = replies.with_columns(held=pl.coalesce("prose", "in_object", "elsewhere", "bare"))
    parts = found.with_columns(pl.col("held").str.extract_groups(_VALUE).alias("part")).unnest("part")
    read = parts.with_columns(canonical=_canonical(pl.col("digits"))).with_columns(trouble=_trouble(key, scale))
    return read.with_columns(number=pl.when(pl.col("trouble").is_null()).then(_decimal(scale)))


def _find_values(plain: pl.Series, key: str) -> list[pl.Series]:
    """The texts after the key, by where they stand; each is looked for where none stands in a better place."""
    form = literal(plain_form(key))
    value = rf"\s*[:=]+\s*((?s:.{{1,{_WINDOW}}}))"
    double, single = rf'"{form}"{value}', rf"'{form}'{value}"  # single quotes may stand inside a JSON string
    inside = [rf"\{{(?:[^{{}}]*[^{{}}\\])?{quoted}" for quoted in (double, single)]
    outside = [rf"(?:^|[^\\]){quoted}" for quoted in (double, single)]
    loose = rf"(?:^|[^\\\w\"']){form}{value}"
    places = {"in_object": inside, "elsewhere": [*outside, loose], "bare": [_BARE]}
    found, rows = [], pl.int_range(len(plain), dtype=pl.UInt32, eager=True)
    for place, patterns in places.items():
        values = pl.repeat(None, len(plain), dtype=pl.String, eager=True).alias(place)
        for pattern in patterns:
            texts = plain.gather(rows).str.extract(pattern, 1)
            values, rows = values.scatter(rows, texts), rows.filter(texts.is_null())
        found.append(values)
    return found


def _canonical(digits: pl.Expr) -> pl.Expr:
    """Digits with a decimal point and no thousands marks; null if ambiguous."""
    return (
        pl.when(digits.str.contains(_UNCLEAR))
        .then(None)
        .when(digits.str.contains(_DECIMAL))
        .then(digits.str.replace(",", ".", literal=True))
        .when(digits.str.contains(_ENGLISH))
        .then(digits.str.replace_all(",", "", literal=True))
        .when(digits.str.contains(_CONTINENTAL))
        .then(digits.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True))
    )


def _decimal(scale: Scale) -> pl.Expr:
    spelled = pl.concat_str("sign", "canonical", "exponent", ignore_nulls=True)
    number = spelled.cast(_WIDE, strict=False)
    if scale.high > 1:
        return number
    return pl.when(pl.col("percent").is_not_null()).then(number / pl.lit(100)).otherwise(number).cast(_WIDE)


def _trouble(key: str, scale: Scale) -> pl.Expr:
    held = excerpt(pl.col("held").str.extract(r"^([^,}\n]*)", 1), 40)
    name = excerpt(pl.lit(key), 40)
    return (
        pl.when(pl.col("held").is_null())
        .then(pl.format("no number under `{}` in the reply: `{}`", name, excerpt(pl.col("text"))))
        .when(pl.col("digits").is_null())
        .then(pl.format("`{}` holds no number: `{}`", name, held))
        .when(_cut_off())
        .then(pl.format("the reply ends in the number of `{}` and may be cut off: `{}`", name, held))
        .when(_second_number(scale))
        .then(pl.format("`{}` holds more than a number: `{}`", name, held))
        .when(pl.col("canonical").is_null())
        .then(pl.format("`{}` can be read in more than one way: `{}`", name, excerpt(pl.col("digits"), 40)))
        .when(_decimal(scale).is_null())
        .then(pl.format("the number of `{}` is too large: `{}`", name, held))
    )


def _cut_off() -> pl.Expr:
    """Whether the text stops inside the number: 45 may have been on its way to 4."""
    ends = pl.col("percent").is_null() & pl.col("rest").str.contains(r"^[.,e]?$")
    whole = pl.col("held").str.len_chars() < _WINDOW
    reason = pl.col("finish_reason").str.to_lowercase()
    ended = reason.is_in(_ENDED).fill_null(value=False)
    cut = reason.is_in(_CUT).fill_null(value=False)
    return ends & whole & pl.when(pl.col("in_object").is_not_null()).then(~ended).otherwise(cut)


def _second_number(scale: Scale) -> pl.Expr:
    out_of = rf"^\s*[/⁄]\s*{pl.escape_regex(f'{scale.high:f}')}(?:[^0-9.,]|$)"
    rest = pl.col("rest")
    return rest.str.contains(_SECOND) & ~rest.str.contains(out_of)
