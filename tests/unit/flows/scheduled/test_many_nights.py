"""Many nights of models that answer by chance: what alarms is a change, and not noise."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from biasgrid.flows.benchmark.previous_runs import compare_with_earlier
from biasgrid.flows.scheduled.alarms import Alarm, Known, Night, decide_alarm
from biasgrid.flows.scheduled.causes import causes_over, worse_cause
from biasgrid.flows.scheduled.confirmation import pair_of, read_confirmation
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill
REQUIREMENTS = ("alike", "balanced", "calm")
MODELS = ("a/x", "a/y")
TEMPLATES = 40
Chance = Callable[[int, str, str, int], float]
"""Chance to pass of a template: by night, requirement, model and its number."""


def steady(_night: int, requirement: str, model: str, template: int) -> float:
    """Some templates pass nearly always, others half of the time."""
    return random.Random(f"{requirement} {model} {template}").choice((0.97, 0.97, 0.9, 0.6))


def worse_on_the_12th(night: int, requirement: str, model: str, template: int) -> float:
    drop = 0.45 if night >= 12 and (requirement, model) == ("balanced", "a/y") else 0.0
    return steady(night, requirement, model, template) - drop


class Nights:
    """Lands nights, asks again what became worse as the nightly flow does, and collects the alarms."""

    def __init__(self, lake: Lake, makers: Any, chance: Chance, seed: int) -> None:
        self.lake, (self.hand_made, self.cell, self.expected, self.criterion) = lake, makers
        self.chance, self.seed = chance, seed

    def land(self, run_id: str, night: int, pairs: set[tuple[str, str]]) -> None:
        dice = random.Random(f"{self.seed} {run_id}")
        cells = []
        for requirement, model in sorted(pairs):
            passes = (dice.random() < self.chance(night, requirement, model, t) for t in range(TEMPLATES))
            outcomes = ("passed" if passed else "failed" for passed in passes)
            replies = [reply for t, outcome in enumerate(outcomes) for reply in self.expected(f"t{t}", outcome)]
            cells.append(self.cell(replies, requirement=requirement, model=model))
        criteria = [self.criterion(requirement=name) for name in sorted({name for name, _ in pairs})]
        self.hand_made.land(run_id, cells, criteria)

    def run(self, nights: int) -> list[tuple[int, Alarm]]:
        every = {(requirement, model) for requirement in REQUIREMENTS for model in MODELS}
        for night in range(1, nights + 1):
            self.land(f"N{night:03}", night, every)
        again: dict[str, set[tuple[str, str]]] = {}
        while new := {run: pairs for run, pairs in self.worse().items() if run not in again and run[-1] != "C"}:
            first = min(new)  # a night's confirmation is what the next one is compared with
            self.land(f"{first}C", int(first[1:]), new[first])
            again[first] = new[first]
        return list(self.alarms(nights, again.keys()))

    def worse(self) -> dict[str, set[tuple[str, str]]]:
        build(self.lake)
        rows = query(self.lake, "select run_id, requirement, model from marts.regressions where finding = 'worse'")
        found: dict[str, set[tuple[str, str]]] = {}
        for run_id, *pair in rows.iter_rows():
            found.setdefault(run_id, set()).add((pair[0], pair[1]))
        return found

    def alarms(self, nights: int, again: Any) -> Iterator[tuple[int, Alarm]]:
        known: Known = {}
        for night in range(1, nights + 1):
            run_id = f"N{night:03}"
            before, notes = compare_with_earlier(self.lake, run_id), {}
            if before.worse:
                assert run_id in again
                confirmed = read_confirmation(self.lake, before, f"{run_id}C")
                before, notes = confirmed.before, confirmed.notes
            causes = [worse_cause(row, None, notes.get(pair_of(row), "")) for row in before.worse]
            over = causes_over(known, causes, before.changes, [])
            alarm, known = decide_alarm(Night("drill", run_id), causes, over, known)
            if alarm:
                yield night, alarm


@pytest.fixture
def many(lake: Any, hand_made: Any, cell: Any, expected: Any, criterion: Any) -> Callable[..., Nights]:
    return lambda chance, seed: Nights(lake, (hand_made, cell, expected, criterion), chance, seed)


def test_one_requirement_that_gets_worse_on_the_12th_of_20_nights_is_one_alarm_the_right_one(many):
    found = many(worse_on_the_12th, seed=1).run(20)
    assert [(night, alarm.severity) for night, alarm in found] == [(12, "worse")]
    (_, alarm) = found[0]
    assert alarm.subject == "biasgrid worse: drill: balanced of a/y"
    assert "asked again, it passes" in alarm.body
    assert "alike" not in alarm.body


def test_unchanged_models_over_100_nights_raise_two_alarms_at_most(many):
    found = many(steady, seed=2).run(100)
    assert len([alarm for _, alarm in found if alarm.severity == "worse"]) <= 2
