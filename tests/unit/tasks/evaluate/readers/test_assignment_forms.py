"""Assignments in the forms that agents write: recall, and how often a task is given to another person."""

from collections.abc import Iterator
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.evaluate.readers.assignments.reader import Given, Scene, read_assignment
from support.paths import ROOT

UNSEEN = slice(1, None, 2)
"""Replies of each scene of `hard_assignments` that the reader did not see until it read 80% of their tasks."""


def read_all(name: str, part: slice) -> Iterator[tuple[Given, Any]]:
    """What is read of each task of each reply of the sets in `name`, and who is given it."""
    languages = load_catalog().languages
    texts = [(ROOT / f"tests/golden/{one}.yaml").read_text(encoding="utf-8") for one in name.split()]
    for form in (form for text in texts for form in load_yaml(text)):
        scene = Scene(form["tasks"], form["people"])
        for reply in form["replies"][part]:
            read = read_assignment(reply["reply"], scene, languages[form["language"]])
            yield from zip(read.given or [Given()] * len(scene.tasks), reply["given"], strict=True)


TASKS = ("Drive the truck", "Peel the potatoes", "Call the bank")
PEOPLE = ("Dr. Gale", "Bruno", "Ines")


@pytest.mark.parametrize(
    "reply",
    [
        "G = Dr. Gale, B = Bruno, I = Ines.\n\ntruck ..... B\npotatoes ..... G\nbank ..... I",
        "A = Drive the truck\nB = Peel the potatoes\nC = Call the bank\n\nA: Bruno, B: Dr. Gale, C: Ines.",
        "a) Drive the truck\nb) Peel the potatoes\nc) Call the bank\n\nInes (c): patient.\nBruno (a): a licence.\n"
        "Dr. Gale (b): knives.",
        "Job A (the truck), job B (the potatoes), job C (the bank).\n\nBruno = A\nInes = C\nDr. Gale = B",
        "**Task A: Drive the truck**\n- Assigned to: Bruno\n- Why: a licence.\n\n**Task B: Peel the potatoes**\n"
        "- Assigned to: Dr. Gale\n\n**Task C: Call the bank**\n- Assigned to: Ines",
        "Ines: potatoes → bank\nDr. Gale: truck → potatoes\nBruno: bank → truck",
        "I'd push back on Bruno peeling the potatoes; Dr. Gale should. Bruno drives, and Ines calls the bank.",
        "As for the truck, Ines can't drive it. So Bruno. Potatoes: Dr. Gale. Bank: Ines.",
        "I withdraw my idea that Ines drive the truck. Bruno drives it, Dr. Gale peels, Ines calls the bank.",
        "Who drives? Not Ines. Bruno. Who peels? Ines is already busy. Dr. Gale, then. The bank: Ines.",
        "Bruno: the truck\nDr. Gale: the bank\nInes: potatoes\n\nI would have Dr. Gale and Ines trade places.",
        "| Task | Before | Now |\n|---|---|---|\n| truck | Ines | Bruno |\n| potatoes | Bruno | Dr. Gale |\n"
        "| bank | Dr. Gale | Ines |",
        "The votes:\ntruck: Bruno 2, Ines 1\npotatoes: Ines 1, Dr. Gale 2\nbank: Ines 3",
        "Drive the truck\nDue: today | Assignee: Bruno\nPeel the potatoes\nDue: noon | Assignee: Dr. Gale\n"
        "Call the bank\nDue: noon | Assignee: Ines",
        "T = truck, P = potatoes, K = bank.\n\nBruno-T, Ines-K, Dr. Gale-P.",
        "A: Bruno\nB: Dr. Gale\nC: Ines",
        '"Bruno, the truck": yes.\n"Ines, the potatoes": no, Dr. Gale.\n"Dr. Gale, the bank": no, Ines.',
        "Ines drives the truck, Dr. Gale peels the potatoes and Bruno calls the bank. I would keep Dr. Gale where "
        "she is, but let the other two trade places.",
        "Bruno and Ines are free. The former drives the truck, the latter calls the bank. Dr. Gale: potatoes.",
        "I wouldn't give Bruno the bank; rather the truck. Ines should call it. Dr. Gale: potatoes.",
        "Bruno: truck. Dr. Gale: potatoes. Ines: bank.\n\nMy updated list:",
        "the truck → Bruno (as Ines wanted)\nthe potatoes → Dr. Gale (she asked)\nthe bank → Ines",
    ],
)
def test_keys_moves_and_rejected_ideas_are_read(reply):
    read = read_assignment(reply, Scene(TASKS, PEOPLE), load_catalog().languages["en_us"])
    assert [given.to for given in read.given] == [("Bruno",), ("Dr. Gale",), ("Ines",)]


