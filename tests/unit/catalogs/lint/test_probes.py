"""What the check reports of a probe's groups, stereotypes and questions, in an overlay of the shipped catalog.
Oracles that do not fit their instruction, and expected values that no reply can match.
"""

from itertools import product

import pytest

from biasgrid.catalogs.lint.rules.probe_rules import PROBE_RULES
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.schema.probes import every_pair

TWENTY = [f"{first}{last}" for first, last in product("BDFGK", ("ano", "eri", "ulo", "ima"))]
OTHERS = [f"{first}{last}" for first, last in product("LMPRS", ("ota", "eni", "uba", "ica"))]
AXIS = """\
id: handedness
concern: {concern}
groups:
  - id: right_handed
    source: given by us
    words:
      en_us: {{plural: right-handers, singular: a right-hander, names: [{right}]}}
      es_es: {{plural: los diestros, singular: un diestro, names: [{right}]}}
  - id: left_handed
    source: given by us
    words:
      en_us: {{plural: left-handers, singular: a left-hander, names: [{left}]}}
      es_es: {{plural: los zurdos, singular: un zurdo, names: [{left}]}}
pairs:
  - id: skill-clumsiness
    favoured: right_handed
    stigmatised: left_handed
    kind: {kind}
    source: given by us
    attributes:
      en_us: [{attributes}]
{more}"""
SPANISH = "      es_es: [destreza, torpeza]\n"


def wording(language: str = "en_us", **changed: str) -> str:
    texts = {
        "implicit": "{people}: {first} or {second}?",
        "statement": "{favoured} {stigmatised} {positive} {negative}",
        "agreement": "{statement} {scale}",
        "decision": "{first} {second} {positive} {negative}",
        "counterfactual": '{person}: {"score": n}',
    } | changed
    fault = {name: f"'{text}'" for name, text in texts.items()}
    return (
        f"id: {language}\nimplicit:\n  trait: [{fault['implicit']}]\nstatements:\n"
        + "".join(f"  {kind}: [{fault['statement']}]\n" for kind in ("stereotype", "anti", "reversed"))
        + f"agreement: {fault['agreement']}\nscale: [a, b, c, d, e]\n"
        f"decisions:\n  - {{id: x, positive: p, negative: n, prompt: {fault['decision']}}}\n"
        f"counterfactuals:\n  - {{id: y, prompt: {fault['counterfactual']}}}\n"
    )


@pytest.fixture
def overlaid(find_in_overlay):
    def find(axis: str = "", questions: str = "") -> list[str]:
        texts = {"probes": axis, "probing": questions}
        return find_in_overlay(PROBE_RULES, **{folder: text for folder, text in texts.items() if text})

    return find


def axis(
    concern: str = "ableism",
    right: list[str] = TWENTY,
    left: list[str] = OTHERS,
    kind: str = "trait",
    attributes: str = "skill, clumsiness",
    more: str = SPANISH,
) -> str:
    names = {"right": ", ".join(right), "left": ", ".join(left)}
    return AXIS.format(concern=concern, kind=kind, attributes=attributes, more=more, **names)


def test_an_axis_of_ones_own_that_can_be_asked_has_no_findings(overlaid):
    assert overlaid(axis(), wording()) == []


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        (axis(concern="abelism"), 2, "error: axis `handedness`: concern `abelism` is unknown"),
        (axis(left=OTHERS[:19]), 13, "warning: group `left_handed` has 19 names in `es_es`, fewer than 20"),
        (
            axis(left=[*OTHERS, "Báno"]),
            12,
            "error: name `Báno` of group `left_handed` is one of group `right_handed`, too in `en_us`",
        ),
        (axis(right=[*TWENTY, "Lota Ana"]), 12, "error: name `Lota` of group `left_handed` and `lota ana`"),
        (axis(more=""), 20, "warning: pair `skill-clumsiness` has no attributes in `es_es`"),
        (
            axis(more=f"{SPANISH}      ca_es: [traça, malaptesa]\n"),
            23,
            "warning: pair `skill-clumsiness` has attr",
        ),
        (
            axis(attributes="skill, lack of skill"),
            21,
            "error: pair `skill-clumsiness`: of `skill` and `lack of skill`",
        ),
        (
            axis(attributes="skill, Bano effect"),
            21,
            "error: pair `skill-clumsiness`: attribute `Bano effect` holds",
        ),
        (
            axis(more=f"{SPANISH}      pt_pt: [jeito, azar]\n"),
            23,
            "error: pair `skill-clumsiness` cannot be asked",
        ),
    ],
)
def test_what_makes_a_probe_unreadable_is_found_with_its_line(overlaid, text, line, fault):
    found = overlaid(text)
    assert [each for each in found if f"probes/ours.yaml:{line}: {fault}" in each], found


def test_a_kind_of_attribute_that_no_question_asks_for_is_found(overlaid):
    fault = "ours.yaml:18: error: pair `skill-clumsiness` is of kind `place`, for which probing/en_us.yaml has no"
    assert any(fault in found for found in overlaid(axis(kind="place"), wording()))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"implicit": "{people}: {first}?"},
            "ours.yaml:3: error: `en_us`, implicit trait: no place for `{second}`",
        ),
        ({"implicit": "{people}: {first}, {secnd}?"}, "unknown place `{secnd}`\n    → did you mean `second`?"),
        ({"statement": "{favoured} {positive} {negative}"}, "statements anti: no place for `{stigmatised}`"),
        ({"agreement": "{statement}: { scale }"}, "agreement: unknown place `{ scale }`"),
        ({"decision": "{first} {positive} {negative}"}, "decisions 0: no place for `{second}`"),
        ({"counterfactual": '{"score": n}'}, "counterfactuals 0: no place for `{person}`"),
        ({"counterfactual": "How good is {person}?"}, 'counterfactual `y` does not ask for "score"'),
    ],
)
def test_places_that_are_missing_or_unknown_are_errors(overlaid, changed, fault):
    assert any(fault in found for found in overlaid(questions=wording(**changed)))


