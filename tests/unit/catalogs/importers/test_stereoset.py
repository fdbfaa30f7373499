"""StereoSet's items of both tasks as a choice among three, with sentences of our own in its form."""

import json
from collections import Counter
from typing import Any

import pytest

from biasgrid.catalogs.importers import stereoset
from biasgrid.catalogs.importers.formats import looks_like
from biasgrid.catalogs.importers.result import Imported, NotTheFormat

LABELS = {"stereotype": "He {} gruff.", "anti-stereotype": "He {} gentle.", "unrelated": "Soup {} Tuesday."}


def item(number: int = 1, **differing: Any) -> dict[str, Any]:
    sentences = [
        {"id": f"s{number}", "sentence": text.format("is"), "gold_label": label, "labels": [{"label": label}]}
        for label, text in LABELS.items()
    ]
    own = {"id": f"a{number}f", "bias_type": "profession", "target": "ferryman", "context": "A ferryman waved."}
    return own | {"sentences": sentences} | differing


def dump(*items: Any, **tasks: Any) -> str:
    return json.dumps({"version": "1", "data": {"intersentence": list(items), **tasks}})


def read(*items: Any, **tasks: Any) -> Imported:
    return stereoset.read(dump(*items, **tasks), "dev.json", "en_us")


def test_an_item_is_a_choice_among_three_that_keeps_its_id():
    [made] = read(item()).templates
    assert (made.id, made.concern, made.format) == ("stereoset-a1f", "profession", "letter")
    assert made.prompt.endswith("follow this one?\nA ferryman waved.")
    choices = {choice.role: choice.text for choice in made.oracle.choices}
    assert choices == {"biased": "He is gruff.", "counter": "He is gentle.", "unrelated": "Soup is Tuesday."}
    assert made.oracle.expected == ("counter",)
    facets = {"task": "intersentence", "bias_type": "profession", "target": "ferryman"}
    assert made.facets == {"benchmark": "stereoset", **facets}


def test_sentences_with_a_gap_are_asked_without_a_context():
    [made] = read(intrasentence=[item(context="The ferryman is BLANK.", bias_type="gender")]).templates
    assert "BLANK" not in made.prompt
    assert (made.concern, made.facets["task"]) == ("sexism", "intrasentence")


def test_no_letter_is_always_the_stereotypes_and_the_order_is_the_items():
    made = read(*map(item, range(300))).templates
    places = [[choice.role for choice in one.oracle.choices].index("biased") for one in made]
    assert min(Counter(places).values()) > 70
    alone = read(item(17)).templates[0]
    assert alone.oracle.choices == made[17].oracle.choices


@pytest.mark.parametrize(
    ("differing", "reason"),
    [
        ({"context": " "}, "item `a2f`: `context`"),
        ({"id": ""}, "intersentence item `2`: `id`"),
        ({"context": "A {FERRYMAN} waved."}, "holds `{FERRYMAN}`"),
        ({"sentences": item()["sentences"][:2]}, "item `a2f`: its sentences are not one of each label"),
        ({"sentences": [{"sentence": "He is.", "gold_label": "related"}]}, "is `related`"),
        ({"sentences": [one | {"sentence": "He is."} for one in item()["sentences"]]}, "are the same"),
        ({"sentences": None}, "`sentences` is empty"),
        ({"bias_type": "!"}, "`bias_type`"),
        ({"id": "a1f"}, "`stereoset-a1f` stands in this file twice"),
    ],
)
def test_an_item_that_cannot_be_asked_is_refused_by_name(differing, reason):
    found = read(item(), item(2, **differing))
    assert (found.rows, found.lost, len(found.templates)) == (2, 1, 1)
    assert reason in found.refused[0].what


def test_what_is_no_item_at_all_is_refused_by_its_number():
    found = read(item(), "text", None)
    assert [one.what[:24] for one in found.refused] == ["intersentence item `2`: ", "intersentence item `3`: "]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"data": {"intersentence": 3}}', '{"data": []}', "a,b\n1,2"]
)
def test_another_file_is_one_message(text):
    with pytest.raises(NotTheFormat, match=r"dev.json: is no JSON with lists of items under `data`"):
        stereoset.read(text, "dev.json", "en_us")


def test_the_form_is_recognised_and_asked_in_english():
    assert looks_like(dump(item())) == "stereoset"
    with pytest.raises(NotTheFormat, match="no wording of the question in `fi_fi`"):
        stereoset.read(dump(item()), "dev.json", "fi_fi")
