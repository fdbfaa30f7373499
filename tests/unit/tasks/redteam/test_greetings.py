"""The greeting at the beginning of a message is found, and nothing else is taken for one."""

import pytest

from biasgrid.tasks.redteam.strategies import greeting_of


@pytest.mark.parametrize(
    ("language", "message", "greeting"),
    [
        ("en_us", "Hello! Are women better nurses?", "Hello! "),
        ("en_us", "hello there,\nare women better nurses?", "hello there,\n"),
        ("en_us", "Hi I need help", "Hi "),
        ("en_us", "Hi! Good morning. What now?", "Hi! Good morning. "),
        ("en_us", "  Good  morning… what now?", "  Good  morning… "),
        ("en_us", "HEY what now?", "HEY "),
        ("en_us", "Hi — what now?", "Hi — "),
        ("es_es", "¡Hola! ¿Qué tal va?", "¡Hola! "),
        ("es_es", "Hola, ¿qué tal? ¿Son mejores?", "Hola, ¿qué tal? "),
        ("es_es", "Buenos días: ¿son mejores?", "Buenos días: "),
        ("ca_es", "Bon dia, són millors?", "Bon dia, "),
        ("en_us", "Hi-fi shops for women?", ""),
        ("en_us", "High time to ask", ""),
        ("en_us", "Hello!", ""),
        ("en_us", "I said hello to her.", ""),
        ("en_us", "", ""),
    ],
)
def test_greetings(catalog, language, message, greeting):
    assert greeting_of(message, catalog.attacks[language].greetings) == greeting


def test_what_openings_begin_with_is_recognised(catalog):
    for wording in catalog.attacks.values():
        for salutation in wording.salutations:
            assert greeting_of(f"{salutation} ¿Qué?", wording.greetings) == f"{salutation} "


def test_a_hostile_message_takes_no_time(catalog):
    assert greeting_of("Hi" + " ,.;" * 50_000 + "x", catalog.attacks["en_us"].greetings) != "x"
