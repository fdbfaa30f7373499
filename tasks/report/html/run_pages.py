"""The report of one benchmark run: a folder with one page, and what it loads when its reader asks for it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from biasgrid.tasks.report.html.first_view import first_view
from biasgrid.tasks.report.html.mart_tables import (
    AGREEMENT,
    CELLS,
    CONTRASTS,
    COSTS,
    ERRORS,
    FINDINGS,
    LANGUAGES,
    MOST_PAIRED,
    PAIRS,
    REFUSALS,
    Row,
    as_chunk,
    columns,
    head,
    not_planned,
    of_run,
    trend,
)
from biasgrid.tasks.report.html.page import Ways, shell
from biasgrid.tasks.report.html.page_cache import Folder
from biasgrid.tasks.report.languages import LANGUAGES as SPOKEN
from biasgrid.tasks.transcripts.excerpt import LONGEST
from biasgrid.warehouse.build.build import connect, fetch_rows, find_run_row
from biasgrid.warehouse.storage.lake import Lake

SLOTS_EACH = 3
"""Slots per trigram: with as many, two of three are free and a word of five letters is found by chance in 3%."""
FEWEST, MOST = 1 << 10, 1 << 18


def trigrams(texts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        lower = text.lower()
        found.update(map("".join, zip(lower, lower[1:], lower[2:], strict=False)))
    return found


def bitmap(found: set[str]) -> str:
    """Base64 of the bitmap, whose size is a power of two."""
    size = FEWEST
    while size < min(SLOTS_EACH * len(found), MOST):
        size *= 2
    bits = bytearray(size // 8)
    for trigram in found:
        at = slot(trigram) & (size - 1)
        bits[at >> 3] |= 1 << (at & 7)
    return b64encode(bits).decode()


@lru_cache(maxsize=1 << 17)
def slot(trigram: str) -> int:
    """A hash of 32 bits (FNV-1a over code points)."""
    hashed = 2166136261
    for sign in trigram:
        hashed = ((hashed ^ ord(sign)) * 16777619) & 0xFFFFFFFF
    return hashed ^ (hashed >> 15)


AT_ONCE = 1_500
"""Replies of a chunk, about: what a browser reads in a few hundredths of a second."""
TEST = ("cell_id", "template_id", "sample")
TEXTS = ("communities", "prompt", "text", "error", "read_as", "reason", "assessor")
"""Columns of replies that a chunk holds as numbers of its list of texts: many of them recur."""
OF_TESTS = ("template", "question", "operation", "oracle", "at_min", "at_max", "outcome")

_TESTS = """
    with templates as (
        select distinct on (run_id, cell_id, template_id)
            run_id, cell_id, template_id, template, template_text, operation, oracle
        from staging.stg_cases
        where run_id = $run and requirement = $requirement
        order by run_id, cell_id, template_id, wording, communities, sample, case_id
    )

    select
        tests.cell_id, tests.template_id, tests.sample, templates.template,
        left(templates.template_text, $longest) as question, templates.operation,
        left(templates.oracle, $longest) as oracle, tests.outcome, tests.instances, tests.passed, tests.failed,
        tests.refused, tests.unreadable, tests.errors, deltas.spread, deltas.admissible_spread as admissible,
        deltas.communities_at_min as at_min, deltas.communities_at_max as at_max
    from intermediate.int_template_tests as tests
    inner join templates using (run_id, cell_id, template_id)
    left join marts.deltas as deltas using (run_id, cell_id, template_id, sample)
"""
_REPLIES = """
    select
        cases.cell_id, cases.template_id, cases.sample, cases.communities_label as communities,
        left(case
            when len(cases.messages) = 1 then cases.messages[1].content
            else array_to_string(
                [concat(one.role, ': ', one.content) for one in cases.messages], chr(10) || chr(10)
            )
        end, $longest) as prompt,
        left(replies.text, $longest) as text,
        greatest(length(replies.text) - $longest, 0) as left_out,
        concat_ws(': ', replies.error_class, left(replies.error_message, $longest)) as error,
        verdicts.outcome, verdicts.parsed_value as number, verdicts.parsed_text as read_as,
        left(verdicts.reason, $longest) as reason,
        coalesce(verdicts.reviewer, verdicts.assessor) as assessor,
        verdicts.assessor_kind, verdicts.supersedes is not null as replaces,
        cases.case_id, coalesce(replies.response_id, cases.case_id) as id
    from staging.stg_cases as cases
    left join staging.stg_responses as replies
        on cases.run_id = replies.run_id and cases.cell_id = replies.cell_id and cases.case_id = replies.case_id
        and replies.is_answer and replies.purpose = 'subject'
    left join staging.stg_verdicts as verdicts
        on cases.run_id = verdicts.run_id and cases.cell_id = verdicts.cell_id
        and cases.case_id = verdicts.case_id and verdicts.level = 'instance'
    where cases.run_id = $run and cases.requirement = $requirement
"""
_OPINIONS = """
    select
        assessments.cell_id, assessments.case_id, assessments.purpose, assessments.assessor_kind as kind,
        assessments.assessor, assessments.state, assessments.outcome, left(assessments.reason, $longest) as reason
    from staging.stg_assessments as assessments
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    where assessments.run_id = $run and cells.requirement = $requirement
    order by all
"""
Opinions = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole tests of some cells: `content` to load, places of the `cells`, and `trigrams` for the search."""

    content: Mapping[str, Any]
    cells: Sequence[int]
    replies: int
    trigrams: str


