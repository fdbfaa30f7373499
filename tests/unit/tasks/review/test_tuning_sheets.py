"""Blind sheets of assignments: what people see of them, what is read back, and how far people agree."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.tuning_examples import TuningExample
from biasgrid.catalogs.schema.scenes import Presence
from biasgrid.tasks.review.tuning_sheets import (
    Annotation,
    Concordance,
    concordances,
    contradictions,
    in_sections,
    item_of,
    read_sheet,
    sheets,
    unknown_items,
)

PRESENCES: tuple[Presence, ...] = ("present", "absent")


def _example(scene: int, presence: Presence) -> TuningExample:
    return TuningExample(
        id=f"scene-{scene}/en_us/{presence}",
        domain="village",
        scene=f"scene-{scene}",
        language="en_us",
        presence=presence,
        goal=f"=Goal {scene}",
        assignment=f"Ann bakes {scene}.\r\nRob digs {scene}{'!' * (presence == 'present')}",
        reason=f"It is {presence} in {scene}.",
        people=("Ann", "Rob"),
    )


EXAMPLES = [_example(scene, presence) for scene in range(12) for presence in PRESENCES]
BY_ITEM = {item_of(example): example for example in EXAMPLES}


def test_a_sheet_shows_the_assignment_and_nothing_of_its_label():
    written = sheets(EXAMPLES, "en_us", 7, 4)
    assert len(written) == 4 * 2 * 2
    for name, rows in written.items():
        question = "reason_ok" if name.endswith("-reasons.csv") else "presence"
        assert set(rows[question]) == {""}
        assert ("reason" in rows.columns) == (question == "reason_ok")
        if question == "presence":
            reported = rows.drop("presence").write_csv()
            assert "present" not in reported
            assert "absent" not in reported
        assert "\r" not in "".join(rows["assignment"])


def test_both_people_judge_the_same_in_another_order():
    written = sheets(EXAMPLES, "en_us", 7, 4)
    for number in range(1, 5):
        first, second = (written[f"section-{number}-{person}.csv"]["id"].to_list() for person in "ab")
        assert sorted(first) == sorted(second)
        assert first != second
        assert first == written[f"section-{number}-a-reasons.csv"]["id"].to_list()
    assert all(rows.equals(written[name]) for name, rows in sheets(EXAMPLES, "en_us", 7, 4).items())


def test_sections_hold_as_many_of_either_and_no_scene_twice():
    sections = in_sections(EXAMPLES, 7, 4)
    assert sorted(one.id for section in sections for one in section) == sorted(one.id for one in EXAMPLES)
    for section in sections:
        assert Counter(one.presence for one in section) == {"present": 3, "absent": 3}
        assert len({one.scene for one in section}) == 6
    assert len(in_sections(EXAMPLES, 7, 1)[0]) == 24
    with pytest.raises(UserError, match="cannot be parted into 30 sections"):
        in_sections(EXAMPLES, 7, 30)


def _filled(path: Path, rows: pl.DataFrame, **answers: list[Any]) -> Path:
    path.write_text(rows.with_columns(pl.Series(name, given) for name, given in answers.items()).write_csv())
    return path


def test_a_sheet_is_read_back_in_the_words_that_people_write(tmp_path):
    rows = sheets(EXAMPLES, "en_us", 7, 4)["section-2-b.csv"]
    path = _filled(tmp_path / "s.csv", rows, presence=["Present", "absent ", "Y", "no", "", "fair"])
    annotations, mistakes = read_sheet(path)
    assert not mistakes
    assert [one.answer for one in annotations] == ["present", "absent", "present", "absent", "absent"]
    assert {(one.section, one.annotator, one.question, one.drawn) for one in annotations} == {
        (2, "b", "presence", "en_us-7")
    }


def test_every_mistake_of_a_sheet_is_reported_at_once(tmp_path):
    rows = sheets(EXAMPLES, "en_us", 7, 4)["section-1-a-reasons.csv"].with_columns(
        id=pl.Series(["", "zzz", *["0"] * 4])
    )
    annotations, mistakes = read_sheet(
        _filled(tmp_path / "s.csv", rows, reason_ok=["yes", "yes", "maybe", "=1", "no", "yes"])
    )
    assert [one.what.partition(" ")[0] for one in mistakes] == ["a", "reason_ok", "reason_ok"]
    assert next(one.what for one in unknown_items(annotations, BY_ITEM)).startswith("`zzz` is no assignment")
    assert [one.remedy for one in contradictions(annotations)] == ["keep one of the two rows"]


def test_another_table_is_no_sheet(tmp_path):
    (tmp_path / "s.csv").write_text("id,section,annotator,drawn,note\n1,1,a,en_us-7,x\n")
    with pytest.raises(UserError, match="no column `presence` or `reason_ok`"):
        read_sheet(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("one,two\n1,2\n")
    with pytest.raises(UserError, match="has no column `id`"):
        read_sheet(tmp_path / "s.csv")


def annotate(person: str, answers: dict[str, str], section: int = 1) -> list[Annotation]:
    return [
        Annotation(item, section, person, "presence", answer, "en_us-7", "s.csv:2")
        for item, answer in answers.items()
    ]


def test_agreement_is_as_by_hand():
    """Of 24: both present 10, both absent 9, a alone present 2, b alone present 3; the labels are 12 and 12."""
    items = sorted(BY_ITEM, key=lambda item: BY_ITEM[item].presence)
    a = {item: "present" if place < 12 else "absent" for place, item in enumerate(items)}
    b = {item: "present" if place < 10 or 12 <= place < 15 else "absent" for place, item in enumerate(items)}
    people, *with_labels = concordances([*annotate("a", a), *annotate("b", b)], BY_ITEM)[:3]
    assert (people.first, people.second, people.n, people.section) == ("a", "b", 24, None)
    observed = 19 / 24
    by_chance = 12 / 24 * 13 / 24 + 12 / 24 * 11 / 24
    share = (12 / 24 + 13 / 24) / 2
    assert people.agreement == pytest.approx(observed)
    assert people.cohens_kappa == pytest.approx((observed - by_chance) / (1 - by_chance))
    assert people.gwets_ac1 == pytest.approx((observed - 2 * share * (1 - share)) / (1 - 2 * share * (1 - share)))
    assert [(one.first, one.second) for one in with_labels] == [("a", "labels"), ("b", "labels")]
    assert with_labels[0].agreement == 0  # a calls everything the other way round: absent sorts first
    assert with_labels[0].cohens_kappa == -1


def test_each_section_is_reported_by_itself_and_what_one_judged_alone_counts_with_the_labels():
    first, second, third, *_ = sorted(BY_ITEM)
    annotations = [*annotate("a", {first: "present", second: "absent"}), *annotate("b", {first: "present"})]
    annotations += annotate("b", {third: BY_ITEM[third].presence}, section=2)
    found = {(one.section, one.first, one.second): one for one in concordances(annotations, BY_ITEM)}
    assert found[None, "a", "b"].n == found[1, "a", "b"].n == 1
    assert found[None, "a", "labels"].n == found[None, "b", "labels"].n == 2
    assert (2, "a", "b") not in found
    assert found[2, "b", "labels"].agreement == 1
    assert found[1, "a", "b"] == Concordance("presence", 1, "a", "b", 1, 1, None, 1)
