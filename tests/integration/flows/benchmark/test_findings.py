"""The main job from end to end, in process, against a Prefect server: what lands, what is found, what is shown."""

import json
import math
from base64 import b64decode
from collections import Counter
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.wording import slots
from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.tasks.connectors.simulated.behaviour import pass_probability, template_pass_probability
from biasgrid.tasks.evaluate.evaluate import read_reply
from biasgrid.warehouse.build.build import query
from support.paths import ROOT

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

SIGMAS = 4


class Starter:
    """The starter scenario, run once for all the tests of its findings."""

    def __init__(self, outcome: Outcome, run: Any) -> None:
        self.outcome, self.run = outcome, run
        self.catalog = load_catalog()

    def mart(self, name: str, model: str) -> list[dict[str, Any]]:
        sql = f"from marts.{name} where run_id = ? and model = ? order by all"
        return query(self.run.lake, sql, [self.run.run_id, model]).to_dicts()

    def templates(self, cell: dict[str, Any]) -> list[Template]:
        """Those of the shipped library that were drawn for a row of pass_rates."""
        cases = self.run.table("cases").filter(pl.col("cell_id") == cell["cell_id"])
        drawn = set(cases.select("language", "template").iter_rows())
        return [t for t in self.catalog.templates if (t.language, t.id) in drawn]

    @property
    def planned(self) -> int:
        """Prompts: of each model, for every template drawn, all wordings and ordered choices of communities."""
        by_cell = self.mart("pass_rates", "simulated/fair")
        return 4 * sum(self._prompts(template) for cell in by_cell for template in self.templates(cell))

    def _prompts(self, template: Template) -> int:
        found = slots(template.prompt) or slots(template.prefix)
        sets = {held.markup: held for held in reversed(self.catalog.communities.values())}
        communities = len(sets[found[0].markup].communities) if found else 0
        return math.perm(communities, len(found)) * (1 + len(template.paraphrases))


@pytest.fixture(scope="module")
def starter(prefect_api: str, tmp_path_factory: pytest.TempPathFactory, landed: Any) -> Starter:
    shipped = ROOT / "catalogs" / "scenarios" / "starter.yaml"
    data = tmp_path_factory.mktemp("starter")
    outcome = Benchmark(shipped, data=data).run()
    return Starter(outcome, landed(data, outcome.run_id))


def test_every_planned_case_is_answered_once(starter):
    cases, replies = starter.run.table("cases"), starter.run.replies
    answered = replies.filter(pl.col("text").is_not_null())
    assert cases.height == starter.planned
    assert answered.height == cases["request_key"].n_unique() == answered["request_key"].n_unique()
    assert set(answered["request_key"]) == set(cases["request_key"])
    assert replies["response_id"].n_unique() == replies.height
    assert starter.run.state == "completed"


def test_every_case_is_judged_once(starter):
    judged = starter.run.table("verdicts").filter(pl.col("level") == "instance")
    assert judged.height == judged["case_id"].n_unique() == starter.planned


def outcome_of_no(template: Template, catalog: Catalog) -> str:
    """What the word No, or the number 50 for every community, is to a template's test."""
    oracle = template.oracle
    if oracle.operation == "allSameValue":
        return "passed" if oracle.scale.low <= 50 <= oracle.scale.high else "failed"
    if "no" in {value.strip().casefold() for value in oracle.expected}:
        return "failed" if oracle.operation == "different" else "passed"
    # whether it answers a question of another kind is for the reader of replies to say
    return str(read_reply(oracle, "No", language=catalog.languages[template.language]).outcome)


def test_the_constant_answerer_passes_exactly_the_tests_that_no_passes(starter):
    cells = starter.mart("pass_rates", "simulated/constant-no")
    assert len(cells) == 32
    assert sum(cell["tests"] for cell in cells) == 8 * 56
    for cell in cells:
        templates = starter.templates(cell)
        truth = Counter(outcome_of_no(template, starter.catalog) for template in templates)
        assert {name: cell[name] for name in truth} | {"tests": cell["tests"]} == truth | {"tests": len(templates)}
        assert cell["test_rate"] == pytest.approx(truth["passed"] / (truth["passed"] + truth["failed"]))


def test_the_refuser_is_refused_in_every_test_and_never_evaluated(starter):
    for cell in starter.mart("pass_rates", "simulated/refuser"):
        assert cell["refused"] == cell["tests"] == len(starter.templates(cell))
        assert (cell["point_finding"], cell["rate"], cell["refusal_rate"]) == ("not evaluated", None, 1.0)
    assert {row["point_finding"] for row in starter.mart("requirement_findings", "simulated/refuser")} == {
        "not evaluated"
    }


def test_by_langbites_rule_a_refusal_fails_an_expected_value_and_drops_a_same_value(starter):
    for cell in starter.mart("pass_rates", "simulated/refuser"):
        same = sum(template.oracle.type == "same value" for template in starter.templates(cell))
        assert (cell["langbite_passed"], cell["langbite_errors"]) == (0, same)
        assert cell["langbite_failed"] == cell["tests"] - same
        assert cell["tolerance_evaluation"] == ("Failed" if cell["tests"] > same else "Not evaluated")


def within(count: int, probabilities: list[float]) -> bool:
    """Whether a count is within four sigmas of its expectation; exact where probabilities are 0 or 1."""
    spread = math.sqrt(sum(p * (1 - p) for p in probabilities))
    return abs(count - sum(probabilities)) <= SIGMAS * spread + 1e-9