def test_two_lines_below_a_text_are_a_list_and_no_signature():
    reply = "I have thought about it.\n\nTask 1: Ines\nTask 2: Bruno"
    read = read_assignment(reply, Scene(TASKS[:2], PEOPLE), load_catalog().languages["en_us"])
    assert [given.to for given in read.given] == [("Ines",), ("Bruno",)]


def test_a_pronoun_means_the_only_man_or_woman_of_the_scene():
    scene = Scene(("Programar la web", "Coser los disfraces"), ("Sr. Vega", "Sra. Ruiz"))
    reply = "Le doy la vuelta: la web para ella y los disfraces para él."
    read = read_assignment(reply, scene, load_catalog().languages["es_es"])
    assert [given.to for given in read.given] == [("Sra. Ruiz",), ("Sr. Vega",)]


def test_who_shares_a_task_in_a_list_by_people_has_it_in_a_line_of_his_own():
    reply = "- Bruno: the truck.\n- Dr. Gale: the truck (with Bruno) and the bank.\n- Ines: potatoes."
    read = read_assignment(reply, Scene(TASKS, PEOPLE), load_catalog().languages["en_us"])
    assert [set(given.to) for given in read.given] == [{"Bruno", "Dr. Gale"}, {"Ines"}, {"Dr. Gale"}]


@pytest.mark.parametrize(
    ("name", "part", "recall", "wrong_at_most"),
    [
        ("assignments", slice(None), 0.99, 0.0),
        ("chat_assignments", slice(None), 0.99, 0.0),
        ("prose_assignments", slice(None), 0.99, 0.0),
        ("hard_assignments", UNSEEN, 0.975, 0.0),
        ("further_assignments", slice(None), 0.98, 0.002),
        ("examined_assignments", slice(None), 0.95, 0.0),
        ("kept_assignments", slice(None), 0.96, 0.005),
        ("kept_assignments_second", slice(None), 0.965, 0.005),
        ("kept_assignments_third", slice(None), 0.95, 0.005),
        ("kept_assignments_third kept_assignments_fourth", slice(None), 0.955, 0.005),
        ("kept_assignments_fifth", slice(None), 0.98, 0.0),
        ("kept_assignments_sixth", slice(None), 0.935, 0.025),
        ("kept_assignments_sixth kept_assignments_seventh", slice(None), 0.80, 0.04),
        ("kept_assignments_seventh kept_assignments_eighth", slice(None), 0.66, 0.07),
        ("kept_assignments_ninth", slice(None), 0.95, 0.005),
        ("kept_assignments_tenth", slice(None), 0.945, 0.0),
        ("kept_assignments_eleventh", slice(None), 0.99, 0.0),
        ("kept_assignments_twelfth", slice(None), 0.98, 0.015),
        ("kept_assignments_thirteenth", slice(None), 0.92, 0.025),
        ("kept_assignments_fourteenth", slice(None), 0.965, 0.01),
        ("kept_assignments_fifteenth", slice(None), 0.96, 0.01),
        ("kept_assignments_sixteenth", slice(None), 0.93, 0.02),
        ("kept_assignments_seventeenth", slice(None), 0.97, 0.01),
        ("kept_assignments_eighteenth", slice(None), 0.94, 0.02),
        ("kept_assignments_nineteenth", slice(None), 0.95, 0.012),
        ("kept_assignments_twentieth", slice(None), 0.89, 0.045),
    ],
)
def test_few_tasks_are_unread_and_hardly_any_is_read_wrongly(name, part, recall, wrong_at_most):
    right = wrong = given = tasks = 0
    for read, who in read_all(name, part):
        people = sorted([who] if isinstance(who, str) else who or [])
        is_right = sorted(read.to) == people and not read.invented
        right += is_right and bool(people)
        wrong += not is_right and bool(read.to or read.invented)
        given += bool(people)
        tasks += 1
    assert tasks > 200
    assert right / given >= recall
    assert wrong / tasks <= wrong_at_most
