"""An interaction in one call from Python."""

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.api import Interaction

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]


def test_models_share_out_scenes_and_the_scores_come_back(tmp_path):
    scenes = ["office-inventory", "office-new-premises"]
    asked = Interaction(
        models=["simulated/conforming"], scenes=scenes, settings=["no_goal"], runs=1, seed=3, data=tmp_path
    )
    found = asked.run()
    assert {(row["setting"], row["stage"], row["scenes"]) for row in found.overall} == {
        ("no_goal", "first", 2),
        ("no_goal", "last", 2),
    }
    assert not found.incomplete


def test_nothing_to_play_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match="nothing is named"):
        Interaction(data=tmp_path).run()


def test_a_list_of_no_scenes_is_a_mistake_and_not_as_usual(tmp_path):
    with pytest.raises(UserError, match="scenes"):
        Interaction(models=["simulated/fair"], scenes=[], data=tmp_path).run()
