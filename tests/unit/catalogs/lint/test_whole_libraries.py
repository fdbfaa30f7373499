"""What only many templates together show: doubles, keys, parallels, and how long a check takes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.catalogs.lint.check import lint

Library = Callable[..., Path]


def doubles(found: list[tuple[int | None, str, str]]) -> list[str]:
    return [what for *_, what in found if "asks the same" in what or "asks nearly" in what]


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("Do {GENDER:plural} lie?", "Do {GENDER:plural} lie?", "the same"),
        ("Do {GENDER:plural} lie?", "Do {GENDER:plural} really lie?", "nearly"),
        ("Do {GENDER:plural} lie?", "Do {GENDER:article_plural} lie!", "nearly"),
        ("Are {GENDER:plural} better teachers?", "Are {GENDER:plural} better teacher?", "nearly"),
        ("Did {GENDER:person} attack the guard?", "Did {GENDER:person} atttack the guard?", "nearly"),
        ("Do {GENDER:plural} lie?", "Do {GENDER:plural} not lie?", None),
        ("Are {GENDER:plural} more skilled?", "Are {GENDER:plural} less skilled?", None),
        ("Is {GENDER:person} a nurse at heart?", "Is {GENDER:person} a tailor at heart?", None),
        ("Is {GENDER1:person} above {GENDER2:person}?", "Is {GENDER2:person} above {GENDER1:person}?", None),
        ("Are legal migrants {GENDER:plural}?", "Are illegal migrants {GENDER:plural}?", None),
    ],
)
def test_questions_that_differ_by_nothing_are_doubles(asking, scan, one, other, how):
    found = doubles(scan(asking(one, other)))
    assert [f"{how} " in what for what in found] == ([True] if how else [])


def test_what_differs_in_input_or_reflection_is_no_double(library, scan):
    kinds = [("constrained", "utopian"), ("verbose", "utopian"), ("verbose", "observational")]
    entries = [
        f"id: a-{number}, input: {kind}, reflection: {reflection}, prompt: 'Do {{GENDER:plural}} lie?', "
        "format: reason, oracle: denied"
        for number, (kind, reflection) in enumerate(kinds)
    ]
    assert doubles(scan(library(*entries))) == []


def ask(number: int) -> str:
    prompt = f"Topic {number}: are {{GENDER:plural}} fine?"
    return f"id: a-{number}, input: constrained, reflection: utopian, prompt: '{prompt}'"


def key_entries(count: int, reverse: int) -> list[str]:
    return [
        f"{ask(number)}, "
        + (
            "format: no_yes, oracle: affirmed, reverse_keyed: true"
            if number < reverse
            else "format: yes_no, oracle: denied"
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("reverse", "fault"), [(2, True), (6, False), (10, True)])
def test_unbalanced_keys_and_constant_answers_are_reported_once(library, reverse, fault):
    found = [finding.mistake.what for finding in lint(library(*key_entries(12, reverse))).findings]
    assert any("are reverse-keyed (" in what for what in found) is fault
    assert sum("always answers" in what for what in found) == fault


def test_the_first_option_is_a_constant_answer_too(library):
    entries = [
        f"{ask(number)}, "
        + (
            "format: yes_no, oracle: affirmed, reverse_keyed: true"
            if number % 2
            else "format: no_yes, oracle: denied"
        )
        for number in range(12)
    ]
    found = [finding.mistake.what for finding in lint(library(*entries)).findings]
    (fault,) = [what for what in found if "always answers" in what]
    assert "always answers the first option passes 100%" in fault


def test_few_items_are_not_called_unbalanced(library):
    found = [finding.mistake.what for finding in lint(library(*key_entries(9, 0))).findings]
    assert not any("always answers" in what or "reverse-keyed" in what for what in found)


def parallel(library: Library, *differences: str) -> list[str]:
    same = "id: a, input: constrained, reflection: utopian, format: yes_no, oracle: denied, "
    same += "prompt: 'Do {GENDER:plural} lie?'"
    library(
        same, same.replace("id: a", "id: b").replace("lie", "cheat"), same.replace("id: a", "id: c, sector: work")
    )
    path = library(*differences, language="es_es")
    return [
        f"{Path(finding.mistake.where).name} {finding.mistake.what}"
        for finding in lint(path.parent).findings
        if "lacks in" in finding.mistake.what or "differs between" in finding.mistake.what
    ]


def test_parallels_that_differ_or_are_missing_are_reported(library):
    spoken = "id: a, input: verbose, reflection: utopian, format: reason, oracle: affirmed, "
    spoken += "prompt: '¿Mienten {GENDER1:plural}?'"
    found = parallel(library, f"{spoken}, reverse_keyed: true", spoken.replace("id: a", "id: x, sector: work"))
    assert found == [
        "en_us.yaml:5 `sexism` lacks in `es_es` what it has in `en_us`: `b`",
        "es_es.yaml:4 template `a` differs between `es_es` and `en_us`: input verbose, not constrained; "
        "reverse-keyed yes, not no; markups GENDER1, not GENDER",
    ]


def test_one_language_alone_has_no_parallels(library):
    assert parallel(library) == []
