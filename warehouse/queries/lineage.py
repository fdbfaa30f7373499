"""Generates SQL scripts for a DuckDB session: views of the lake's tables, and the models of a table for one
run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import indent

from biasgrid.warehouse.build.attach_lake import select_superseded
from biasgrid.warehouse.build.macros import TOPICS
from biasgrid.warehouse.build.models import SCHEMAS, Model, load_models, with_sources
from biasgrid.warehouse.build.sql_quoting import escape_glob, literal
from biasgrid.warehouse.build.text_views import no_rows, of_files
from biasgrid.warehouse.queries.dictionary import table_meaning
from biasgrid.warehouse.schemas import KINDS, SHOWN, SUPERSEDED, TABLES, UNITS
from biasgrid.warehouse.storage.lake import Lake

HEAD = """-- How the rows at the end came about: the models of warehouse/models, from what landed in run {run_id}.
-- To run it, in an empty DuckDB session: write the lake's views (`biasgrid warehouse views --out lake.sql`),
-- then `.read lake.sql` and this.
"""
READ = re.compile(r"--[^\n]*|'[^']*'|\blake\.(?P<table>\w+)")
"""Comments, strings, and tables of the lake."""
QUALIFIED = re.compile(r"\b\w+\.\w+\b")
DEFINED = re.compile(r"create\s+(?:macro|table)\s+(\w+)\.(\w+)")


def script(
    relations: Iterable[str],
    run_id: str,
    selects: Iterable[str],
    macros: Traversable | None = None,
    head: str | None = None,
) -> str:
    """A script that builds `relations` and all that they read, restricted to a run, and ends with `selects`.

    It requires only the lake's views, which `head` may create. `macros` is the folder of macros, by default the
    warehouse's; the script contains only those that are called.
    """
    models = made_of(relations)
    called = _find_called(
        " ".join(model.sql for model in models), macros or files("biasgrid.warehouse") / "macros"
    )
    schemas = [*sorted({_name(definition).partition(".")[0] for definition in called}), *SCHEMAS]
    parts = [
        head or HEAD.format(run_id=run_id),
        "".join(f"create schema {schema};\n" for schema in schemas),
        *(f"{definition.strip()};\n" for definition in called),
        *(_as_table(model, run_id) for model in models),
        *(f"{select};\n" for select in selects),
    ]
    return "\n".join(parts)


def made_of(relations: Iterable[str]) -> list[Model]:
    """The models of these names and all that they read, in dependency order."""
    return with_sources(load_models(), relations)


def _as_table(model: Model, run_id: str) -> str:
    sql = _of_run(model.sql, run_id).strip()
    return f"-- warehouse/models/{model.file}\ncreate table {model.relation} as\n{sql};\n"


def _of_run(sql: str, run_id: str) -> str:
    """A model's SELECT with each lake table restricted to one run."""
    restricted = sql
    for first, last, table in reversed(_lake_tables(sql)):
        restricted = restricted[:first] + _rows_of_run(table, run_id) + restricted[last:]
    return restricted


def _rows_of_run(table: str, run_id: str) -> str:
    of_run = f"where run_id = {literal(run_id)}"
    if table == SUPERSEDED:
        return f"({select_superseded(f'run_id = {literal(run_id)}')})"
    unit = UNITS.get(table.removeprefix("repeated_")) if table not in TABLES else None
    if unit is None:
        landed, kind = SHOWN.get(table, (table, ""))
        return f"(from lake.{landed} {of_run}{_of_kind(kind, run_id) if kind else ''})"
    rows = f"select hash({', '.join(unit)}) as unit from lake.{table.removeprefix('repeated_')}"  # noqa: S608
    return f"({rows} {of_run} group by unit having count(*) > 1)"


def _of_kind(kind: str, run_id: str) -> str:
    """The condition that a run is of a kind; one without an event is a benchmark."""
    events = f"select coalesce(max(kind), {literal(KINDS[0])}) from lake.runs where run_id = {literal(run_id)}"  # noqa: S608
    return f" and ({events}) = {literal(kind)}"


