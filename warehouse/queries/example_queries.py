"""Loads the example queries for analysts: `warehouse/queries/*.sql`, each headed by its question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class WorkedQuery:
    name: str
    question: str
    """The comment at its beginning, in one line."""
    sql: str


@cache
def worked_queries() -> dict[str, WorkedQuery]:
    """All example queries by name, sorted."""
    sources = (file for file in (files("biasgrid.warehouse") / "queries").iterdir() if file.name.endswith(".sql"))
    read = {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in sources}
    return {name: WorkedQuery(name, _question(read[name]), read[name]) for name in sorted(read)}


def _question(sql: str) -> str:
    head = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        head.append(line.removeprefix("--").strip())
    return " ".join(head)


SECTION = re.compile(r"(?<=<!-- worked queries, written by `make dictionary` -->\n).*?(?=<!-- end -->)", re.DOTALL)
"""The section of the queries in `docs/guides/analysts.md`."""


def shown_in(document: str) -> str:
    """The document with its section of queries updated."""
    parts = [f"### {query.name}\n\n```sql\n{query.sql}```\n" for query in worked_queries().values()]
    return SECTION.sub(lambda _: "\n" + "\n".join(parts) + "\n", document)
