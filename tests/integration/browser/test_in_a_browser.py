"""Reports in a real browser, from `file://`: what is shown, what is asked for, who can use it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.flows.compare.page import write_comparison_pages
from biasgrid.tasks.aggregate.compare import compare, compare_models
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.html.mart_tables import as_chunk
from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.tasks.report.verdicts import VERDICTS
from biasgrid.warehouse.build.build import query

pytestmark = pytest.mark.drill
RATE = ("rate", "interval_low", "interval_high")
AGREEMENT = "from marts.judge_agreement where scope = 'all'"
PERSON = "ana <b>"
DIFFERENT = """
    with tests as (
        select tests.*, cells.* exclude (run_id, cell_id)
        from intermediate.int_template_tests as tests
        inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
        where tests.run_id = 'N2'
    )

    select count(*)
    from tests as one
    inner join tests as other using (requirement, language, input, reflection, template_id, sample)
    where one.model = 'simulated/odd' and other.model = 'simulated/fair' and one.outcome <> other.outcome
"""
DIFFERENT_NIGHTS = DIFFERENT.replace("tests.run_id = 'N2'", "tests.run_id in ('N1', 'N2')").replace(
    "one.model = 'simulated/odd' and other.model = 'simulated/fair'",
    "one.model = 'simulated/odd' and other.model = one.model and one.run_id < other.run_id",
)
PAIRS = "document.querySelectorAll('article.example').length"
NAME = "starter </title><script>alert(8)</script>"
ONE = "r-N2-simulated-odd-es_es-sexism-03-verbose-utopian-1"
"""The id of a reply."""


def _tests(tab: Any, index: Path, asked: str) -> str:
    """The page's count of the tests that fit."""
    tab.open(index, f"#/tests?{asked}")
    tab.wait("/shown|fit|far/.test(document.querySelector('[role=status]').textContent)")
    return str(tab.ask("document.querySelector('[role=status]').textContent"))


