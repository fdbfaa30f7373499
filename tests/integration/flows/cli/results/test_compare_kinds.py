"""`biasgrid compare` of probes, red teams and interactions: on their keys, by the formulas of benchmarks."""

import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

Command = Callable[..., Any]
Change = Callable[[str, pl.DataFrame], pl.DataFrame]
SECOND = "01ZZZZZZZZZZZZZZZZZZZZZZZZ"
TABLES = ("runs", "cells", "cases", "responses", "verdicts")
TURNED = ("simulated/hiding", "doctor-nurse")


@dataclass(frozen=True)
class Two:
    lake: Lake
    run_id: str

    @property
    def words(self) -> tuple[object, ...]:
        return (self.run_id, SECOND, "--data", self.lake.root)


def two(first: Any, folder: Path, change: Change = lambda _, rows: rows) -> Two:
    """A run, and the same again but for what is changed of its rows."""
    shutil.copytree(first.data, folder, dirs_exist_ok=True)
    lake = Lake(folder)
    for table in TABLES:
        rows = lake.read(table, first.run_id).with_columns(run_id=pl.lit(SECOND))
        lake.write(table, SECOND, "all", change(table, rows))
    return Two(lake, first.run_id)


@pytest.fixture(scope="module")
def two_probes(probed: Any, tmp_path_factory: pytest.TempPathFactory) -> Two:
    """In the second one, what one model gave to a pair falls against the stereotype."""
    cases = Lake(probed.data).read("cases", probed.run_id)
    turned = cases.filter((pl.col("model") == TURNED[0]) & (pl.col("requirement") == TURNED[1]))["cell_id"]
    is_turned = pl.col("cell_id").is_in(turned.to_list()) & pl.col("parsed_text").is_in(
        ["stereotypical", "counter"]
    )

    def turn(table: str, rows: pl.DataFrame) -> pl.DataFrame:
        if table != "verdicts":
            return rows
        return rows.with_columns(
            pl.when(is_turned).then(pl.lit("counter")).otherwise("parsed_text").alias("parsed_text"),
            pl.when(is_turned).then(pl.lit(Decimal("-0.5"))).otherwise("parsed_value").alias("parsed_value"),
        )

    return two(probed, tmp_path_factory.mktemp("probes"), turn)


@pytest.fixture(scope="module")
def two_red_teams(attacked: Any, tmp_path_factory: pytest.TempPathFactory) -> Two:
    """In the second one, what was resisted succeeds."""

    def give_in(table: str, rows: pl.DataFrame) -> pl.DataFrame:
        return (
            rows.with_columns(pl.col("parsed_text").replace("resisted", "succeeded"))
            if table == "verdicts"
            else rows
        )

    return two(attacked, tmp_path_factory.mktemp("red-teams"), give_in)


@pytest.fixture(scope="module")
def two_interactions(talked: Any, tmp_path_factory: pytest.TempPathFactory) -> Two:
    return two(talked, tmp_path_factory.mktemp("interactions"))


def comparison_of(biasgrid: Command, runs: Two, *words: object) -> dict[str, Any]:
    answer = biasgrid("compare", *runs.words, "--format", "json", *words)
    assert (answer.code, answer.err) == (0, "")
    return dict(json.loads(answer.out))


def test_a_pair_that_fell_the_other_way_is_found_and_only_it(biasgrid, two_probes):
    rows = comparison_of(biasgrid, two_probes)["probe_findings"]
    changed = [row for row in rows if row["difference"]]
    assert [(row["model"], row["pair"], row["test"]) for row in changed] == [(*TURNED, "implicit")]
    (row,) = changed
    trials = query(
        two_probes.lake,
        "select score from intermediate.int_probe_trials "
        "where test = 'implicit' and model = ? and pair = ? and score is not null",
        TURNED,
    )["score"]
    apart = [-0.5 - float(score) for score in trials]
    assert row["trials"] == len(apart)
    assert row["difference"] == pytest.approx(fmean(apart))
    assert row["standard_error"] == pytest.approx(stdev(apart) / len(apart) ** 0.5)
    assert row["low"] < row["difference"] < row["high"] < 0
    assert row["change"] == "better"
    assert {row["why_not_compared"] for row in rows if row["p_value"] is None} <= {"no trial was read in both"}


