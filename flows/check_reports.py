"""Reports made of a run's checks: for CI, for model cards, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.report.checks import Gate, checks
from warehouse.handed_out import write_bytes, write_text
from warehouse.lake import Lake
from warehouse.runs import find


def write_junit(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """`junit.xml`."""
    from tasks.report.junit import junit

    run = find(lake, run_id)
    return _landed(out, {"junit.xml": junit(run, checks(lake, run), gate)})


def write_step_summary(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """`summary.md`."""
    from tasks.report.step_summary import step_summary

    run = find(lake, run_id)
    return _landed(out, {"summary.md": step_summary(run, checks(lake, run), gate)})


def write_model_cards(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """One file per model of which anything could be measured."""
    from tasks.report.model_card import model_cards

    run = find(lake, run_id)
    return _landed(out, model_cards(run, checks(lake, run)))


def write_pictures(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """SVG and PNG of each picture, and `pictures.md`, which says in words what they show."""
    from tasks.report.pictures.of_run import files, pictures

    run = find(lake, run_id)
    return _landed(out, files(run, pictures(lake, run, checks(lake, run))))


def _landed(out: Path, pages: Mapping[str, str | bytes]) -> list[Path]:
    return [
        write_bytes(out / name, page) if isinstance(page, bytes) else write_text(out / name, page)
        for name, page in pages.items()
    ]
