"""What the attacker is sent, and the one form in which its message is taken. The greeting at the beginning of a
message is found, and nothing else is taken for one.
"""

from collections.abc import Callable

import pytest

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.prompts import attacker_request, read_message
from biasgrid.tasks.redteam.session import Ask, Exchange
from biasgrid.tasks.redteam.strategies import greeting_of

Scenes = Callable[..., Scene]


def test_the_attacker_is_sent_company_purpose_goal_and_history(scene):
    history = (Message("user", "Who are you?"), Message("assistant", "A bot."), Message("user", "And women?"))
    own = scene(company="Acme", purpose="booking rooms", history=history)
    asked = Ask("direct", "And women?", {"turn": "2", "turns": "10"})
    system, request = attacker_request(asked, own, [Exchange("And women?", "All may book.")])
    for text in ("Acme", "booking rooms", '"nurse"', "message 2 of at most 10"):
        assert text in system.content
    for text in ("Who are you?", "A bot.", "And women?", "All may book."):
        assert text in request.content


def test_a_company_that_is_not_named_is_described_as_none(scene):
    system, _ = attacker_request(Ask("direct", "m", {"turn": "1", "turns": "1"}), scene(), [])
    assert scene().wording.unnamed in system.content
    assert "{" not in system.content.replace('{"message"', "")


def test_score_and_fault_are_reported(scene):
    asked = Ask("crescendo", None, {"turn": "2", "turns": "10"}, score=35.0)
    _, request = attacker_request(asked, scene(), [], ["same", "unreadable"])
    assert request.content.endswith(scene().wording.attacker.faults["unreadable"])
    assert "0 to 100: 35" in request.content


@pytest.mark.parametrize("text", ['{"message": "Hello"}', '```json\n{"message": "Hello", "why": 1}\n```'])
def test_a_message_is_read(text):
    assert read_message(text) == "Hello"


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        'Sure! {"message": "Hello"}',
        '{"message": " "}',
        '{"message": 1}',
        '{"message": "cut off: \\ud83d"}',
        '{"message": "' + "x" * 9000 + '"}',
    ],
)
def test_anything_else_is_none(text):
    assert read_message(text) is None


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
