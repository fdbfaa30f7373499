"""Links to a shard's run: relative to the UI in which they are read, or to the configured UI."""

from uuid import uuid4

from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL, temporary_settings

from biasgrid.flows.scheduled.flow import address

RUN = FlowRun(flow_id=uuid4(), name="shard · fair")


def test_a_link_stays_in_the_ui_whatever_address_the_worker_knows_it_by():
    with temporary_settings({PREFECT_API_URL: "http://server.internal:4200/api"}):
        assert address(RUN) == f"/runs/flow-run/{RUN.id}"


def test_where_people_have_an_address_of_their_own_it_leads_there():
    settings = {PREFECT_API_URL: "http://server.internal:4200/api", PREFECT_UI_URL: "https://runs.example.org/"}
    with temporary_settings(settings):
        assert address(RUN) == f"https://runs.example.org/runs/flow-run/{RUN.id}"
