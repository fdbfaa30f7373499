"""What the lake's tables and columns mean, in the words of `warehouse/schemas.py` and of the staging models."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from biasgrid.warehouse.build.models import Column, Model, load_models
from biasgrid.warehouse.schemas import TABLES

_COLUMN = re.compile(r'\s*\("(\w+)",')
_ASSIGNED = re.compile(r"(\w+)\s*(?::[^=]+)?=")

ROWS: Mapping[str, str] = {
    "runs": "Events of runs: the newest `event_id` of a run tells its state",
    "cells": "Events of cells, which are requirement × model × language × input × reflection: the newest counts",
    "cases": "Prompts to be sent: one sample of one instance to one model",
    "responses": "Replies, and failures to get one after the last attempt",
    "jobs": "Events of batches and of fine-tuning at a provider: the newest counts",
    "criteria": "What each requirement demands, in each evaluation of a run",
    "verdicts": "What was made of each reply, or of a template's replies together, in each evaluation of a run",
    "assessments": "What a judge or a person thinks of a reply beside its verdict, and what people have decided",
    "rules": "Oracles by which a later evaluation judged in place of those that its cases were planned with",
}
"""By table; one that is not here takes the words of its staging model."""
OF_THE_LAKE: Mapping[str, str] = {
    "event_id": "The event, a ULID: newer ones sort later",
    "evaluation_id": "The evaluation: a run may be judged several times, newer ones sort later",
}
"""Columns that mean something else here than in the staging models, which keep the newest alone."""


def table_meaning(table: str) -> str:
    """What a row of a table of the lake is; empty where nobody says."""
    staged = _staged(table)
    return ROWS.get(table) or (staged.about.description if staged else "")


def column_meanings(table: str) -> dict[str, Column]:
    """Every column of a table of the lake: as its staging model describes it where that passes it on, else in the
    words of the comment in the schema; without a description where there is neither."""
    staged = _staged(table)
    described = staged.about.columns if staged else {}
    commented = {**_comments().get("CELL_KEYS", {}), **_comments().get(table.upper(), {}), **OF_THE_LAKE}
    return {
        name: described[name]
        if name in described and name not in OF_THE_LAKE
        else Column(description=commented.get(name, ""))
        for name in TABLES[table].names
    }


def _staged(table: str) -> Model | None:
    return next((model for model in load_models() if model.relation == f"staging.stg_{table}"), None)


@cache
def _comments() -> Mapping[str, Mapping[str, str]]:
    """The comments behind the columns in the schemas' source, by the name that the columns are assigned to."""
    source = (files("biasgrid.warehouse") / "schemas.py").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    assigned = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.start[1] == 0 and (named := _ASSIGNED.match(token.line)):
            assigned = named[1]
        if token.type == tokenize.COMMENT and (column := _COLUMN.match(token.line)):
            found.setdefault(assigned, {})[column[1]] = token.string.removeprefix("#").strip()
    return found
