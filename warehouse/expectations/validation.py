"""What SQL has narrowed, judged by Great Expectations: a suite for each table, one checkpoint, and its pages."""

# ruff: noqa: TID251 - here it runs, in a process of its own

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import great_expectations as gx
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.core.expect_column_values_to_be_between import ExpectColumnValuesToBeBetween
from great_expectations.expectations.core.expect_column_values_to_be_in_set import ExpectColumnValuesToBeInSet
from great_expectations.expectations.core.expect_column_values_to_be_null import ExpectColumnValuesToBeNull
from great_expectations.expectations.expectation import Expectation as Expected

from biasgrid.warehouse.expectations.expectation import Between, Expectation, OneOf
from biasgrid.warehouse.expectations.narrow import Narrowed, shown_as

SITE = "biasgrid"


class Undecided(RuntimeError):
    """An expectation was not judged, or not as SQL saw it: a defect of ours, never of the lake."""


def validated(tables: Sequence[Narrowed], frames: Path, pages: Path) -> set[tuple[str, str]]:
    """Judges every table, writes pages about it into `pages`, and returns what does not hold: relation, sentence.

    The narrowed tables are handed over as Parquet files in `frames`. Raises `Undecided`.
    """
    for table in tables:
        table.frame.write_parquet(frames / _file(table))
    context = _context(pages)
    asset = context.data_sources.add_pandas_filesystem("narrowed", base_directory=frames).add_parquet_asset(
        "tables"
    )
    checkpoint = gx.Checkpoint(
        name="warehouse",
        validation_definitions=[_definition(context, asset, table) for table in tables],
        result_format="BASIC",
    )
    run = context.checkpoints.add(checkpoint).run()
    context.build_data_docs()
    shutil.rmtree(pages / "static", ignore_errors=True)  # fonts and pictures of pages that are not written
    return set(_failed(tables, run))


def _context(pages: Path) -> Any:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.delete_data_docs_site("local_site")
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(pages)}
    view = {"module_name": "biasgrid.warehouse.expectations.pages", "class_name": "OfflinePage"}
    site: Any = {
        "class_name": "SiteBuilder",
        "store_backend": store,
        "site_index_builder": {"module_name": "biasgrid.warehouse.expectations.pages", "class_name": "Index"},
        "site_section_builders": {
            "expectations": {"view": view},
            "validations": {"view": view},
            "profiling": "None",
        },
    }
    context.add_data_docs_site(SITE, site)
    return context


def _file(table: Narrowed) -> str:
    return f"{table.suite.relation}.parquet"


def _definition(context: Any, asset: Any, table: Narrowed) -> gx.ValidationDefinition:
    relation = table.suite.relation
    batch = asset.add_batch_definition_path(relation, path=_file(table))
    suite = gx.ExpectationSuite(relation, expectations=list(map(expected, table.suite.expectations)))
    definition = gx.ValidationDefinition(name=relation, data=batch, suite=context.suites.add(suite))
    added: gx.ValidationDefinition = context.validation_definitions.add(definition)
    return added


def expected(expectation: Expectation) -> Expected:
    """The expectation in Great Expectations' words, of its column of the narrowed table."""
    column = shown_as(expectation)
    if isinstance(expectation, OneOf):
        return ExpectColumnValuesToBeInSet(column=column, value_set=list(expectation.values))
    if isinstance(expectation, Between):
        return ExpectColumnValuesToBeBetween(column=column, min_value=expectation.low, max_value=expectation.high)
    return ExpectColumnValuesToBeNull(column=column, description=expectation.sentence)


def _failed(tables: Iterable[Narrowed], run: Any) -> Iterator[tuple[str, str]]:
    results = {result.suite_name: result for result in run.run_results.values()}
    for table in tables:
        judged = {_column(result): result for result in results[table.suite.relation].results}
        for expectation in table.suite.expectations:
            relation, sentence = table.suite.relation, expectation.sentence
            holds = judged[shown_as(expectation)].success
            if holds is not (table.breaches[sentence].rows == 0):
                raise Undecided(f"{relation}: {sentence}: {judged[shown_as(expectation)].exception_info}")
            if not holds:
                yield relation, sentence


def _column(result: Any) -> str:
    return str(result.expectation_config.kwargs["column"])