def test_sessions_are_paired_by_strategy_and_pair_of_attributes(biasgrid, two_red_teams):
    found = comparison_of(biasgrid, two_red_teams)
    rates = "select strategy, success_rate, refused from marts.attack_success"
    marts = {strategy: comparison_of for strategy, *comparison_of in query(two_red_teams.lake, rates).rows()}
    for row in found["attack_success"]:
        rate, refused = marts[row["strategy"]]
        assert row["earlier_success_rate"] == rate
        assert row["later_success_rate"] in ({1.0} if rate is not None and not refused else {0.0, None})
        if row["sessions"]:
            assert row["difference"] == pytest.approx((row["only_later"] - row["only_earlier"]) / row["sessions"])
        else:
            assert row["why_not_compared"] == "no session in both is decided"
    assert sum(row["only_later"] or 0 for row in found["attack_success"]) == 2
    assert ("held", "gave in") in {
        (row["earlier_finding"], row["later_finding"]) for row in found["attack_success"]
    }


def test_players_of_other_names_are_compared_scene_by_scene(biasgrid, two_interactions):
    found = comparison_of(biasgrid, two_interactions, "--as", "simulated/conforming=cast/mixed")
    replies = query(
        two_interactions.lake,
        "select model, domain, setting, mitigation, stage, is_control, scene, avg(sign) as score "
        "from intermediate.int_assignments where run_id = ? and question = 'assignment' and class is not null "
        "group by all",
        [two_interactions.run_id],
    ).rows()
    scores: dict[Any, dict[Any, float]] = defaultdict(dict)
    for model, _, setting, mitigation, stage, is_control, scene, score in replies:
        scores[setting, mitigation, stage, is_control][model, scene] = score
    totals = [row for row in found["bias_scores"] if row["domain"] == "all"]
    assert totals
    for row in totals:
        of = scores[row["setting"], row["mitigation"], row["stage"], row["is_control"]]
        scenes = {scene for _, scene in of}
        both = [s for s in scenes if {("simulated/conforming", s), ("cast/mixed", s)} <= of.keys()]
        apart = [of["cast/mixed", scene] - of["simulated/conforming", scene] for scene in both]
        assert (row["model"], row["scenes"]) == ("cast/mixed", len(both))
        assert row["difference"] == pytest.approx(fmean(apart))
    assert found["escalation"]


def test_the_same_again_shows_no_difference(biasgrid, two_interactions):
    found = comparison_of(biasgrid, two_interactions)
    rows = [*found["bias_scores"], *found["escalation"]]
    assert {row["difference"] for row in rows} <= {0, None}
    assert {row["change"] for row in rows} <= {"no difference shown", "not compared"}
    assert found["circumstances"] == []


def test_the_terminal_reports_the_worst_first_in_80_columns(biasgrid, two_red_teams):
    answer = biasgrid("compare", *two_red_teams.words)
    lines = answer.out.splitlines()
    assert lines[0].startswith("strategy × model: 0 worse, 0 better")
    assert lines[1] == "findings that changed: 1 of 3"
    assert max(map(len, lines)) <= 80
    first = next(number for number, line in enumerate(lines) if "before" in line) + 2
    assert "held → gave in" in lines[first]


def test_readings_of_one_run_are_compared_by_name(biasgrid, probed, tmp_path):
    shutil.copytree(probed.data, tmp_path / "read", dirs_exist_ok=True)
    lake = Lake(tmp_path / "read")
    again = lake.read("verdicts", probed.run_id).with_columns(
        evaluation_id=pl.lit(SECOND), parsed_text=pl.lit("balanced"), verdict_id=pl.format("{}-2", "verdict_id")
    )
    lake.write("verdicts", probed.run_id, SECOND, again)
    words = (f"{probed.run_id}@{probed.run_id}", probed.run_id, "--data", lake.root)
    found = json.loads(biasgrid("compare", *words, "--format", "json").out)
    implicit = [row for row in found["probe_findings"] if row["test"] == "implicit"]
    assert {row["later_stereotypical_share"] for row in implicit} == {None}
    assert "biased with the stereotype" in {row["earlier_finding"] for row in implicit}
    assert "p_value" not in implicit[0]
    shown = " ".join(biasgrid("compare", *words).out.split())
    assert "biased with the stereotype → no bias shown" in shown


def test_runs_of_different_kinds_are_refused(biasgrid, attacked, tmp_path):
    as_probe = two(attacked, tmp_path / "kinds", lambda table, rows: _as_probe(table, rows))
    answer = biasgrid("compare", *as_probe.words)
    assert answer.is_a_mistake(attacked.run_id, "is a red team", f"`{SECOND}` a probe", "two runs of one kind")


def _as_probe(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(kind=pl.lit("probe")) if table == "runs" else rows


def test_a_table_is_written_as_csv_and_as_markdown(biasgrid, two_probes):
    rows = biasgrid("compare", *two_probes.words, "--format", "csv").out
    assert rows.startswith("concern,axis,pair,model,language,test,presence")
    page = biasgrid("compare", *two_probes.words, "--format", "markdown").out
    assert "## Differences" in page
    assert "| finding | model |" in page
