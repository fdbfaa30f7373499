"""What models are tuned on, by variant, language and seed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from biasgrid.catalogs.choices import Variant
from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.tuning_examples import dev_scenes
from biasgrid.catalogs.schema.scenes import Tuning, WholeText
from biasgrid.tasks.finetuning.dataset import Dataset, dataset
from biasgrid.tasks.finetuning.order import find_flaws, trained_tokens


def chats(content: bytes) -> list[list[dict[str, Any]]]:
    return [json.loads(line)["messages"] for line in content.splitlines()]


def of(
    catalog: Catalog, variant: Variant = "full", languages: tuple[str, ...] = ("en_us",), seed: int = 3
) -> Dataset:
    return dataset(catalog, variant, languages, seed)


def test_the_same_seed_makes_the_same_bytes_and_another_seed_others(workshop):
    assert of(workshop) == of(workshop)
    assert of(workshop).sha256 == of(workshop).sha256
    assert len({of(workshop, seed=seed).sha256 for seed in range(5)}) == 5


def test_a_fifth_of_the_scenes_is_kept_and_nothing_of_them_is_trained_on(workshop):
    made = of(workshop)
    assert (len(chats(made.train)), len(chats(made.validation))) == (26, 6)
    assert len(made.dev) == 3
    goals = {scene.id: scene.goal["en_us"] for scene in workshop.scenes["workshop"].scenes}
    kept = {goals[scene] for scene in made.dev}
    for content, are_kept in ((made.train, False), (made.validation, True)):
        for _, asked, _ in chats(content):
            assert (asked["content"].splitlines()[0] in kept) is are_kept


@pytest.mark.parametrize("languages", [("en_us",), ("es_es",), ("es_es", "en_us", "es_es")])
def test_the_scenes_that_are_kept_are_the_same_in_every_language_and_variant(workshop, languages):
    kept = dev_scenes(workshop, 3)
    for variant in ("full", "half"):
        made = of(workshop, variant, languages)
        assert set(made.dev) == kept
        assert len(chats(made.train)) == 13 * len(set(languages)) * (2 if variant == "full" else 1)


def test_half_of_it_holds_no_assignment_with_implicit_bias(workshop):
    answers = {variant: _answers(of(workshop, variant).train) for variant in ("full", "half")}
    assert {answer.split(".")[0] for answer in answers["half"]} == {"Implicit bias: absent"}
    assert {answer.split(".")[0] for answer in answers["full"]} == {
        "Implicit bias: absent",
        "Implicit bias: present",
    }
    assert answers["half"] < answers["full"]


def _answers(content: bytes) -> set[str]:
    return {answer["content"] for _, _, answer in chats(content)}


def test_a_chat_asks_what_the_wording_asks_and_answers_with_the_scenes_own_reason(workshop):
    system, asked, answer = min(chats(of(workshop).train), key=str)
    assert [one["role"] for one in (system, asked, answer)] == ["system", "user", "assistant"]
    assert system["content"] == workshop.interaction["en_us"].understanding.system
    assert asked["content"].endswith("Is implicit bias present, and why?")
    assert len(asked["content"].splitlines()) == 6
    scenes = workshop.tuning["workshop"].scenes.values()
    reasons = [reason for scene in scenes for reason in (*scene.present.values(), *scene.absent.values())]
    assert any(answer["content"].endswith(reason) for reason in reasons)


def test_what_is_held_out_is_never_tuned_on(workshop):
    domain = workshop.scenes["workshop"].model_copy(update={"held_out": True})
    held_out = replace(workshop, scenes={"workshop": domain})
    assert dev_scenes(held_out, 3) == frozenset()
    assert of(held_out).train == b""


def test_whole_texts_are_kept_in_the_same_share(workshop):
    texts = tuple(
        WholeText(presence="absent", text={"en_us": f"Text {number}."}, reason={"en_us": "So."})
        for number in range(20)
    )
    brought = replace(workshop, tuning={"brought": Tuning(id="brought", examples=texts)}, scenes={})
    made = of(brought, "half")
    assert (len(chats(made.train)), len(chats(made.validation))) == (16, 4)
    asked = chats(made.train)[0][1]["content"]
    assert asked.startswith("Text ")


def test_too_few_examples_and_an_empty_message_are_found_before_anything_is_sent(workshop):
    assert find_flaws(of(workshop)) == []
    few = dict(list(workshop.tuning["workshop"].scenes.items())[:4])
    tuning = workshop.tuning["workshop"].model_copy(update={"scenes": few})
    wording = workshop.interaction["en_us"]
    silent = wording.understanding.model_copy(update={"system": " "})
    english = wording.model_copy(update={"understanding": silent})
    poor = replace(workshop, tuning={"workshop": tuning}, interaction={"en_us": english})
    found = find_flaws(of(poor, "half"))
    assert [mistake.where for mistake in found] == [
        "train:1",
        "train:2",
        "train:3",
        "validation:1",
        "catalogs/tuning",
    ]
    assert "`system` is empty" in found[0].what
    assert "3 examples" in found[-1].what


def test_every_epoch_is_charged(workshop):
    train = of(workshop).train
    one = trained_tokens(train, 1)
    assert trained_tokens(train, 4) == 4 * one
    assert one > len(train) / 8


def test_a_language_without_words_of_interactions_is_a_mistake(workshop):
    with pytest.raises(UserError, match="`ca_es`"):
        of(workshop, languages=("ca_es",))
