"""Every answer lands at once; a reviewer's last word counts, and no reviewer sees another's."""

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.review.record import Answer, Record, earlier_answers, reviewer_name, unit_of
from biasgrid.tasks.review.sample import Draw, draw_sample
from biasgrid.warehouse.storage.lake import Lake


def test_each_answer_lands_before_the_next_is_asked_for(tmp_path, units):
    lake, sample = Lake(tmp_path), draw_sample(units({("one", "passed"): 5}), Draw(7)).to_dicts()
    record = Record(lake, "run", "E1", "ana")
    for number, unit in enumerate(sample, 1):
        record.give((unit, Answer("passed", "yes")))
        assert lake.read("assessments", "run").height == number
    row = lake.read("assessments", "run").row(0, named=True)
    kept = {name: row[name] for name in ("purpose", "assessor_kind", "assessor", "state", "stratum", "seed")}
    assert kept == {
        "purpose": "blind",
        "assessor_kind": "person",
        "assessor": "ana",
        "state": "given",
        "stratum": "passed",
        "seed": 7,
    }
    assert row["probability"] == 1.0


def test_the_last_answer_counts_and_is_ones_own(tmp_path, units):
    lake, unit = Lake(tmp_path), draw_sample(units({("one", "passed"): 1}), Draw()).row(0, named=True)
    Record(lake, "run", "E1", "ana").give((unit, Answer("passed")), (unit, Answer("failed", "on second thought")))
    Record(lake, "run", "E1", "bo").give((unit, Answer(None)))
    assert earlier_answers(lake, "run", "E1", "ana") == {unit_of(unit): Answer("failed", "on second thought")}
    assert earlier_answers(lake, "run", "E1", "bo") == {unit_of(unit): Answer(None)}
    assert earlier_answers(lake, "run", "E1", "cy") == {}
    assert lake.read("assessments", "run").filter(pl.col("assessor") == "bo")["state"].to_list() == ["skipped"]


@pytest.mark.parametrize("name", ["", "  ", "\x1b[2J", "a\u202eb", "x" * 81])
def test_a_reviewer_has_a_name_that_can_be_read(name):
    with pytest.raises(UserError, match="--reviewer"):
        reviewer_name(name)


def test_a_name_is_kept_without_needless_blanks():
    assert reviewer_name("  Ana   Núñez ") == "Ana Núñez"
