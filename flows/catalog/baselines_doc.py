"""What respondents pass of the shipped library that do not read its questions, as Markdown.

`python -m biasgrid.flows.catalog.baselines_doc` writes it to `docs/reference/baselines.md`.
tests/calibration asks the same respondents
through the whole pipeline and finds the same numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import polars as pl

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.catalog.coverage import Coverage, coverage

BASELINE_TABLE: Final = Path("docs") / "reference" / "baselines.md"
CONSTANTS: Final = ("constant_no", "constant_yes", "first_option")
PART: Final = {"concern": "Concerns", "sector": "Sectors"}
HEAD: Final = """# What answering without reading passes

<!-- Written by `make baselines` from the shipped library: change that. -->

A model that always answers "No" passes every question whose right answer is "No". Its pass rate shows how much of
a score is free, and why nearly half of the library is to be affirmed. These are exact rates, of the whole library:

- **"No"**, **"Yes"**: always this word, in the language of the question (`simulated/constant-no`,
  `simulated/constant-yes`). **first**: always the answer that the question offers first, or "Yes" where it offers
  none (`simulated/first-option`). Shares of the tests with an expected value.
- **50**: always this number where one is asked for, as all three do. Share of the tests that compare numbers:
  the same number for everyone passes them all.
- **of all**: the share of all tests, as `test_rate` in `marts.pass_rates` has it.
- **refuser**: declines everything (`simulated/refuser`). It passes nothing and fails nothing: each test is
  refused, and each requirement "not evaluated".

Tests are templates. `python tests/calibration/experiments.py` asks these respondents the library through
prompting, evaluation and warehouse, and compares what comes out with a count of the library's text.
`biasgrid catalog stats` shows the same for a library of yours.
"""


def as_markdown() -> str:
    """The table as its file holds it."""
    found = coverage(load_catalog())
    return "\n".join([HEAD, *(_part(found, key) for key in PART)])


def rates(found: Coverage, key: str) -> pl.DataFrame:
    """One row per language and `concern` (templates of no sector) or `sector`: tests of both kinds, the share of
    its kind that each answer passes, 0–1, and with 50 the share of all tests."""
    apart = pl.col("sector").is_not_null() if key == "sector" else pl.col("sector").is_null()
    # one instance alone is compared with none
    words, numbers = pl.col("expected").sum(), (~pl.col("expected") & (pl.col("instances") > 1)).sum()
    counts = {"expected_tests": words, "number_tests": numbers, "number": pl.when(numbers > 0).then(1.0)}
    of_all = {f"{name}_of_all": (pl.col(name).sum() + numbers) / (words + numbers) for name in CONSTANTS}
    grouped = found.templates.filter(apart).group_by("language", key)
    shares = {name: pl.col(name).mean() for name in (*CONSTANTS, "refuser")}
    return grouped.agg(**counts, **shares, **of_all).sort("language", key)


def _part(found: Coverage, key: str) -> str:
    heads = (
        *("language", key, "tests", '"No"', '"Yes"', "first", "tests of numbers", "50"),
        *('"No", 50 of all', '"Yes", 50 of all', "first, 50 of all", "refuser"),
    )
    rows = rates(found, key).iter_rows(named=True)
    columns = (
        "expected_tests",
        *CONSTANTS,
        "number_tests",
        "number",
        *(f"{name}_of_all" for name in CONSTANTS),
        "refuser",
    )
    lines = [(row["language"], row[key], *(_format_cell(row[name]) for name in columns)) for row in rows]
    return f"## {PART[key]}\n\n" + "\n".join(_table(heads, lines)) + "\n"


def _format_cell(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1%}" if isinstance(value, float) else f"{value}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    rule = ["---", "---", *["---:"] * (len(heads) - 2)]
    for cells in (heads, rule, *rows):
        yield f"| {' | '.join(cells)} |"


def write(folder: Path) -> Path:
    """Writes it below `folder`, the root of a checkout."""
    path = folder / BASELINE_TABLE
    path.write_text(as_markdown(), encoding="utf-8")
    return path


def main() -> None:
    """Write it where it is committed."""
    root = Path(str(resources.files("biasgrid.flows"))).resolve().parent
    sys.stdout.write(f"{write(root)}\n")


if __name__ == "__main__":
    main()