def _open_all(tab: Any) -> None:
    tab.ask("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    tab.wait("[...document.querySelectorAll('details')].every((one) => one.querySelector('.quote'))")


def test_a_report_loads_its_own_files_alone_and_nothing_goes_wrong(tab, pages):
    tab.requests.clear()
    tab.complaints.clear()
    tab.open(pages / "index.html")
    _tests(tab, pages / "index.html", "outcome=unreadable")
    _open_all(tab)
    ours = f"{pages.as_uri()}/"
    assert [url for url in tab.requests if not url.startswith((ours, "about:"))] == []
    assert tab.complaints == []


def test_what_was_reported_is_shown_and_not_done(tab, pages):
    _tests(tab, pages / "index.html", "outcome=unreadable&model=simulated/odd")
    _open_all(tab)
    tab.wait("document.querySelectorAll('.reply-of').length >= 6")
    text = tab.ask("document.querySelector('main').innerText")
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in text
    assert "ends U+202Egnippilf" in text
    assert "U+2028" in text
    assert "<em>Unfair</em> to U+202Eeveryone" in tab.ask("document.body.innerText")
    assert (
        tab.ask(
            "document.querySelectorAll('main img, main script, main svg[onload], a[href^=\"javascript\"]').length"
        )
        == 0
    )
    assert tab.ask("[...document.links].every((link) => link.protocol === 'file:')")
    assert "996,000 more signs" in text


def test_decisions_and_rates_on_the_page_are_the_marts(tab, pages, nights):
    tab.open(pages / "index.html")
    shown = tab.ask("""[...document.querySelectorAll('td[data-model]')].map((one) => {
        one.querySelector('a').focus();
        const card = document.querySelector('.card');
        const shown = [one.textContent, one.firstChild.ariaLabel, card.querySelectorAll('p')[2].textContent];
        return [one.dataset.model, ...shown]; })""")
    rows = query(nights, "from marts.requirement_findings where run_id = 'N2'").to_dicts()
    expected = {}
    for row in rows:
        verdict, numbers = VERDICTS[row["decision"]], _percents(row, *RATE)
        expected[row["model"]] = (f"{numbers[0]}{verdict.sign}", f"{numbers[0]} {verdict.word}", *numbers)
    assert {model: (*cell, *re.findall(r"\d+\.\d", card)) for model, *cell, card in shown} == expected


def test_the_answer_is_the_one_of_the_terminal_and_its_counters_filter(tab, pages, nights):
    tab.open(pages / "index.html")
    found = answer(nights, "N2")
    assert tab.ask("[...document.querySelectorAll('.answer .words p')].map((one) => one.textContent)") == (
        found.sentences()
    )
    steps = tab.ask("[...document.querySelectorAll('.next code')].map((one) => one.textContent)")
    assert steps == replace(found, short="N2").next_steps(is_page=True)
    lines = "[...document.querySelectorAll('.board tbody tr[data-model]:not([hidden])')]"
    visible = f"{lines}.map((one) => one.dataset.model)"
    assert tab.ask(visible) == [one.model for one in found.models]
    column = "[...document.querySelectorAll('.board thead th')].findIndex((one) => one.textContent === 'Refused')"
    assert tab.ask(f"{lines}.map((one) => one.cells[{column}].textContent)") == [
        "–" if one.refused is None else f"{100 * one.refused:.1f}%" for one in found.models
    ]
    fails = [one.model for one in found.models if one.counts["not met"]]
    tab.ask("document.querySelector('.counter[data-state=\"not met\"]').click()")
    assert tab.ask(visible) == fails != []
    assert tab.ask("location.hash") == "#/?state=not+met"
    tab.open(pages / "index.html", "#/?state=not+met&find=ODD")
    assert tab.ask(visible) == [model for model in fails if "odd" in model]


def test_two_models_are_compared_as_the_command_compares_them(tab, pages, nights):
    tab.open(pages / "index.html", "#/compare?a=simulated/odd&b=simulated/fair&only=different")
    tab.wait("/question/.test(document.querySelector('[role=status]').textContent)")
    row = compare_models(nights, "N2", ("simulated/odd", "simulated/fair")).tables["requirements"].to_dicts()[0]
    cells = tab.ask("[...document.querySelectorAll('tbody tr td')].slice(0, 6).map((one) => one.textContent)")
    assert [re.findall(r"\d+\.\d", cell) for cell in cells[1:4]] == [
        _percents(row, "earlier_rate"),
        _percents(row, "later_rate"),
        [f"{100 * abs(row[name]):.1f}" for name in ("difference", "low", "high")],
    ]
    assert cells[4][1:] == row["change"]
    differ = query(nights, DIFFERENT).item()
    count = "document.querySelectorAll('article.example').length"
    while tab.ask("Boolean(document.querySelector('.pairs ~ .more button'))"):
        shown = tab.ask(count)
        tab.ask("document.querySelector('.pairs ~ .more button').click()")
        tab.wait(f"{count} > {shown}")
    assert tab.ask(count) == differ > 0
    assert "Yes, " in tab.ask("document.querySelector('.pairs mark').textContent")


def test_two_runs_have_a_page_with_the_numbers_of_the_command_and_every_question_that_differs(
    tab, nights, tmp_path
):
    found = compare(nights, "N1", "N2")
    index = write_comparison_pages(nights, found, tmp_path)[0]
    tab.complaints.clear()
    tab.open(index, "#/compare?only=different&model=simulated/odd")
    tab.wait("/question/.test(document.querySelector('[role=status]').textContent)")
    (row,) = found.tables["requirements"].filter(pl.col("model") == "simulated/odd").to_dicts()
    cells = tab.ask("[...document.querySelectorAll('tbody tr td')].slice(0, 7).map((one) => one.textContent)")
    rates = [re.findall(r"\d+\.\d", cell) for cell in cells[2:5]]
    points = [f"{100 * abs(row[name]):.1f}" for name in ("difference", "low", "high")]
    assert rates == [_percents(row, "earlier_rate"), _percents(row, "later_rate"), points]
    assert cells[5][1:] == row["change"]
    differ = query(nights, DIFFERENT_NIGHTS).item()
    while tab.ask("Boolean(document.querySelector('.pairs ~ .more button'))"):
        shown = tab.ask(PAIRS)
        tab.ask("document.querySelector('.pairs ~ .more button').click()")
        tab.wait(f"{PAIRS} > {shown}")
    assert tab.ask(PAIRS) == differ > 0
    assert tab.complaints == []


def _percents(row: dict[str, Any], *names: str) -> list[str]:
    return [f"{100 * row[name]:.1f}" for name in names]


def _with_interval(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def test_every_cell_of_the_grid_shows_its_rate_and_leads_to_as_many_tests(tab, pages, nights):
    tab.open(pages / "index.html", "#cells")
    tab.wait("document.querySelector('.heat')")
    cells = tab.ask(
        "[...document.querySelectorAll('.heat td a')].map((a) => [a.getAttribute('href'), a.lastChild.data])"
    )
    rows = query(nights, "from marts.pass_rates where run_id = 'N2'").to_dicts()
    assert sorted(rate for _, rate in cells) == sorted(f"{100 * row['rate']:.1f}" for row in rows)
    result = _tests(tab, pages / "index.html", cells[0][0].partition("?")[2])
    assert result == f"{rows[0]['tests']} of {rows[0]['tests']} tests are shown."


@pytest.mark.parametrize(
    ("asked", "condition"),
    [
        ("outcome=failed", "outcome = 'failed'"),
        ("model=simulated/odd&language=es_es&outcome=passed", "outcome = 'passed' and cell_id like '%odd|es_es%'"),
        ("text=lamp+17.", "template_id like 'sexism-17%'"),
        ("text=NIGHT+LAMP+17.&model=simulated/fair", "template_id like 'sexism-17%' and cell_id like '%fair%'"),
        ("text=gnippilf", "cell_id = 'simulated/odd|es_es|constrained|utopian' and template_id like 'sexism-19%'"),
        ("community=men&reply=failed", "outcome = 'failed'"),
        ("text=no+such+words", "false"),
        (f"text={ONE}", "cell_id = 'simulated/odd|es_es|verbose|utopian' and template_id like 'sexism-03%'"),
    ],
)
def test_filters_and_search_find_what_the_warehouse_finds(tab, pages, nights, asked, condition):
    select = f"select count(*) from intermediate.int_template_tests where run_id = 'N2' and {condition}"
    expected = query(nights, select).item()
    result = _tests(tab, pages / "index.html", asked)
    while tab.ask("Boolean(document.querySelector('.more button'))"):
        shown = tab.ask("document.querySelectorAll('details').length")
        tab.ask("document.querySelector('.more button').click()")
        tab.wait(f"document.querySelectorAll('details').length > {shown}")
    assert tab.ask("document.querySelectorAll('details').length") == expected
    assert re.match(r"\d+", result)


def test_replies_are_a_table_too_with_marks_keys_and_a_link_to_each(tab, pages, nights):
    shown = _tests(tab, pages / "index.html", "text=lamp+17.&model=simulated/fair&as=table")
    select = (
        "from staging.stg_cases where run_id = 'N2' and model = 'simulated/fair' and template_id like 'sexism-17%'"
    )
    rows = "document.querySelectorAll('.replies tbody tr')"
    assert tab.ask(f"{rows}.length") == query(nights, f"select count(*) {select}").item()
    marks = tab.ask("[...document.querySelectorAll('.replies mark')].map((one) => one.textContent)")
    assert {mark.lower() for mark in marks} == {"lamp 17."}
    for key in "jjko":
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
    tab.wait("document.querySelector('details.test')")
    assert tab.ask("new URLSearchParams(location.hash.split('?')[1]).get('text')").startswith(
        "r-N2-simulated-fair"
    )
    assert shown


def test_how_far_judges_agree_is_reported_as_the_mart_has_it(tab, pages, nights):
    tab.open(pages / "index.html")
    tab.wait("document.querySelector('#agreement ~ div table')")
    shown = tab.ask("""[...document.querySelectorAll('#agreement ~ div table tbody tr')].map((row) =>
        [row.querySelector('bdi').textContent, ...[...row.cells].slice(1).map((cell) => cell.innerText)])""")
    row = query(nights, f"{AGREEMENT} and run_id = 'N2' and reference_kind = 'person'").to_dicts()[0]
    expected = [row["n"], row["asked"], row["reference_silent"], *_percents(row, "observed_agreement")]
    expected += [one for name in ("sensitivity", "specificity") for one in _percents(row, *_with_interval(name))]
    expected += [f"{row[name]:.2f}" for key in ("cohens_kappa", "gwets_ac1") for name in _with_interval(key)]
    expected += [*_percents(row, "raw_pass_rate"), *_percents(row, *_with_interval("corrected_rate"))]
    result = next(cells for who, *cells in shown if who == PERSON)
    assert re.findall(r"[\d.]+", " ".join(result)) == [str(one).replace("-", "") for one in expected]


def test_a_run_that_no_one_reviewed_states_so_and_how_to_get_a_review(tab, tmp_path, nights):
    folder = tmp_path / "unseen"
    write_run_pages(nights, "N1", folder)
    (folder / "data" / "agreement.js").write_text(as_chunk("agreement", {"agreement": {}}))
    tab.open(folder / "index.html")
    tab.wait("document.querySelector('#agreement ~ div code')")
    assert tab.ask("document.querySelector('#agreement ~ div code').textContent") == "biasgrid review N1"


def test_arrow_keys_move_in_the_grid_and_one_cell_is_in_the_tab_order(tab, pages):
    tab.open(pages / "index.html", "#cells")
    tab.wait("document.querySelector('.heat')")
    assert tab.ask("document.querySelectorAll('.heat td a[tabindex=\"0\"]').length") == 1
    tab.ask("document.querySelector('.heat td a').focus()")
    for key in ("ArrowDown", "ArrowRight"):
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert tab.ask("[...document.querySelectorAll('.heat td a')].indexOf(document.activeElement)") == 5
    assert tab.ask("document.activeElement.tabIndex") == 0


def test_the_reader_changes_language_and_colours(tab, pages):
    tab.open(pages / "index.html")
    choose = (
        "((at, value) => {{ const one = document.querySelectorAll('.controls select')[at];"
        " one.value = value; one.dispatchEvent(new Event('change')); }})({at}, '{value}')"
    )
    tab.ask(choose.format(at=0, value="es_es"))
    assert tab.ask("document.documentElement.lang + document.querySelector('#board').textContent") == "esModelos"
    tab.ask(choose.format(at=1, value="dark"))
    assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    tab.ask("localStorage.clear()")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("place", ["board", "tests", "compare", "site"])
def test_no_one_is_shut_out(tab, audit, pages, site, place, dark):
    tab.size(1280, 900, dark)
    if place == "tests":
        _tests(tab, pages / "index.html", "outcome=unreadable")
        _open_all(tab)
    elif place == "compare":
        tab.open(pages / "index.html", "#/compare?only=all")
        tab.wait("document.querySelector('.pairs article')")
    else:
        tab.open((site if place == "site" else pages) / "index.html")
    assert audit() == []


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_no_page_is_wider_than_its_screen(tab, site, width):
    tab.size(width, 900)
    for index in (site / "index.html", site / "runs" / "N2" / "index.html"):
        tab.open(index)
        assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    tab.open(index, "#/compare?only=all")
    tab.wait("document.querySelector('.pairs article')")
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    _tests(tab, site / "runs" / "N2" / "index.html", "outcome=unreadable")
    _open_all(tab)
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")


def test_a_site_leads_to_the_tests_of_a_run_and_back(tab, site):
    tab.complaints.clear()
    tab.open(site / "index.html")
    assert tab.ask("document.querySelectorAll('.trend .worse').length") == 1
    tab.ask("document.querySelector('.cell a').click()")
    tab.wait("document.querySelectorAll('details.test').length")
    tab.ask("document.querySelector('header a').click()")
    tab.wait("document.querySelector('#runs')")
    assert tab.complaints == []


def test_a_run_leads_to_the_one_before_and_that_one_back(tab, site):
    pages = {run_id: site / "runs" / run_id / "index.html" for run_id in ("N1", "N2")}
    for run_id, rel, other in (("N2", "prev", "N1"), ("N1", "next", "N2")):
        tab.open(pages[run_id])
        links = tab.ask("[...document.querySelectorAll('.ways a')].map((one) => [one.rel, one.href])")
        assert links == [["", (site / "index.html").as_uri()], [rel, pages[other].as_uri()]]
        assert NAME in tab.ask("document.querySelector('.ways').innerText")