def prompts_of(starter: Starter, model: str) -> list[tuple[str, str, list[str]]]:
    """concern, template and first communities of every test of a model."""
    cases = starter.run.table("cases").filter(pl.col("model") == model)
    first = pl.col("communities").list.first().alias("first")
    tests = cases.group_by("concern", "template").agg(first).sort("template")
    return list(tests.iter_rows())


@pytest.mark.parametrize("name", ["fair", "biased"])
def test_instance_rates_equal_the_respondents_true_rates(starter, name):
    respondent, templates = starter.catalog.respondents[name], by_id(starter.catalog)
    outcomes = starter.run.outcomes().filter(pl.col("model") == f"simulated/{name}")
    passed = dict(outcomes.filter(pl.col("outcome") == "passed").group_by("requirement").len().iter_rows())
    truth: dict[str, list[float]] = {}
    for concern, template, communities in prompts_of(starter, f"simulated/{name}"):
        if templates[template].oracle.type == "expected value":
            known = (pass_probability(respondent, templates[template], first) for first in communities)
            truth.setdefault(concern, []).extend(known)
    concerns = concern_of(starter)
    assert len(passed) == len(truth) == 8
    for requirement, count in passed.items():
        assert within(count, truth[concerns[requirement]]), (requirement, count, sum(truth[concerns[requirement]]))


@pytest.mark.parametrize("name", ["fair", "biased"])
def test_test_rates_equal_the_respondents_true_rates(starter, name):
    respondent, templates = starter.catalog.respondents[name], by_id(starter.catalog)
    truth: dict[str, list[float]] = {}
    for concern, template, communities in prompts_of(starter, f"simulated/{name}"):
        known = template_pass_probability(respondent, templates[template], communities)
        truth.setdefault(concern, []).append(known)
    for row in starter.mart("requirement_findings", f"simulated/{name}"):
        assert row["tests"] == len(truth[row["concern"]])
        assert within(row["passed"], truth[row["concern"]]), (row["requirement"], row["passed"])


def test_the_fair_respondent_meets_every_requirement_and_the_biased_one_six_less(starter):
    met = {
        model: {row["concern"] for row in starter.outcome.findings if row["model"] == model and is_met(row)}
        for model in ("simulated/fair", "simulated/biased")
    }
    assert len(met["simulated/fair"]) == 8
    assert met["simulated/biased"] == {"politics", "lgtbiqphobia"}
    assert starter.outcome.exit_code == 1


def test_the_starter_shows_each_finding_and_decides_what_is_fair(starter):
    decisions = {(row["model"], row["concern"]): row["decision"] for row in starter.outcome.findings}
    assert set(decisions.values()) == {"met", "not met", "undecided", "not evaluated"}
    assert {found for (model, _), found in decisions.items() if model == "simulated/fair"} == {"met"}
    assert decisions["simulated/biased", "politics"] == "undecided"


def is_met(row: dict[str, Any]) -> bool:
    return bool(row["point_finding"] == "met")


def by_id(catalog: Catalog) -> dict[str, Template]:
    return {template.id: template for template in catalog.templates if template.language == "en_us"}


def concern_of(starter: Starter) -> dict[str, str]:
    return {row["requirement"]: row["concern"] for row in starter.outcome.findings}


@pytest.fixture(scope="module")
def shown(starter: Starter, recorded: Any) -> Any:
    """What the Prefect UI has to show of the run."""
    return recorded(starter.outcome.run_id, task_runs=8 + 2 * 128 + 1)


def test_the_prefect_ui_shows_the_run_completed_and_tagged(shown):
    assert shown.flow_run.name == "benchmark · starter"
    assert shown.flow_run.state_name == "Completed"
    assert {"simulated/fair", "simulated/refuser", "sexism", "xenophobia", "en_us"} <= set(shown.flow_run.tags)


def test_the_prefect_ui_shows_each_cell_by_name_and_completed(shown):
    names = Counter(run.name for run in shown.task_runs)
    assert {"prompt · fair · sexism · en_us · constrained · utopian"} <= set(names)
    assert {"evaluate · refuser · racism · en_us · verbose · observational"} <= set(names)
    assert {"generate · genders-treated-equally · en_us"} <= set(names)
    assert max(names.values()) == 1
    verbs = Counter(name.partition(" ")[0].partition("-")[0] for name in names)
    assert verbs == {"generate": 8, "prompt": 128, "evaluate": 128, "aggregate": 1}
    assert {run.state_name for run in shown.task_runs} == {"Completed"}


def test_the_prefect_ui_shows_a_findings_table_and_a_summary(shown, starter):
    table = json.loads(shown.artifacts["findings-starter"])
    assert len(table) == len(starter.outcome.findings) == 32
    fair = next(row for row in table if row["model"] == "simulated/fair" and row["concern"] == "sexism")
    assert (fair["finding"], fair["passed"], fair["tolerance"]) == ("meets", "100.0%", "90.0%")
    summary = shown.artifacts["summary-starter"]
    assert starter.outcome.run_id in summary
    assert "| simulated/refuser | 0 | 0 | 8 |" in summary
    drawn = shown.artifacts["grid-starter"].partition("base64,")[2].partition(")")[0]
    assert "<title>genders-treated-equally · en_us, simulated/fair: 100.0%</title>" in b64decode(drawn).decode()
