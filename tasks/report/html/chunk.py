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

DIGITS = 6
"""Decimal places that a number keeps: more than a page shows, less than a double's seventeen."""
UNSAFE = re.compile(
    r"[<>&\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Signs that could end a script or a line of one, or make an editor show another order than the file's."""


def as_chunk(name: str, content: Mapping[str, Any]) -> str:
    """The text of `data/<name>.js`."""
    told = orjson.dumps(content, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    return f"biasgrid({orjson.dumps(name).decode()},{UNSAFE.sub(_escaped, told)});\n"


def columns(rows: pl.DataFrame) -> dict[str, list[Any]]:
    """A frame by its columns, numbers rounded to what a page can show."""
    rounded = rows.with_columns(
        pl.selectors.decimal().cast(pl.Float64),
    ).with_columns(pl.selectors.float().round(DIGITS))
    return {column.name: column.to_list() for column in rounded.iter_columns()}


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _plain(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"`{type(value).__name__}` has no place in a page")
