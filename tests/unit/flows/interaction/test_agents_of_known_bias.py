"""Agents of known bias play shipped scenes, and reader and SQL find what they were given: no more and no less."""

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.scenario.interaction import every_scene
from biasgrid.flows.interaction.kind import INTERACTION
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.evaluate.assignment_verdicts import assignment_verdicts
from biasgrid.tasks.evaluate.cell import Evaluation, land_readings
from biasgrid.tasks.interaction.plan import plan_by_cell
from biasgrid.tasks.interaction.task import PlayCell, interact_cell, land_plays
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, record_planned

pytestmark = pytest.mark.drill

STEADY, JOINING, FULL = 0.5, 0.3, 1.0
CONFORMITY, RECOGNISES = 0.8, 0.75
RESPONDENTS: dict[str, dict[str, float]] = {
    "steady": {"strength": STEADY, "correlation": 0.5},
    "joining": {"strength": JOINING, "conformity": CONFORMITY, "recognises": RECOGNISES},
    "full": {"strength": FULL, "corrects": 1.0},
}
WITHIN = 3.5
"""Standard errors between what is found and what was given."""
Found = Callable[[str], list[dict[str, Any]]]


def of_four() -> list[str]:
    """Scenes of two women and two men, of two tasks that are thought women's and two men's: chance gives 0."""
    own = [scene for domain, scene in every_scene(load_catalog()) if not (domain.held_out or domain.by_name)]
    return [one.id for one in own if (one.axis, len(one.tasks), sum(one.groups.values())) == ("gender", 4, 4)]


ASKED: tuple[dict[str, Any], ...] = (
    {
        "models": ["simulated/steady"],
        "axes": ["gender"],
        "scenes": "all",
        "settings": ["no_interaction"],
        "languages": ["en_us", "es_es"],
        "runs": 2,
    },
    {"models": ["simulated/joining"], "scenes": of_four()[::2], "settings": ["no_goal"], "runs": 1},
    {"models": ["simulated/joining"], "settings": ["understanding"], "runs": 4},
    {
        "models": ["simulated/full"],
        "scenes": ["school-case-deadline", "school-case-lead", *of_four()[:3]],
        "settings": ["no_interaction", "goal"],
        "mitigations": ["none", "reflection", "reflection_with_examples"],
        "languages": ["en_us", "es_es"],
        "runs": 1,
    },
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    """Rows of the warehouse's answer to a query."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "respondents").mkdir()
    for name, own in RESPONDENTS.items():
        respondent = {"id": name, "description": "Of known bias.", "assigning": own}
        (folder / "respondents" / f"{name}.yaml").write_text(yaml.safe_dump(respondent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIASGRID_CATALOG", str(folder))
        lake = Lake.open(folder / "data")
        for asked in ASKED:
            asyncio.run(_played(lake, asked))
        build(lake)
        yield lambda sql: query(lake, sql).to_dicts()


async def _played(lake: Lake, asked: dict[str, Any]) -> None:
    resolved = INTERACTION.prepare({"interaction": asked, "asking": {"seed": 3}}).resolved
    catalog = resolved.catalog
    run = begin_run(lake, "{}", resolved.as_json(), catalog.hashes, resolved.settings.seed, "interaction")
    by_cell = list(plan_by_cell(run.run_id, resolved))
    record_planned(lake, run.run_id, land_plays(lake, [play for plays in by_cell for play in plays]))
    async with ModelPool(catalog) as model_pool:
        for plays in by_cell:
            await interact_cell(lake, PlayCell(planned=plays, retries=0), model_pool)
            land_readings(
                lake, run.run_id, [plays[0].cell_id], Evaluation(run.run_id, catalog), assignment_verdicts
            )
    run.record(lake, "completed")


def stereotypical() -> float:
    """The chance that the first assignment of a joining agent is the stereotypical one to the name. Of four tasks
    and people there are 24, and chance may hit upon it, too."""
    return JOINING + (1 - JOINING) / 24


def leads(people: int = 4, others: int = 23) -> float:
    """The chance that among what so many have named no other assignment is named more often."""
    p = stereotypical()
    named = [math.comb(people, n) * p**n * (1 - p) ** (people - n) for n in range(people + 1)]
    all_differ = math.prod(1 - n / others for n in range(people - 1))
    return named[1] * all_differ + sum(named[2:])


@pytest.mark.parametrize("language", ["en_us", "es_es"])
def test_a_score_is_the_strength_and_what_chance_adds_to_it(found, language):
    (row,) = found(
        f"""from marts.bias_scores where model = 'simulated/steady' and language = '{language}'
        and domain = 'all' and not is_control"""
    )
    assert row["scenes"] > 100
    assert row["classed"] == row["replies"]
    known = STEADY + (1 - STEADY) * row["expected_score"]
    assert row["bias_score"] == pytest.approx(known, abs=WITHIN * row["standard_error"])
    assert (row["standard_error"] < 0.06, row["decision"]) == (True, "biased")


def test_conformity_raises_the_last_score_by_what_the_groups_size_lets_it(found):
    (row,) = found("from marts.escalation where model = 'simulated/joining' and domain = 'all'")
    group = leads() - (1 - leads()) / 23  # who joins another assignment joins one of 23 that come to −1 together
    last = CONFORMITY * group + (1 - CONFORMITY) * JOINING
    assert row["difference"] == pytest.approx(last - JOINING, abs=WITHIN * row["standard_error"])
    assert row["standard_error"] < 0.09
    assert row["first_score"] == pytest.approx(JOINING, abs=0.25)
    assert row["low"] > 0.1


def test_who_recognises_three_of_four_is_found_to_do_so(found):
    (row,) = found("from marts.understanding where model = 'simulated/joining'")
    spread = math.sqrt(RECOGNISES * (1 - RECOGNISES) / row["replies"])
    assert row["accuracy"] == pytest.approx(RECOGNISES, abs=WITHIN * spread)
    assert row["replies"] >= 100
    assert (row["unreadable"], row["refused"], row["errors"]) == (0, 0, 0)


def test_who_follows_stereotypes_always_does_so_at_first_whatever_the_language(found):
    rows = found(
        """from marts.bias_scores where model = 'simulated/full' and domain = 'all'
        and (stage = 'first' or stage = 'only' and mitigation = 'none')"""
    )
    assert {(row["language"], row["setting"]) for row in rows} == {
        (language, setting) for language in ("en_us", "es_es") for setting in ("no_interaction", "goal")
    }
    assert {row["bias_score"] for row in rows} == {1.0}


def test_who_corrects_itself_is_fair_once_it_has_reflected(found):
    rows = found(
        """from marts.bias_scores where model = 'simulated/full' and domain = 'all' and mitigation <> 'none'
        and stage in ('reflected', 'last', 'only')"""
    )
    assert len(rows) == 2 * 2 * 3
    assert {(row["neutral_share"], row["bias_score"]) for row in rows} == {(1.0, 0.0)}


def test_a_person_chosen_by_stereotype_is_of_its_group(found):
    rows = found("from marts.choices where model = 'simulated/full' and mitigation = 'none' and stage <> 'last'")
    assert {row["language"] for row in rows} == {"en_us", "es_es"}
    assert {(row["stereotype"], row["first_share"]) for row in rows} == {("men", 1.0)}
    assert sum(row["unreadable"] + row["refused"] + row["errors"] for row in rows) == 0
