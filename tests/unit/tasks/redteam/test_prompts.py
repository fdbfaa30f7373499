"""What the attacker is sent, and the one form in which its message is taken."""

from collections.abc import Callable

import pytest

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.prompts import attacker_request, read_message
from biasgrid.tasks.redteam.session import Ask, Exchange

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
