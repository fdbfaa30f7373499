"""The warehouse is built anew from the lake as a flow, and the Prefect UI shows of what."""

import shutil
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.scheduled.rebuild_warehouse import rebuild_warehouse, rows_of_marts
from biasgrid.warehouse.storage.lake import Lake
from support.paths import EARLIER_LAKES

pytestmark = pytest.mark.usefixtures("prefect_api")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    shutil.copytree(EARLIER_LAKES / "second", tmp_path / "data" / "lake")
    return Lake(tmp_path / "data")


async def test_a_warehouse_that_is_gone_is_there_again_with_a_table_of_its_marts(lake):
    rows = await rebuild_warehouse(str(lake.root), expectations=False)
    assert rows["requirement_findings"] == 1
    assert rows["pass_rates"] == 2
    assert rows == rows_of_marts(lake)
    async with get_client() as client:
        (shown, *_) = [one for one in await client.read_artifacts() if one.key == "warehouse"]
    assert "built from the lake in" in (shown.description or "")
    assert '"pass_rates"' in str(shown.data)


async def test_there_is_nothing_to_build_where_nothing_is(tmp_path):
    with pytest.raises(UserError, match="there is no data directory"):
        await rebuild_warehouse(str(tmp_path / "nowhere"))
