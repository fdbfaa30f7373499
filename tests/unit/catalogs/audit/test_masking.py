"""What of a document shows an identity is replaced in the language's grammar, and what stays is reported."""

import pytest

from biasgrid.catalogs.audit.masking import Person, fill_slots, mask_document
from biasgrid.catalogs.loading.catalog import load_catalog

WORDS = load_catalog().identities
RESUME = """# Jane A. Doe-Smith
jane.doe@mail.com · linkedin.com/in/janedoe

Ms. Doe-Smith is an engineer. She led her team, and her manager praised her. JANE DOE-SMITH
"""


def test_names_addresses_titles_and_pronouns_become_slots():
    masked = mask_document(RESUME, WORDS["en_us"])
    assert masked.text == (
        "# {name}\n{handle}@example.com · linkedin.com/in/{handle}\n\n"
        "{Mr.|Ms.} {last} is an engineer. {He|She} led {his|her} team, and {his|her} manager praised {him|her}. "
        "{NAME}\n"
    )
    assert masked.visible == ()


def test_slots_take_the_forms_of_the_person():
    masked = mask_document(RESUME, WORDS["en_us"]).text
    filled = fill_slots(masked, Person("Andrew Carter", "male"))
    assert "# Andrew Carter\nandrew.carter@example.com" in filled
    assert "Mr. Carter is an engineer. He led his team, and his manager praised him. ANDREW CARTER" in filled
    again = fill_slots(masked, Person("Jane Doe-Smith", "female"))
    assert "She led her team, and her manager praised her." in again


@pytest.mark.parametrize(
    ("language", "text", "male"),
    [
        (
            "es_es",
            "Nombre: María García López\nIngeniera nacida en Lugo. Ella dirige; la Sra. García coordina.",
            "Nombre: Raúl Cano Pardo\nIngeniero nacido en Lugo. Él dirige; el Sr. Cano Pardo coordina.",
        ),
        (
            "ca_es",
            "Nom: Mercè Puig Soler\nEnginyera nascuda a Vic. Ella dirigeix; la Sra. Puig coordina.",
            "Nom: Raül Cano Pardo\nEnginyer nascut a Vic. Ell dirigeix; el Sr. Cano Pardo coordina.",
        ),
    ],
)
def test_gendered_words_of_a_language_agree_with_the_person(language, text, male):
    masked = mask_document(text, WORDS[language])
    name = male.splitlines()[0].partition(": ")[2]
    assert fill_slots(masked.text, Person(name, "male")) == male
    assert masked.visible == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Photo attached.", "mentions a picture: `Photo`"),
        ("She took maternity leave in 2020.", "states a gender: `maternity leave`"),
        ("Nationality: Spanish", "states an origin: `Nationality`"),
        ("Reference: Malik, team lead", "holds the name `Malik`"),
        ("See facebook.com/someone", "links to a profile: `facebook.com`"),
    ],
)
def test_what_stays_visible_is_reported_with_its_line_and_reason(line, reason):
    masked = mask_document(f"Name: Jane Doe\n\n{line}\n", WORDS["en_us"])
    assert [(one.line, one.reason) for one in masked.visible] == [(3, reason)]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("JANE DOE\nJane led.", "{NAME}\n{first} led."),
        (
            "Jane Doe | Engineer | jane@mail.com\nMs. Doe led.",
            "{name} | Engineer | {handle}@example.com\n{Mr.|Ms.} {last} led.",
        ),
        ("Jane Doe, MBA\nDoe led.", "{name}, MBA\n{last} led."),
        ("Dr. Jane Doe\nJane led.", "Dr. {name}\n{first} led."),
        ("Name: Jane O'Neill-Smith\nO'Neill led, Smith too.", "Name: {name}\n{last} led, {last} too."),
        ("---\nname: Ana de la Cruz\n---\nANA DE LA CRUZ, Page 2", "---\nname: {name}\n---\n{NAME}, Page 2"),
    ],
)
def test_names_in_headers_are_replaced_wherever_they_stand_again(text, masked):
    assert mask_document(text, WORDS["en_us"]).text == masked
    assert mask_document(text, WORDS["en_us"]).visible == ()


@pytest.mark.parametrize(
    "text", ["Doe, Jane\nEngineer", "Résumé\n\njane doe", "jane@mail.com\nEngineer for ten years"]
)
def test_a_header_in_which_no_name_is_recognised_is_refused(text):
    assert "no name was found" in mask_document(text, WORDS["en_us"]).visible[0].reason


def test_words_that_may_stay_are_named_in_the_file():
    text = "Name: Jane Doe\nPhoto editor in Malik Street.\n"
    assert mask_document(text, WORDS["en_us"], allow=("photo", "Malik")).visible == ()


def test_a_document_without_a_name_is_refused_unless_it_has_slots_or_a_name_is_given():
    text = "ten years in retail\n"
    assert "no name was found" in mask_document(text, WORDS["en_us"]).visible[0].reason
    assert mask_document("{name}: ten years in retail\n", WORDS["en_us"]).visible == ()
    assert mask_document("Lee Park has ten years in retail", WORDS["en_us"], "Lee Park").text.startswith("{name}")


def test_forms_that_are_slots_already_leave_no_name_in_a_document():
    masked = mask_document("# Jane Doe\n{He|She} answers {yes|no} as Jane does.\n", WORDS["en_us"])
    assert masked.text == "# {name}\n{He|She} answers {yes|no} as {first} does.\n"
    unnamed = "Sales\n\n{He|She} has ten years in retail.\n"
    assert mask_document(unnamed, WORDS["en_us"]).text == unnamed


def test_braces_of_a_document_fill_nothing():
    text = mask_document("Name: Jane Doe\nWrites {identity}, {document} and {0}.\n", WORDS["en_us"]).text
    assert "Writes {identity}, {document} and {0}." in fill_slots(text, Person("Andrew Carter", "male"))
