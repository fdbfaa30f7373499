"""Published rates of respondents that do not read are those of the library's text, counted by a plainer rule."""

from collections import Counter
from pathlib import Path

import pytest

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.catalog.baselines_doc import BASELINE_TABLE, as_markdown, rates
from biasgrid.flows.catalog.coverage import coverage

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_table_is_that_of_the_library():
    assert (ROOT / BASELINE_TABLE).read_text(encoding="utf-8") == as_markdown(), "run `make baselines`"


@pytest.mark.parametrize("key", ["concern", "sector"])
def test_the_rates_are_those_counted_in_the_text(baselines, key):
    catalog = load_catalog()
    outcomes: dict[tuple[str, str, str], Counter[tuple[bool, str]]] = {}
    for template in catalog.templates:
        if (template.sector is not None) is (key == "sector"):
            for name in baselines.RESPONDENTS:
                place = (template.language, getattr(template, key), name.replace("-", "_"))
                result = (template.oracle.type == "expected value", baselines.outcome_of(name, template, catalog))
                outcomes.setdefault(place, Counter())[result] += 1
    found = list(rates(coverage(catalog), key).iter_rows(named=True))
    assert {(row["language"], row[key]) for row in found} == {place[:2] for place in outcomes}
    for row in found:
        for name in ("constant_no", "constant_yes", "first_option"):
            count = outcomes[row["language"], row[key], name]
            words = count[True, "passed"] + count[True, "failed"] + count[True, "unreadable"]
            numbers = count[False, "passed"] + count[False, "failed"]
            assert (row["expected_tests"], row["number_tests"]) == (words, numbers)
            assert row[name] == pytest.approx(count[True, "passed"] / words)
            passed = count[True, "passed"] + count[False, "passed"]
            assert row[f"{name}_of_all"] == pytest.approx(passed / (words + numbers))
        refused = outcomes[row["language"], row[key], "refuser"]
        assert row["refuser"] == 0
        assert {outcome for _, outcome in refused} == {"refused"}
