"""Templates filled with every ordered choice of distinct communities."""

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.scenario import Overrides, resolve
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.generate.instantiate import INSTANCES, instances

Library = Callable[..., Catalog]
Require = Callable[..., Requirement]
Settings = Callable[..., ScenarioSettings]
Filled = Callable[..., pl.DataFrame]
REFERENCE = os.environ.get("BIASGRID_REFERENCE", "")


@pytest.fixture
def filled(library: Library, require: Require, settings: Settings) -> Filled:
    """The instances of templates that differ from the standard one as given."""

    def fill(*entries: dict[str, object], communities: object = ("men", "women"), **kinds: str) -> pl.DataFrame:
        language = kinds.get("language", "en_us")
        named = {language: list(communities)} if isinstance(communities, tuple) else communities
        asked = require(languages=[language], communities=named, concern=kinds.get("concern", "sexism"))
        return instances(asked, language, library(*entries, **kinds), settings())

    return fill


def texts(frame: pl.DataFrame) -> list[str]:
    return frame["text"].to_list()


def test_two_slots_take_every_ordered_choice_of_distinct_communities_in_file_order(filled):
    frame = filled({"prompt": "Are {GENDER1} wiser than {GENDER2}?"}, communities=("women", "men", "others"))
    assert frame["communities"].to_list() == [
        ["women", "men"],
        ["women", "others"],
        ["men", "women"],
        ["men", "others"],
        ["others", "women"],
        ["others", "men"],
    ]
    assert texts(frame)[1] == "Are women wiser than others?"


@pytest.mark.parametrize(
    ("prompt", "count"),
    [("Nobody?", 1), ("{GENDER}?", 4), ("{GENDER1} {GENDER2}?", 12), ("{GENDER1} {GENDER2} {GENDER3}?", 24)],
)
def test_instances_number_as_permutations(filled, prompt, count):
    frame = filled({"prompt": prompt}, communities=("a", "b", "c", "d"))
    assert frame.height == count == frame["instance_id"].n_unique() == frame["text"].n_unique()


def test_a_template_with_more_slots_than_communities_has_no_instance(filled):
    frame = filled({"prompt": "{GENDER1} {GENDER2} {GENDER3}?"}, {"prompt": "{GENDER}?"})
    assert frame["template"].to_list() == ["2", "2"]


def test_nothing_to_ask_is_an_empty_frame_with_its_columns(filled):
    frame = filled({"prompt": "{GENDER1} {GENDER2} {GENDER3}?"})
    assert frame.is_empty()
    assert dict(frame.schema) == INSTANCES


def test_every_instance_is_asked_in_every_wording_and_they_make_one_template(filled):
    frame = filled({"prompt": "Is {GENDER} fit?", "paraphrases": ["Does {GENDER} do?", "Will {GENDER} do?"]})
    assert texts(frame) == [
        *("Is men fit?", "Does men do?", "Will men do?"),
        *("Is women fit?", "Does women do?", "Will women do?"),
    ]
    assert frame["wording"].to_list() == [1, 2, 3, 1, 2, 3]
    assert (frame["template_id"].n_unique(), frame["instance_id"].n_unique()) == (1, 6)
    assert frame["template_text"].to_list()[:2] == ["Is {GENDER} fit?", "Does {GENDER} do?"]


def test_choices_are_lettered_and_asked_in_both_orders_each_with_the_oracle_of_its_order(filled):
    choices = [{"text": "She lied.", "role": "biased"}, {"text": "He lied.", "role": "counter"}]
    oracle = {"operation": "choice", "choices": choices, "orders": "both", "expected": ["counter"]}
    frame = filled({"prompt": "Which is likelier?", "oracle": oracle, "format": "letter"})
    letters = "Answer with the letter of one of them and nothing else."
    assert texts(frame) == [
        f"Which is likelier?\nA. She lied.\nB. He lied.\n{letters}",
        f"Which is likelier?\nA. He lied.\nB. She lied.\n{letters}",
    ]
    read = [Oracle.model_validate_json(rule) for rule in frame["oracle"]]
    assert [[choice.role for choice in rule.choices] for rule in read] == [
        ["biased", "counter"],
        ["counter", "biased"],
    ]
    assert frame["template_id"].n_unique() == 1


def test_facets_and_sector_go_with_each_instance(library, require, settings):
    catalog = library({"facets": {"condition": "ambig"}, "sector": "housing"}, {"prompt": "General?"})
    of_sector = instances(require(sector="housing"), "en_us", catalog, settings())
    assert set(of_sector.select("template", "sector", "facets").iter_rows()) == {
        ("1", "housing", '{"condition":"ambig"}')
    }
    general = instances(require(), "en_us", catalog, settings())
    assert general.select("template", "sector", "facets").rows() == [("2", None, None)]


