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
