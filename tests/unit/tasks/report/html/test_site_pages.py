"""Sites over all runs, written again: what is written anew, what is kept, and whose files are left alone."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.tasks.report.html.site_pages import PagesOf, Site, write_lake_pages
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill
PAGES = {"benchmark": PagesOf(write_run_pages, "index.html")}
BOTH = {"N1", "N2"}


def _write(lake: Lake, out: Path, language: str = "en_us") -> Site:
    return write_lake_pages(lake, out, PAGES, language)


def _files(out: Path) -> dict[str, tuple[int, int]]:
    """Each file below a folder, with its inode and time of writing."""
    found = (path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def _written_again(lake: Lake, out: Path, language: str = "en_us") -> set[str]:
    """The runs whose pages are other files than before."""
    before = _files(out)
    site = _write(lake, out, language)
    changed = {
        name.split("/")[1] for name, stamp in _files(out).items() if stamp != before.get(name) and "/N" in name
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


def test_what_has_not_changed_is_not_written_again(lake, out):
    before = _files(out)
    assert _written_again(lake, out) == set()
    assert _files(out) == before


def test_a_warehouse_that_is_built_again_from_the_same_lake_changes_no_page(lake, out):
    build(lake)
    assert _written_again(lake, out) == set()


def test_pages_in_another_language_are_others(lake, out):
    assert _written_again(lake, out, "es_es") == BOTH
    assert 'lang="es"' in (out / "runs" / "N1" / "index.html").read_text(encoding="utf-8")


def test_what_a_run_is_judged_by_makes_it_and_the_trend_after_it_new(lake, out):
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


def test_pages_of_a_run_that_is_gone_go_and_nothing_else(lake, out):
    shutil.copytree(out / "runs" / "N1", out / "runs" / "N0")
    (out / "runs" / "mine").mkdir()
    (out / "runs" / "mine" / "index.html").write_text("x")
    _write(lake, out)
    assert {path.name for path in (out / "runs").iterdir()} == {*BOTH, "mine"}