def chunks(warehouse: duckdb.DuckDBPyConnection, run_id: str, cells: pl.DataFrame) -> Iterator[Chunk]:
    """All tests of a run, in the order of `cells`, which are those of marts.pass_rates."""
    places = cells.select("cell_id", "requirement", place=pl.int_range(pl.len()))
    for requirement in places["requirement"].unique(maintain_order=True):
        asked = {"run": run_id, "requirement": requirement, "longest": LONGEST}
        tests = fetch_rows(warehouse, _TESTS, asked).join(places, on="cell_id")
        replies = fetch_rows(warehouse, _REPLIES, asked)
        opinions = _by_case(fetch_rows(warehouse, _OPINIONS, asked))
        yield from _cut(tests, replies, opinions)


def _by_case(opinions: pl.DataFrame) -> Opinions:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in opinions.iter_rows(named=True):
        own = {name: value for name, value in row.items() if name not in ("cell_id", "case_id")}
        found.setdefault((row["cell_id"], row["case_id"]), []).append(own)
    return found


def _cut(tests: pl.DataFrame, replies: pl.DataFrame, opinions: Opinions) -> Iterator[Chunk]:
    ordered = tests.sort("place", "template", "template_id", "sample").with_columns(
        part=(pl.col("instances").cum_sum() - pl.col("instances")) // AT_ONCE
    )
    own = replies.join(ordered.select(*TEST, "part"), on=TEST)
    by_part = own.partition_by("part", as_dict=True, include_key=False)
    for (part,), few in ordered.partition_by("part", as_dict=True, include_key=False, maintain_order=True).items():
        yield _chunk(few.with_row_index("test"), by_part.get((part,), own.head(0).drop("part")), opinions)


def _chunk(tests: pl.DataFrame, replies: pl.DataFrame, opinions: Opinions) -> Chunk:
    own = replies.join(tests.select(*TEST, "test"), on=TEST).sort("test", "communities", "id")
    texts: dict[str, int] = {}
    answers = _index_texts(own.drop(*TEST, "case_id"), TEXTS, texts)
    asked = _index_texts(tests.drop("template_id", "cell_id", "test"), OF_TESTS, texts)
    keys = zip(own["cell_id"], own["case_id"], strict=True)
    found = {str(at): opinions[key] for at, key in enumerate(keys) if key in opinions}
    content = {"tests": asked, "replies": answers, "texts": [*texts], "opinions": found}
    places = tests["place"].unique(maintain_order=True).to_list()
    return Chunk(content, places, own.height, bitmap(trigrams(texts)))


def _index_texts(rows: pl.DataFrame, names: Sequence[str], texts: dict[str, int]) -> dict[str, list[Any]]:
    """Columns, those of `names` as places in `texts`, which grows."""
    found = columns(rows)
    for name in names:
        found[name] = [None if text is None else texts.setdefault(text, len(texts)) for text in found[name]]
    return found


def write_run_pages(
    lake: Lake, run_id: str, out: Path, language: str = SPOKEN[0], ways: Ways | None = None, *, alone: bool = False
) -> list[Path]:
    """Writes `index.html`, returned first, and `data/*.js`; `alone` leaves out what depends on earlier runs."""
    folder = Folder(out)
    with connect(lake, texts_of=run_id) as warehouse:
        row = find_run_row(warehouse, lake, run_id)
        first = {"answer": first_view(lake, run_id), "alone": alone, "ways": ways and ways.as_json()}
        cells = of_run(warehouse, CELLS, run_id)
        listed, written = _write_tests(folder, warehouse, run_id, cells)
        written += [
            _write(folder, "cells", _cells(warehouse, run_id, cells)),
            _write(folder, "communities", _communities(warehouse, run_id)),
            _write(folder, "agreement", {"agreement": columns(of_run(warehouse, AGREEMENT, run_id))}),
            _write(folder, "pairs", {"pairs": columns(fetch_rows(warehouse, PAIRS, [run_id, MOST_PAIRED]))}),
            _write(folder, "run", _run(warehouse, row, cells) | first | {"chunks": listed}),
        ]
        if not alone:
            written.append(_write(folder, "trend", {"trend": columns(trend(warehouse, run_id))}))
    return [folder.write("index.html", shell("run", language)), *written]


def _write(folder: Folder, name: str, content: dict[str, Any]) -> Path:
    return folder.write(f"data/{name}.js", as_chunk(name, content))


def _run(warehouse: duckdb.DuckDBPyConnection, row: Row, cells: pl.DataFrame) -> dict[str, Any]:
    """What the first view needs, and the small tables."""
    selects = {"findings": FINDINGS, "costs": COSTS, "errors": ERRORS}
    tables = {name: columns(of_run(warehouse, select, row["run_id"])) for name, select in selects.items()}
    return {"run": head(row), "not_planned": not_planned(row, cells), **tables}


def _cells(warehouse: duckdb.DuckDBPyConnection, run_id: str, cells: pl.DataFrame) -> dict[str, Any]:
    languages = columns(of_run(warehouse, LANGUAGES, run_id))
    return {"cells": columns(cells.drop("cell_id")), "languages": languages}


def _communities(warehouse: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, Any]:
    selects = {"contrasts": CONTRASTS, "refusals": REFUSALS}
    return {name: columns(of_run(warehouse, select, run_id)) for name, select in selects.items()}


def _write_tests(
    folder: Folder, warehouse: duckdb.DuckDBPyConnection, run_id: str, cells: pl.DataFrame
) -> tuple[list[dict[str, Any]], list[Path]]:
    """What the page has to know of each chunk of tests before it loads it, and the files."""
    listed, written, bitmaps = [], [], []
    for number, chunk in enumerate(chunks(warehouse, run_id, cells)):
        written.append(_write(folder, f"tests-{number}", dict(chunk.content)))
        listed.append({"cells": chunk.cells, "replies": chunk.replies})
        bitmaps.append(chunk.trigrams)
    written.append(_write(folder, "search", {"bitmaps": bitmaps}))
    return listed, written
