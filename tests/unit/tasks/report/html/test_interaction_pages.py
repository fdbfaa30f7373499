"""Pages of interactions, read back: every play is there, and no text of a model has an effect."""

from __future__ import annotations

import re
from typing import Any

import pytest

from biasgrid.tasks.report.figures import format_score
from biasgrid.tasks.report.html.interaction_pages import write_interaction_pages
from biasgrid.tasks.report.html.page import page_script
from biasgrid.tasks.transcripts.excerpt import LONGEST
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

MARKUP = re.compile(r"<(/?[a-z][a-z0-9]*)")
HARMLESS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "main",
        "footer",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
    ),
    *(
        "p",
        "ul",
        "li",
        "b",
        "code",
        "dl",
        "dt",
        "dd",
        "div",
        "span",
        "bdi",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    ),
    *(
        "svg",
        "rect",
        "line",
        "details",
        "summary",
        "nav",
        "fieldset",
        "legend",
        "label",
        "input",
        "ol",
        "ul",
        "li",
        "article",
        "button",
    ),
}


@pytest.fixture(scope="module")
def pages(talked: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By file name, the first page first."""
    paths = write_interaction_pages(Lake(talked.data), talked.run_id, tmp_path_factory.mktemp("pages"))
    own = f"<script>{page_script()[0]}</script>"
    return {path.name: path.read_text(encoding="utf-8").replace(own, "") for path in paths}


@pytest.fixture(scope="module")
def report(pages: dict[str, str]) -> str:
    return pages["report.html"]


@pytest.fixture(scope="module")
def conversations(pages: dict[str, str]) -> str:
    return "".join(text for name, text in pages.items() if name != "report.html")


def query_rows(talked: Any, sql: str) -> list[dict[str, Any]]:
    return query(Lake(talked.data), sql).to_dicts()


def visible_text(text: str) -> str:
    """The words of a page, without markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def test_pages_run_nothing_and_fetch_nothing(pages):
    for text in pages.values():
        assert {tag.lstrip("/") for tag in MARKUP.findall(text)} <= HARMLESS
        assert "default-src 'none'; style-src 'unsafe-inline'" in text
        assert not re.search(r"url\(|@import|<[^>]* (on\w+|src|style|action)=", text)


def test_links_lead_to_pages_and_places_that_are_there(pages):
    for text in pages.values():
        ids = re.findall(r' id="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        wanted = set(re.findall(r'href="([^"]+)"', text))
        assert wanted <= {*pages, *(f"#{found}" for found in ids)}


def test_what_agents_wrote_is_shown_and_not_done(conversations):
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in conversations
    assert "&lt;/style&gt;&lt;/div&gt;&lt;img src=x onerror=alert(1)&gt;" in conversations
    assert "{{ run }}" in conversations
    assert '<span class="sign">U+202E</span>gnippilf' in conversations
    assert "no reply: <bdi>Disconnected: &lt;script&gt;" in conversations


def test_a_megabyte_is_shortened_and_shows_it(pages, conversations):
    assert f"… and {1_000_000 - LONGEST:,} more signs, left out here." in conversations
    assert max(map(len, pages.values())) < 1_000_000


def test_every_play_and_every_reply_is_on_one_page_once(talked, conversations):
    plays = {
        row["play_id"] for row in query_rows(talked, "select play_id from intermediate.int_interaction_plays")
    }
    shown = re.findall(r'id="play-([^"]+)"', conversations)
    assert (len(shown), set(shown)) == (len(plays), plays)
    replies = query_rows(talked, "select response_id from staging.stg_responses")
    assert all(conversations.count(f"<code>{row['response_id']}</code>") == 1 for row in replies)


def test_a_play_shows_scene_people_wish_and_each_reading(talked, conversations):
    play = query_rows(
        talked, "from intermediate.int_interaction_plays where setting = 'goal' and model = 'simulated/conforming'"
    )[0]
    text = conversations.partition(f'id="play-{play["play_id"]}"')[2].partition("</details>")[0]
    text_of_play = visible_text(text)
    assert f"to want task {play['wishes']}" in text_of_play
    assert all(f"{person['name']} {person['group']}" in text_of_play for person in play["people"])
    assert all(f"{task['text']} by stereotype: {task['to']}" in text_of_play for task in play["tasks"])
    where = f"where play_id = '{play['play_id']}' order by reply, task_number"
    given = query_rows(talked, f"from intermediate.int_task_assignments {where}")
    outcomes = query_rows(talked, f"from intermediate.int_assignments where play_id = '{play['play_id']}'")
    assert text_of_play.count("read as") == len(outcomes)
    assert all(f"{row['task_number']} → {row['assigned_to'][0]}" in text_of_play for row in given)


def test_plays_can_be_chosen_by_what_came_of_them_without_a_script(talked, pages):
    for text in pages.values():
        shown = re.findall(r'name="outcome" id="o(\d)"> ([\w -]+)<', text)
        for number, outcome in shown:
            assert f"body:has(#o{number}:checked) .play:not(.o{number})" in text
            plays = [words for words in re.findall(r'class="play ([^"]*)"', text) if f"o{number}" in words.split()]
            assert plays, outcome


def test_scores_are_those_of_the_mart(talked, report):
    shown = visible_text(report)
    for row in query_rows(talked, "from marts.bias_scores"):
        counts = f"{row['stereotypical']} : {row['anti_stereotypical']} : {row['neutral'] + row['ties']}"
        assert row["decision"].replace("not evaluated", "no answer") in shown
        assert f"{format_score(row['expected_score'])} {counts} {row['scenes']}" in shown


def test_what_is_recognised_stands_as_a_matrix(talked, report):
    for row in query_rows(talked, "from marts.understanding"):
        seen = f"is there {row['true_positives']} {row['false_negatives']}"
        assert f"{seen} is not there {row['false_positives']} {row['true_negatives']}" in visible_text(report)


def test_changes_corrections_mitigations_and_choices_are_shown(talked, report):
    shown = visible_text(report)
    for row in query_rows(talked, "from marts.escalation where domain = 'all'"):
        assert f"{row['step']} {format_score(row['first_score'])} {format_score(row['last_score'])}" in shown
    for row in query_rows(talked, "from marts.self_corrections where stereotypical > 0"):
        assert f"{row['stereotypical']} {row['self_correction_rate']:.1%}" in shown
    for row in query_rows(talked, "from marts.mitigations where stage <> 'first'"):
        assert f"{format_score(row['score_before'])} {format_score(row['score_after'])}" in shown
    for row in query_rows(talked, "from marts.choices"):
        assert (
            f"{row['first_chosen']} {row['first_group']} : {row['second_chosen']} {row['second_group']}" in shown
        )


def test_names_of_files_are_not_markup_either(report):
    assert "<i>Larkspur" not in report
    assert "&lt;i&gt;Larkspur&lt;/i&gt;" in report


def test_a_cell_of_many_plays_goes_on_over_the_page(talked, tmp_path, monkeypatch):
    monkeypatch.setattr("biasgrid.tasks.report.html.interaction_pages.ON_A_PAGE", 5)
    paths = write_interaction_pages(Lake(talked.data), talked.run_id, tmp_path)
    texts = [path.read_text(encoding="utf-8") for path in paths[1:]]
    assert all(text.count('<details class="play') <= 5 for text in texts)
    assert any('<nav class="pages"><b>1</b> <a href=' in text for text in texts)
