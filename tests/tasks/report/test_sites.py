"""Sites over all runs: what they list, what is written again, what is kept, and whose files they leave alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from catalogs.mistakes import UserMistake
from tasks.report.lake_pages import PagesOf, Site, write_lake_pages
from tasks.report.record import NAME, renew
from tasks.report.run_pages import write_run_pages
from warehouse.build import build, query
from warehouse.lake import Lake

Read = Callable[[Path, str], dict[str, Any]]
PAGES = {"benchmark": PagesOf(write_run_pages, "index.html")}
BOTH = {"N1", "N2"}
WAYS = ("older", "newer")


def _write(lake: Lake, out: Path, language: str = "en_us") -> Site:
    return write_lake_pages(lake, out, PAGES, language)


def _files(out: Path) -> dict[str, tuple[int, int]]:
    """Each file below a folder, by what tells whether it was written again."""
    found = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def _written_again(lake: Lake, out: Path, language: str = "en_us") -> set[str]:
    """The runs whose pages are other files than before."""
    before = _files(out)
    site = _write(lake, out, language)
    changed = {
        name.split("/")[1] for name, told in _files(out).items() if told != before.get(name) and "/N" in name
    }
    assert (site.written, site.kept) == (len(changed), 2 - len(changed))
    return changed


@pytest.fixture(scope="module")
def once(nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("once")
    assert _write(nights, out) == Site(out / "index.html", 2, 0)
    return out


@pytest.fixture
def out(once: Path, tmp_path: Path) -> Path:
    """A site as it was written, to be spoilt."""
    return Path(shutil.copytree(once, tmp_path / "out"))


@pytest.fixture
def lake(nights: Lake, tmp_path: Path) -> Lake:
    return Lake(Path(shutil.copytree(nights.root, tmp_path / "lake")))


def test_a_site_lists_every_run_and_leads_to_its_page(once: Path, read: Read) -> None:
    runs = read(once, "lake")["runs"]
    assert [(run["run_id"], run["page"]) for run in runs] == [
        ("N2", "runs/N2/index.html"),
        ("N1", "runs/N1/index.html"),
    ]
    assert all((once / run["page"]).is_file() for run in runs)
    assert [run["worse"] for run in runs] == [1, None]


def test_a_site_has_the_newest_run_of_each_model_with_its_decision(
    nights: Lake, read: Read, tmp_path: Path
) -> None:
    write_lake_pages(nights, tmp_path, {})
    told = read(tmp_path, "lake")
    findings = query(nights, "from marts.requirement_findings where run_id = 'N2' order by model")
    assert set(told["findings"]["run_id"]) == {"N2"}
    assert told["findings"]["decision"] == findings["decision"].to_list()
    assert [run["page"] for run in told["runs"]] == [None, None]


def test_a_run_knows_those_before_and_after_it(once: Path, read: Read) -> None:
    ways = {run_id: read(once / "runs" / run_id, "run")["ways"] for run_id in BOTH}
    beside = {
        run_id: [(told[way] or {}).get("href") for way in ("older", "newer")] for run_id, told in ways.items()
    }
    assert beside == {"N1": [None, "../N2/index.html"], "N2": ["../N1/index.html", None]}


def test_what_has_not_changed_is_not_written_again(lake: Lake, out: Path) -> None:
    before = _files(out)
    assert _written_again(lake, out) == set()
    assert _files(out) == before


@pytest.mark.drill
def test_a_warehouse_that_is_built_again_from_the_same_lake_changes_no_page(lake: Lake, out: Path) -> None:
    build(lake)
    assert _written_again(lake, out) == set()


def test_pages_in_another_language_are_others(lake: Lake, out: Path) -> None:
    assert _written_again(lake, out, "es_es") == BOTH
    assert 'lang="es"' in (out / "runs" / "N1" / "index.html").read_text(encoding="utf-8")


def test_pages_of_a_program_that_shows_them_otherwise_are_others(
    lake: Lake, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.report.inputs._program", lambda: "another")
    assert _written_again(lake, out) == BOTH


@pytest.mark.drill
def test_what_a_run_is_judged_by_makes_it_and_the_trend_after_it_new(lake: Lake, out: Path) -> None:
    (verdicts, *_) = lake.files("verdicts", "N2")
    changed = pl.read_parquet(verdicts).with_columns(reason=pl.lit("by another rule"))
    lake.write("verdicts", "N2", verdicts.stem, changed)
    build(lake)
    assert _written_again(lake, out) == {"N2"}
    (verdicts, *_) = lake.files("verdicts", "N1")
    changed = pl.read_parquet(verdicts).with_columns(outcome=pl.lit("failed"))
    lake.write("verdicts", "N1", verdicts.stem, changed)
    build(lake)
    assert _written_again(lake, out) == BOTH


def test_pages_of_which_one_is_gone_are_written_anew(lake: Lake, out: Path) -> None:
    (out / "runs" / "N1" / "data" / "tests-0.js").unlink()
    assert _written_again(lake, out) == {"N1"}
    (out / "runs" / "N2" / NAME).write_text("{")
    assert _written_again(lake, out) == {"N2"}


def test_what_an_earlier_build_wrote_goes_and_what_others_put_there_stays(lake: Lake, out: Path) -> None:
    folder = out / "runs" / "N1"
    record = json.loads((folder / NAME).read_text())
    ours = ["plays-001.html", "data/tests-9.js", "gone/by.js"]
    for name in [*ours, "notes.txt", "data/mine.js"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    (folder / NAME).write_text(json.dumps({"digest": "of old", "files": record["files"] + ours}))
    assert _written_again(lake, out) == {"N1"}
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert left == {*record["files"], NAME, "notes.txt", "data/mine.js"}
    assert not (folder / "gone").exists()


def test_a_record_leads_nobody_out_of_its_folder(lake: Lake, out: Path, tmp_path: Path) -> None:
    folder, precious = out / "runs" / "N1", tmp_path / "precious.html"
    precious.write_text("x")
    elsewhere = ["../../../precious.html", str(precious), "data", "\0", 7]
    (folder / NAME).write_text(json.dumps({"digest": "of old", "files": elsewhere}))
    assert _written_again(lake, out) == {"N1"}
    assert precious.exists()


def test_pages_of_a_run_that_is_gone_go_and_nothing_else(lake: Lake, out: Path) -> None:
    shutil.copytree(out / "runs" / "N1", out / "runs" / "N0")
    (out / "runs" / "mine").mkdir()
    (out / "runs" / "mine" / "index.html").write_text("x")
    _write(lake, out)
    assert {path.name for path in (out / "runs").iterdir()} == {*BOTH, "mine"}


def test_who_is_stopped_while_writing_leaves_the_old_pages_or_is_written_anew(lake: Lake, tmp_path: Path) -> None:
    def halfway(root: Path) -> list[Path]:
        write_run_pages(lake, "N1", root)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        renew(tmp_path / "new", halfway)
    assert not (tmp_path / "new").exists()
    first, *_ = renew(tmp_path / "old", partial(write_run_pages, lake, "N2"))
    before = _files(tmp_path / "old")
    with pytest.raises(KeyboardInterrupt):
        renew(tmp_path / "old", halfway)
    assert _files(tmp_path / "old") == before
    assert first.is_file()


def test_pages_that_were_half_put_in_place_are_written_anew(
    lake: Lake, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, put = out / "runs" / "N1", Path.replace
    whole = {*_files(folder)}

    def killed(path: Path, target: Path) -> Path:
        if path.name == "search.js":
            raise KeyboardInterrupt
        return put(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            renew(folder, partial(write_run_pages, lake, "N1", language="es_es"))
    (folder / ".01.partial").mkdir()
    (folder / ".01.partial" / "index.html").write_text("left by one who was killed")
    assert _written_again(lake, out) == {"N1"}
    assert {*_files(folder)} == whole
    assert 'lang="en"' in (folder / "index.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_told(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(UserMistake, match="cannot be written"):
        renew(tmp_path, partial(write_run_pages, lake, "N1"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserMistake, match="cannot be written"):
        renew(tmp_path / "file", partial(write_run_pages, lake, "N1"))
