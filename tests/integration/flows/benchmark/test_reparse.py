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


@pytest.fixture
def first(request, kind):
    """The finished run of a kind, which is made before a test's event loop runs."""
    return request.getfixturevalue(kind)


@pytest.mark.parametrize(
    ("kind", "findings", "readings"),
    [("probed", FINDINGS, "int_probe_readings"), ("talked", SCORES, "int_assignments")],
)
async def test_what_is_read_anew_counts_and_what_was_read_before_stays(first, tmp_path, kind, findings, readings):
    lake = Lake(shutil.copytree(first.data, tmp_path / "data"))
    before, found = lake.read("verdicts", first.run_id), query(lake, findings)
    replies = lake.read("responses", first.run_id)
    outcome = await read_again(first.run_id, str(lake.root))
    assert query(lake, findings).equals(found)
    assert outcome.findings if kind == "probed" else outcome.bias_scores
    landed = lake.read("verdicts", first.run_id)
    evaluations = landed["evaluation_id"].unique().sort().to_list()
    assert (len(evaluations), landed.height) == (2, 2 * before.height)
    assert lake.read("responses", first.run_id).equals(replies)
    counted = query(lake, f"select distinct evaluation_id from intermediate.{readings}")["evaluation_id"]
    assert counted.to_list() == evaluations[1:]


async def test_what_a_judge_judges_is_not_read_again(attacked):
    with pytest.raises(UserError, match="no reading again"):
        await read_again(attacked.run_id, str(attacked.data))
