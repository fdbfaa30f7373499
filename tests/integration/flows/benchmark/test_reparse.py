"""Stored replies read again by the catalog of today: no model is asked, earlier readings stay."""

import shutil

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.runs.reparse import read_again
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
SCORES = "select * from marts.bias_scores order by all"
FINDINGS = "select * from marts.probe_findings order by all"


async def test_what_is_read_anew_counts_and_what_was_read_before_stays(probed, tmp_path):
    lake = Lake(shutil.copytree(probed.data, tmp_path / "data"))
    before, found = lake.read("verdicts", probed.run_id), query(lake, FINDINGS)
    path = lake.files("responses", probed.run_id)[0]
    replies = lake.read("responses", probed.run_id).height
    outcome = await read_again(probed.run_id, str(lake.root))
    assert query(lake, FINDINGS).equals(found)
    assert outcome.findings
    landed = lake.read("verdicts", probed.run_id)
    evaluations = landed["evaluation_id"].unique().sort().to_list()
    assert (len(evaluations), landed.height) == (2, 2 * before.height)
    assert lake.read("responses", probed.run_id).height == replies
    assert path.read_bytes() == Lake(probed.data).files("responses", probed.run_id)[0].read_bytes()
    counted = query(lake, "select distinct evaluation_id from intermediate.int_probe_readings")["evaluation_id"]
    assert counted.to_list() == evaluations[1:]


async def test_assignments_read_anew_count_and_earlier_ones_stay(talked, tmp_path):
    lake = Lake(shutil.copytree(talked.data, tmp_path / "data"))
    before, found = lake.read("verdicts", talked.run_id), query(lake, SCORES)
    replies = lake.read("responses", talked.run_id).height
    outcome = await read_again(talked.run_id, str(lake.root))
    assert query(lake, SCORES).equals(found)
    assert outcome.bias_scores
    landed = lake.read("verdicts", talked.run_id)
    evaluations = landed["evaluation_id"].unique().sort().to_list()
    assert (len(evaluations), landed.height) == (2, 2 * before.height)
    assert lake.read("responses", talked.run_id).height == replies
    counted = query(lake, "select distinct evaluation_id from intermediate.int_assignments")["evaluation_id"]
    assert counted.to_list() == evaluations[1:]


async def test_what_a_judge_judges_is_not_read_again(attacked):
    with pytest.raises(UserError, match="no reading again"):
        await read_again(attacked.run_id, str(attacked.data))
