"""From any id of an interaction to its plays, and to the SQL of the scores that they go into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from biasgrid.tasks.aggregate.trace.other_origin import OtherOrigin
from biasgrid.tasks.transcripts.plays import Play
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.queries.lineage import script
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
SETTING = ("model", "language", "setting", "mitigation")
TOLD = {
    "assignment": ("marts.bias_scores", (*SETTING, "axis", "domain", "is_control", "held_out")),
    "choice": ("marts.choices", (*SETTING, "scene")),
    "understanding": ("marts.understanding", ("model", "language", "held_out")),
}
"""By what is asked, the mart that counts it, and what a row of it is about."""
REPLIES = {"understanding": "staging.stg_understandings"}


def played(lake: Lake, origin: OtherOrigin, model: str | None) -> OtherOrigin:
    """The plays that an id leads to, of one model or cast if it is named."""
    if model is None:
        return origin
    cases = lake.scan("cases", origin.run.run_id).filter(pl.col("model") == model).select("case_id").collect()
    own = set(cases["case_id"])
    return replace(origin, case_ids=tuple(case_id for case_id in origin.case_ids if case_id in own))


def scores_sql(run_id: str, plays: Sequence[Play]) -> str:
    """A script for DuckDB that builds the scores which plays go into, and ends with these and the replies."""
    selects, relations = list[str](), list[str]()
    for question in dict.fromkeys(play.case["question"] for play in plays):
        own = [play.case for play in plays if play.case["question"] == question]
        mart, names = TOLD[question]
        keys = dict.fromkeys(key for case in own for key in _keys(case, names))
        replies = REPLIES.get(question, "staging.stg_assignments")
        relations += [mart, replies]
        selects += [
            _select(mart, names, keys),
            _select(replies, ("play_id",), [(case["play_id"],) for case in own]),
        ]
    return script(dict.fromkeys(relations), run_id, selects)


def _keys(case: Row, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """Of the rows that a play is counted in: its domain's, and that of all domains."""
    for domain in dict.fromkeys((case["domain"], "all")):
        yield tuple(domain if name == "domain" else case[name] for name in names)


def _select(relation: str, names: Sequence[str], keys: Iterable[tuple[object, ...]]) -> str:
    wanted = ",\n    ".join(map(_row, keys))
    return f"select *\nfrom {relation}\nwhere ({', '.join(names)}) in (\n    {wanted}\n)\norder by all"


def _row(key: Iterable[object]) -> str:
    return f"({', '.join(map(_word, key))})"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else literal(str(value))
