"""Columns of replies, read by their oracles: each distinct reply once, and a long one by its first clause.

Models answer thousands of prompts in a few words, and most begin with their answer and then explain it. Equal
replies have equal numbers, which are compared sooner than texts. A first clause that is a bare yes or no stands
for its reply, unless what follows holds another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Final, cast

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import OPERATIONS, Oracle, find_operation
from biasgrid.tasks.evaluate.meaning.patterns import another_side, contains
from biasgrid.tasks.evaluate.meaning.questions import TERSE
from biasgrid.tasks.evaluate.meaning.stances import EXACT
from biasgrid.tasks.evaluate.oracles.expected_values import add_stances, is_settled
from biasgrid.tasks.evaluate.oracles.outcomes import READING, prepare, read_column

READ_BY = ["language", "operation", "oracle", "finish_reason", "text"]
"""Columns that determine how an oracle reads a reply."""
PROMPT: Final = "prompt"
_DISTINGUISHING: Final = ["language", "oracle", "finish_reason", PROMPT]
"""Columns that mostly stay equal between consecutive replies; an oracle's JSON includes its operation."""
_CODE: Final = "code"
_SPARSE: Final = 4
"""Codes for each reply: with more of them, a lookup in a list of all takes longer than numbering them anew."""
_WORDS: Final = r"[\p{L}'’ ]{1,40}"
_OPENING: Final = (
    rf"""^([*_`¡>]{{0,4}}\p{{L}}{_WORDS}[*_`]{{0,3}}[,.;:!…][*_`]{{0,3}}|["“«]{_WORDS}["”»][,.;:!…])"""
)
_CLAUSE: Final = rf"{_OPENING}(?:\s|$)"
_LONGEST: Final = 60
"""Characters; more than the longest clause and a blank have, so that a cut text ends none."""
_LONG: Final = 40
"""Bytes; shorter replies are soon read, and often the same."""
_BRIEF: Final = 10
"""Bytes; shorter replies hold no second clause."""
_FEW: Final = 5_000
"""Replies that are read in one pass: steps over a few cost as much as over thousands."""
_ALIKE: Final = 20
"""Replies for each distinct text, from which on it is faster to read each text once before any with its prompt."""
_BY_OPENING: Final = [name for name, operation in OPERATIONS.items() if operation.by_opening]
_NEVER: Final = pl.lit(value=False)


@dataclass(frozen=True, slots=True)
class Readings:
    """Reply i was read as row `place[i]` of `parts`, whose columns are `READING`, `settled` and `doubtful`."""

    place: pl.Series
    parts: pl.DataFrame

    def where(self, rows: pl.Series, holds: pl.Series) -> pl.Series:
        """Those of `rows` whose part fulfils `holds`."""
        return rows.filter(holds.gather(self.place.gather(rows)))

    def replace(self, rows: pl.Series, others: Readings) -> Readings:
        """These, with `others` in the place of `rows`."""
        place = self.place.clone().scatter(rows, others.place + self.parts.height)
        parts = pl.concat([self.parts, others.parts.select(self.parts.columns)], rechunk=True)
        return Readings(place, parts)

    def by_row(self) -> pl.DataFrame:
        return self.parts.select(*READING)[self.place]


