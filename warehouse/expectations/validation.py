"""Validates narrowed tables with Great Expectations: one suite and one page per table."""

# ruff: noqa: TID251 - here it runs, in a process of its own

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.core.expect_column_values_to_be_between import ExpectColumnValuesToBeBetween
from great_expectations.expectations.core.expect_column_values_to_be_in_set import ExpectColumnValuesToBeInSet
from great_expectations.expectations.core.expect_column_values_to_be_null import ExpectColumnValuesToBeNull
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view.view import DefaultJinjaPageView
from great_expectations.util import convert_to_json_serializable
from great_expectations.validator.validation_statistics import calc_validation_statistics
from jinja2 import ChoiceLoader, PackageLoader, pass_context

TEMPLATES = PackageLoader("biasgrid.warehouse.expectations", "templates")
HOME = "../../../index.html"
"""Relative link from a table's page to the list of all tables."""


class Undecided(RuntimeError):
    """An expectation was not validated, or its result differs from SQL's count: a bug in biasgrid, not in the
    lake."""


@dataclass(frozen=True, slots=True)
class Line:
    """One table in the list of all tables."""

    relation: str
    page: str
    holds: bool
    expectations: int
    failed: int


class Validator:
    """Validates tables one at a time, and collects the contents of the pages."""

    def __init__(self) -> None:
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        asset = context.data_sources.add_pandas("narrowed").add_dataframe_asset("tables")
        self._batches = asset.add_batch_definition_whole_dataframe("table")
        self._failed: list[tuple[str, str]] = []
        self._lines: list[Line] = []
        self._pages: dict[str, Any] = {}

    def judge(self, table: Mapping[str, Any]) -> None:
        """Validates a table in the form of `narrow.as_request`. Raises `Undecided`."""
        relation, rules = table["relation"], table["rules"]
        frame = _frame(rules)
        results = [_judge_rule(rule, len(frame)) for rule in rules]
        for rule, result in zip(rules, results, strict=True):
            if bool(result.success) is not (rule["rows"] == 0):
                raise Undecided(f"{relation}: {rule['sentence']}: {result.result}")
        failed = [(relation, rule["sentence"]) for rule in rules if rule["rows"]]
        page = f"validations/{relation.replace('.', '/')}/index.html"
        self._failed += failed
        self._lines.append(Line(relation, page, not failed, table["expectations"], len(failed)))
        self._pages[page] = self._suite_result(relation, frame, results)

    def _suite_result(
        self, relation: str, frame: pd.DataFrame, results: list[ExpectationValidationResult]
    ) -> ExpectationSuiteValidationResult:
        batch = self._batches.get_batch(batch_parameters={"dataframe": frame})
        statistics = calc_validation_statistics(results)._asdict()
        return ExpectationSuiteValidationResult(
            success=statistics.pop("success"),
            results=results,
            suite_name=relation,
            statistics=statistics,
            meta={
                "great_expectations_version": gx.__version__,
                "batch_markers": batch.batch_markers,
                "batch_spec": convert_to_json_serializable(batch.batch_spec),
            },
            batch_id=batch.id,
        )

    def write(self, pages: Path) -> list[tuple[str, str]]:
        """Writes a page per table and the list of tables; returns relation and sentence of each failure."""
        view: Any = OfflinePage()
        renderer = ValidationResultsPageRenderer()
        for name, result in self._pages.items():
            file = pages / name
            file.parent.mkdir(parents=True)
            file.write_text(str(view.render(renderer.render(result), home=HOME)), encoding="utf-8")
        lines = sorted(self._lines, key=lambda line: (line.holds, line.relation))
        index = view.env.get_template("index.j2").render(
            tables=lines, checked_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        )
        (pages / "index.html").write_text(index, encoding="utf-8")
        return self._failed


def _judge_rule(rule: Mapping[str, Any], height: int) -> ExpectationValidationResult:
    """Great Expectations' result for a rule, from the counts of its column in a table of `height` rows.

    The counts are given, since Great Expectations spends milliseconds on the dependencies of each of them.
    """
    expectation = _expectation(rule)
    values = [value for value in _shown_values(rule) if value is not None]
    unexpected = [value for value in values if _is_unexpected(rule, value)]
    metrics = {
        "table.row_count": height,
        "column_values.nonnull.unexpected_count": height - len(values),
        f"{expectation.map_metric}.unexpected_count": len(unexpected),
        f"{expectation.map_metric}.unexpected_values": unexpected,
    }
    judged = expectation._validate(metrics, {"result_format": "BASIC"})
    return ExpectationValidationResult(**judged, expectation_config=expectation.configuration)


def _is_unexpected(rule: Mapping[str, Any], value: Any) -> bool:
    if "values" in rule:
        return value not in rule["values"]
    if "low" in rule:
        return bool(value < rule["low"] or (rule["high"] is not None and value > rule["high"]))
    return True


def _expectation(rule: Mapping[str, Any]) -> ColumnMapExpectation:
    """The rule as a Great Expectations expectation on its column of the narrowed table."""
    column = rule["column"]
    if "values" in rule:
        return ExpectColumnValuesToBeInSet(column=column, value_set=rule["values"])
    if "low" in rule:
        return ExpectColumnValuesToBeBetween(column=column, min_value=rule["low"], max_value=rule["high"])
    return ExpectColumnValuesToBeNull(column=column, description=rule["sentence"])


def _frame(rules: list[Mapping[str, Any]]) -> pd.DataFrame:
    """One column per rule, with its values from the top and nulls below."""
    height = max((len(rule["shown"]) for rule in rules), default=0)
    return pd.DataFrame({rule["column"]: _column(rule, height) for rule in rules})


def _column(rule: Mapping[str, Any], height: int) -> pd.Series:
    shown = _shown_values(rule)
    return pd.Series([*shown, *[None] * (height - len(shown))], dtype=float if "low" in rule else object)


def _shown_values(rule: Mapping[str, Any]) -> list[Any]:
    """The values of a rule's column, numbers as numbers again."""
    return [float(value) if "low" in rule and value is not None else value for value in rule["shown"]]


class OfflinePage(DefaultJinjaPageView):
    """A page about one table, without style sheets and scripts from the network."""

    def __init__(self) -> None:
        super().__init__()
        self.env.auto_reload = False
        self.env.loader = ChoiceLoader([TEMPLATES, *([self.env.loader] if self.env.loader else [])])

    @pass_context
    def render_content_block(self, context: Any, block: Any, *given: Any, **named: Any) -> Any:
        """A part of the page. Escapes plain text, since table contents are never markup."""
        if isinstance(block, list):
            block = [html.escape(part) if isinstance(part, str) else part for part in block]
        elif isinstance(block, str):
            return html.escape(block)
        return super().render_content_block(context, block, *given, **named)
