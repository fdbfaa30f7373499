import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.report.findings import findings


def test_findings_are_the_rows_of_one_run(landed):
    found = findings(landed, "R1")
    assert found.requirements.select("model", "point_finding").rows() == [
        ("simulated/fair", "met"),
        ("simulated/odd", "not met"),
    ]
    assert found.cells.select("model", "tests", "passed").rows() == [
        ("simulated/fair", 3, 3),
        ("simulated/odd", 3, 0),
    ]
    assert found.deltas["outcome"].to_list() == ["passed", "refused"]
    assert found.costs.height == 2
    assert set(found.refusals["community"]) == {"men", "women"}
    assert found.is_complete
    assert not found.all_met


def test_a_run_that_the_warehouse_does_not_hold_is_named_with_those_it_does(landed):
    with pytest.raises(UserError) as caught:
        findings(landed, "R9")
    assert "`R9`" in str(caught.value)
    assert "`R1`" in str(caught.value)