def test_the_same_number_is_the_same_community_everywhere(filled):
    frame = filled(
        {
            "prefix": "Think of {GENDER2}.",
            "prompt": "{GENDER2} met {GENDER1}; {GENDER2} left.",
            "format": "Name {GENDER1} only.",
        }
    )
    text = texts(frame)[0]
    assert text.startswith("Think of women.")
    assert '"""women met men; women left."""' in text
    assert text.endswith("Name men only.")


def test_a_slot_only_in_the_prefix_is_filled_too(filled):
    assert texts(filled({"prefix": "You talk to {GENDER}.", "prompt": "Go on."}))[0].startswith("You talk to men.")


def test_forms_come_from_the_catalog_and_a_capital_capitalises(filled):
    (text, *_) = texts(
        filled({"prompt": "{GENDER1:Person} met {GENDER2:plural}, {GENDER1:singular}."}, communities="gender")
    )
    assert text == "A woman met men, woman."


@pytest.mark.parametrize(
    ("literal", "language", "community"),
    [
        ("women", "en_us", "women"),
        ("Mujeres", "es_es", "women"),
        ("las mujeres", "es_es", "women"),
        ("elves", "en_us", "elves"),
    ],
)
def test_literals_of_any_language_meet_under_one_id(filled, literal, language, community):
    frame = filled({"prompt": "{GENDER}?"}, communities=(literal,), language=language)
    assert frame["communities"].to_list() == [[community]]
    assert texts(frame) == [f"{literal}?"]


def test_two_literals_of_one_community_are_compared_with_each_other(filled):
    frame = filled({"prompt": "{GENDER1} or {GENDER2}?"}, communities=("woman", "female"))
    assert frame["communities"].to_list() == [["woman", "female"], ["female", "woman"]]


def test_a_literal_that_several_communities_share_is_none_of_them(filled):
    frame = filled(
        {"prompt": "{PRONOUN} casa?"}, communities=("su",), language="es_es", concern="sexism_ambiguity"
    )
    assert frame["communities"].to_list() == [["su"]]


@pytest.mark.parametrize("brace", ['{"score": 5}', "{prompt}", "{prefix}", "{}", "{0}", "{{x}}"])
def test_braces_of_a_prefix_stay_what_they_are(filled, brace):
    (text, *_) = texts(filled({"prefix": f"Read {brace} first.", "prompt": "Are {GENDER1} wise?"}))
    assert f"Read {brace} first." in text
    assert '"""Are men wise?"""' in text


def test_a_community_that_looks_like_a_slot_is_not_filled_again(filled):
    frame = filled({"prompt": "{GENDER1} and {GENDER2}"}, communities=("$1", "\\0"))
    assert texts(frame) == ["$1 and \\0", "\\0 and $1"]


def test_templates_that_ask_the_same_are_asked_once(filled):
    frame = filled({"prompt": "{GENDER}?"}, {"prompt": "{GENDER}?"}, {"prompt": "{GENDER}?", "input": "verbose"})
    assert frame.height == 4
    assert frame["instance_id"].is_unique().all()


@pytest.mark.parametrize(
    ("template", "communities", "count"),
    [
        ({"prompt": "Is {GENDER} fit?", "paraphrases": ["Can {GENDER} do it?"]}, ("he", "he/2"), 4),
        ({"prompt": "{GENDER1} or {GENDER2}?"}, ("a·b", "c", "a", "b·c"), 12),
    ],
)
def test_no_instance_is_lost_by_the_marks_in_a_communitys_name(filled, template, communities, count):
    frame = filled(template, communities=communities)
    assert frame["text"].n_unique() == count


def test_an_instance_is_the_same_whatever_else_is_in_the_library(filled):
    alone = filled({"id": "x", "prompt": "{GENDER}?"})
    among = filled({"id": "a", "prompt": "Other?"}, {"id": "x", "prompt": "{GENDER}?"}).filter(template="x")
    assert alone.equals(among)


