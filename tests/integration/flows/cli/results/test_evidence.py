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
        result = biasgrid("report", "--format", "evidence", "--out", written, "--data", finished.data)
        assert (result.code, result.err) == (0, "")
        assert result.out == f"{path}\n"
    return Path(shutil.copy(path, tmp_path))


def test_a_bundle_as_written_is_code_0_with_its_digest_and_what_it_cannot_prove(biasgrid, bundle):
    with zipfile.ZipFile(bundle) as opened:
        digest = hashlib.sha256(opened.read("manifest.json")).hexdigest()
    result = biasgrid("evidence", "verify", bundle)
    assert (result.code, result.err) == (0, "")
    assert f"digest  {digest}" in result.out
    assert "not who made them" in result.out
    assert biasgrid("evidence", "verify", bundle, "--digest", digest.upper()).code == 0


def test_a_changed_bundle_is_code_1_and_names_the_file(biasgrid, bundle):
    whole = bundle.read_bytes()
    bundle.write_bytes(whole.replace(b"# Coverage record", b"# coverage record", 1))
    result = biasgrid("evidence", "verify", bundle)
    assert result.code == 1
    assert "changed: coverage.md" in result.out
    assert "NOT as it was written" in result.out


def test_an_unpacked_bundle_is_checked_by_its_folder(biasgrid, bundle, tmp_path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    assert biasgrid("evidence", "verify", folder).code == 0
    (folder / "marts" / "pass_rates.csv").unlink()
    result = biasgrid("evidence", "verify", folder)
    assert (result.code, "missing: marts/pass_rates.csv" in result.out) == (1, True)


def test_anyone_who_writes_a_new_manifest_is_found_by_the_digest_alone(biasgrid, bundle):
    result = biasgrid("evidence", "verify", bundle, "--digest", "0" * 64)
    assert result.code == 1
    assert "another bundle than the one meant" in result.out


def test_what_cannot_be_checked_is_a_mistake(biasgrid, bundle, tmp_path):
    assert biasgrid("evidence", "verify", tmp_path / "none.zip").is_a_mistake("none.zip", "cannot be read")
    assert biasgrid("evidence", "verify", tmp_path).is_a_mistake("no bundle was unpacked there")
    assert biasgrid("evidence", "verify", bundle, "--digest", "abc").is_a_mistake("`abc` is no digest")


def test_a_folder_that_cannot_be_written_is_one_message(biasgrid, finished, tmp_path):
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "x"
    result = biasgrid("report", "--format", "evidence", "--out", out, "--data", finished.data)
    assert result.is_a_mistake("the bundle cannot be written", "--out")


def test_a_bundle_of_a_newer_biasgrid_is_a_mistake_and_no_flaw(biasgrid, bundle, tmp_path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    report = json.loads((folder / "manifest.json").read_text())
    report["versions"]["bundle_schema"] += 1
    (folder / "manifest.json").write_text(json.dumps(report | {"something": "new"}))
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
def test_no_key_is_in_a_bundle_whatever_its_target_states(biasgrid, chatbot, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_BOT_KEY", KEY)
    chatbot.reply = lambda _: f"You sent {chatbot.received[-1].headers['authorization']}."
    chatbot.fails("shape")
    endpoint = chatbot.endpoint("none") | {"headers": {"Authorization": "Bearer ${MY_BOT_KEY}"}}
    file = tmp_path / "target.json"
    file.write_text(json.dumps({"target": {"endpoint": endpoint}, "probe": {"pairs": 1, "cases": 5}}))
    biasgrid("probe", file, "--data", tmp_path)
    result = biasgrid("report", "--format", "evidence", "--out", tmp_path, "--data", tmp_path)
    with zipfile.ZipFile(result.out.strip()) as opened:
        texts = {name: as_text(name, opened.read(name)) for name in opened.namelist()}
    assert "You sent Bearer [key]." in texts["records/responses.csv"]
    assert "${MY_BOT_KEY}" in texts["scenario/given.json"]
    assert not [name for name, text in texts.items() if KEY in text]


def as_text(name: str, content: bytes) -> str:
    if name.endswith(".parquet"):
        return str(pl.read_parquet(io.BytesIO(content)).to_dicts())
    return content.decode()
