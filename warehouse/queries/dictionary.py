"""Writes the data dictionary: every table of the warehouse and the lake, column by column, as Markdown.

`python -m biasgrid.warehouse.queries.dictionary` writes it to `docs/reference/warehouse.md`, from the models' YAML
files and the lake's schemas, and the example queries to `docs/guides/analysts.md`.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources import files
from pathlib import Path

from biasgrid.warehouse.build.materialize import STORAGE
from biasgrid.warehouse.build.models import SCHEMAS, Column, Model, load_models
from biasgrid.warehouse.build.text_views import STORED, column_types
from biasgrid.warehouse.queries.example_queries import shown_in
from biasgrid.warehouse.schemas import KEYS, SHOWN, TABLES

_COLUMN = re.compile(r'\s*\("(\w+)",')
_ASSIGNED = re.compile(r"(\w+)\s*(?::[^=]+)?=")

ROWS: Mapping[str, str] = {
    "runs": "Events of runs: the newest `event_id` of a run has its state",
    "cells": "Events of cells, which are requirement × model × language × input × reflection: the newest counts",
    "cases": "Prompts to be sent: one sample of one instance to one model",
    "responses": "Replies, and failures to get one after the last attempt",
    "jobs": "Events of batches and of fine-tuning at a provider: the newest counts",
    "criteria": "What each requirement demands, in each evaluation of a run",
    "verdicts": "What was made of each reply, or of a template's replies together, in each evaluation of a run",
    "assessments": "Opinions of judges and people on a reply, apart from its verdict, and decisions of people",
    "rules": "Oracles by which a later evaluation judged in place of those that its cases were planned with",
}
"""Meaning of a row by table; other tables have the meaning of their staging model."""
OF_THE_LAKE: Mapping[str, str] = {
    "event_id": "The event, a ULID: newer ones sort later",
    "evaluation_id": "The evaluation: a run may be judged several times, newer ones sort later",
}
"""Columns whose meaning differs from the staging models, which keep only the newest row."""


def table_meaning(table: str) -> str:
    """Meaning of a row of a lake table; empty if undocumented."""
    staged = staging_model(table)
    return ROWS.get(table) or (staged.about.description if staged else "")


def column_meanings(table: str) -> dict[str, Column]:
    """All columns of a lake table, described as in its staging model, else by the comment in the schema, else not
    at all."""
    staged = staging_model(table)
    described = staged.about.columns if staged else {}
    commented = {**_comments().get("CELL_KEYS", {}), **_comments().get(table.upper(), {}), **OF_THE_LAKE}
    return {
        name: described[name]
        if name in described and name not in OF_THE_LAKE
        else Column(description=commented.get(name, ""))
        for name in TABLES[table].names
    }


def staging_model(table: str) -> Model | None:
    """The staging model of a lake table, if any."""
    return next((model for model in load_models() if model.relation == f"staging.stg_{table}"), None)


@cache
def _comments() -> Mapping[str, Mapping[str, str]]:
    """Comments on columns in the schemas' source, by the name of the column list."""
    source = (files("biasgrid.warehouse") / "schemas.py").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    assigned = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.start[1] == 0 and (named := _ASSIGNED.match(token.line)):
            assigned = named[1]
        if token.type == tokenize.COMMENT and (column := _COLUMN.match(token.line)):
            found.setdefault(assigned, {})[column[1]] = token.string.removeprefix("#").strip()
    return found


DICTIONARY = Path("docs") / "reference" / "warehouse.md"
GUIDE = Path("docs") / "guides" / "analysts.md"
HEAD = """# The warehouse, table by table

<!-- Written by `make dictionary` from warehouse/models/**/*.yml and warehouse/schemas.py: change those. -->

Marts first, then the intermediate models, which join and aggregate, the staging models, which rename and remove
duplicates, and the lake's Parquet tables. In each part a table is below those that it reads. What is now
`intermediate.int_<name>` was `staging.stg_<name>` in release 0.1: views of these names remain for one release.
Times are UTC.

Tables named `lake.…` are Parquet files, not part of the warehouse: models read them while they are built, and
`biasgrid warehouse views` shows them to a DuckDB of your own. A run that has ended has one file per table. Files
that it replaces stay until the next build; the views leave them out. What the finished warehouse reads of the
lake is in the schema `storage`, which `biasgrid sql` can query as well:

| table | holds |
| --- | --- |
{storage}

How to ask them: [analysts.md](../guides/analysts.md).
"""