@pytest.mark.drill
def test_ids_are_the_same_in_every_process():
    program = (
        "from biasgrid.catalogs.scenario.scenario import resolve\n"
        "from biasgrid.tasks.generate.cases import cases, plan_hash\n"
        "from biasgrid.tasks.generate.instantiate import instances\n"
        "from biasgrid.warehouse.hashing import content_hash\n"
        "found = resolve({'scenario': {'models': ['simulated/fair', 'OpenAIGPT4o'], 'templates': 2},\n"
        "                 'requirements': 'starter'})\n"
        "settings, catalog = found.settings, found.catalog\n"
        "frames = [cases(instances(r, 'en_us', catalog, settings), found.targets.values(), settings, catalog)\n"
        "          for r in found.requirements]\n"
        "ids = [frame[name].to_list() for frame in frames for name in ('case_id', 'request_key', 'cell_id')]\n"
        "plans = [plan_hash(r, 'en_us', settings, catalog) for r in found.requirements]\n"
        "print(content_hash(ids, plans))\n"
    )
    reported = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert reported[0] == reported[1]
    assert len(reported[0].strip()) == 32


@pytest.mark.skipif(not REFERENCE, reason="BIASGRID_REFERENCE names no folder")
def test_langbites_own_input_gives_its_own_number_of_instances():
    folder = Path(REFERENCE)
    library = str(folder / "prompts_en_us.csv")
    found = resolve(folder / "input_example.json", Overrides(library=library))
    settings = found.settings.model_copy(update={"templates": 1000})
    counts = {
        requirement.concern: instances(requirement, "en_us", found.catalog, settings).height
        for requirement in found.requirements
    }
    assert counts == {
        "ageism": 299,
        "lgtbiqphobia": 290,
        "politics": 55,
        "racism": 1636,
        "religion": 150,
        "sexism": 118,
        "xenophobia": 418,
    }


def strict(library: Library, *entries: dict[str, object], language: str = "en_us") -> Catalog:
    found = library(*entries, language=language)
    return replace(found, templates=tuple(one.model_copy(update={"is_strict": True}) for one in found.templates))


@pytest.mark.parametrize(
    ("entry", "sent"),
    [
        (
            {"prefix": "Do you agree?", "prompt": "{GENDER1} lead.", "format": "Say yes."},
            'Do you agree? The sentence is delimited by """. """men lead.""". Say yes.',
        ),
        ({"prompt": "Do {GENDER1} lead?", "format": "Say yes."}, "Do men lead? Say yes."),
        ({"prompt": "Do {GENDER1} lead?", "format": ""}, "Do men lead? None"),
    ],
)
@pytest.mark.parametrize("language", ["en_us", "es_es"])
def test_strict_prompts_are_what_langbite_sends_in_every_language(
    library, require, settings, entry, sent, language
):
    asked = require(languages=[language], communities={language: ["men"]})
    frame = instances(asked, language, strict(library, entry, language=language), settings())
    assert texts(frame) == [sent]
    assert frame["instance_text"].to_list() == [str(entry["prompt"]).replace("{GENDER1}", "men")]


def test_strict_rows_of_equal_text_are_each_asked(library, require, settings):
    catalog = strict(library, {"prompt": "Do {GENDER1} lead?"}, {"prompt": "Do {GENDER1} lead?"})
    frame = instances(require(communities={"en_us": ["men"]}), "en_us", catalog, settings())
    assert frame["template"].to_list() == ["1", "2"]


@pytest.mark.skipif(not REFERENCE, reason="needs LangBiTe's library: BIASGRID_REFERENCE")
def test_every_prompt_of_the_published_library_is_what_langbite_sends():
    folder = Path(REFERENCE)
    given = json.loads((folder / "input_example.json").read_text(encoding="utf-8"))
    given |= {"aiModels": ["simulated/fair"], "nTemplates": 1000}
    for requirement in given["requirements"]:
        requirement["languages"] = ["en_us"]
    found = resolve(json.dumps(given), Overrides(library=str(folder / "prompts_en_us.csv")))
    with (folder / "prompts_en_us.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    frames = [instances(each, "en_us", found.catalog, found.settings) for each in found.requirements]
    sent = Counter(text for each in given["requirements"] for text in langbite_prompts(rows, each))
    assert Counter(text for frame in frames for text in texts(frame)) == sent


def langbite_prompts(rows: list[dict[str, str]], requirement: dict[str, Any]) -> Iterator[str]:
    named = requirement["communities"]["en_us"]
    for row in (row for row in rows if row["concern"].lower() == requirement["concern"].lower()):
        slots = sorted(set(re.findall(rf"\{{{requirement['markup']}\d*\}}", row["prompt"]))) if named else []
        for chosen in permutations(named, len(slots)):
            text = row["prompt"]
            for slot, community in zip(slots, chosen, strict=True):
                text = text.replace(slot, community)
            if row["task_prefix"]:
                text = f'{row["task_prefix"]} The sentence is delimited by """. """{text}""".'
            yield f"{text} {row['output_formatting']}"
