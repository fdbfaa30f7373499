"""Pictures: each has a description, names stay names, nothing is fetched."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from biasgrid.tasks.report.charts.pictures import files, measures
from biasgrid.tasks.report.checks import Check

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_states_in_words_what_it_shows(checked: list[Check], run: Any) -> None:
    drawn = measures("benchmark", checked)
    assert drawn is not None
    root = ElementTree.fromstring(drawn.svg)
    assert [root[0].tag, root[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "Pass rates"
    text = root[1].text or ""
    assert "4 checks of 2 models" in text
    assert "ages · en_us of openai/gpt-4o 20.0%" in text
    shown = "".join(root.itertext())
    for part in ("genders-alike · en_us", "faiths · en_us", "not evaluated", "not met", "undecided"):
        assert part in shown
    written = files(run(), [drawn])
    assert written.keys() == {"measures.svg", "measures.png", "pictures.md"}
    assert written["measures.png"][:8] == b"\x89PNG\r\n\x1a\n"


def test_names_in_a_picture_are_text_and_nothing_is_fetched(checked: list[Check], run: Any) -> None:
    drawn = measures("benchmark", checked[3:])
    assert drawn is not None
    tags = {one.tag.removeprefix(SVG) for one in ElementTree.fromstring(drawn.svg).iter()}
    assert tags <= {"svg", "title", "desc", "rect", "g", "path", "text", "line", "defs", "clipPath", "tspan"}
    assert not re.search(r"""(?:href|src)=|url\((?!#)|[\x00-\x08\u202e]""", drawn.svg)
    page = files(run(), [drawn])["pictures.md"]
    assert isinstance(page, str)
    for command in ("<script", "@", "://", "www."):
        assert command not in page


def test_a_run_without_checks_has_no_picture() -> None:
    assert measures("benchmark", []) is None
