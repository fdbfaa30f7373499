"""Replies taken apart into clauses, each without the words before its answer.

Left out are wrappers (JSON, quotation marks around all), quotations of four words and more, and fillers. Of each
clause it is noted whether it asks, announces the answer, turns to the other side, concedes, or reports what
others think or the reply takes back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.languages import Stances
from biasgrid.tasks.evaluate.meaning.patterns import (
    NEVER,
    anywhere,
    contains,
    is_all,
    join_alternatives,
    leading,
    opens,
    replace_all,
)

_QUOTED: Final = r'"[^"\s]+(?:\s+[^"\s]+){2,}\s+[^"\s]*?([.!?…]?)\s*"'
_WHOLLY_QUOTED: Final = r'^\W*"([^"]*)"\W*$'
_SENTENCE_END: Final = r"""([.!?…]+)["')\]]*(?:\s+|$)"""
_CLAUSE_END: Final = r"\s*[,;:()\[\]]+\s*|\s+-+\s+|-{2,}|\s*[{}|]+\s*|\s*…\s*"
_ASIDE: Final = r",\s+(?:\S+\s+){0,2}[^\s,]+,"
_TITLE: Final = r"^\s*#{1,6}\s+[^\s:]+\s+[^:]+$"
"""A heading of two words and more that announces no answer."""
_EDGE: Final = r"^[^\w+#]+|[^\w%]+$"
_STATEMENT: Final = 4
"""Words of a clause that states something."""
_ROUNDS: Final = 3
"""How often what stands before an answer is looked for: `well, so the answer is, I think, no`."""


def split_clauses(plain: pl.Series, words: Stances, labels: tuple[str, ...]) -> pl.DataFrame:
    """One row per clause: `reply`, `sentence` and `clause` (numbers), `text`, `asks`, `announced`, `turns`,
    `others`, `is_side` (whether it is a bare yes or no), `is_rhetorical`, `closes` (the last sentence)."""
    text = pl.col("text")
    replies = pl.DataFrame({"text": plain}).with_row_index("reply")
    whole = replies.with_columns(text=_answer_of_json(text, labels)).with_columns(text=_without_quotations(text))
    joined, asking = (join_alternatives(phrases) or NEVER for phrases in (words.fillers, words.rhetorical))
    rhetorical = rf"¿\s*((?:(?:{joined})\s+)?(?:{asking})\b[^?]*\?+)"
    asked = text.str.replace_all(rhetorical, "\n$1\n").str.replace_all(r"¿[^?]*\?+", " ? \n")
    marked = asked.str.replace_all(_SENTENCE_END, "$1\n")
    sentences = (
        whole.with_columns(text=marked.str.split("\n"))
        .explode("text")
        .filter(text.str.contains(r"[\w%]|\?"), ~text.str.contains(_TITLE))
        .with_columns(sentence=_numbers(), asks=text.str.contains(r"\?\W*$"))
    )
    inner = [phrase for phrase in words.contrasts if phrase not in words.adverbial]
    breaks = rf"\s+((?:{join_alternatives(inner)})\b{{end-half}})"
    interposed = pl.when(text.str.contains(_ASIDE)).then(
        text.str.replace_all(rf"{anywhere(words.copulas)},\s+(?:{joined}),", "$1 ")
    )
    parted = interposed.otherwise(text).str.replace_all(_CLAUSE_END, "\n").str.replace_all(breaks, "\n$1")
    clauses = (
        sentences.with_columns(text=parted.str.split("\n"))
        .explode("text")
        .with_columns(text=text.str.replace_all(_EDGE, ""))
        .filter(text != "")
        .with_columns(clause=_numbers())
    )
    return _mark(clauses, words, labels)


def find_where(clauses: pl.DataFrame, likely: pl.Expr, holds: pl.Expr) -> pl.Series:
    """Whether both hold; `holds`, which takes long, is looked at only where the other one does."""
    rows = clauses.select(likely.fill_null(value=False).arg_true()).to_series()
    found = rows.filter(clauses[rows].select(holds.fill_null(value=False)).to_series())
    return pl.repeat(value=False, n=clauses.height, dtype=pl.Boolean, eager=True).scatter(found, True)


def _numbers() -> pl.Expr:
    """The place of a row in its reply."""
    return pl.int_range(pl.len(), dtype=pl.Int32).over("reply")


def _answer_of_json(text: pl.Expr, labels: tuple[str, ...]) -> pl.Expr:
    """The value of the answer's key in an object, of `final answer` before `answer`, else the key that is true, or
    the first value; other texts as they are."""
    value = r'\s*:\s*"?([^"{}\n]*)'
    longer = (label.replace(" ", "[ _-]?") for label in labels if " " in label)
    keys = ("|".join(longer), "|".join((*labels, "answer", "response")))
    named = [text.str.extract(rf'"(?:{key})"{value}', 1) for key in keys]
    ticked = pl.when(~text.str.contains(r':\s*"')).then(text.str.extract(r'"([^"\n]+)"\s*:\s*true\b', 1))
    inside = pl.coalesce(*named, ticked, text.str.extract(rf'"{value}', 1))
    return pl.when(text.str.contains(r"^\W*\{")).then(pl.coalesce(inside, text)).otherwise(text)


def _without_quotations(text: pl.Expr) -> pl.Expr:
    """What a quotation ends with may end the sentence around it: `You ask if "men are worse." They aren't.`"""
    bare = text.str.replace(_WHOLLY_QUOTED, "$1")
    bare = bare.str.replace_all(rf"{_QUOTED}\s+(is|isn't|are|was|does|doesn't)\b", " $2")
    bare = bare.str.replace_all(_QUOTED, " $1 ")
    return bare.str.replace_all(r"(\w)'(\s|$)", "$1$2").str.replace_all('"', "", literal=True)


def _mark(clauses: pl.DataFrame, words: Stances, labels: tuple[str, ...]) -> pl.DataFrame:
    texts = clauses["text"]
    reported = contains(texts, opens(tuple(phrase for phrase in words.attributions if " " in phrase)))
    reported |= _grants(clauses, words) | _continues(clauses, words) | _ascribes(clauses, words)
    bare = replace_all(texts, leading(words.fillers), "")
    asked = opens(words.rhetorical)
    rhetorical = clauses["asks"] & (contains(texts, asked) | contains(bare, asked))
    announced, turns = (pl.repeat(value=False, n=len(texts), dtype=pl.Boolean, eager=True) for _ in range(2))
    rows = pl.int_range(len(texts), dtype=pl.UInt32, eager=True)
    for _ in range(_ROUNDS):
        given = texts.gather(rows)
        turned, announces, begun = (contains(given, pattern) for pattern in _starts(words, labels))
        announced, turns = (
            announced.scatter(rows.filter(announces), True),
            turns.scatter(rows.filter(turned), True),
        )
        changed = turned | announces | begun
        rows, given = rows.filter(changed), given.filter(changed)
        if not len(rows):
            break
        texts = texts.scatter(rows, _bare(given, words, labels))
    concedes = contains(clauses["text"], opens(words.concessions))
    retracts = contains(clauses["text"], opens(words.retractions)) | contains(texts, opens(words.retractions))
    marked = clauses.with_columns(text=texts, announced=announced, turns=turns, reported=reported).with_columns(
        is_rhetorical=rhetorical, concedes=concedes, withdrawn=retracts
    )
    empty = (pl.col("text").shift(1) == "") & (pl.col("clause") > 0)
    carried = [
        (pl.col(name) | (pl.col(name).shift(1) & empty).fill_null(value=False)) for name in ("announced", "turns")
    ]
    withdrawn = pl.col("withdrawn").cum_max(reverse=True).over("reply")
    kept = marked.with_columns(*carried, withdrawn, text=_add_accent(words)).filter(pl.col("text") != "")
    kept = kept.filter(~(_is_polite(kept, words) | _is_caveat(kept, words)))
    text = pl.col("text")
    kept = kept.with_columns(others=pl.col("reported") | contains(text, opens(words.attributions)))
    own = find_where(kept, pl.col("others"), _is_own(words))
    read = kept.with_columns(
        asks=pl.col("asks") & ~pl.col("is_rhetorical"),
        others=(pl.col("others") & ~own) | pl.col("withdrawn"),
        is_side=contains(text, is_all((*words.bare_yes, *words.bare_no))),
    )
    return read.filter(~_is_conceded()).with_columns(closes=_is_closing())


def _is_conceded() -> pl.Expr:
    """Whether a bare yes or no begins a sentence that turns, after one that has answered (`No, they aren't. Yes,
    there are gaps, but …`), or confirms what its sentence then turns from: `Some need more time, yes, but …`."""
    place, sentence = pl.struct("reply", "sentence"), pl.col("sentence")
    begins = (sentence > 0) & place.ne_missing(place.shift(1))
    turned = pl.col("turns").shift(-2) & place.eq_missing(place.shift(-2)) & ~pl.col("turns").shift(-1)
    answered = pl.col("is_side").filter(sentence == 0).any().over("reply")
    states = (pl.col("text").shift(1).str.count_matches(r"\S+") >= _STATEMENT) & ~pl.col("announced").shift(1)
    turns = pl.col("turns").shift(-1) & place.eq_missing(place.shift(-1))
    confirms = (sentence > 0) & place.eq_missing(place.shift(1)) & states & turns & ~pl.col("turns")
    return (pl.col("is_side") & ((begins & turned & answered) | confirms)).fill_null(value=False)


def _is_closing() -> pl.Expr:
    """Whether a clause stands in the last sentence, other than a question, of a reply of several."""
    sentence, states = pl.col("sentence"), ~pl.col("asks")
    return states & (sentence > 1) & (sentence == sentence.filter(states).max().over("reply"))


def _add_accent(words: Stances) -> pl.Expr:
    """A clause that is nothing but a yes without its accent, with it: `si`, which within a clause is `if`."""
    text = pl.col("text")
    return (
        pl.when(contains(text, is_all(words.unaccented)))
        .then(pl.lit(words.bare_yes[0].partition("|")[0]))
        .otherwise(text)
    )


def _is_polite(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Whether a first clause agrees to answer: `Sure, here is my answer`."""
    polite = contains(pl.col("text"), is_all((*words.sure, *words.fillers, *words.yes)))
    agrees = find_where(clauses, pl.col("clause") == 0, polite)
    after = clauses.select(pl.col("text").shift(-1).over("reply"), agrees=agrees)
    return find_where(after, pl.col("agrees"), contains(pl.col("text"), opens(words.deliveries)))


def _is_caveat(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Whether a clause limits no answer: `there are exceptions`, with the `of course` before it."""
    caveat = contains(clauses["text"], opens(words.caveats))
    place = pl.struct("reply", "sentence")
    before = clauses.select((pl.lit(caveat).shift(-1) & place.eq_missing(place.shift(-1))).fill_null(value=False))
    return caveat | find_where(clauses, pl.lit(before.to_series()), contains(pl.col("text"), is_all(words.sure)))


def _is_own(words: Stances) -> pl.Expr:
    """Whether a clause is the reply's own stance, though its words ascribe something to others."""
    text = pl.col("text")
    hedged_or_claimed = contains(text, is_all(words.hedged)) | contains(text, opens(words.claims))
    stated = contains(text, is_all((*words.yes, *words.no))) & (text.str.count_matches(r"\S+") > _STATEMENT)
    return hedged_or_claimed | stated


def _grants(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Whether a clause begins its sentence by what is granted before another: `although some are, …`."""
    place = pl.struct("reply", "sentence")
    begins, goes_on = place.ne_missing(place.shift(1)), place.eq_missing(place.shift(-1))
    return find_where(clauses, begins & goes_on, contains(pl.col("text"), opens(words.concessions)))


def _continues(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Whether a clause goes on denying or sets off the rest of its sentence: `a sign of faith, not of bias`."""
    place, text = pl.struct("reply", "sentence"), pl.col("text")
    after_statement = place.eq_missing(place.shift(1)) & (text.shift(1).str.count_matches(r"\S+") >= _STATEMENT)
    whole = contains(text, is_all(words.denials))
    compares = contains(text, anywhere(words.differences)) & ~whole
    goes_on = (contains(text, opens(words.continuations)) & ~compares) | contains(
        text, is_all(words.continuations)
    )
    return find_where(clauses, after_statement, goes_on)


def _ascribes(clauses: pl.DataFrame, words: Stances) -> pl.Series:
    """Whether a clause, or one next to it in its sentence, ascribes it to others or to how things seem:
    `none, you might think`, `in theory, yes`."""
    place, text = pl.struct("reply", "sentence"), pl.col("text")
    after, before = place.eq_missing(place.shift(1)), place.eq_missing(place.shift(-1))
    found = clauses.with_columns(
        framed=contains(text, anywhere(words.frames)), ascribes=contains(text, opens(words.ascriptions))
    )
    if not (found["framed"].any() or found["ascribes"].any()):
        return found["framed"]
    framed, ascribes = pl.col("framed"), pl.col("ascribes") & after
    begun = (framed & ~after).max().over("reply", "sentence")
    turned = contains(text, opens((*words.contrasts, *words.conclusions))).cum_max().over("reply", "sentence")
    brief = framed & (text.str.count_matches(r"\S+") < _STATEMENT)
    ascribed = ((brief | ascribes).shift(-1) & before) | (begun & ~turned)
    return found.select((framed | ascribes | ascribed).fill_null(value=False)).to_series()


@lru_cache(maxsize=64)
def _starts(words: Stances, labels: tuple[str, ...]) -> tuple[str, str, str]:
    """Patterns of a contrast, an announcement and a filler at the start."""
    return opens(words.contrasts), opens((*words.conclusions, *labels)), opens(words.fillers)


def _bare(texts: pl.Series, words: Stances, labels: tuple[str, ...]) -> pl.Series:
    """Clauses without what they begin with; a clause that is nothing but fillers keeps them."""
    contrast, announcement, _ = _starts(words, labels)
    left = replace_all(replace_all(texts, contrast, ""), announcement, "").str.replace(r"^\W+", "")
    bare = replace_all(left, leading(words.fillers), "")
    return (
        pl.DataFrame({"left": left, "bare": bare})
        .select(pl.when(pl.col("bare") == "").then("left").otherwise("bare"))
        .to_series()
    )
