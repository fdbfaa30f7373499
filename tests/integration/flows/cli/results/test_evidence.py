"""`report --format evidence` and `evidence verify` as a person types them."""

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

KEY = "canaryQ7Zx91LmPw4Rt8Yk2Bv6"
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.fixture
def bundle(biasgrid: Command, finished: Any, written: Path, tmp_path: Path) -> Path:
    """A copy of the one that the command wrote."""
    path = written / f"{finished.run_id}.evidence.zip"
    if not path.exists():
        told = biasgrid("report", "--format", "evidence", "--out", written, "--data", finished.data)
        assert (told.code, told.err) == (0, "")
        assert told.out == f"{path}\n"
    return Path(shutil.copy(path, tmp_path))


def test_a_bundle_as_written_is_code_0_with_its_digest_and_what_it_cannot_prove(biasgrid, bundle):
    with zipfile.ZipFile(bundle) as opened:
        digest = hashlib.sha256(opened.read("manifest.json")).hexdigest()
    told = biasgrid("evidence", "verify", bundle)
    assert (told.code, told.err) == (0, "")
    assert f"digest  {digest}" in told.out
    assert "not who made them" in told.out
    assert biasgrid("evidence", "verify", bundle, "--digest", digest.upper()).code == 0


def test_a_changed_bundle_is_code_1_and_names_the_file(biasgrid, bundle):
    whole = bundle.read_bytes()
    bundle.write_bytes(whole.replace(b"# Coverage record", b"# coverage record", 1))
    told = biasgrid("evidence", "verify", bundle)
    assert told.code == 1
    assert "changed: coverage.md" in told.out
    assert "NOT as it was written" in told.out


def test_an_unpacked_bundle_is_checked_by_its_folder(biasgrid, bundle, tmp_path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    assert biasgrid("evidence", "verify", folder).code == 0
    (folder / "marts" / "pass_rates.csv").unlink()
    told = biasgrid("evidence", "verify", folder)
    assert (told.code, "missing: marts/pass_rates.csv" in told.out) == (1, True)


def test_whoever_writes_a_new_manifest_is_found_by_the_digest_alone(biasgrid, bundle):
    told = biasgrid("evidence", "verify", bundle, "--digest", "0" * 64)
    assert told.code == 1
    assert "another bundle than the one meant" in told.out


def test_what_cannot_be_checked_is_a_mistake(biasgrid, bundle, tmp_path):
    assert biasgrid("evidence", "verify", tmp_path / "none.zip").is_a_mistake("none.zip", "cannot be read")
    assert biasgrid("evidence", "verify", tmp_path).is_a_mistake("no bundle was unpacked there")
    assert biasgrid("evidence", "verify", bundle, "--digest", "abc").is_a_mistake("`abc` is no digest")


def test_a_folder_that_cannot_be_written_is_one_message(biasgrid, finished, tmp_path):
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "x"
    told = biasgrid("report", "--format", "evidence", "--out", out, "--data", finished.data)
    assert told.is_a_mistake("the bundle cannot be written", "--out")


def test_a_bundle_of_a_newer_biasgrid_is_a_mistake_and_no_flaw(biasgrid, bundle, tmp_path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    told = json.loads((folder / "manifest.json").read_text())
    told["versions"]["bundle_schema"] += 1
    (folder / "manifest.json").write_text(json.dumps(told | {"something": "new"}))
    assert biasgrid("evidence", "verify", folder).is_a_mistake("cannot be checked", "newer biasgrid")


def test_a_folder_that_may_not_be_read_is_a_mistake(biasgrid, bundle, tmp_path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    (folder / "marts").chmod(0)
    try:
        if not os.access(folder / "marts", os.R_OK):  # nothing is closed to root
            assert biasgrid("evidence", "verify", folder).is_a_mistake("marts", "cannot be read")
    finally:
        (folder / "marts").chmod(0o700)


@pytest.mark.drill
def test_no_key_is_in_a_bundle_whatever_its_target_says(biasgrid, chatbot, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_BOT_KEY", KEY)
    chatbot.reply = lambda _: f"You sent {chatbot.received[-1].headers['authorization']}."
    chatbot.fails("shape")
    endpoint = chatbot.endpoint("none") | {"headers": {"Authorization": "Bearer ${MY_BOT_KEY}"}}
    file = tmp_path / "target.json"
    file.write_text(json.dumps({"target": {"endpoint": endpoint}, "probe": {"pairs": 1, "cases": 5}}))
    biasgrid("probe", file, "--data", tmp_path)
    told = biasgrid("report", "--format", "evidence", "--out", tmp_path, "--data", tmp_path)
    with zipfile.ZipFile(told.out.strip()) as opened:
        texts = {name: as_text(name, opened.read(name)) for name in opened.namelist()}
    assert "You sent Bearer [key]." in texts["records/responses.csv"]
    assert "${MY_BOT_KEY}" in texts["scenario/given.json"]
    assert not [name for name, text in texts.items() if KEY in text]


def as_text(name: str, content: bytes) -> str:
    if name.endswith(".parquet"):
        return str(pl.read_parquet(io.BytesIO(content)).to_dicts())
    return content.decode()
