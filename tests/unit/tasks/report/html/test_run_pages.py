"""Reports read back as their pages would: the numbers are the marts', and every reply is there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.report.html.mart_tables import DIGITS
from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.tasks.report.html.site_pages import PagesOf, Site, write_lake_pages
from biasgrid.tasks.transcripts.excerpt import LONGEST
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

Read = Callable[[Path, str], dict[str, Any]]
PAGES = {"benchmark": PagesOf(write_run_pages, "index.html")}
HARMFUL = ("<script", "</script", "<img", "<b>", "<i>", "</p>", "\u202e", "\u2028", "\x1b")


def test_a_report_is_one_page_and_its_chunks(pages):
    assert {path.name for path in pages.iterdir()} == {"index.html", "data"}
    names = {path.name for path in (pages / "data").iterdir()}
    assert {"run.js", "cells.js", "communities.js", "trend.js", "search.js", "tests-0.js"} <= names


def test_no_file_of_data_holds_what_could_be_markup(pages):
    for path in (pages / "data").iterdir():
        text = path.read_text(encoding="utf-8")
        assert [sign for sign in HARMFUL if sign in text] == [], path.name


@pytest.mark.parametrize(
    ("chunk", "part", "mart"),
    [
        ("run", "findings", "requirement_findings"),
        ("cells", "languages", "language_findings"),
        ("cells", "cells", "pass_rates"),
        ("run", "costs", "costs"),
        ("communities", "contrasts", "community_contrasts"),
        ("communities", "refusals", "refusals"),
        ("agreement", "agreement", "judge_agreement"),
    ],
)
def test_numbers_are_those_of_the_mart(nights, pages, read, chunk, part, mart):
    content = read(pages, chunk)[part]
    rows = query(nights, f"from marts.{mart} where run_id = 'N2'").to_dicts()
    shown = Counter(
        _row(dict(zip(content, values, strict=True)), content) for values in zip(*content.values(), strict=True)
    )
    assert shown == Counter(_row(row, content) for row in rows)
    assert rows


def _row(row: dict[str, Any], names: Any) -> tuple[object, ...]:
    return tuple(_round_value(row[name]) for name in names)


def _round_value(value: object) -> object:
    """As a page has it, then to a place fewer: a number halfway falls to the same side."""
    return round(round(value, DIGITS), DIGITS - 1) if isinstance(value, float) else value


def test_every_test_and_every_reply_stands_in_one_chunk(nights, pages, read):
    listed = read(pages, "run")["chunks"]
    chunks = [read(pages, f"tests-{number}") for number in range(len(listed))]
    ids = [one for chunk in chunks for one in chunk["replies"]["id"]]
    landed = query(nights, "select response_id from staging.stg_responses where run_id = 'N2'")
    assert sorted(ids) == sorted(landed["response_id"])
    assert [len(chunk["replies"]["id"]) for chunk in chunks] == [one["replies"] for one in listed]
    tests = query(nights, "select count(*) from intermediate.int_template_tests where run_id = 'N2'").item()
    assert sum(len(chunk["tests"]["place"]) for chunk in chunks) == tests
    assert [sorted(set(chunk["tests"]["place"])) for chunk in chunks] == [one["cells"] for one in listed]


def test_a_megabyte_is_shortened_and_shows_it(pages, read):
    chunk = read(pages, "tests-0")
    longest = max(chunk["texts"], key=len)
    assert len(longest) == LONGEST
    assert max(chunk["replies"]["left_out"]) == 1_000_000 - LONGEST


def test_what_others_think_of_a_reply_stands_with_it(pages, read):
    chunk = read(pages, "tests-0")
    at, (opinion,) = next(
        (at, opinions) for at, opinions in chunk["opinions"].items() if opinions[0]["kind"] == "model"
    )
    assert chunk["replies"]["id"][int(at)].startswith("r-N2")
    assert (opinion["assessor"], opinion["outcome"]) == ("simulated/judge", "failed")


def test_what_was_asked_for_and_never_planned_is_reported(pages, read):
    missing = read(pages, "run")["not_planned"]
    assert {(row["language"], row["input"]) for row in missing} == {("ca_es", "constrained"), ("ca_es", "verbose")}


def test_a_trend_goes_up_to_its_run(nights, pages, read, tmp_path):
    trend = read(pages, "trend")["trend"]
    changes = dict(zip(zip(trend["run_id"], trend["model"], strict=True), trend["change"], strict=True))
    assert changes["N2", "simulated/odd"] == "worse"
    write_run_pages(nights, "N1", tmp_path)
    assert set(read(tmp_path, "trend")["trend"]["run_id"]) == {"N1"}


def test_a_report_cannot_be_of_a_run_that_is_not_there(nights, tmp_path):
    with pytest.raises(UserError, match="holds no run `N3`"):
        write_run_pages(nights, "N3", tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_cannot_be_written_is_reported(nights, tmp_path):
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_run_pages(nights, "N1", tmp_path)


@pytest.fixture(scope="module")
def site(nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site over both nights."""
    out = tmp_path_factory.mktemp("site")
    assert write_lake_pages(nights, out, PAGES) == Site(out / "index.html", 2, 0)
    return out


def test_a_site_lists_every_run_and_leads_to_its_page(site, read):
    runs = read(site, "lake")["runs"]
    assert [(run["run_id"], run["page"]) for run in runs] == [
        ("N2", "runs/N2/index.html"),
        ("N1", "runs/N1/index.html"),
    ]
    assert all((site / run["page"]).is_file() for run in runs)
    assert [run["worse"] for run in runs] == [1, None]


def test_a_site_has_the_newest_run_of_each_model_with_its_decision(nights, read, tmp_path):
    write_lake_pages(nights, tmp_path, {})
    content = read(tmp_path, "lake")
    findings = query(nights, "from marts.requirement_findings where run_id = 'N2' order by model")
    assert set(content["findings"]["run_id"]) == {"N2"}
    assert content["findings"]["decision"] == findings["decision"].to_list()
    assert [run["page"] for run in content["runs"]] == [None, None]


def test_a_run_knows_those_before_and_after_it(site, read):
    ways = {run_id: read(site / "runs" / run_id, "run")["ways"] for run_id in ("N1", "N2")}
    neighbours = {
        run_id: [(content[way] or {}).get("href") for way in ("older", "newer")]
        for run_id, content in ways.items()
    }
    assert neighbours == {"N1": [None, "../N2/index.html"], "N2": ["../N1/index.html", None]}


def test_a_site_that_is_written_again_has_the_pages_that_still_hold(nights, site):
    page = site / "runs" / "N1" / "index.html"
    before = page.stat()
    assert write_lake_pages(nights, site, PAGES) == Site(site / "index.html", 0, 2)
    assert page.stat() == before
