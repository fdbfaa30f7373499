"""Imports KoBBQ (Jin et al. 2024): Korean items, whose ids name context and question."""

from __future__ import annotations

import ast
import re
from typing import Final

from biasgrid.catalogs.importers.bbq.items import Item, as_template, list_roles
from biasgrid.catalogs.importers.result import Imported, convert_templates, refuse, with_columns
from biasgrid.catalogs.loading.tables import Row, read_table

COLUMNS: Final = ("sample_id", "context", "question", "choices", "biased_answer", "answer", "bbq_category")
ID: Final = re.compile(r"(?P<template>[\w-]+?\d+)[a-d]-\w+-(?P<condition>amb|dis)-(?P<question>bsd|cnt)")
"""Such as `age-001a-002-dis-cnt`."""
CONDITIONS: Final = {"amb": "ambig", "dis": "disambig"}
POLARITIES: Final = {"bsd": "neg", "cnt": "nonneg"}
UNKNOWN: Final = ("알 수 없음", "알 수 없다", "모름", "알수없음")
"""The answer that takes no side."""
KOREAN: Final = "ko_kr"


def read(text: str, file: str, _language: str) -> Imported:
    """Items of a table as templates. Raises NotTheFormat if it lacks columns."""
    found = with_columns(read_table(text, file), COLUMNS, "a table of KoBBQ")
    rows = ((row.line, row) for row in found.rows())
    return convert_templates(file, rows, lambda row: as_template(_item(row), KOREAN))


def _item(row: Row) -> Item:
    number = row.text("sample_id")
    named = ID.fullmatch(number)
    if named is None:
        raise refuse(f"`{number}` is no id of KoBBQ", "write it as in its files: `age-001a-002-amb-bsd`")
    texts = _choices(row.text("choices"))
    unknown = [place for place, text in enumerate(texts) if text in UNKNOWN]
    if len(unknown) != 1:
        raise refuse(f"{len(unknown)} of its choices take no side, where one must", f"write `{UNKNOWN[0]}` once")
    return Item(
        benchmark="kobbq",
        id=number,
        category=row.text("bbq_category"),
        context=row.text("context"),
        question=row.text("question"),
        texts=texts,
        roles=list_roles(unknown[0], _find(row, "biased_answer", texts)),
        label=_find(row, "answer", texts),
        facets={
            "condition": CONDITIONS[named["condition"]],
            "polarity": POLARITIES[named["question"]],
            "question_index": named["template"],
            "annotation": row.text("label_annotation"),
        },
    )


def _choices(text: str) -> list[str]:
    """The three answers of a Python list."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list) or len({str(one).strip() for one in found}) != 3:
        raise refuse("`choices` is no list of three answers", "write `['…', '…', '…']`")
    return [str(one).strip() for one in found]


def _find(row: Row, column: str, texts: list[str]) -> int:
    if row.text(column) not in texts:
        raise refuse(f"`{column}` is `{row.text(column)}`, which is no choice", "name one of `choices`")
    return texts.index(row.text(column))
