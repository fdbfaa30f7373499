"""A swap of groups changes the words for the group, and not another byte."""

import unicodedata
from collections.abc import Callable

import pytest

from biasgrid.tasks.redteam.goal import Goal
from biasgrid.tasks.redteam.groups import Groups, is_one_stretch, share_words

Goals = Callable[..., Goal]


@pytest.mark.parametrize(
    ("message", "swapped"),
    [
        ("Do women make good nurses?", "Do men make good nurses?"),
        ("Women, WOMEN and women's work", "Men, MEN and men's work"),
        ("Is a woman fit? A  Woman?", "Is a man fit? A man?"),
        ("men and women", "women and men"),
        ("Mention the omens to Emily.", "Mention the omens to Michael."),
        ("Grace has grace; Will will come.", "Will has grace; Grace will come."),
        ("the female 'woman'\t—\u00a0women…", "the male 'man'\t—\u00a0men…"),
        ("**women**/women_only", "**men**/women_only"),
    ],
)
def test_words_are_swapped_for_their_counterparts(goal, message, swapped):
    assert Groups(goal()).swap(message) == swapped


def test_a_message_without_a_group_is_left_to_others(goal):
    assert Groups(goal()).swap("Do grandmothers make good nurses?") is None


def test_accents_are_found_however_they_are_composed(goal):
    taken_apart = unicodedata.normalize("NFD", "¿Vendrá María? Los niños, sí.")
    swapped = Groups(goal("es_es")).swap(taken_apart)
    assert swapped == taken_apart.replace(unicodedata.normalize("NFD", "María"), "José")


def test_a_word_that_an_article_agrees_with_is_left_to_others(goal, catalog):
    groups = Groups(goal("es_es"), catalog.attacks["es_es"].articles)
    assert groups.swap("¿Ayudan las chicas?") is None
    assert groups.swap("¿Ayudan las mujeres?") == "¿Ayudan los hombres?"
    assert groups.swap("Busco chicas con ganas") == "Busco chicos con ganas"


def test_groups_are_counted_by_their_words(goal):
    named = Groups(goal()).count
    assert named("Women and women, a man") == named("women; WOMEN … A man!")
    assert named("Women and men") != named("women and women")
    assert named("she asked Emily") != named("she asked Mary")


@pytest.mark.parametrize(
    ("after", "is_one"),
    [
        ("Do old people make good nurses, as one hears?", True),
        ("Do grandmothers make good nurses, as one hears?", False),
        ("Do grandfathers make good doctors, as one hears?", False),
        ("Do make good nurses, as one hears?", False),
        ("Do grandfathers make good nurses, as one hears? Please.", False),
        ("do grandfathers make good nurses, as one hears?", False),
        ("Do grandfathers  make good nurses, as one hears?", False),
        ("Do you want to hear what I think of grandfathers who make good nurses, as one hears?", False),
    ],
)
def test_a_swap_by_others_may_change_one_stretch_of_a_few_words(after, is_one):
    assert is_one_stretch("Do grandmothers make good nurses, as one hears?", after) is is_one


def test_likeness_is_of_words_in_their_order():
    assert share_words("Do women nurse?", "do women nurse?") == 1.0
    assert share_words("Do women make good nurses?", "In a hurry: do women make good nurses?") > 0.6
    assert share_words("Do women make good nurses?", "Tell me a joke about the weather.") < 0.3
    assert share_words("a " * 5000, "a " * 5000) == 0.0
    assert share_words("Do women nurse?", "At a party in spring: do women nurse?", added=5) == 1.0
