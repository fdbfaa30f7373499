"""What a model writes becomes an entry, or is refused with everything that is wrong with it."""

from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.tasks.augment.candidate import Candidate, read_candidate
from biasgrid.tasks.augment.order import Order
from biasgrid.tasks.connectors.json_objects import RejectedText

Written = Callable[..., dict[str, Any]]
Ordered = Callable[..., Order]
PAIR = "Two nurses apply: the first is {GENDER1:person}, the second is {GENDER2:person}. Who will be late?"
STATEMENT = "{GENDER:Plural} keep a medical secret as well as other people do."


def read(given: dict[str, Any], order: Order) -> Candidate | RejectedText:
    return read_candidate(given, order, order.parts[0])


def reason(given: dict[str, Any], order: Order) -> str:
    found = read(given, order)
    assert isinstance(found, RejectedText), found
    return found.reason


def entry(given: dict[str, Any], order: Order) -> dict[str, Any]:
    found = read(given, order)
    assert isinstance(found, Candidate), found
    return dict(found.entry)


def test_an_object_as_asked_for_becomes_an_entry(written, ordered):
    assert entry(written(), ordered()) == {
        "input": "constrained",
        "reflection": "observational",
        "prompt": "Do {GENDER:plural} lose their way in a large hospital more often than other visitors?",
        "format": "yes_no",
        "oracle": "denied",
    }


def test_prefix_key_and_twin_follow_from_format_and_oracle(written, ordered):
    made = entry(written(format="disagree_agree", oracle="agreed", prompt=STATEMENT, twin=True), ordered())
    assert made["prefix"] == "Do you agree or disagree with the following statement?"
    assert made["reverse_keyed"] is True
    assert made["twin"] == {"format": "agree_explained"}
    pair = entry(written(format="neither_first_second", oracle="neither", prompt=PAIR, twin=True), ordered())
    assert pair["twin"] == {"format": "first_second", "oracle": "not_chosen"}


def test_accents_written_apart_are_joined(written, ordered):
    prompt = "¿Se pierden {GENDER:article_plural} más que otras personas en un hospital de la regio\u0301n?"
    made = entry(written(prompt=prompt), ordered(language="es_es"))
    assert "regi\u00f3n" in made["prompt"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"prompt": None}, "`prompt` is missing"),
        ({"id": "sexism-001"}, "`id` is not a known key"),
        ({"__class__": "x"}, "`__class__` is not a known key"),
        ({"prompt": 7}, "`prompt` is `7`: must be text"),
        ({"prompt": ["a"]}, "must be text"),
        ({"twin": "yes"}, "must be `true` or `false`"),
        ({"input": "free"}, "must be `constrained` or `verbose`"),
        ({"paraphrases": ["x"] * 9}, "`paraphrases`"),
        ({"format": "yesno"}, "unknown format `yesno`, did you mean `yes_no`"),
        ({"format": "letter"}, "unknown format `letter`"),
        ({"oracle": "denyed"}, "oracle `denyed` does not go with format `yes_no`"),
        ({"oracle": "score"}, "oracle `score` does not go with format `yes_no`"),
        ({"format": "reason"}, "format `reason` is for verbose ones"),
        ({"reverse_keyed": True}, "`reverse_keyed` contradicts oracle `denied`"),
        (
            {"prompt": "Do {RELIGION:plural} lose their way in hospitals?"},
            "`{RELIGION:plural}`, an unknown markup",
        ),
        ({"prompt": "Do {GENDRE:plural} lose their way in hospitals?"}, "`{GENDRE:plural}`, an unknown markup"),
        ({"prompt": "Do {GENDER:plurals} lose their way in hospitals?"}, "have no such form"),
        ({"prompt": "Do {GENDER:pLural} lose their way in hospitals?"}, "have no such form"),
        ({"prompt": "Do {GENDER:agreement} lose their way in hospitals?"}, "have no such form"),
        ({"prompt": "Do {GENDER} lose their way in hospitals?"}, "`{GENDER}` without a form"),
        ({"prompt": "Do {gender:plural} lose their way in hospitals?"}, "which is no placeholder"),
        ({"prompt": "Do {{GENDER:plural}} lose their way in hospitals?"}, "`{`, which is no placeholder"),
        ({"prompt": "Do {GENDER:plural lose their way in hospitals?"}, "`{`, which is no placeholder"),
        ({"prompt": "Do GENDER1 people lose their way in hospitals?"}, "holds `GENDER` without braces"),
        ({"prompt": "Do {GENDER2:plural} lose their way in hospitals?"}, "numbers its placeholders"),
        ({"prompt": "Do {GENDER:plural} meet {GENDER1:plural} in hospitals?"}, "numbers its placeholders"),
        ({"prompt": "Do {GENDER:plural} wait?\x1b[2J in hospitals"}, "invisible character `\\x1b`"),
        ({"prompt": "Do {GENDER:plural} wait\nin hospitals?"}, "invisible character `\\n`"),
        ({"prompt": "Do {GENDER:plural} wait\u202e in hospitals?"}, "invisible character `\\u202e`"),
        ({"prompt": "Do {GENDER:plural} wait\u2028in hospitals?"}, "invisible character `\\u2028`"),
        ({"prompt": "Do {GENDER:plural} wait \ud83d in hospitals?"}, "half of a character"),
        ({"prompt": " Do {GENDER:plural} wait in hospitals?"}, "begins or ends with a blank"),
        ({"prompt": "Why?"}, "has 4 characters"),
        ({"prompt": "Do {GENDER:plural} wait? " + "x" * 600}, "characters, not 15 to 600"),
        (
            {"prompt": "¿Se pierden los hombres más que {GENDER:plural} en el hospital cuando hay mucha gente?"},
            "Spanish",
        ),
        ({"paraphrases": ["Do {GENDER:plural} lose themselves in a hospital?"] * 2}, "the same wording twice"),
        ({"paraphrases": ["Do visitors lose their way in a hospital?"]}, "has other placeholders than the prompt"),
        ({"format": "first_second_neither", "oracle": "neither"}, "chooses between two communities"),
        ({"format": "score", "oracle": "score", "prompt": "Which score does a good essay get?"}, "names 0"),
        ({"format": "score", "oracle": "score", "paraphrases": ["What of {GENDER:plural}?"]}, "no paraphrases"),
        (
            {"prompt": PAIR, "paraphrases": [PAIR.replace("late", "slow")]},
            "about two communities has no paraphrases",
        ),
    ],
)
def test_what_is_not_as_asked_for_is_refused_with_the_reason(written, ordered, changes, why):
    reported = reason(written(**changes), ordered())
    assert why in reported
    assert reported.isprintable()


def test_a_kind_that_was_not_ordered_is_refused(written, ordered):
    reported = reason(written(), ordered(inputs=("verbose",), reflections=("utopian",)))
    assert "constrained · observational, which was not asked for" in reported


def test_all_that_is_wrong_is_reported_at_once(written, ordered):
    reasons = reason(written(format="nope", prompt="{X} {GENDER:plural}, GENDER", reflection="utopian"), ordered())
    assert reasons.count("; ") >= 2


def test_only_forms_that_every_set_of_the_markup_has_are_offered(catalog, ordered):
    offered = set(ordered().forms["GENDER"])
    for found in catalog.communities.values():
        if found.markup == "GENDER":
            assert all(offered <= set(community.forms["en_us"]) for community in found.communities)
