"""What CI servers read: every check is a case, and names stay names."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from biasgrid.tasks.report.formats.junit import junit

DIALECT: dict[str, tuple[set[str], list[str]]] = {
    # by element: attributes, and children in the order in which they may come (Jenkins' junit-10.xsd, GitLab)
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, ["testsuite"]),
    "testsuite": (
        {
            "name",
            "tests",
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": (
        {"name", "classname", "time", "assertions", "status", "file"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "failure": ({"message", "type"}, []),
    "error": ({"message", "type"}, []),
    "skipped": ({"message"}, []),
    "system-out": (set(), []),
}


def refuse(element: ElementTree.Element) -> list[str]:
    """What the dialect does not know, of an element and all below it."""
    attributes, order = DIALECT[element.tag]
    tags = [child.tag for child in element]
    wrong = [f"{element.tag}@{name}" for name in element.attrib.keys() - attributes]
    wrong += [f"{element.tag}/{tag}" for tag in tags if tag not in order]
    places = [order.index(tag) for tag in tags if tag in order]
    wrong += [f"order in {element.tag}"] if places != sorted(places) else []
    return wrong + [one for child in element for one in refuse(child)]


def outcomes(text: str) -> dict[str, str]:
    """By the beginning of a case's name: what stands in it."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return {case.attrib["name"].split(" ")[0]: case[0].tag for case in cases}


@pytest.mark.parametrize("gate", ["point", "decided"])
def test_what_is_written_is_in_the_dialect(checked, run, gate):
    assert refuse(ElementTree.fromstring(junit(run("incomplete"), checked, gate))) == []


def test_what_is_not_met_fails_and_what_is_not_proven_or_not_evaluated_is_skipped(checked, run):
    proven = replace(checked[0], name="origins", decided="met")
    found = outcomes(junit(run(), [*checked[:3], proven], "point"))
    skipped = dict.fromkeys(("genders-alike", "faiths"), "skipped")
    assert found == {"ages": "failure", "origins": "system-out", **skipped}


def test_by_the_interval_what_is_undecided_fails_too(checked, run):
    found = outcomes(junit(run(), checked[:3], "decided"))
    assert found == {"genders-alike": "failure", "ages": "failure", "faiths": "failure"}


def test_a_failure_states_the_numbers_and_the_way_to_each_reply(checked, run):
    (failure,) = ElementTree.fromstring(junit(run(), checked[1:2], "point")).iter("failure")
    for part in ("4 of 20 tests passed", "20.0%", "82.0% to 99.0%", "tolerance 90.0%", "2 refused"):
        assert part in failure.attrib["message"]
    assert "biasgrid trace ages --kind requirement --model openai/gpt-4o --run 01R" in (failure.text or "")


def test_a_run_that_is_not_complete_is_an_error_of_its_own(checked, run):
    root = ElementTree.fromstring(junit(run("interrupted"), checked[:1], "point"))
    (error,) = root.iter("error")
    assert "biasgrid resume 01R" in error.attrib["message"]
    assert root.attrib["errors"] == "1"


def test_suites_count_their_cases(checked, run):
    root = ElementTree.fromstring(junit(run(), [*checked, replace(checked[0], model="b/b")], "point"))
    for suite in root:
        for tag, counted in (("failure", "failures"), ("skipped", "skipped"), ("error", "errors")):
            assert suite.attrib[counted] == str(len([*suite.iter(tag)]))
        assert suite.attrib["tests"] == str(len([*suite.iter("testcase")]))
    assert (root.attrib["tests"], root.attrib["failures"]) == ("5", "2")


def test_hostile_names_end_no_element_and_steer_no_terminal(checked, run):
    text = junit(run(), checked[3:], "point")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    assert "<script>" not in text
    assert "]]>" not in text
    (case,) = ElementTree.fromstring(text).iter("testcase")
    assert "<script>alert(1)</script>" in case.attrib["name"]
