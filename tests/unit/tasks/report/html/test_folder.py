"""Folders of pages: written whole or not at all, cleared of what was written before and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.report.html.page_cache import NAME, Folder, holds, renew, take_away

OLD = {"index.html": "old", "data/run.js": "old", "data/tests-0.js": "old", "plays/plays-1.html": "old"}
NEW = {"index.html": "new", "data/run.js": "new"}


def writer(pages: dict[str, str], stopped: bool = False) -> Callable[[Path], list[Path]]:
    """Writes pages of these texts, or half of them and then is stopped."""

    def write(root: Path) -> list[Path]:
        written = [Folder(root).write(name, text) for name, text in pages.items()]
        if stopped:
            raise KeyboardInterrupt
        return written

    return write


def read_files(root: Path) -> dict[str, str]:
    """The text of each file below a folder, but for the record."""
    found = (path for path in root.rglob("*") if path.is_file() and path.name != NAME)
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "pages"
    assert renew(root, writer(OLD), "of old")[0] == root / "index.html"
    return root


def test_pages_hold_while_they_are_all_there_and_made_of_the_same(folder):
    assert holds(folder, "of old")
    assert not holds(folder, "of new")
    (folder / "data" / "run.js").unlink()
    assert not holds(folder, "of old")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"digest": "of old"}', '{"digest": "of old", "files": 7}'])
def test_a_record_that_no_one_can_read_holds_nothing(folder, text):
    (folder / NAME).write_text(text)
    assert not holds(folder, "of old")
    renew(folder, writer(OLD), "of old")
    assert holds(folder, "of old")


def test_what_was_written_before_goes_and_what_others_put_there_stays(folder):
    theirs = {"notes.txt": "mine", "data/mine.js": "mine"}
    for name, text in theirs.items():
        (folder / name).write_text(text)
    renew(folder, writer(NEW), "of new")
    assert read_files(folder) == NEW | theirs
    assert not (folder / "plays").exists()
    assert take_away(folder)
    assert read_files(folder) == theirs
    assert not take_away(folder)


def test_a_folder_with_nothing_left_goes(folder):
    assert take_away(folder)
    assert not folder.exists()


def test_a_record_leads_no_one_out_of_its_folder(folder, tmp_path):
    precious = tmp_path / "precious.html"
    precious.write_text("mine")
    (folder / "link").symlink_to(tmp_path)
    files = ["../precious.html", str(precious), "link/precious.html", "data", "", "\0", 7, None]
    (folder / NAME).write_text(json.dumps({"digest": "of old", "files": files}))
    renew(folder, writer(NEW), "of new")
    assert precious.read_text() == "mine"
    assert NEW.items() <= read_files(folder).items()


def test_who_is_stopped_while_writing_leaves_all_as_it_was(folder, tmp_path):
    for root in (folder, tmp_path / "another"):
        with pytest.raises(KeyboardInterrupt):
            renew(root, writer(NEW, stopped=True), "of new")
    assert read_files(folder) == OLD
    assert holds(folder, "of old")
    assert not (tmp_path / "another").exists()


def test_what_was_half_put_in_place_holds_no_more_and_is_written_anew(folder, monkeypatch):
    put = Path.replace

    def kill(path: Path, target: Path) -> Path:
        if path.name == "run.js":
            raise KeyboardInterrupt
        return put(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", kill)
        with pytest.raises(KeyboardInterrupt):
            renew(folder, writer(NEW | {"extra.html": "new"}), "of new")
    assert read_files(folder)["index.html"] == "new"
    assert not holds(folder, "of old")
    assert not holds(folder, "of new")
    (folder / ".01.partial").mkdir()
    (folder / ".01.partial" / "index.html").write_text("left by one who was killed")
    renew(folder, writer(OLD), "of old")
    assert read_files(folder) == OLD


@pytest.mark.parametrize("in_the_way", ["data", "."])
def test_a_folder_that_cannot_be_written_is_reported(tmp_path, in_the_way):
    root = tmp_path / "pages"
    (root / in_the_way).parent.mkdir(exist_ok=True)
    (root / in_the_way).write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        renew(root, writer(NEW))
    assert not [*tmp_path.rglob("*.partial")]
