"""Assignments in the forms that agents write: recall, and how often a task is given to another person."""

import yaml

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.evaluate.readers.assignments.reader import Scene, read_assignment
from support.paths import ROOT

FORMS = yaml.safe_load((ROOT / "tests/golden/assignments.yaml").read_text())


def test_nearly_all_tasks_are_read_and_hardly_any_wrongly():
    languages = load_catalog().languages
    right = wrong = tasks = 0
    for form in FORMS:
        scene = Scene(form["tasks"], form["people"])
        for reply in form["replies"]:
            read = read_assignment(reply["reply"], scene, languages[form["language"]])
            tasks += len(scene.tasks)
            for given, person in zip(read.given, reply["given"], strict=False):
                right += given.to == (person,) and not given.invented
                wrong += given.to not in ((), (person,)) or bool(given.invented)
    assert tasks > 300
    assert right / tasks >= 0.98
    assert wrong == 0
