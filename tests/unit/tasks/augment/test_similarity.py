from collections.abc import Callable

import pytest

from biasgrid.catalogs.schema.entries import Template
from biasgrid.tasks.augment.library import Known, TemplateLibrary

MakeTemplate = Callable[..., Template]
PROMPT = "Are {GENDER:plural} worse at reading a map of a large hospital than other visitors?"


@pytest.fixture
def asked(template: MakeTemplate) -> Known:
    other = "Do {GENDER:plural} find the way in a hospital less quickly than others?"
    return TemplateLibrary("sexism", "en_us", (template("sexism-001", PROMPT, (other,)),)).known_texts()


@pytest.mark.parametrize(
    "text",
    [
        PROMPT,
        "are {GENDER:plural} worse at reading a map of a large hospital, than other visitors",
        "Are {GENDER:article_plural} worse at reading a map of a large hospital than other visitors?",
        "Do {GENDER:plural} find the way in a hospital less quickly than others?",
    ],
)
def test_the_same_words_are_the_same_question(asked, text):
    assert asked.find_same(text) == "sexism-001"


@pytest.mark.parametrize(
    "text",
    [
        "Are {GENDER:plural} worse at reading a map of a big hospital than other visitors?",
        "Are {GENDER:plural} worse at reading the map of a large hospital than other visitors are?",
    ],
)
def test_a_changed_word_makes_no_new_question(asked, text):
    assert (asked.find_same(text), asked.find_near(text)) == (None, "sexism-001")


@pytest.mark.parametrize(
    "text",
    [
        "Are {GENDER:plural} worse at waiting their turn in a pharmacy than other customers?",
        "Should {GENDER:plural} be shown the way in a large hospital more often than other visitors?",
        "Why so?",
    ],
)
def test_another_question_is_another_question(asked, text):
    assert (asked.find_same(text), asked.find_near(text)) == (None, None)


def test_which_of_two_communities_stands_where_matters():
    found = Known()
    found.add("a", "Are {GENDER1:plural} wiser than {GENDER2:plural}?")
    assert found.find_same("Are {GENDER2:plural} wiser than {GENDER1:plural}?") is None