@dataclass(frozen=True, slots=True)
class Openings:
    """The first clause of each long reply that has one: `clause` of the reply in `row`."""

    row: pl.Series
    clause: pl.Series

    @classmethod
    def of(cls, replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> Openings:
        """Of long replies to operations that an opening may settle. Takes the columns `text`, `operation` and
        `language`."""
        row = (replies["text"].str.len_bytes() > _LONG).arg_true()
        row = row.filter(replies["operation"].gather(row).is_in(_BY_OPENING))
        clause = _first_clauses(replies["text"].gather(row), replies["language"].gather(row), languages)
        has_one = clause.is_not_null()
        return cls(row.filter(has_one), clause.filter(has_one))

    def in_place(self, texts: pl.Series) -> pl.Series:
        """The replies' texts, each opening in the place of its reply."""
        both = pl.concat([texts, self.clause.alias(texts.name)], rechunk=True)
        places = pl.int_range(len(both), dtype=pl.UInt32, eager=True)
        return both.gather(places[: len(texts)].scatter(self.row, places[len(texts) :]))


def read_replies(replies: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> pl.DataFrame:
    """The columns of `READING`, row by row, of replies with the columns `READ_BY`.

    A column `prompt` helps with replies in whole sentences: those that are clear without it are read without it.
    """
    asks = PROMPT in replies.columns
    if asks and replies.height <= min(_FEW, _ALIKE * replies["text"].n_unique()):
        return _read(replies.select(*READ_BY, PROMPT), languages).by_row()
    given = replies.select(READ_BY).rechunk()
    openings = Openings.of(given, languages)
    readings = _read(given.with_columns(openings.in_place(given["text"])), languages)
    rows = readings.where(openings.row, ~readings.parts["settled"])
    rest = replies.select(*READ_BY, PROMPT) if asks else given
    if asks:
        rows = pl.concat([rows, _rows_for_prompt(given, readings)]).unique()
    return (readings.replace(rows, _read(rest[rows], languages)) if len(rows) else readings).by_row()


def _rows_for_prompt(given: pl.DataFrame, readings: Readings) -> pl.Series:
    """Replies that take their stand in more than a word, or may contradict their first one in a few words more."""
    terse = given["text"].str.len_bytes().is_between(_BRIEF, TERSE).fill_null(value=False)
    doubtful = readings.parts["doubtful"].gather(readings.place)
    return (doubtful | (terse & given["operation"].is_in(_BY_OPENING))).arg_true()


def nothing_read() -> list[pl.Expr]:
    """The columns of `READING`, all null."""
    return [pl.lit(None, dtype=kind).alias(name) for name, kind in READING.items()]


def _first_clauses(texts: pl.Series, language: pl.Series, languages: Mapping[str, LanguageCatalog]) -> pl.Series:
    """The first clause of each text, null where it has none, or holds a bare yes or no beyond its first word."""
    clauses = pl.repeat(None, len(texts), dtype=pl.String, eager=True)
    for name in language.unique():
        catalog = languages.get(name)
        if catalog is not None and catalog.stance is not None:
            rows = (language == name).arg_true()
            own = texts.gather(rows)
            begun = pl.DataFrame({"text": own, "clause": _extract_clauses(own)})
            clause = pl.when(~contains(pl.col("text"), another_side(catalog.stance))).then("clause")
            # the streaming engine takes all cores for one column
            clauses = clauses.scatter(rows, begun.lazy().select(clause).collect(engine="streaming").to_series())
    return clauses


def _extract_clauses(texts: pl.Series) -> pl.Series:
    """The first clause of each text: to number what texts begin with is sooner done than to search it in each."""
    begun = texts.str.head(_LONGEST)
    code = _number_texts(begun)
    first = code.arg_unique()
    return begun.gather(first).str.extract(_CLAUSE, 1).gather(_positions(code, code.gather(first)))


def _read(given: pl.DataFrame, languages: Mapping[str, LanguageCatalog]) -> Readings:
    """Each distinct reply, read in one pass per language and oracle, or per language and operation."""
    code, distinct = _distinct_replies(given)
    parts = [distinct.clear().select(_CODE).with_columns(*nothing_read(), settled=_NEVER, doubtful=_NEVER)]
    threads = pl.thread_pool_size()

    def read(own: pl.DataFrame) -> list[pl.DataFrame]:
        return [*_read_language(own, languages.get(own["language"][0]))]

    # most steps keep one core busy, whatever the number of their rows
    slices = [
        own
        for of_language in distinct.partition_by("language")
        for own in of_language.iter_slices(max(_FEW, ceil(of_language.height / threads)))
    ]
    with ThreadPoolExecutor(threads) as pool:
        once = pl.concat([*parts, *chain.from_iterable(pool.map(read, slices))], rechunk=True)
    return Readings(_positions(code, once[_CODE]), once.drop(_CODE))


def _read_language(given: pl.DataFrame, language: LanguageCatalog | None) -> Iterator[pl.DataFrame]:
    ready = prepare(given, language)
    is_listed = pl.col("operation").is_in(_BY_OPENING)
    listed = add_stances(ready.filter(is_listed), language)
    operations = [
        *listed.partition_by("operation", as_dict=True).items(),
        *ready.filter(~is_listed).partition_by("operation", as_dict=True).items(),
    ]
    for (name,), of_operation in operations:
        operation = find_operation(str(name))
        parts = [of_operation] if operation.in_one_pass else of_operation.partition_by("oracle")
        for part in parts:
            oracle = Oracle.model_validate_json(part["oracle"][0])
            reading = read_column(part, oracle, language)
            settles = is_settled(oracle, language) if operation.by_opening else _NEVER
            doubtful = pl.col("level") < EXACT if "level" in reading.columns else _NEVER
            yield reading.select(_CODE, *READING, settled=settles, doubtful=doubtful)


def _distinct_replies(given: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """A code for each reply, and the distinct ones with `code` and `READ_BY`; codes are hardly greater than the
    number of replies."""
    columns = [name for name in (*READ_BY, PROMPT) if name in given.columns]
    code = _pair_codes(_number_questions(given), _number_texts(given["text"])).alias(_CODE)
    first = code.arg_unique()
    return code, given.select(pl.col(*columns).gather(first)).with_columns(code.gather(first))


def _pair_codes(question: pl.Series, text: pl.Series) -> pl.Series:
    texts = _greatest(text) + 1
    if (_greatest(question) + 1) * texts > _SPARSE * len(text):
        return (question.cast(pl.UInt64) * texts + text).rank("dense")
    return question * texts + text


def _positions(code: pl.Series, codes: pl.Series) -> pl.Series:
    """The position of each code in `codes`, which holds every one of them once."""
    places = pl.int_range(len(codes), dtype=pl.UInt32, eager=True)
    return pl.zeros(_greatest(code) + 1, pl.UInt32, eager=True).scatter(codes, places).gather(code)


def _greatest(numbers: pl.Series) -> int:
    return cast(int, numbers.max() or 0)


def _number_questions(given: pl.DataFrame) -> pl.Series:
    """Equal numbers for rows with equal `_DISTINGUISHING` columns."""
    # replies of one template are adjacent, so that its oracle is looked up once for all of them
    varying = [given[name] for name in _DISTINGUISHING if name in given.columns and _varies(given[name])]
    if not varying:
        return pl.zeros(given.height, pl.UInt32, eager=True)
    asked = pl.DataFrame(varying).to_struct()
    run = asked.rle_id()
    return (asked.gather(run.arg_unique()).rank("dense") - 1).gather(run)


def _varies(column: pl.Series) -> bool:
    return bool(len(column)) and column.ne_missing(column[0]).any()


def _number_texts(texts: pl.Series) -> pl.Series:
    """Equal numbers for equal texts; none is an empty one."""
    categories = pl.Categorical(pl.Categories.random())  # of its own: the shared ones keep every text for ever
    return texts.fill_null("").cast(categories).to_physical()
