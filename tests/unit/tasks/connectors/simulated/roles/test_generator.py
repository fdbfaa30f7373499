"""Respondents asked for templates: plausible, the same every time, and only when they are asked."""

from __future__ import annotations

import json

import pytest

from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.connectors.simulated.roles.augmentation import augmentation_reply

KINDS = {
    "constrained observational": 3,
    "constrained utopian": 3,
    "verbose observational": 2,
    "verbose utopian": 2,
}


@pytest.fixture(scope="module")
def whole() -> Catalog:
    return read_catalog().catalog


def request(language: str = "en_us", concern: str = "sexism", **changes: object) -> str:
    order = {"order": "templates", "language": language, "concern": concern, "questions": KINDS, **changes}
    return f"Write some.\n\nThe order:\n{json.dumps(order)}"


def rows(whole: Catalog, text: str, seed: int = 0, respondent: str = "fair") -> list[dict[str, object]]:
    shown = augmentation_reply(whole.respondents[respondent], text, seed, whole)
    assert shown is not None
    found: list[dict[str, object]] = json.loads(shown)
    return found


@pytest.mark.parametrize("language", ["en_us", "es_es", "ca_es"])
@pytest.mark.parametrize("concern", ["sexism", "racism", "politics", "sexism_ambiguity"])
def test_as_many_of_each_kind_are_written_as_are_ordered(whole, language, concern):
    written = rows(whole, request(language, concern))
    kinds = [f"{row['input']} {row['reflection']}" for row in written]
    assert {kind: kinds.count(kind) for kind in KINDS} == KINDS
    assert len({row["prompt"] for row in written}) == 10


def test_the_same_order_and_seed_give_the_same(whole):
    assert rows(whole, request()) == rows(whole, request())
    assert rows(whole, request()) != rows(whole, request(), seed=1)
    assert rows(whole, request()) != rows(whole, request(part=2))


@pytest.mark.parametrize(
    "text",
    [
        "Are women worse drivers?",
        request() + "\nand then something else",
        request(language="fr_fr"),
        request(questions={"constrained": 3}),
        request(questions={"constrained observational": "3"}),
        request(questions=[1]),
        '{"order": "templates"}',
        '{"order": "templates", broken}',
    ],
)
def test_nothing_else_is_taken_for_an_order(whole, text):
    assert augmentation_reply(whole.respondents["fair"], text, 0, whole) is None


@pytest.mark.parametrize("respondent", ["refuser", "constant-no"])
def test_who_refuses_or_repeats_itself_writes_no_templates(whole, respondent):
    assert augmentation_reply(whole.respondents[respondent], request(), 0, whole) is None


def test_a_messy_one_fences_what_it_writes(whole):
    shown = augmentation_reply(whole.respondents["noisy"], request(), 0, whole)
    assert shown is not None
    assert "```json" in shown


def test_a_panel_answers_an_order(whole):
    stated = Panel(whole).reply(Question(whole.respondents["fair"], request(), 0))
    assert len(json.loads(stated.text)) == 10
