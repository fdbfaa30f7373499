"""The heat map of a run's grid."""

import re
from xml.etree import ElementTree

from biasgrid.flows.benchmark.grid_chart import ABOVE, BELOW, NONE, chart

SVG = "{http://www.w3.org/2000/svg}"


def row(model: str, rate: float | None, tolerance: float = 0.9, test: str = "alike · en_us") -> dict[str, object]:
    return {"model": model, "test": test, "rate": rate, "tolerance": tolerance}


def squares(rows: list[dict[str, object]]) -> dict[str, tuple[str, float]]:
    """Colour and opacity of each test's and model's square, by its title."""
    tests, models = (list(dict.fromkeys(str(one[name]) for one in rows)) for name in ("test", "model"))
    drawn = ElementTree.fromstring(chart(rows, tests, models))
    found = {}
    for parent in drawn.iter():
        title, rects = parent.find(f"{SVG}title"), parent.findall(f"{SVG}rect")
        if title is not None:
            last = rects[-1] if rects else parent
            found[str(title.text)] = (last.attrib["fill"], float(last.attrib["fill-opacity"]))
    return found


def test_a_cell_shows_on_which_side_of_the_tolerance_it_is_and_how_far():
    found = squares([row("a/far", 0.2), row("a/near", 0.85), row("a/met", 0.9), row("a/none", None)])
    colours = {name: colour for name, (colour, _) in found.items()}
    assert colours == {
        "alike · en_us, a/far: 20.0%": BELOW,
        "alike · en_us, a/near: 85.0%": BELOW,
        "alike · en_us, a/met: 90.0%": ABOVE,
        "alike · en_us, a/none: –": NONE,
    }
    assert found["alike · en_us, a/far: 20.0%"][1] > found["alike · en_us, a/near: 85.0%"][1]


def test_no_two_cells_are_drawn_at_one_place():
    rows = [row(model, 0.5, test=test) for model in ("a/x", "a/y") for test in ("t · en_us", "u · en_us")]
    places = re.findall(r'<rect (x="\d+" y="\d+")', chart(rows, ["t · en_us", "u · en_us"], ["a/x", "a/y"]))
    assert len(set(places)) == len(rows)


def test_a_name_is_no_markup():
    (title,) = squares([row("a/x", 1.0, test="<script>&")])
    assert title == "<script>&, a/x: 100.0%"
