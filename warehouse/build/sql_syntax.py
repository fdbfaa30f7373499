"""Syntax of SQL by the parser of DuckDB itself, which runs it: no other need be loaded or kept up with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson

Node = Mapping[str, Any]


class NotOneSelect(Exception):
    """SQL that is not exactly one SELECT."""


@dataclass(frozen=True, slots=True)
class Select:
    """A parsed SELECT. `nodes`: the objects of its tree, as DuckDB's `json_serialize_sql` writes it."""

    last_step: Node
    nodes: Sequence[Node]

    @property
    def is_star(self) -> bool:
        """Whether its last step, or a SELECT of its last union, has a star."""
        return _has_star(self.last_step)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(node["column_names"][-1] for node in self.nodes if node.get("class") == "COLUMN_REF")

    def relations(self, macros: str) -> frozenset[str]:
        """What it reads, except its own CTEs. Of a macro in the schema `macros`: the relation that it is given."""
        steps = {each["key"] for node in self.nodes if "cte_map" in node for each in node["cte_map"]["map"]}
        return frozenset(name for node in self.nodes for name in _relation(node, macros) if name not in steps)


def parse_selects(texts: Sequence[str]) -> Iterator[Select]:
    """The SELECT of each text, in order. Raises `NotOneSelect` for the first that holds anything else."""
    with duckdb.connect() as session:
        parsed = session.execute("select json_serialize_sql(unnest(?))", [list(texts)]).fetchall()
    for (text,) in parsed:
        tree = orjson.loads(text)
        if tree["error"]:
            raise NotOneSelect(tree["error_message"])
        if len(tree["statements"]) != 1:
            raise NotOneSelect(f"it has {len(tree['statements'])} statements")
        yield Select(tree["statements"][0]["node"], list(_walk(tree)))


def _has_star(step: Node) -> bool:
    if "children" in step:
        return any(map(_has_star, step["children"]))
    return any(selected["class"] == "STAR" for selected in step["select_list"])


def _walk(part: object) -> Iterator[Node]:
    if isinstance(part, dict):
        yield part
        part = part.values()
    elif not isinstance(part, list):
        return
    for own in part:
        yield from _walk(own)


def _relation(node: Node, macros: str) -> Iterator[str]:
    if node.get("type") == "BASE_TABLE":
        yield ".".join(node["qualified_name"]["path"])
    elif node.get("type") == "TABLE_FUNCTION":
        called = node["function"]
        if called["schema"] == macros:
            yield str(called["arguments"][0]["expression"]["literal"]["text"])
        else:
            yield ".".join(called["qualified_name"]["path"])
