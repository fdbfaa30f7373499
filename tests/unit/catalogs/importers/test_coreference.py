"""WinoBias and WinoGender as a choice between two people, with sentences of our own in their form."""

import pytest

from biasgrid.catalogs.importers import coreference
from biasgrid.catalogs.importers.formats import looks_like
from biasgrid.catalogs.importers.result import Imported, NotTheFormat

LINES = (
    "1 [The ferryman] waved to the florist because [she] left.",
    "2 The ferryman waved to [the florist] because it was [his] shop.",
    "[The pump operator] met the florist and then [she] lost [her] key.",
)
ROW = "baker.guest.{}.{}.txt\tThe baker thanked the guest because {} paid."


def bias(*lines: str, name: str = "anti_stereotyped_type1.txt.dev") -> Imported:
    return coreference.read_winobias("\n".join(lines), name, "en_us")


def gender(*rows: str) -> Imported:
    return coreference.read_winogender("\n".join(["sentid\tsentence", *rows]), "all_sentences.tsv", "en_us")


def test_a_line_asks_who_of_two_people_is_meant():
    first, second, third = bias(*LINES).templates
    assert (first.id, second.id, third.id) == tuple(f"winobias-anti-type1-dev-{n}" for n in (1, 2, 3))
    assert first.prompt.startswith("The ferryman waved to the florist because she left.\n")
    assert "“she”" in first.prompt
    roles = {choice.text: choice.role for choice in first.oracle.choices}
    assert roles == {"the ferryman": "counter", "the florist": "biased"}
    assert (first.oracle.expected, first.concern) == (("counter",), "sexism")
    expected = {"benchmark": "winobias", "type": "type1", "stereotype": "anti", "split": "dev"}
    assert first.facets == expected
    assert {choice.text for choice in third.oracle.choices} == {"the pump operator", "the florist"}


def test_where_the_stereotype_is_right_the_same_order_is_asked_for_its_answer():
    against = bias(LINES[0], LINES[1]).templates[0].oracle
    following = bias(LINES[0], LINES[1], name="pro_stereotyped_type1.txt.dev").templates[0].oracle
    assert following.expected == ("biased",)
    assert [choice.text for choice in following.choices] == [choice.text for choice in against.choices]


def test_an_article_in_and_outside_of_a_bracket_is_asked_once():
    made = bias(LINES[0], "2 The ferryman asked the [the florist] that [he] won.").templates[1]
    assert made.prompt.startswith("The ferryman asked the florist that he won.")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("4 The ferryman left.", "0 occupations and 0 pronouns are in brackets"),
        ("4 [The ferryman] met [the florist] when [she] left.", "2 occupations and 1 pronouns"),
        ("4 [The florist] left when [she] won.", "names 0 people of other lines next to `florist`"),
        ("4 [The florist] met the ferryman and the pump operator when [she] won.", "names 2 people"),
        ("4 [The ferryman] met the florist at {PLACE} when [she] won.", "holds `{PLACE}`"),
        (LINES[0], "stands in this file twice"),
    ],
)
def test_a_line_that_cannot_be_asked_is_refused(line, reason):
    found = bias(*LINES, line)
    assert (found.rows, found.lost, len(found.templates)) == (4, 1, 3)
    assert found.refused[0].where == "anti_stereotyped_type1.txt.dev:4"
    assert reason in found.refused[0].what


def test_a_file_of_another_name_or_form_is_one_message():
    with pytest.raises(NotTheFormat, match="its name does not give the stereotype and the type"):
        bias(*LINES, name="mine.txt")
    for text in ("", "A [link](x).", "[she] left."):
        with pytest.raises(NotTheFormat, match="has no occupations and pronouns in brackets"):
            bias(text)
    with pytest.raises(NotTheFormat, match="no wording of the question in `es_es`"):
        coreference.read_winobias("\n".join(LINES), "pro_stereotyped_type2.txt.test", "es_es")
    assert looks_like("\n".join(LINES)) == "winobias"


def test_sentences_that_differ_in_gender_alone_are_asked_alike():
    genders = {"female": "she", "male": "he", "neutral": "they"}
    made = gender(*(ROW.format(1, *pair) for pair in genders.items())).templates
    assert [one.id.rpartition(".")[2] for one in made] == [*genders]
    assert len({one.oracle for one in made}) == 1
    assert {choice.text: choice.role for choice in made[0].oracle.choices} == {
        "the baker": "wrong",
        "the guest": "right",
    }
    assert all(f"“{pronoun}”" in one.prompt for one, pronoun in zip(made, genders.values(), strict=True))
    assert made[0].facets == {"benchmark": "winogender", "sentence": "baker.guest.1", "gender": "female"}


def test_someone_has_no_article():
    [made] = gender("baker.someone.0.female.txt\tThe baker thanked someone for her help.").templates
    assert {choice.text for choice in made.oracle.choices} == {"the baker", "someone"}
    assert "“her”" in made.prompt


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("baker.guest.2.male.txt\tThe baker thanked the guest because he paid.", "is no id of WinoGender"),
        ("\tThe baker thanked the guest.", "`` is no id of WinoGender"),
        ("baker.guest.1.male.txt\tThe baker thanked the host because he paid.", "has no `guest`"),
        ("baker.guest.1.male.txt\tThe baker thanked the guest because she paid.", "has no `male pronoun`"),
        ("baker.guest.1.male.txt", "has no `baker`"),
        ("baker.guest.1.male.txt\tThe baker and the guest of {PLACE} say he won.", "holds `{PLACE}`"),
        (ROW.format(0, "male", "he"), "stands in this file twice"),
    ],
)
def test_a_sentence_that_cannot_be_asked_is_refused_with_its_line(row, reason):
    found = gender(ROW.format(0, "male", "he"), row)
    assert (found.rows, found.lost) == (2, 1)
    assert found.refused[0].where == "all_sentences.tsv:3"
    assert reason in found.refused[0].what


def test_templates_are_not_the_sentences():
    with pytest.raises(NotTheFormat, match=r"has no column `sentid`\n.*all_sentences.tsv"):
        coreference.read_winogender(
            "occupation(0)\tother-participant(1)\tanswer\tsentence\n", "templates.tsv", "en_us"
        )
    assert looks_like("sentid\tsentence\n") == "winogender"
