"""What a bundle holds: everything behind a run's numbers, what is missing, and nothing else."""

import csv
import hashlib
import io
import json
import shutil
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.report.evidence.manifest import read_manifest
from biasgrid.tasks.report.evidence.verify import verify
from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.tasks.report.html.page import page_script
from biasgrid.tasks.report.html.probe_pages import write_probe_page
from biasgrid.tasks.report.html.redteam_pages import write_red_team_page
from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

ENDED = datetime(2026, 3, 1, 5, 0, 9, tzinfo=UTC)
CANARY = "sk-canary-3f1c9d"


def files_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def read_bundle(lake: Lake, run_id: str, out: Path, **how: Any) -> dict[str, bytes]:
    (path,) = write_evidence(lake, run_id, out, **how)
    assert verify(path).is_intact
    return files_of(path)


def test_the_same_run_is_the_same_bytes(landed, written, tmp_path, monkeypatch):
    copied = Lake(Path(shutil.copytree(landed.root, tmp_path / "moved")))
    copied.database.unlink()
    build(copied)
    monkeypatch.chdir(tmp_path)
    (again,) = write_evidence(copied, "R1", Path("here"))
    assert again.read_bytes() == written.read_bytes()


def test_a_bundle_written_right_after_its_run_is_that_of_another_day(landed, tmp_path):
    lake = _with_run(landed, tmp_path, state="aggregating", recorded_at=datetime(2026, 3, 1, 5, tzinfo=UTC))
    _land_event(lake, "3", state="completed", recorded_at=ENDED, ended_at=ENDED)
    (right_after,) = write_evidence(lake, "R1", tmp_path / "1")
    build(lake)
    (later,) = write_evidence(lake, "R1", tmp_path / "2")
    assert right_after.read_bytes() == later.read_bytes()


def test_a_warehouse_that_is_behind_the_run_makes_no_bundle(landed, tmp_path):
    lake = _with_run(landed, tmp_path, state="completed")
    _land_event(lake, "3", state="interrupted")
    with pytest.raises(UserError, match="has run `R1` as completed, and the lake has it as interrupted"):
        write_evidence(lake, "R1", tmp_path)


def test_other_runs_have_no_part_in_a_bundle_nor_in_its_pages(landed, tmp_path):
    alone = Lake(Path(shutil.copytree(landed.root, tmp_path / "alone")))
    for folder in (alone.root / "lake").glob("*/run_id=R[12]"):
        shutil.rmtree(folder)
    build(alone)
    (with_others,) = write_evidence(landed, "R3", tmp_path / "1", partial(write_run_pages, alone=True))
    (by_itself,) = write_evidence(alone, "R3", tmp_path / "2", partial(write_run_pages, alone=True))
    assert with_others.read_bytes() == by_itself.read_bytes()
    assert "report/index.html" in files_of(with_others)


def test_the_same_run_in_a_bucket_is_the_same_bytes(landed, written, s3, tmp_path):
    shared = Lake.open("s3://lakes/team")
    for path in sorted((landed.root / "lake").rglob("*.parquet")):
        table, run = path.parent.parent.name, path.parent.name.removeprefix("run_id=")
        shared.write(table, run, path.stem, pl.read_parquet(path, hive_partitioning=False))
    build(shared)
    (again,) = write_evidence(shared, "R1", tmp_path)
    assert again.read_bytes() == written.read_bytes()


def test_every_file_is_listed_with_hash_size_and_role(written):
    files = files_of(written)
    manifest = read_manifest(files["manifest.json"])
    assert {member.path for member in manifest.files} == files.keys() - {"manifest.json", "SHA256SUMS"}
    for member in manifest.files:
        assert (member.size, member.sha256) == (
            len(files[member.path]),
            hashlib.sha256(files[member.path]).hexdigest(),
        )
    roles = {member.path: member.role for member in manifest.files}
    assert roles["marts/pass_rates.csv"] == "mart"
    assert roles["records/responses.parquet"] == "record"
    assert roles["coverage.json"] == roles["record.html"] == "coverage"
    assert manifest.run.run_id == "R1"


