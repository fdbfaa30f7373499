"""Great Expectations' pages without the style sheets and scripts that its own ones fetch from the network."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from great_expectations.render.view.view import DefaultJinjaPageView  # noqa: TID251 - where it runs
from jinja2 import ChoiceLoader, PackageLoader, pass_context

TEMPLATES = PackageLoader("biasgrid.warehouse.expectations", "templates")
HOME = {
    "ValidationResultsPageRenderer": "../../../../../index.html",
    "ExpectationSuitePageRenderer": "../../index.html",
}
"""Of each kind of page, the way to the first one."""


class OfflinePage(DefaultJinjaPageView):
    """A page about one table, or about its suite."""

    def __init__(self, **folders: Any) -> None:
        super().__init__(**folders)
        self.env.loader = ChoiceLoader([TEMPLATES, *([self.env.loader] if self.env.loader else [])])

    def render(self, document: Any, template: str | None = None, **given: Any) -> Any:
        """The page as HTML."""
        home = HOME[document.to_json_dict()["renderer_type"]]
        return super().render(document, template, home=home, **given)  # type: ignore[no-untyped-call]

    @pass_context
    def render_content_block(self, context: Any, block: Any, *given: Any, **named: Any) -> Any:
        """A part of the page. Plain text is what a table holds, a damaged lake's too: never markup."""
        if isinstance(block, list):
            block = [html.escape(part) if isinstance(part, str) else part for part in block]
        elif isinstance(block, str):
            return html.escape(block)
        return super().render_content_block(context, block, *given, **named)


@dataclass(frozen=True, slots=True)
class Line:
    """One table in the list."""

    relation: str
    page: str
    holds: bool
    expectations: int
    failed: int


class Index:
    """The first page: every table, and how many expectations of it do not hold."""

    def __init__(self, data_context: Any, target_store: Any, **_: Any) -> None:
        self._results = data_context.validation_results_store
        self._site = target_store

    def build(self, build_index: bool = True) -> tuple[None, dict[str, Any]]:
        """Writes it."""
        lines = sorted(self._lines(), key=lambda line: (line.holds, line.relation))
        environment = OfflinePage().env
        checked_at = max(key.run_id.run_time for key in self._results.list_keys())
        page = environment.get_template("index.j2").render(
            tables=lines, checked_at=f"{checked_at:%Y-%m-%d %H:%M} UTC"
        )
        self._site.write_index_page(page)
        return None, {}

    def _lines(self) -> Iterator[Line]:
        for key in self._results.list_keys():
            result = self._results.get(key)
            counts = result.statistics
            failed = counts["unsuccessful_expectations"]
            yield Line(result.suite_name, _page(key), result.success, counts["evaluated_expectations"], failed)


def _page(key: Any) -> str:
    suite = key.expectation_suite_identifier.name.split(".")
    parts = PurePosixPath("validations", *suite, *key.run_id.to_tuple(), f"{key.batch_identifier}.html")
    return quote(str(parts))
