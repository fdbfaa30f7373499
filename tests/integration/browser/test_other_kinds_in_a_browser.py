"""Pages of probes, red teams and interactions in a real browser, in both languages."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from biasgrid.tasks.report.html.interaction_pages import write_interaction_pages
from biasgrid.tasks.report.html.probe_pages import write_probe_page
from biasgrid.tasks.report.html.redteam_pages import write_red_team_page
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

WRITERS: dict[str, Any] = {
    "probed": write_probe_page,
    "attacked": write_red_team_page,
    "talked": write_interaction_pages,
}


@pytest.fixture(scope="module", params=product(WRITERS, ("en_us", "es_es")), ids=" ".join)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of one kind of run, in one language."""
    kind, language = request.param
    run = request.getfixturevalue(kind)
    found: list[Path] = WRITERS[kind](Lake.at(run.data), run.run_id, tmp_path_factory.mktemp(kind), language)
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_one_is_shut_out(tab, audit, written, dark):
    tab.size(1280, 900, dark)
    for page in written[:2]:
        tab.open(page)
        tab.ask("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert audit() == []


def test_they_fetch_nothing_complain_of_nothing_and_fit_a_telephone(tab, written):
    tab.size(390, 900)
    for page in written[:2]:
        tab.requests.clear()
        tab.complaints.clear()
        tab.open(page)
        tab.ask("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
        assert [address for address in tab.requests if not address.startswith("file:")] == []
        assert tab.complaints == []


def test_what_is_chosen_stays_in_the_address_wherever_one_goes(tab, written):
    page = written[0]
    tab.size(1280, 900)
    tab.open(page)
    rows = "[...document.querySelectorAll('tr[data-state]')]"
    shown = f"{rows}.filter((one) => !one.hidden).map((one) => one.dataset.state)"
    state = tab.ask("[...document.querySelectorAll('.counter')].find((one) => !one.disabled).dataset.state")
    tab.ask(f"document.querySelector('.counter[data-state=\"{state}\"]').click()")
    assert set(tab.ask(shown)) == {state}
    tab.ask("document.querySelector('nav.contents li:last-child a').click()")
    address = tab.ask("location.hash")
    tab.open(page, address)
    assert set(tab.ask(shown)) == {state}
    assert tab.ask("scrollY") > 0
    tab.open(page, "#/?find=no+such+text")
    tab.wait("[...document.querySelectorAll('main tbody tr')].every((one) => one.hidden)")


def test_keys_move_open_and_copy_the_link(tab, written):
    tab.open(written[0])
    press = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
    tab.ask(press % "j")
    if tab.ask("Boolean(document.querySelector('.example, details.session'))"):
        assert tab.ask("document.activeElement.closest('.example, details') !== null")
