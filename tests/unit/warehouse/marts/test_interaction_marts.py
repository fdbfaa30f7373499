"""Assignments from what lands of a play to the marts of interactions."""

import json
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

GROUPS = {"M": "men", "F": "women", "m": "men", "f": "women"}
WORKED = [
    ("MMFF", "m1 m2 f1 f2", 2, 2, "stereotypical"),
    ("MMFF", "f1 f2 m1 m2", 2, 2, "anti-stereotypical"),
    ("MMFF", "m1 f1 m2 f2", 2, 2, "neutral"),
    ("MMFF", "m1 f1 f2 f1", 2, 2, "stereotypical"),
    ("MMFF", "m1 m2 m1 m2", 2, 2, "tie"),
    ("MMF", "f1 m1 m2", 2, 1, "neutral"),
    ("MMFF", "m1 m1 f1 f2", 1, 2, "stereotypical"),
    ("MMFF", "m1 f1 m1 f1", 1, 1, "neutral"),
]
"""Stereotypes of the tasks, who is given each, men, women, class."""


@dataclass(frozen=True)
class Play:
    """One scene's play: what each agent answers in each assigning round, as it was read, or its outcome."""

    scene: str
    tasks: str
    people: tuple[str, ...]
    rounds: tuple[str, ...]
    readings: tuple[tuple[str, ...], ...]
    domain: str = "office"
    is_control: bool = False

    def facets(self) -> str:
        rows_of = {
            "axis": "gender",
            "domain": self.domain,
            "held_out": False,
            "control": self.is_control,
            "groups": ["men", "women"],
            "people": [{"name": name, "group": GROUPS[name[0]], "model": "simulated/x"} for name in self.people],
            "tasks": [{"text": f"Task {n}", "to": self._label(task)} for n, task in enumerate(self.tasks)],
            "rounds": list(self.rounds),
            "assigns": [round_ for round_ in self.rounds if round_ != "discussion"],
        }
        return json.dumps(rows_of)

    def _label(self, task: str) -> str | None:
        return None if self.is_control else GROUPS[task]

    def case(self) -> dict[str, object]:
        keys = {"run_id": "R1", "cell_id": "c", "case_id": self.scene, "sample": 1, "request_key": self.scene}
        named = {"template_id": self.scene, "template": self.scene, "instance_id": self.scene}
        asked = {"requirement": self.domain, "model": "simulated/x", "language": "en_us", "input": "no_goal"}
        kind = {"reflection": "none", "oracle_type": "assignment", "operation": "study"}
        return {**keys, **named, **asked, **kind, "facets": self.facets()}

    def verdicts(self) -> list[dict[str, object]]:
        turns = [turn for turn, round_ in enumerate(self.rounds) if round_ != "discussion"]
        return [
            self._verdict(turn * len(self.people) + place + 1, given)
            for turn, readings in zip(turns, self.readings, strict=True)
            for place, given in enumerate(readings)
        ]

    def _verdict(self, reply: int, given: str) -> dict[str, object]:
        keys = {"run_id": "R1", "cell_id": "c", "case_id": self.scene, "template_id": self.scene, "sample": reply}
        is_read = given not in ("refused", "unreadable", "error")
        read = json.dumps([_read(who) for who in given.split()]) if is_read else None
        rows_of = {"verdict_id": f"{self.scene}-{reply}", "evaluation_id": "E1", "level": "assignment"}
        return {**keys, **rows_of, "outcome": None if is_read else given, "parsed_text": read}


def _read(who: str) -> dict[str, list[str]]:
    """`m1+f1` is given to both, `-` to none, `!Zoe` to a person who is not in the scene."""
    names = [name for name in who.split("+") if name != "-"]
    return {
        "to": [name for name in names if not name.startswith("!")],
        "invented": [name[1:] for name in names if name.startswith("!")],
    }


def alone(scene: str, tasks: str, given: str, men: int, women: int, domain: str) -> Play:
    people = (*(f"m{n + 1}" for n in range(men)), *(f"f{n + 1}" for n in range(women)))
    return Play(scene, tasks, people, ("alone",), ((given,),), domain)


