"""Loads the SQL models: one file with one SELECT per table, and a YAML file that describes its rows.

A SELECT with a star in its last step has the columns of its YAML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.warehouse.build.sql_syntax import NotOneSelect, Select, parse_selects
from biasgrid.warehouse.schemas import SHOWN, SUPERSEDED, TABLES, UNITS

SCHEMAS = ("staging", "intermediate", "marts")
"""`staging` renames and removes duplicates, `intermediate` joins and aggregates, a mart answers one question."""
STATISTICS = "statistics"
"""Schema of the macros."""
COMPARISON = "comparison"
"""Schema of models that are built only to compare two runs."""


class UndeclaredRelation(Exception):
    """A model reads a relation that is neither a table of the lake nor a model."""


class Column(Frozen):
    description: str
    type: str = ""
    """DuckDB type, in lower case."""
    unit: str = ""
    """Such as `share, 0–1` or `templates`; empty for ids and words."""
    not_null: bool = False
    accepted: tuple[str, ...] = ()
    """The only allowed values besides null."""


class Description(Frozen):
    """A model's YAML file. The columns are those of the SELECT, in its order."""

    description: str
    grain: tuple[str, ...] = Field(min_length=1)
    """Every combination of these columns is unique."""
    columns: dict[str, Column]
    rows_of: str = ""
    """A relation that every row is derived from: if it is empty, the model is empty."""
    materialized: Literal["table", "view", "while building"] = "table"
    """`view`: reads the lake, so that long texts are stored once. `while building`: an in-memory table during
    the build, a view in the finished file."""
    scope: Literal["run", "history"] = "run"
    """`run`: each row depends on rows of its own run alone. `history`: it looks across runs."""
    pairs: str = ""
    """Of a model across runs: the relation of pairs of runs, with `run_id` and `earlier_run_id`, that its rows are
    computed for. Rows of pairs that have not changed, by the columns that both models have, are kept."""
    keys: tuple[str, ...] = ()
    """Columns other than `run_id` by which its SELECT keeps runs apart, or that mean the same in all runs."""
    unit: str = ""
    """The column with the hash of a row's unit, which must be unique."""
    unit_of: tuple[str, ...] = ()
    """Tables of the lake in which a unit may be repeated; `lake.repeated_<table>` lists repeated ones."""
    unit_doubted: tuple[str, ...] = ("true",)
    """SQL conditions on rows whose units may be repeated; all other units are known to be unique. Rows of one unit
    meet the same conditions."""
    unit_is_grain: bool = False
    """Whether rows of different units have different grain."""
    invariants: dict[str, str] = Field(default_factory=dict)
    """What must be true of every row: a sentence and its SQL expression. Null counts as false."""

    @model_validator(mode="after")
    def _has_types(self) -> Self:
        untyped = [name for name, column in self.columns.items() if not column.type]
        if self.rows_of and untyped:
            raise ValueError(f"`rows_of` needs the type of every column: {', '.join(untyped)} has none")
        return self


