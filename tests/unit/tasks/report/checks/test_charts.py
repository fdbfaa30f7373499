"""Pictures: each has a description, names stay names, nothing is fetched."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import duckdb

from biasgrid.tasks.report.charts.differences import contrasts
from biasgrid.tasks.report.charts.pictures import files, measures
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_states_in_words_what_it_shows(checked, run):
    drawn = measures("benchmark", checked)
    assert drawn is not None
    root = ElementTree.fromstring(drawn.svg)
    assert [root[0].tag, root[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "Pass rates"
    text = root[1].text or ""
    assert "4 checks of 2 models" in text
    assert "ages · en_us of openai/gpt-4o 20.0%" in text
    shown = "".join(root.itertext())
    for part in ("genders-alike · en_us", "faiths · en_us", "no answer", "fails", "not proven"):
        assert part in shown
    written = files(run(), [drawn])
    assert written.keys() == {"measures.svg", "measures.png", "pictures.md"}
    assert written["measures.png"][:8] == b"\x89PNG\r\n\x1a\n"


def test_names_in_a_picture_are_text_and_nothing_is_fetched(checked, run):
    drawn = measures("benchmark", checked[3:])
    assert drawn is not None
    tags = {one.tag.removeprefix(SVG) for one in ElementTree.fromstring(drawn.svg).iter()}
    assert tags <= {"svg", "title", "desc", "rect", "g", "path", "text", "line", "defs", "clipPath", "tspan"}
    assert not re.search(r"""(?:href|src)=|url\((?!#)|[\x00-\x08\u202e]""", drawn.svg)
    page = files(run(), [drawn])["pictures.md"]
    assert isinstance(page, str)
    for command in ("<script", "@", "://", "www."):
        assert command not in page


def test_a_run_without_checks_has_no_picture():
    assert measures("benchmark", []) is None


ROWS = """
    insert into marts.community_contrasts by name
    select
        'R' as run_id, 'r' as requirement, 'm' as model, 'en_us' as language, 'pass rate' as measure, 1 as slot,
        'c' || i as community, i / 1000 as difference, if(i % 10 = 0, null, i / 1000 - .1) as difference_low,
        if(i % 10 = 0, null, i / 1000 + .1) as difference_high, if(i < 50, i / 100, null) as q_value,
        case when i < 6 then 'higher' when i < 50 then 'no difference shown' else 'not tested' end as finding
    from range(60) as _(i)
"""


def test_contrasts_that_are_not_drawn_are_counted(tmp_path):
    lake = Lake.open(tmp_path)
    with duckdb.connect(build(lake)) as warehouse:
        warehouse.execute(ROWS)
    drawn = contrasts(lake, "R")
    assert drawn is not None
    counts = (
        "60 contrasts: 6 differ at a false-discovery rate of 5%, 10 not tested; drawn: the 40 most certain of 60"
    )
    assert counts in drawn.alt
    root = ElementTree.fromstring(drawn.svg)
    shown = "".join(root.itertext())
    assert counts in shown
    assert "hollow: no interval" in shown
    labels = " ".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert re.findall(r"c\d+ (?=\(1\))", labels) == [f"c{number} " for number in range(40)]
