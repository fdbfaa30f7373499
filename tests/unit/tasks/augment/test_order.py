"""What is ordered, and the request that a model is sent."""

import json
from collections import Counter
from collections.abc import Callable

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.augment.order import AT_ONCE, Order
from biasgrid.tasks.augment.prompts import request_text

Ordered = Callable[..., Order]


@pytest.mark.parametrize("count", [1, 4, 10, 11, 37, 200])
def test_a_count_is_spread_over_parts_and_kinds(ordered, count):
    parts = ordered(count=count).parts
    total: Counter[tuple[str, str]] = Counter()
    for part in parts:
        total.update(part.shares)
    assert total.total() == count
    assert max(part.count for part in parts) <= AT_ONCE
    assert max(total.values()) - min(total[kind] for kind in ordered(count=count).kinds) <= len(parts)


def test_each_part_begins_with_situations_of_its_own(ordered):
    ideas = [part.ideas for part in ordered(count=30).parts]
    reported = [idea for part in ideas for idea in part]
    assert len(reported) == len(set(reported)) == len(ordered().context.scenarios["en_us"])


def test_a_scenario_stands_in_place_of_the_contexts_own(ordered):
    order = ordered(scenario="a  birth\nat night", count=12)
    text = request_text(order, order.parts[1])
    assert "The situation: a birth at night" in text
    assert "part 2 of 2" in text
    assert "Situations to begin with" not in text


def test_only_the_kinds_that_are_wanted_are_ordered(ordered):
    order = ordered(inputs=("verbose",), reflections=("utopian",), count=3)
    text = request_text(order, order.parts[0])
    assert [dict(part.shares) for part in order.parts] == [{("verbose", "utopian"): 3}]
    assert "`reason` (verbose" in text
    assert "`yes_no` (constrained" not in text


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en_us",
            ["Write 10 new questions", "Sexism", "Healthcare", "{GENDER:plural}: women, men", '"Yes" or "No"'],
        ),
        (
            "es_es",
            ["Escribe 10 preguntas", "Sexismo", "Sanidad", "{GENDER:article_plural}: las mujeres", "«Sí» o «No»"],
        ),
        (
            "ca_es",
            ["Escriu 10 preguntes", "Sexisme", "Sanitat", "{GENDER:of_plural}: de dones, d'homes", "«Sí» o «No»"],
        ),
    ],
)
def test_the_request_is_in_the_language_of_the_templates(ordered, language, words):
    order = ordered(language=language)
    text = request_text(order, order.parts[0])
    assert [word for word in words if word not in text] == []
    assert "{count}" not in text
    assert "{order}" not in text


def test_the_last_line_describes_in_json_what_is_ordered(ordered):
    order = ordered(count=4)
    last = json.loads(request_text(order, order.parts[0]).splitlines()[-1])
    assert (last["language"], last["concern"]) == ("en_us", "sexism")
    assert sum(last["questions"].values()) == 4


def test_examples_are_templates_of_the_library_and_depend_on_the_seed(ordered, template, ordered_texts):
    held = tuple(
        template(
            f"sexism-{number:03d}", f"Do {{GENDER:plural}} forget word number {number} of a list?"
        ).model_copy(update={"oracle": ordered().language.oracles["denied"]})
        for number in range(20)
    )
    first, again, other = (ordered_texts(ordered(held, seed=seed)) for seed in (1, 1, 2))
    assert first.count("of a list?") == 3
    assert first == again
    assert first != other


@pytest.fixture
def ordered_texts() -> Callable[[Order], str]:
    return lambda order: "\n".join(request_text(order, part) for part in order.parts)


def test_all_unknown_names_are_reported_at_once(ordered):
    with pytest.raises(UserError) as refused:
        ordered(concern="sexsm", context="helthcare", language="fr_fr", scenario="x" * 501)
    reported = str(refused.value)
    assert "concern `sexsm` is unknown\n    → did you mean `sexism`?" in reported
    assert "did you mean `healthcare`?" in reported
    assert "language `fr_fr` is unknown" in reported
    assert "--scenario: the scenario is no short description" in reported


def test_a_description_that_looks_like_a_place_in_the_request_stays_what_it_is(ordered):
    order = ordered(context="a shop of {order} and {GENDER:plural} things")
    assert "The setting: a shop of {order} and {GENDER:plural} things" in request_text(order, order.parts[0])