def as_markdown() -> str:
    """The dictionary as Markdown."""
    marts_first = sorted(load_models(), key=lambda model: -SCHEMAS.index(model.schema))
    parts = [
        HEAD.format(storage="\n".join(f"| {STORAGE}.{name} | {meaning} |" for name, meaning in STORED.items())),
        _contents(marts_first),
        *(_model(model) for model in marts_first),
        *(_lake_table(table) for table in TABLES),
    ]
    return "\n".join(parts)


def _contents(models: Iterable[Model]) -> str:
    rows = [[_link(model.relation), model.about.description, _names(model.about.grain)] for model in models]
    lake = [[_link(f"lake.{table}"), table_meaning(table), ""] for table in TABLES]
    return _table(("table", "holds", "one row per"), [*rows, *lake])


def _model(model: Model) -> str:
    source = f"warehouse/models/{model.file}"
    lines = [
        f"## {model.relation}\n",
        f"{_text(model.about.description)}.\n",
        f"- One row per {_names(model.about.grain)}.",
        f"- Reads {', '.join(map(_link, sorted(model.reads)))}." if model.reads else "- Reads nothing.",
        *([] if model.is_kept else ["- A view: its rows are in the lake's Parquet files alone."]),
        f"- Its SELECT: [{source}](../../{source})\n",
        _columns(model),
    ]
    return "\n".join(lines) + _invariants(model)


def _columns(model: Model) -> str:
    rows = [
        [f"`{name}`", column.type, column.description, column.unit, _values(column)]
        for name, column in model.about.columns.items()
    ]
    return _table(("column", "type", "meaning", "unit", "values"), rows)


def _values(column: Column) -> str:
    accepted = ", ".join(f"`{value}`" for value in column.accepted)
    return "; ".join(part for part in (accepted, "never null" if column.not_null else "") if part)


def _invariants(model: Model) -> str:
    if not model.about.invariants:
        return ""
    held = (f"- {sentence}: `{sql}`" for sentence, sql in model.about.invariants.items())
    return "\n" + "\n".join(["True of every row, or the build fails:\n", *held]) + "\n"


def _lake_table(table: str) -> str:
    kinds, keys = column_types(table), KEYS[table]
    rows = [
        [f"`{name}`", kinds[name].lower(), column.description, column.unit, "never null" if name in keys else ""]
        for name, column in column_meanings(table).items()
    ]
    lines = [
        f"## lake.{table}\n",
        f"{_text(table_meaning(table))}. Stored at `lake/{table}/run_id=…/*.parquet`; not in `biasgrid sql`.\n",
        _table(("column", "type", "meaning", "unit", "values"), rows),
    ]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _text(words: str) -> str:
    """Text escaped for a table cell."""
    return re.sub(r"\s+", " ", words).replace("|", "\\|").strip()


def _names(columns: Iterable[str]) -> str:
    return " × ".join(f"`{column}`" for column in columns)


def _link(relation: str) -> str:
    return f"[{relation}](#{_documented_relation(relation).replace('.', '')})"


def _documented_relation(relation: str) -> str:
    """The name under which a relation is documented: views of a lake table are documented with that table."""
    schema, _, name = relation.partition(".")
    if schema != "lake" or name in TABLES:
        return relation
    return f"lake.{SHOWN[name][0] if name in SHOWN else name.partition('_')[2]}"


def write(folder: Path) -> list[Path]:
    """Writes the dictionary and the example queries below `folder`, the root of a checkout; returns the files."""
    dictionary, guide = folder / DICTIONARY, folder / GUIDE
    dictionary.parent.mkdir(parents=True, exist_ok=True)
    dictionary.write_text(as_markdown(), encoding="utf-8")
    guide.write_text(shown_in(guide.read_text(encoding="utf-8")), encoding="utf-8")
    return [dictionary, guide]


def main() -> None:
    """Writes the files of this checkout."""
    for path in write(Path(str(resources.files("biasgrid.warehouse"))).resolve().parent):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