def _lake_tables(sql: str) -> list[tuple[int, int, str]]:
    """Start, end and table of every `lake.<table>` outside of comments and strings."""
    found = (match for match in READ.finditer(sql) if match["table"])
    return [(match.start(), match.end(), match["table"]) for match in found]


def _find_called(sql: str, folder: Traversable) -> list[str]:
    """Definitions of macros that the SQL calls, directly or indirectly, in dependency order."""
    definitions = {_name(definition): definition for definition in _definitions(folder)}
    ordered: dict[str, str] = {}
    entered: set[str] = set()

    def enter(text: str) -> None:
        for name in sorted(definitions.keys() & set(QUALIFIED.findall(text))):
            if name not in entered:
                entered.add(name)
                enter(definitions[name])
                ordered[name] = definitions[name]

    enter(sql)
    return list(ordered.values())


def _definitions(folder: Traversable) -> Iterable[str]:
    if not folder.is_dir():
        return
    for file in sorted(folder.iterdir(), key=_place):
        if file.name.endswith(".sql"):
            statements = re.split(r";[ \t]*(?:\n|$)", file.read_text(encoding="utf-8"))
            yield from (statement for statement in statements if DEFINED.search(statement))


def _place(file: Traversable) -> tuple[int, str]:
    """Sort key: shipped macro topics in dependency order."""
    topic = file.name.removesuffix(".sql")
    return TOPICS.index(topic) if topic in TOPICS else len(TOPICS), file.name


def _name(definition: str) -> str:
    found = DEFINED.search(definition)
    return f"{found[1]}.{found[2]}" if found else ""


VIEWS_HEAD = """-- The lake's tables as views. In a DuckDB session: .read {name}
-- They read the Parquet files where they lie and write nothing; what lands later in a table shows by itself.
create schema if not exists lake;
"""
MIRRORED = """-- The files are this machine's copies of those at {address}: biasgrid's next command renews them.
"""
NOTHING_LANDED = "-- nothing had landed here when this was written: write it again when something has\n"


def as_script(lake: Lake, name: str = "views.sql") -> str:
    """SQL that creates one view per lake table and can be run repeatedly. `name`: the file's name."""
    mirrored = MIRRORED.format(address=lake.named) if lake.shared else ""
    return "\n".join([mirrored + VIEWS_HEAD.format(name=name), *(_view(lake, table) for table in TABLES)])


def _view(lake: Lake, table: str) -> str:
    meaning = " ".join(table_meaning(table).split())
    body = _find_files(lake, table) if lake.files(table) else NOTHING_LANDED + no_rows(table)
    return f"-- {meaning}\ncreate or replace view lake.{table} as\n{body};\n"


REPLACED = """
(
    with retired as (
        select
            regexp_replace(filename, '/manifests/(run_id=[^/]+)/manifest.json$', '/{table}/\\1') as folder,
            unnest(json_extract_string(decode(content), '$.retired[*]')) as name
        from read_blob([{lake} || '/manifests/run_id=*/manifest.json', {runs}])
        where filename like '%/manifest.json'
    ),
    parts as (
        select
            parse_dirpath(file_name) as folder,
            file_name as file,
            unnest(json_extract_string(decode(value), '$[*][0]')) as part
        from parquet_kv_metadata({files})
        where decode(key) = 'biasgrid.parts' and file_name not in (
            select folder || replace(name, '{table}/', '/') from retired where starts_with(name, '{table}/')
        )
    )
    select folder || replace(name, '{table}/', '/') from retired where starts_with(name, '{table}/')
    union all
    select folder || '/' || part || '.parquet' from parts
    union all
    select file from (select file, file = max(file) over (partition by folder, part) as is_newest from parts)
    group by file having not bool_or(is_newest)
)"""
"""A subquery of the files whose rows count in other files, by the rules of `select_current`."""


def _find_files(lake: Lake, table: str) -> str:
    root = f"{escape_glob(lake.root)}/lake"
    runs, files = (literal(f"{root}/{name}/run_id=*/*.parquet") for name in ("runs", table))
    # with the files of runs, since DuckDB refuses a list of patterns without any file
    replaced = REPLACED.format(table=table, lake=literal(root), files=files, runs=runs)
    return of_files(table, files, indent(replaced, "        ").lstrip())
