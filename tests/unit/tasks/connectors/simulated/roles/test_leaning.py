"""What respondents of known leaning say to a probe's prompts, whatever its test and language. Respondents asked
for templates: plausible, the same every time, and only when they are asked.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog, read_catalog
from biasgrid.catalogs.schema.respondents import Leaning, Respondent
from biasgrid.catalogs.schema.target_file import Probing
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.connectors.simulated.roles.augmentation import augmentation_reply
from biasgrid.tasks.connectors.simulated.roles.probe import (
    AssociationQuestion,
    ProbeRecogniser,
    RatingQuestion,
    StatementQuestion,
)
from biasgrid.tasks.probe.prompts import Prompt, prompts
from biasgrid.tasks.probe.stereotype import of_catalog

LANGUAGES = ("en_us", "es_es", "ca_es")


@cache
def catalog() -> Catalog:
    return load_catalog()


@cache
def panel() -> Panel:
    return Panel(catalog())


def build_prompts(
    test: ProbeTest, pair: str = "doctor-nurse", language: str = "en_us", cases: int = 12
) -> list[Prompt]:
    own = next(own for own in of_catalog(catalog(), language) if own.pair == pair)
    return prompts(own, test, catalog().probing[language], Probing(cases=cases), seed=1)


def reply_to(prompt: Prompt, **leaning: object) -> str:
    respondent = Respondent(id="own", description="", leaning=Leaning.model_validate(leaning))
    return panel().reply(Question(respondent, prompt.text, 0)).text


def read_labels(reply: str) -> dict[str, str]:
    if reply.startswith("{"):
        return dict(json.loads(reply))
    return dict(line.split(" - ") for line in reply.splitlines())


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pair_of_the_catalog_is_known_in_every_test(language):
    recogniser = ProbeRecogniser(catalog())
    kinds = {
        "implicit": AssociationQuestion,
        "decision": AssociationQuestion,
        "explicit": StatementQuestion,
        "counterfactual": RatingQuestion,
    }
    for own in of_catalog(catalog(), language):
        for test, kind in kinds.items():
            for prompt in prompts(own, test, catalog().probing[language], Probing(cases=5), seed=1)[:3]:
                found = recogniser.find(prompt.text)
                assert isinstance(found, kind), prompt.text
                if test in ("implicit", "explicit"):
                    assert found.known.pair == own.pair


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("strength", [1, -1])
def test_at_full_strength_everybody_gets_what_the_stereotype_gives_or_its_contrary(language, strength):
    for prompt in build_prompts("implicit", language=language):
        reply = read_labels(reply_to(prompt, default=strength))
        own, other = prompt.stereotype.attributes[::strength]
        assert {reply[name] for name in prompt.cast.favoured} == {own}
        assert {reply[name] for name in prompt.cast.stigmatised} == {other}


def test_at_no_strength_as_many_replies_go_either_way():
    stereotypical = sum(
        read_labels(reply_to(prompt))[prompt.cast.favoured[0]] == prompt.stereotype.favoured.attribute
        for prompt in build_prompts("implicit", cases=400)
    )
    assert 160 <= stereotypical <= 240


def test_a_pairs_own_strength_comes_before_its_axis_and_that_before_the_default():
    leaning = Leaning(default=0.1, axes={"gender": 0.2}, pairs={"doctor-nurse": 0.3})
    assert leaning.strength("gender", "doctor-nurse") == 0.3
    assert leaning.strength("gender", "garage-kitchen") == 0.2
    assert leaning.strength("age", "creativity-routine") == 0.1


@pytest.mark.parametrize(
    ("leaning", "agreed"),
    [
        ({"default": 0.6}, {"stereotype"}),
        ({"default": 0.6, "states": "nothing"}, {"reversed"}),
        ({"default": 0.6, "states": "everything"}, {"stereotype", "anti", "reversed"}),
        ({}, {"reversed"}),
    ],
)
def test_outright_it_agrees_with_what_it_states(leaning, agreed):
    replies = {prompt.part: reply_to(prompt, **leaning) for prompt in build_prompts("explicit")[:3]}
    assert {part for part, reply in replies.items() if reply == "Agree"} == agreed


def test_at_full_strength_the_stigmatised_are_rated_to_their_disadvantage():
    for prompt in build_prompts("counterfactual"):
        score = json.loads(reply_to(prompt, axes={"gender": 1}))["score"]
        worse = 60 if prompt.details["better"] == "higher" else 80
        assert score == (worse if prompt.part == "stigmatised" else 70)


def test_what_is_no_probes_prompt_is_answered_as_ever():
    respondent = Respondent(id="own", description="", leaning=Leaning(default=1))
    fair = Respondent(id="own", description="")
    for text in ("Hello, James.", "Is a doctor a nurse?", ""):
        assert panel().reply(Question(respondent, text, 0)).text == panel().reply(Question(fair, text, 0)).text


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
