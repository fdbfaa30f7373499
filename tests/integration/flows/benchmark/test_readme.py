"""The README's first scenario ends as the README shows."""

import re

import pytest

from biasgrid.flows.cli.start import init
from support.paths import ROOT

pytestmark = pytest.mark.drill
ASKED = ("models", "concerns", "languages", "tolerance", "templates")


def test_the_first_scenario_ends_as_the_readme_shows(shell):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    mine = shell("readme", COLUMNS="80", NO_COLOR="1")
    init(file=mine.folder / "my-scenario.yaml", yes=True, **dict.fromkeys(ASKED))
    code, out, err = mine.finish("run", mine.folder / "my-scenario.yaml")
    assert code == 1, err
    assert shown in out
