"""A job's summary: what needs looking at first, no name a command, never too long for GitHub."""

import re
from dataclasses import replace

from biasgrid.tasks.report.formats.step_summary import MOST, step_summary


def test_what_is_not_met_comes_first_and_what_is_met_is_folded_away(checked, run):
    text = step_summary(run(), [*checked[:3], replace(checked[0], decided="met")], "point")
    assert text.startswith("## biasgrid: 1 meets, 1 fails, 1 not proven, 1 no answer\n")
    places = [text.index(title) for title in ("✗ Fails (1)", "? Not proven (1)", "– No answer (1)", "✓ Meets (1)")]
    assert places == sorted(places)
    assert text.index("<details>") < places[-1]


def test_each_check_has_its_numbers_and_what_would_decide_it(checked, run):
    text = step_summary(run(), checked[:1], "decided")
    (line,) = [line for line in text.splitlines() if "19 of 20" in line]
    for part in (
        "not proven, met by the point rate",
        "95.0%",
        "82.0% to 99.0%",
        "tolerance 90.0%",
        "≥ 38 templates",
    ):
        assert part in line


def test_a_run_that_is_not_complete_shows_it(checked, run):
    assert "**The run is incomplete**" in step_summary(run("incomplete"), checked, "point")


def test_hostile_names_are_neither_markup_nor_mentions_nor_links(checked, run):
    text = step_summary(run(), checked[3:], "point")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    for command in ("`", "<script", "@", "://", "www.", "![", "]("):
        assert command not in text, command
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {6, 8}  # rows have as many cells as their tables' heads


def test_a_summary_is_never_longer_than_github_takes(checked, run):
    many = [replace(checked[3], model=f"m/{number % 900}") for number in range(4_000)]
    text = step_summary(run(), many, "point")
    assert len(text.encode()) < MOST + 10_000
    more = re.search(r"… and ([\d,]+) more", text)
    assert more
    assert int(more[1].replace(",", "")) + text.count("| ✗ |") == 4_000
