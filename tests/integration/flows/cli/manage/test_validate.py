"""`biasgrid catalog validate`: sheets out, sheets in."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ASKED = {"assignment": "{scene} {form}", "choice": "{scene} {form}"}
FORM = {"assignment": "{form}", "choice": "{form}"}
EXAMPLES = [{"assignment": f"Cosa {number}", "reason": "Perquè sí."} for number in range(3)]
WORDING: Mapping[str, Any] = {
    "id": "ca_es",
    "persona": "Ets {person}.",
    "scene": {"assignment": "{goal} {tasks} {people}", "choice": "{goal} {task} {people}"},
    "form": {"assignment": "Cadascuna", "choice": "Una"},
    "structured": {
        "assignment": '"remarks" "assignments" "task" "person" "reason"',
        "choice": '"remarks" "person" "reason"',
    },
    "alone": ASKED,
    "rounds": {"first": ASKED},
    "wish": "Vols {task}.",
    "said": "{name}: {text}",
    "unheard": "Res.",
    "reflection": {
        "definition": "Biaix",
        "again": FORM,
        "before": FORM,
        "examples_follow": "Com ara:",
        "present": EXAMPLES,
        "absent": EXAMPLES,
        "marks": {"present": "Amb biaix", "absent": "Sense biaix"},
    },
    "understanding": {
        "system": "Mira.",
        "assigned": "{person}: {task}",
        "question": "{goal} {assignment}",
        "answer": {"present": "Sí. {reason}", "absent": "No. {reason}"},
    },
}


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog with eight assignments in a language that has none of its own; two begin like a formula."""
    texts = [
        {
            "presence": presence,
            "text": {"ca_es": f"{'=' * (n == 0)}Text {presence[:1]}{n}."},
            "reason": {"ca_es": "R."},
        }
        for n in range(4)
        for presence in ("present", "absent")
    ]
    own = tmp_path / "own"
    for folder, content in (
        ("interaction/ca_es.yaml", dict(WORDING)),
        ("tuning/kitchen.yaml", {"id": "kitchen", "examples": texts}),
    ):
        (own / folder).parent.mkdir(parents=True)
        (own / folder).write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    monkeypatch.setenv("BIASGRID_CATALOG", str(own))
    return own


def _fill_in(path: Path, *, wrong: int = 0) -> Path:
    """Filled in as labelled, which a text's first letter shows, but for the first so many."""
    with path.open(encoding="utf-8-sig", newline="") as held:
        rows = list(csv.DictReader(held))
    for number, row in enumerate(rows):
        label = "present" if "Text p" in row["assignment"] else "absent"
        row["presence"] = label if number >= wrong else {"present": "absent", "absent": "present"}[label]
    with path.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, rows[0])
        table.writeheader()
        table.writerows(rows)
    return path


def test_two_people_fill_in_their_sheets_and_are_compared(biasgrid, overlay, tmp_path):
    out = tmp_path / "sheets"
    result = biasgrid("catalog", "validate", "sheets", "--out", out, "--sections", 2, "--language", "ca_es")
    assert result.code == 0
    assert len(list(out.iterdir())) == 8
    assert "'=Text" in "".join(path.read_text(encoding="utf-8") for path in out.iterdir())
    done = [_fill_in(out / f"section-{n}-{who}.csv", wrong=n if who == "b" else 0) for n in (1, 2) for who in "ab"]
    result = biasgrid("catalog", "validate", "agreement", *done, "--format", "json")
    assert result.code == 0
    found = {(one["section"], one["first"], one["second"]): one for one in json.loads(result.out)}
    assert found[None, "a", "labels"]["cohens_kappa"] == 1
    assert found[None, "a", "b"]["agreement"] == pytest.approx(5 / 8)
    assert found[2, "a", "b"]["agreement"] == pytest.approx(2 / 4)
    table = biasgrid("catalog", "validate", "agreement", *done)
    assert "Gwet's AC1" in table.out
    assert overlay.is_dir()


def test_mistakes_of_all_sheets_are_reported_at_once(biasgrid, overlay, tmp_path):
    out = tmp_path / "sheets"
    biasgrid("catalog", "validate", "sheets", "--out", out, "--sections", 1, "--language", "ca_es")
    first, second = out / "section-1-a.csv", out / "section-1-b.csv"
    for path in (first, second):
        text = _fill_in(path).read_text(encoding="utf-8")
        path.write_text(text.replace(",present\n", ",perhaps\n", 1).replace(",present\r\n", ",perhaps\r\n", 1))
    result = biasgrid("catalog", "validate", "agreement", first, second)
    result.is_a_mistake("section-1-a.csv:", "section-1-b.csv:", "presence `perhaps` is unknown")
    text = (overlay / "tuning" / "kitchen.yaml").read_text(encoding="utf-8")
    (overlay / "tuning" / "kitchen.yaml").write_text(text.replace("Text p1", "Text p9"), encoding="utf-8")
    result = biasgrid("catalog", "validate", "agreement", _fill_in(second))
    result.is_a_mistake("is no assignment of the tuning set as it is now")


def test_sheets_that_exist_are_kept_and_empty_ones_state_nothing(biasgrid, overlay, tmp_path):
    order = ("catalog", "validate", "sheets", "--out", tmp_path / "s", "--language", "ca_es")
    assert biasgrid(*order).code == 0
    biasgrid(*order).is_a_mistake("exists already", "--force")
    assert biasgrid(*order, "--force").code == 0
    biasgrid("catalog", "validate", "agreement", *sorted((tmp_path / "s").iterdir())).is_a_mistake(
        "no sheet has an answer"
    )
    assert overlay.is_dir()
