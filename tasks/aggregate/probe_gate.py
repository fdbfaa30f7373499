"""Selects the pairs whose explicit probe test follows the implicit one, by the marts' SQL on this run alone,
before the warehouse is built."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.storage.lake import Lake

FOLLOWED = """
    select model, language, pair
    from marts.probe_findings
    where
        test = 'implicit'
        and 20 * errors <= trials
        and (starts_with(finding, 'biased') or ($refused and 2 * refused > trials))
"""
"""Prompts that were hardly sent, because of a cap or an error, give no result."""


def select_followed(lake: Lake, run_id: str, *, refused: bool) -> set[tuple[str, str, str]]:
    """Model, language and pair with implicit bias; with `refused`, also those that mostly refused. Raises as a
    build does."""
    from biasgrid.warehouse.build.build import compute_models, open_new_file
    from biasgrid.warehouse.build.models import load_models, with_sources

    own = Side(run_id, run_id, run_id)
    wanted = with_sources(load_models(), {"marts.probe_findings"})
    with (
        TemporaryDirectory(prefix="biasgrid-probe-") as folder,
        open_new_file(Path(folder) / "probe.duckdb") as warehouse,
    ):
        compute_models(warehouse, lake, wanted, own)
        return {*warehouse.execute(FOLLOWED, {"refused": refused}).fetchall()}
