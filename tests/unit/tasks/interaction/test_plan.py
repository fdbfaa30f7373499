"""Which plays a run has, by what they differ, and which rounds they go through. What a rehearsal expects is what
is then sent. The form in which a model replies that takes a JSON Schema.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import orjson
import pytest

from biasgrid.catalogs.scenario.tuning_examples import dev_scenes
from biasgrid.catalogs.schema.models import Limits, Prices, Target
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.converse import SCHEMAS
from biasgrid.tasks.interaction.plan import turns, understandings
from biasgrid.tasks.interaction.prompts import WORD, rehearse
from biasgrid.tasks.interaction.task import land_plays

ELSEWHERE = """
from biasgrid.catalogs.scenario.interaction import resolve_interaction
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.plan import Player, plays
asked = {"models": ["simulated/fair"], "scenes": ["office-server-migration"], "runs": 2}
resolved = resolve_interaction({"interaction": asked, "asking": {"seed": 7}})
party = Participant(Target(model="own/one", provider="own", name="one", connector="own"), "one", max_tokens=50)
print(*(play.id for play in plays("elsewhere", Player("own/one", (party,)), resolved)))
"""


def test_the_same_file_has_the_same_plays_on_every_machine(stage):
    elsewhere = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    ids = elsewhere.stdout.split()
    assert ids == [play.id for play in stage.plays(runs=2)]
    assert len(set(ids)) == len(ids) == 2 * 3


def test_a_play_is_identified_by_all_that_it_depends_on_but_the_run(stage):
    def ids(*models: str, **own: Any) -> set[str]:
        return {play.id for play in stage.plays(*models, **{"runs": 2} | own)}

    same = ids()
    assert len(same) == 2 * 3
    assert ids(run_id="another") == same
    assert same < ids(runs=3)
    for changed in (
        ids("other"),
        ids(system="Be kind."),
        ids(protocol="brief"),
        ids(languages=["es_es"]),
        ids(asking={"seed": 8}),
    ):
        assert not changed & same


def test_cells_are_by_language_setting_mitigation_and_domain(stage):
    own: dict[str, Any] = {
        "scenes": ["office-server-migration", "office-new-premises", "family-move", "controls-empty-office"],
        "languages": ["en_us", "es_es"],
        "settings": ["no_interaction", "goal"],
        "mitigations": ["none", "reflection"],
    }
    domains = {one.partition("-")[0] for one in own["scenes"]}
    planned = stage.plays(**own, runs=2)
    cells = land_plays(stage.lake, planned)
    assert cells.height == len({play.cell_id for play in planned}) == 2 * 2 * 2 * len(domains)
    assert cells["planned"].sum() == len(planned) == 2 * 2 * 2 * 2 * len(own["scenes"])
    landed = stage.lake.read("cases")
    assert set(landed["requirement"]) == domains
    assert set(landed.select("input", "reflection").unique().rows()) == {
        (setting, mitigation) for setting in own["settings"] for mitigation in own["mitigations"]
    }


def test_a_play_lands_with_all_that_is_known_of_it_before_the_first_word(stage):
    (play,) = stage.plays("a", "b", settings=["goal"], mitigations=["reflection"])
    land_plays(stage.lake, [play])
    (row,) = stage.lake.read("cases").to_dicts()
    facets = orjson.loads(row["facets"])
    assert (row["model"], row["provider"], row["concern"]) == ("cast/mixed", "cast", "sexism")
    assert (row["oracle_type"], row["operation"], row["sample"]) == ("assignment", "study", 1)
    assert row["communities"] == facets["groups"] == ["men", "women"]
    assert facets["rounds"] == ["first", "reflection", "discussion", "consensus", "last"]
    assert facets["assigns"] == ["first", "reflection", "last"]
    assert [one["model"] for one in facets["people"]] == ["own/a", "own/b", "own/a", "own/b"]
    assert facets["wishes"] in range(1, 5)
    assert (facets["held_out"], facets["control"], facets["presence"]) == (False, False, None)


@pytest.mark.parametrize("mitigation", ["reflection", "reflection_with_examples"])
def test_agents_reflect_after_their_first_assignment_and_before_they_hear_anybody(catalog, mitigation):
    for protocol in catalog.protocols.values():
        plain, reflecting = (turns("no_goal", own, protocol) for own in ("none", mitigation))
        assert reflecting == (plain[0], reflecting[1], *plain[1:])
        assert (reflecting[1].kind, reflecting[1].reads) == ("reflection", "nobody")
        assert len(turns("no_interaction", mitigation, protocol)) == 1


def test_only_who_has_a_goal_wishes_for_something(stage):
    found = {play.setting: play.wish for play in stage.plays()}
    assert found["no_interaction"] is found["no_goal"] is None
    assert found["goal"] in range(1, 5)


def test_what_a_play_is_expected_to_send(stage):
    found = {
        (play.setting, play.mitigation): play.requests for play in stage.plays(mitigations=["none", "reflection"])
    }
    assert found == {
        ("no_interaction", "none"): 1,
        ("no_interaction", "reflection"): 1,
        ("no_goal", "none"): 16,
        ("no_goal", "reflection"): 20,
        ("goal", "none"): 16,
        ("goal", "reflection"): 20,
    }


def test_what_a_model_understands_is_asked_on_scenes_that_no_model_is_tuned_on(stage):
    resolved = stage.resolve_file(settings=["understanding"], runs=2, languages=["en_us", "es_es"])
    planned = list(understandings("run", stage.player(), resolved))
    kept = dev_scenes(stage.catalog, 7)
    assert {play.scene.id for play in planned} <= kept
    assert {play.facets["presence"] for play in planned} == {"present", "absent"}
    assert len({play.id for play in planned}) == len(planned)
    assert {play.number for play in planned} == {1, 2}
    cells = land_plays(stage.lake, planned)
    assert cells["planned"].sum() == len(planned) == stage.lake.read("cases").height
    assert all(play.requests == 1 and play.turns[0].reads == "nobody" for play in planned)
    assert list(stage.plays(settings=["understanding"])) == []


@pytest.mark.parametrize("protocol", ["study", "brief"])
async def test_a_rehearsal_has_every_request_of_a_play_whose_replies_are_as_long(stage, company, protocol):
    mitigations = ["none", "reflection_with_examples"]
    planned = stage.plays("a", "b", protocol=protocol, mitigations=mitigations)
    agents = company(reply_to=lambda _: WORD * 20)
    await stage.play(agents, planned)
    expected = [(party.target.name, messages) for play in planned for party, messages in rehearse(play, 20)]
    sent = [(model, request.messages) for model, request in agents.asked]
    assert sorted(expected, key=str) == sorted(sent, key=str)
    assert len(expected) == sum(play.requests for play in planned)


def party(structured: bool) -> Participant:
    prices, limits = Prices(input=1, output=1), Limits(concurrency=1)
    target = Target(
        model="own/a",
        provider="own",
        name="a",
        connector="own",
        prices=prices,
        limits=limits,
        structured=structured,
    )
    return Participant(target, "a", max_tokens=50)


@pytest.mark.parametrize("question", ["assignment", "choice"])
def test_a_model_writes_its_remarks_before_it_assigns(question):
    schema = json.loads(party(structured=True).parameters(1, SCHEMAS[question]))["json_schema"]
    assert list(schema["properties"]) == schema["required"]
    assert schema["required"][0] == "remarks"


def test_a_model_that_takes_no_schema_is_sent_none():
    assert "json_schema" not in json.loads(party(structured=False).parameters(1, SCHEMAS["choice"]))
