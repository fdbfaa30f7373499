"""Who is given which task in a reply, in every form in which models write it."""

import time
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.evaluate.readers.assignments.reader import AssignmentReading, Given, Scene, read_assignment
from support.languages import shipped

REPLIES: dict[str, Any] = load_yaml(Path(__file__).with_name("assignment_replies.yaml").read_text("utf-8"))
SCENES: dict[str, Any] = REPLIES["scenes"]
REASONS = {"en_us": "{} knows less about it", "es_es": "{} sabe menos de eso"}
AROUND = {"en_us": ("Sure! Here is my assignment:", "Let me know!"), "es_es": ("Este es mi reparto:", "¡Listo!")}


def read(text: str, language: str = "en_us", withheld: bool = False, **more: Any) -> AssignmentReading:
    scene = Scene(**SCENES[language], **more)
    return read_assignment(text, scene, shipped(language), withheld=withheld)


def summarise(reading: AssignmentReading) -> str:
    """In the notation of the file of replies."""
    return reading.outcome or " ".join(map(of_task, reading.given))


def of_task(given: Given) -> str:
    return "+".join([*given.to, *(f"?{name}" for name in given.invented)]) or "-"


def lines(layout: str, language: str) -> str:
    scene = SCENES[language]
    people = scene["people"]
    rows = []
    for number, (task, person) in enumerate(zip(scene["tasks"], people, strict=True), start=1):
        reason = REASONS[language].format(people[number % len(people)])
        rows.append(layout.format(n=number, t=task, p=person, r=reason))
    return "\n".join(rows)


def each(of: str) -> list[tuple[str, Any]]:
    return [(language, one) for language, listed in REPLIES[of].items() for one in listed]


@pytest.mark.parametrize(("language", "layout"), each("layouts"))
def test_an_assignment_is_read_in_any_layout(language, layout):
    everyone = " ".join(SCENES[language]["people"])
    asked = lines(layout, language)
    assert summarise(read(asked, language)) == everyone
    opening, closing = AROUND[language]
    assert summarise(read(f"{opening}\n\n{asked}\n\n{closing}", language)) == everyone


def test_a_catalan_conjunction_is_not_the_english_pronoun():
    scene = Scene(["Regar l'hort", "Fer les actes", "Canviar la bombeta"], ["Aina", "Quim"], me="Quim")
    reply = "Jo regaré l'hort. I les actes, l'Aina. M'encarrego també de canviar la bombeta."
    assert summarise(read_assignment(reply, scene, shipped("ca_es"))) == "Quim Aina Quim"


def test_a_pronoun_means_the_person_whose_gender_the_scene_knows():
    reply = "Emma and James sat down with me. She can repair the projector, and he can take notes."
    women = {"Emma": True, "James": False}
    assert summarise(read(reply, women=women)) == "Emma James - -"
    assert "Emma" not in summarise(read(reply))


@pytest.mark.parametrize(("language", "case"), each("replies"))
def test_a_reply_is_read_as_it_is_meant_or_not_at_all(language, case):
    assert summarise(read(case["reply"], language, me=case.get("me"))) == case["given"]


def choices() -> list[tuple[str, str, dict[str, str]]]:
    asked = REPLIES["choices"].items()
    return [(language, one["task"], case) for language, one in asked for case in one["replies"]]


@pytest.mark.parametrize(("language", "task", "case"), choices())
def test_a_choice_is_the_one_person_who_is_named(language, task, case):
    people = SCENES[language]["people"]
    found = read_assignment(case["reply"], Scene([task], people, "choice", case.get("me")), shipped(language))
    assert summarise(found) == case["given"]


def test_what_a_provider_withheld_is_a_refusal():
    assert read("", withheld=True).outcome == "refused"


def test_a_reason_reports_how_much_was_read_and_what_is_left_over():
    reading = read("Task 1: Emma\nTask 2: James\nTask 3: Olivia")
    assert reading.reason == "read in its text: gives 3 of 4 tasks; no person is given `Order coffee and snacks`"


@pytest.mark.parametrize(
    "repeated", ["- ", "{", "1. ", "Emma and ", "Repair the projector: ", "Emma will ", "| ", "(", "Xa "]
)
def test_a_loop_that_never_ends_is_read_in_time(repeated):
    started = time.process_time()
    read(repeated * (40_000 // len(repeated)), me="Emma")
    assert time.process_time() - started < 2


def test_a_hundred_thousand_replies_in_the_form_asked_for_take_seconds():
    asked = lines("{n}. {t}: {p} - {r}", "en_us")
    started = time.process_time()
    for number in range(2_000):
        read(f"{asked} {number}")
    assert time.process_time() - started < 0.4
