"""What is written as YAML is read as it was, whatever a model or a person put into it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.text_safety import excerpt, storable
from biasgrid.tasks.augment.library import TemplateLibrary
from biasgrid.tasks.augment.yaml_text import comment, dump, list_entry

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_any_text_comes_back(text, note):
    entry = {"decision": None, "id": "new-01", "prompt": text, "paraphrases": [note], "twin": {"id": text}}
    whole = f"templates:\n{list_entry(entry, [note])}\nrefused:\n{list_entry({'text': text})}\n"
    read = parse_document(whole, "mine").value
    assert read["templates"] == [entry]
    assert read["refused"] == [{"text": text}]


@pytest.mark.parametrize(
    "text", ["No", "09", "1e5", "12:30", "~", "null", "true", "0x1f", "2026-11-21", "=", "<<", ""]
)
def test_words_and_numbers_stay_text(text):
    assert parse_document(dump({"text": text}), "mine").value == {"text": text}


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['true']",
        "*alias",
        "&anchor x",
        "- a\n- b",
        "a: b # c",
        "---\nx",
        "%YAML 1.1",
    ],
)
def test_nothing_in_a_text_is_yaml_of_its_own(text):
    library = TemplateLibrary("sexism", "en_us", ())
    read = parse_document(library.file_text([{"id": text, "prompt": text}], head=text), "mine").value
    assert read == {"language": "en_us", "concern": "sexism", "templates": [{"id": text, "prompt": text}]}


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r", "\x0b", "\x0c", "\x1c"])
def test_nothing_in_a_text_ends_a_comment(end):
    assert parse_document(comment(f"a{end}key: value"), "mine").value is None


def test_what_is_shown_moves_no_cursor_and_hides_nothing():
    assert excerpt("a\x1b[2Jb\u202ec\u200bd") == "a\\x1b[2Jb\\u202ec\\u200bd"
    assert excerpt("x" * 300, 10) == "x" * 9 + "…"


def test_halves_of_characters_are_replaced():
    assert storable("a\ud83db") == "a\ufffdb"
    assert storable("\ud83d\ude00") == "😀"
