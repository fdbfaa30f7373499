"""What a page loads on demand: a script with one call that hands over one JSON value.

A page that lies in a folder may load scripts and nothing else: browsers refuse `fetch` for `file://`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
import polars as pl

from biasgrid.catalogs.text_safety import JOINERS, UNSEEN, json_escape

DIGITS = 6
"""Decimal places that a number keeps: more than a page shows, less than a double's seventeen."""
UNSAFE = re.compile(f"[<>&{UNSEEN}{JOINERS}]")
"""Signs that could end a script or a line of one, or make an editor show another order than the file's."""


def as_chunk(name: str, content: Mapping[str, Any]) -> str:
    """The text of `data/<name>.js`."""
    told = orjson.dumps(content, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    return f"biasgrid({orjson.dumps(name).decode()},{UNSAFE.sub(lambda found: json_escape(found[0]), told)});\n"


def columns(rows: pl.DataFrame) -> dict[str, list[Any]]:
    """A frame by its columns, numbers rounded to what a page can show."""
    rounded = rows.with_columns(
        pl.selectors.decimal().cast(pl.Float64),
    ).with_columns(pl.selectors.float().round(DIGITS))
    return {column.name: column.to_list() for column in rounded.iter_columns()}


def _plain(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"`{type(value).__name__}` has no place in a page")
