"""Reads a decision from one field of a free reply: a key of JSON, or a label on a line of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.text_safety import excerpt

READ: Final = ("outcome", "reason")


def read_fields(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of cases with their readings; outcome and reason anew of those whose facets list rejecting words."""
    if "facets" not in rows.columns:
        return rows
    given = rows.select("text", "facets", "oracle", *READ).to_dicts()
    read = [
        _read(row) if '"rejected"' in (row["facets"] or "") else {name: row[name] for name in READ}
        for row in given
    ]
    return rows.with_columns(pl.DataFrame(read, schema={name: rows.schema[name] for name in READ}))


def _read(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Whole replies say refusals and errors; the field says the rest."""
    oracle = json.loads(row["oracle"])
    word = None if row["text"] is None else find_field(row["text"], oracle["key"])
    if word is None:
        is_read = row["outcome"] in ("passed", "failed")
        return {
            "outcome": "unreadable" if is_read else row["outcome"],
            "reason": f"has no `{oracle['key']}`" if is_read else row["reason"],
        }
    return decide(word, oracle["expected"], json.loads(row["facets"])["rejected"])


def decide(word: str, selected: list[str], rejected: list[str]) -> dict[str, str | None]:
    """The outcome of what a field holds, and the reason."""
    for outcome, listed in (("passed", selected), ("failed", rejected)):
        if any(_begins_with(word, one) for one in listed):
            return {"outcome": outcome, "reason": f"the field holds `{excerpt(word, 60)}`"}
    return {"outcome": "unreadable", "reason": f"the field holds neither decision: `{excerpt(word, 60)}`"}


def _begins_with(word: str, one: str) -> bool:
    """Alone, or before a mark that ends it: `approve.`, but not `approve later`."""
    return re.match(rf"{re.escape(one.casefold())}\s*(?:$|[.,;:!(\n–—-])", word.casefold()) is not None


def find_field(text: str, key: str) -> str | None:
    """What the field holds: of JSON its value, else the rest of the last line that begins with its name."""
    quoted = re.search(rf'(?i)"{re.escape(key)}"\s*:\s*("(?:[^"\\]|\\.)*"|[\w.+-]+)', text)
    if quoted:
        return quoted[1].strip('"').strip()
    lines = re.findall(rf"(?im)^[\W_]*{re.escape(key)}[*_` ]*[:=：][*_` ]*(.*?)[*_`\s]*$", text)
    return lines[-1].strip("\"'") if lines else None