def test_rows_are_those_that_landed_and_those_of_the_marts(landed, written):
    files = files_of(written)
    for table in ("cases", "responses", "verdicts", "criteria", "runs"):
        rows = pl.read_parquet(io.BytesIO(files[f"records/{table}.parquet"]))
        assert rows.sort(rows.columns[:2]).equals(landed.read(table, "R1").sort(rows.columns[:2])), table
        assert len(list(csv.reader(io.StringIO(files[f"records/{table}.csv"].decode())))) == rows.height + 1
    rates = pl.read_parquet(io.BytesIO(files["marts/pass_rates.parquet"]))
    assert rates.equals(query(landed, "from marts.pass_rates where run_id = 'R1' order by all"))
    assert not [name for name in files if "trend" in name or "leaderboard" in name]


def test_a_formula_is_defused_in_csv_and_kept_in_parquet(written):
    files = files_of(written)
    texts = {row["text"] for row in csv.DictReader(io.StringIO(files["records/responses.csv"].decode()))}
    assert '\'=HYPERLINK("http://x","y")' in texts
    assert '=HYPERLINK("http://x","y")' in set(
        pl.read_parquet(io.BytesIO(files["records/responses.parquet"]))["text"]
    )


def test_a_key_in_the_environment_is_in_no_file(landed, tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, CANARY)
    files = read_bundle(landed, "R2", tmp_path)
    assert not [name for name, content in files.items() if CANARY.encode() in content]


def test_a_broken_off_run_shows_it_and_a_changed_catalog_file_is_reported_with_both_hashes(landed, tmp_path):
    kept, changed = tmp_path / "kept.csv", tmp_path / "changed.csv"
    kept.write_text("as it was")
    changed.write_text("as it is now")
    was, now = (hashlib.sha256(text).hexdigest() for text in (b"as it was", b"as it is now"))
    recorded = {str(kept): was, str(changed): was, "catalogs/concerns/gone.yaml": "0" * 64}
    lake = _with_run(landed, tmp_path, state="interrupted", catalog_hashes=json.dumps(recorded))
    files = read_bundle(lake, "R1", tmp_path)

    assert not read_manifest(files["manifest.json"]).complete
    assert json.loads(files["coverage.json"])["run"]["complete"] is False
    assert "not complete" in files["coverage.md"].decode()
    assert "not complete (interrupted)" in files["record.html"].decode()

    assert [content for name, content in files.items() if name.startswith("catalogs/")] == [b"as it was"]
    missing = {row["file"]: row for row in json.loads(files["coverage.json"])["catalogs_missing"]}
    assert missing.keys() == {str(changed), "catalogs/concerns/gone.yaml"}
    assert (missing[str(changed)]["sha256_recorded"], missing[str(changed)]["sha256_today"]) == (was, now)
    assert missing["catalogs/concerns/gone.yaml"]["sha256_today"] is None
    assert all(now in files[page].decode() for page in ("coverage.md", "record.html"))


def _with_run(landed: Lake, folder: Path, **changed: Any) -> Lake:
    """A lake with a later event of run R1."""
    lake = Lake(Path(shutil.copytree(landed.root, folder / "lake")))
    _land_event(lake, "2", **changed)
    build(lake)
    return lake


def _land_event(lake: Lake, event_id: str, **changed: Any) -> None:
    content = {"event_id": event_id, **changed}
    event = lake.newest("runs", "R1").with_columns(pl.lit(value).alias(name) for name, value in content.items())
    lake.write("runs", "R1", event_id, event)


def test_a_run_that_never_asked_anything_is_a_bundle_too(tmp_path):
    lake = Lake.open(tmp_path / "data")
    lake.write(
        "runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "failed", "kind": "probe"}])
    )
    build(lake)
    files = read_bundle(lake, "R1", tmp_path)
    assert "records/responses.csv" not in files
    assert json.loads(files["coverage.json"])["cells"] == []


def test_of_a_probe_and_a_red_team_their_pages_are_in_it_and_replies_are_harmless(probed, attacked, tmp_path):
    own = f"<script>{page_script()[0]}</script>"
    for run, pages in ((probed, write_probe_page), (attacked, write_red_team_page)):
        files = read_bundle(Lake(run.data), run.run_id, tmp_path / "1", pages=pages)
        assert "report/report.html" in files
        for name in ("record.html", "coverage.md", "report/report.html"):
            assert "<script>" not in files[name].decode().replace(own, "")
            assert "<i>Larkspur" not in files[name].decode()
        assert read_bundle(Lake(run.data), run.run_id, tmp_path / "2", pages=pages) == files