@dataclass(frozen=True, slots=True)
class Model:
    """One table to build. `file` is the path of its SELECT, for messages."""

    schema: str
    name: str
    sql: str
    file: str
    reads: frozenset[str]
    about: Description

    @property
    def relation(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def is_view(self) -> bool:
        return self.about.materialized == "view"

    @property
    def is_kept(self) -> bool:
        """Whether its rows are stored in the finished file."""
        return self.about.materialized == "table"

    @property
    def is_of_history(self) -> bool:
        """Whether it looks across runs."""
        return self.about.scope == "history"


def load_models(folder: Traversable | None = None) -> tuple[Model, ...]:
    """The models of `folder` (by default the shipped ones) in a fixed dependency order.

    Raises `NotOneSelect`, `UndeclaredRelation`, and graphlib's CycleError.
    """
    return _shipped() if folder is None else _load_ordered(folder)


@cache
def _shipped() -> tuple[Model, ...]:
    return _load_ordered(files("biasgrid.warehouse") / "models")


def load_comparison(tables: Iterable[str]) -> list[Model]:
    """The shipped comparison models of these names and all models that they read, in dependency order."""
    return with_sources(_with_comparison(), {f"{COMPARISON}.{table}" for table in tables})


def compared_marts(kind: str) -> tuple[str, ...]:
    """The comparison models of a kind of run other than benchmarks, named as the marts that they compare."""
    return tuple(sorted(one.name for one in _with_comparison() if one.file.startswith(f"{COMPARISON}/{kind}/")))


@cache
def _with_comparison() -> tuple[Model, ...]:
    return _load_ordered(files("biasgrid.warehouse") / "models", (*SCHEMAS, COMPARISON))


def with_sources(ordered: Sequence[Model], relations: Iterable[str]) -> list[Model]:
    """Models with these names and all models that they read, in the given order."""
    wanted = set(relations)
    for model in reversed(ordered):
        if model.relation in wanted:
            wanted |= model.reads
    return [model for model in ordered if model.relation in wanted]


def read_yaml(file: Traversable) -> Any:
    """Parsed contents of a YAML file."""
    return load_yaml(file.read_text(encoding="utf-8"))


def _load_ordered(folder: Traversable, schemas: Iterable[str] = SCHEMAS) -> tuple[Model, ...]:
    models = {model.relation: model for model in _find_models(folder, schemas)}
    for model in models.values():
        _refuse_undeclared(model, models)
    graph = {name: sorted(model.reads & models.keys()) for name, model in models.items()}
    return tuple(models[name] for name in TopologicalSorter(graph).static_order())


def _find_models(folder: Traversable, schemas: Iterable[str]) -> Iterable[Model]:
    found = [
        (schema, *entry)
        for schema in schemas
        if (folder / schema).is_dir()
        for entry in _files_in(folder / schema, schema)
    ]
    texts = [source.read_text(encoding="utf-8") for _, _, source, _ in found]
    parsed = parse_selects(texts)
    for (schema, room, source, file), sql in zip(found, texts, strict=True):
        try:
            query = next(parsed)
        except NotOneSelect as error:
            raise NotOneSelect(f"{file}: holds something other than exactly one SELECT: {error}") from None
        name = source.name.removesuffix(".sql")
        about = Description.model_validate(read_yaml(room / f"{name}.yml"))
        yield Model(
            schema, name, _with_columns(query, sql, about.columns), file, query.relations(STATISTICS), about
        )


def _files_in(room: Traversable, place: str) -> Iterable[tuple[Traversable, Traversable, str]]:
    """The models of a folder and its subfolders: folder, SQL and path."""
    for entry in sorted(room.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files_in(entry, f"{place}/{entry.name}")
        elif entry.name.endswith(".sql"):
            yield room, entry, f"{place}/{entry.name}"


def _with_columns(query: Select, sql: str, columns: Iterable[str]) -> str:
    """A SELECT, in place of a star with the columns of its YAML in their order."""
    listed = ",\n    ".join(columns)
    return f"select\n    {listed}\nfrom (\n{sql})\n" if query.is_star else sql


def _refuse_undeclared(model: Model, models: Mapping[str, Model]) -> None:
    landed = (*TABLES, *SHOWN, SUPERSEDED, *(f"repeated_{table}" for table in UNITS))
    known = {*models, *(f"lake.{table}" for table in landed)}
    for relation in sorted(model.reads - known):
        raise UndeclaredRelation(
            f"{model.file}: reads `{relation}`, which is neither a table of the lake nor a model; "
            "write `lake.<table>`, `staging.<model>`, `intermediate.<model>` or `marts.<model>`"
        )
    if model.schema != COMPARISON:
        _refuse_other_scope(model, models)


def _refuse_other_scope(model: Model, models: Mapping[str, Model]) -> None:
    stored = {name for name, other in models.items() if other.is_kept}
    history = {name for name, other in models.items() if other.is_of_history}
    for relation in sorted(model.reads - stored if model.is_of_history else model.reads & history):
        raise UndeclaredRelation(
            f"{model.file}: its scope is `{model.about.scope}`, so it cannot read `{relation}`: a model of one "
            "run reads the lake and models of one run, a model across runs only models stored as tables"
        )
