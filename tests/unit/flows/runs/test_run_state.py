"""What a person reads of a run that is continued."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.runs.kinds import AUGMENTING, all_kinds
from biasgrid.flows.runs.prepare import Prepared
from biasgrid.flows.runs.run_state import describe_changed_files
from biasgrid.flows.scheduled.shard import refuse_other_catalogs
from biasgrid.warehouse.storage.runs import Run, as_json

SHARED, PROMPTS, ATTACKS = (
    f"catalogs/{name}" for name in ("models.yaml", "templates/en_us/ageism.yaml", "attacks/en_us.yaml")
)


@pytest.fixture
def prepared(scenario: Callable[..., dict[str, Any]]) -> Prepared[Any]:
    return Prepared(resolve(scenario(["simulated/fair"])))


def planned(prepared: Prepared[Any], *others: str, kind: str = "benchmark") -> Run:
    """A run that was planned when these files had another content."""
    hashes = dict(prepared.resolved.catalog.hashes)
    assert hashes.keys() >= {*others}
    recorded = as_json(hashes | {name: f"another {name}" for name in others})
    return Run("run-1", "interrupted", kind, "{}", "{}", recorded, "{}", 7, datetime.now(UTC))


def test_changed_files_are_named_those_first_by_which_the_run_goes(prepared):
    now = prepared.resolved.catalog.hashes
    assert describe_changed_files(planned(prepared), now) is None
    begin = "catalog files changed since run run-1 was planned: "
    assert describe_changed_files(planned(prepared, ATTACKS, PROMPTS, SHARED), now) == (
        f"{begin}2 by which it goes ({SHARED}, {PROMPTS}); 1 that it does not read ({ATTACKS})"
    )
    assert describe_changed_files(planned(prepared, ATTACKS, PROMPTS, kind="redteam"), now) == (
        f"{begin}1 by which it goes ({ATTACKS}); 1 that it does not read ({PROMPTS})"
    )


def test_a_file_of_the_catalog_is_read_by_a_kind_of_run_or_for_augmentation(prepared):
    for name in prepared.resolved.catalog.hashes:
        is_read = any(kind.reads(name) for kind in all_kinds())
        assert is_read != (name.split("/")[1] in AUGMENTING), name


def test_a_shard_is_refused_by_what_it_reads_alone(prepared):
    refuse_other_catalogs(planned(prepared, ATTACKS), prepared)
    with pytest.raises(UserError, match=f"not those of run `run-1`: {PROMPTS}\n"):
        refuse_other_catalogs(planned(prepared, ATTACKS, PROMPTS), prepared)