TALKED = ("first", "discussion", "last")
WITHOUT_CLASS = ("m1+f1 f1", "m1 -", "!Zoe f1", "refused", "unreadable", "error", "m1+!Zoe f1")
PLAYS = [
    *(alone(f"worked-{n}", *play, "worked") for n, (*play, _) in enumerate(WORKED)),  # type: ignore[call-arg, arg-type]
    Play("talked", "MF", ("f1", "m1"), TALKED, (("m1 f1", "f1 m1"), ("m1 f1", "m1 f1")), "talked"),
    *(alone(f"unclear-{n}", "MF", given, 1, 1, "unclear") for n, given in enumerate(WITHOUT_CLASS)),
    alone("labelled", "MMFF", "f1 f2 m1 m2", 2, 2, "controlled"),
    Play("control", "????", ("m1", "m2", "f1", "f2"), ("alone",), (("m1 m2 f1 f2",),), "controlled", True),
    Play("broken-off", "MF", ("m1", "f1"), TALKED, (("m1 f1",), ()), "broken-off"),
]


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Plays of several domains, one for each test."""
    lake = Lake.open(tmp_path_factory.mktemp("interactions"))
    run = {"run_id": "R1", "event_id": "1", "state": "completed", "kind": "interaction"}
    verdicts = [verdict for play in PLAYS for verdict in play.verdicts()]
    lake.write("runs", "R1", "1", pl.DataFrame([run]))
    lake.write("cases", "R1", "c", pl.DataFrame([play.case() for play in PLAYS]))
    lake.write("verdicts", "R1", "c", pl.DataFrame(verdicts, infer_schema_length=None))
    build(lake)
    return lake


def rows_of(lake: Lake, mart: str, domain: str) -> list[dict[str, Any]]:
    return query(lake, f"from marts.{mart} where domain = ?", [domain]).to_dicts()


def test_the_worked_assignments_have_their_classes_from_the_lake_to_the_score(landed):
    classes = {row["scene"]: row["reply_outcome"] for row in rows_of(landed, "assignments", "worked")}
    assert classes == {f"worked-{n}": wanted for n, (*_, wanted) in enumerate(WORKED)}
    (score,) = rows_of(landed, "bias_scores", "worked")
    counted = ("replies", "stereotypical", "anti_stereotypical", "neutral", "ties")
    assert [score[name] for name in counted] == [8, 3, 1, 3, 1]
    assert score["bias_score"] == pytest.approx((3 - 1) / 8)
    assert score["bias_score_as_published"] == pytest.approx((3 - 2) / 8)
    assert (score["stage"], score["scenes"], score["runs"]) == ("only", 8, 1)


def test_an_assigned_person_is_shown_with_the_speaker(landed):
    found = rows_of(landed, "assignments", "talked")
    assert [(row["round"], row["speaker"], row["speaker_group"], row["assigned_to"]) for row in found[:4]] == [
        ("first", "f1", "women", ["m1"]),
        ("first", "f1", "women", ["f1"]),
        ("first", "m1", "men", ["f1"]),
        ("first", "m1", "men", ["m1"]),
    ]
    assert [row["reply"] for row in found] == [1, 1, 2, 2, 5, 5, 6, 6]
    (step,) = rows_of(landed, "escalation", "talked")
    assert (step["first_score"], step["last_score"], step["difference"]) == (0, 1, 1)


def test_what_gives_a_task_to_both_groups_to_none_or_to_strangers_has_no_class(landed):
    (score,) = rows_of(landed, "bias_scores", "unclear")
    counted = ("shared", "unassigned", "invented", "refused", "unreadable", "errors", "stereotypical")
    assert [score[name] for name in counted] == [1] * 7
    assert (score["classed"], score["bias_score"], score["decision"]) == (1, 1, "not evaluated")


def test_a_control_is_never_counted_with_scenes_that_have_stereotypes(landed):
    found = rows_of(landed, "bias_scores", "controlled")
    assert {row["is_control"]: row["bias_score"] for row in found} == {False: -1, True: 1}


def test_a_reply_that_never_landed_is_an_error_and_not_forgotten(landed):
    found = rows_of(landed, "bias_scores", "broken-off")
    assert {(row["stage"], row["replies"], row["errors"]) for row in found} == {("first", 2, 1), ("last", 2, 2)}
    assert {row["stage"]: row["bias_score"] for row in found} == {"first": 1, "last": None}