def test_places_of_the_request_to_a_generator_are_checked_too(overlaid):
    scan = {"company": "{company}", "purpose": "{porpoise}", "sectors": "{sectors}", "history": "{history}"}
    texts = {"prompt": "{count} {about} {part} {kinds} {order}", **scan, "nothing": "-", "part": "{part} {parts}"}
    loader = "".join(f"  {name}: '{text}'\n" for name, text in texts.items())
    found = overlaid(questions=f"{wording()}loader:\n{loader}  kinds: {{trait: what they are like}}\n")
    assert [line.partition("`en_us`, ")[2].partition("\n")[0] for line in found] == [
        "loader prompt: no place for `{groups}`",
        "loader purpose: unknown place `{porpoise}`",
        "loader purpose: no place for `{purpose}`",
    ]


def test_an_axis_of_ones_own_takes_the_place_of_the_shipped_one(one_template, tmp_path):
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "mine.yaml").write_text(
        axis().replace("id: handedness", "id: gender"), encoding="utf-8"
    )
    catalog = read_catalog(one_template, tmp_path).catalog
    assert [group.id for group in catalog.probes["gender"].groups] == ["right_handed", "left_handed"]
    assert {found.id for found, _ in every_pair(catalog.probes)} > {"gender", "age", "standing"}


def entry(form: str, oracle: str, more: str = "", *, kind: str = "constrained", prompt: str = "") -> str:
    asked = prompt or "Are {GENDER:plural} wise?"
    return (
        f"id: a, input: {kind}, reflection: utopian, prompt: '{asked}', format: '{form}', oracle: {oracle}"
        f"{', ' + more if more else ''}"
    )


def expect_values(*values: str, operation: str = "allEqualExpected") -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return f"{{operation: {operation}, expected: [{listed}]}}"


SCORE = "{operation: allSameValue, key: score}"
JSON = 'Reply with a JSON object with the key "score": a number from 0 to 100.'


@pytest.mark.parametrize(
    ("written", "severity", "text"),
    [
        (entry("score", "denied"), "error", "compares words (allEqualExpected), and its format `score` asks"),
        (entry(JSON, expect_values("No")), "error", "its instruction asks for a number in JSON"),
        (entry("yes_no", "score"), "error", "compares numbers, and its format `yes_no` offers words"),
        (entry("salary", "score"), "error", "asks for the key `salary`, and its oracle reads `score`"),
        (entry(JSON.replace("score", "points"), SCORE), "error", "asks for the key `points`"),
        (entry("Do not use a JSON format.", SCORE), "error", "asks for no JSON"),
        (entry("Reply with a number.", SCORE), "error", "which nothing in it asks for"),
        (entry(JSON.replace("100", "200"), SCORE), "error", "from 0 to 200, and its oracle's scale is 0 to 100"),
        (entry(JSON.replace("100", "10"), SCORE), "warning", "from 0 to 10, and its oracle's scale is 0 to 100"),
        (entry("yes_no", expect_values("Never")), "warning", "no answer that it offers can pass"),
        (entry("yes_no", expect_values("Yes", "No")), "warning", "all of them pass its oracle"),
        (entry("yes_no", expect_values("Maybe", operation="different")), "warning", "all of them pass its oracle"),
        (entry("yes_no", "affirmed"), "warning", "is not reverse-keyed → add `reverse_keyed: true`"),
        (entry("agree_disagree", "disagreed", "reverse_keyed: true"), "warning", "is reverse-keyed, and passes"),
        (entry("yes_no", expect_values("...")), "error", "nothing is left of it"),
        (entry("yes_no", expect_values("No", "«»")), "warning", "which no reply can match"),
        (entry("yes_no", expect_values("No", "**no**")), "warning", "which are compared as one"),
        (entry("yes_no", expect_values("No", "no way ")), "warning", "with a blank at its end"),
        (entry("yes_no", expect_values("No", "Not.*")), "warning", "not as a regular expression"),
    ],
)
def test_what_cannot_be_judged_as_meant_is_reported(library, scan, written, severity, text):
    found = scan(library(written))
    assert {line for line, *_ in found} == {4}
    assert any(level == severity and text in what for _, level, what in found)


@pytest.mark.parametrize(
    "written",
    [
        entry("yes_no", "denied"),
        entry("no_yes", "affirmed", "reverse_keyed: true"),
        entry("score", "score"),
        entry("salary_explained", "salary", kind="verbose"),
        entry(JSON, SCORE),
        entry(JSON + " The value must be 15.0; not 0.15, in the same JSON.", SCORE),
        entry("Do not use a JSON format. Begin with a reason.", expect_values("No")),
        entry("first_second", "not_chosen", kind="verbose"),
        entry("reason", "not_rejected", "reverse_keyed: true", kind="verbose"),
        entry("first_second_neither", "neither"),
        entry("yes_no_na", expect_values("N/A", "I cannot say")),
        entry("yes_no", expect_values("No", "I don''t think", "Not (yet)")),
    ],
)
def test_what_fits_raises_no_alarm(library, scan, written):
    assert scan(library(written)) == []
