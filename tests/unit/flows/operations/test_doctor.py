"""Checks of the doctor: data, warehouse, runs, keys, settings, packages and Prefect."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE, temporary_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.operations.doctor import (
    check_catalogs,
    check_data,
    check_packages,
    check_python,
    check_runs,
    check_settings,
    check_warehouse,
    is_broken,
)
from biasgrid.flows.operations.reachability import Check, keys, prefect_server, require_prefect
from biasgrid.tasks.connectors.client.error_mapping import without_query
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run
from support.paths import ROOT

SECRET = "sk-not-to-be-shown"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "data")


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that answers as a healthy Prefect does."""

    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"true")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/api"
        listening.shutdown()
        thread.join()


def test_what_is_installed_fits_what_the_project_asks_for():
    assert check_python().state == "ok"
    found = check_packages()
    assert found.state == "ok"
    assert "prefect 3.8" in found.what


def test_a_data_directory_that_is_not_there_is_not_made_by_looking(tmp_path):
    (found,) = check_data(tmp_path / "new" / "data")
    assert found.state == "ok"
    assert "which the first run makes" in found.what
    assert not (tmp_path / "new").exists()


def test_a_data_directory_that_cannot_be_written_is_broken(tmp_path):
    (tmp_path / "file").write_text("")
    (found,) = check_data(tmp_path / "file")
    assert found.state == "broken"
    assert "BIASGRID_DATA" in found.remedy


def test_looking_at_a_data_directory_leaves_nothing_behind(lake):
    assert check_data(lake.root)[0].state == "ok"
    assert check_warehouse(lake).state == "ok"
    assert [check.state for check in check_runs(lake)] == ["ok"]
    assert list(lake.root.iterdir()) == []


def test_a_warehouse_is_read_and_a_spoilt_one_is_broken_with_a_remedy(lake):
    build(lake)
    assert "marts" in check_warehouse(lake).what
    lake.database.write_bytes(b"not a database at all" * 1000)
    found = check_warehouse(lake)
    assert found.state == "broken"
    assert "delete it" in found.remedy


def test_unfinished_runs_and_left_over_journals_are_noted_with_how_to_go_on(lake):
    run = begin_run(lake, "{}", "{}", {}, 0).record(lake, "interrupted")
    journal = lake.journal_folder(run.run_id) / "cell.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("{}\n")
    unfinished, journals = check_runs(lake)
    assert unfinished.state == journals.state == "note"
    assert f"biasgrid resume {run.run_id}" in unfinished.remedy
    assert journals.what.startswith("1 left over")


def test_a_finished_run_is_no_finding(lake):
    begin_run(lake, "{}", "{}", {}, 0).record(lake, "completed")
    assert [check.state for check in check_runs(lake)] == ["ok"]


def test_a_lake_that_cannot_be_read_is_broken_not_a_crash(lake):
    run = begin_run(lake, "{}", "{}", {}, 0)
    (lake.folder("runs", run.run_id) / "spoilt.parquet").write_bytes(b"no parquet")
    (found,) = check_runs(lake)
    assert found.state == "broken"


@pytest.mark.drill
def test_catalogs_with_errors_are_broken_and_absent_ones_too(tmp_path, monkeypatch):
    assert [check.state for check in check_catalogs()[1]] == ["ok"]
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path))
    (tmp_path / "models.yaml").write_text("models: {opnai/x: {}}")
    assert [check.state for check in check_catalogs()[1]] == ["broken"]
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path / "absent"))
    catalog, (found,) = check_catalogs()
    assert catalog is None
    assert "is no directory" in found.what


def test_keys_are_found_or_every_place_is_named_and_none_is_shown(monkeypatch):
    for name in ("OPENAI_API_KEY", "BIASGRID_OPENAI_API_KEY", "HF_TOKEN", "REPLICATE_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv("REPLICATE_API_TOKEN", f"{SECRET} with a space")
    found = {check.part: check for check in keys(load_catalog(), use_blocks=False)}
    assert found["key openai"].state == "note"
    assert "BIASGRID_OPENAI_API_KEY" in found["key openai"].what
    assert "`OPENAI_API_KEY`" in found["key openai"].what
    assert found["key huggingface"] == Check("key huggingface", "ok", "environment variable `HF_TOKEN`")
    assert found["key replicate"].state == "note"
    assert SECRET not in str(found)
    assert not is_broken(found.values())


def test_a_chatbots_variables_are_found_or_named(tmp_path, monkeypatch):
    bot = 'url: "https://b.example/chat?x=1"\nbody: {m: "{message}"}\nheaders: {X-Key: "${BIASGRID_BOT_KEY}"}\n'
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "bot.yaml").write_text(f"id: bot\n{bot}", encoding="utf-8")
    catalog = load_catalog(overlay=tmp_path)
    monkeypatch.delenv("BIASGRID_BOT_KEY", raising=False)
    missing = keys(catalog, use_blocks=False)[-1]
    assert (missing.part, missing.state) == ("endpoint bot", "note")
    assert "`${BIASGRID_BOT_KEY}` for header `X-Key`" in missing.what
    monkeypatch.setenv("BIASGRID_BOT_KEY", SECRET)
    found = keys(catalog, use_blocks=False)[-1]
    assert found == Check("endpoint bot", "ok", "https://b.example/chat, with `BIASGRID_BOT_KEY`")
    (setting,) = check_settings({"BIASGRID_BOT_KEY": SECRET}, catalog)
    assert (setting.state, setting.what) == ("ok", "BIASGRID_BOT_KEY is set")


def test_settings_in_force_are_shown_but_for_keys_and_misspelt_ones_are_noted():
    environment = {
        "BIASGRID_DATA": "/data",
        "BIASGRID_OPENAI_API_KEY": SECRET,
        "BIASGRID_DTA": SECRET,
        "HOME": "/home",
    }
    found = check_settings(environment, load_catalog())
    assert [(check.state, check.what) for check in found] == [
        ("ok", "BIASGRID_DATA=/data"),
        ("note", "BIASGRID_DTA is set, and nothing reads it"),
        ("ok", "BIASGRID_OPENAI_API_KEY is set"),
    ]
    assert found[1].remedy.startswith("did you mean `BIASGRID_DATA`")


def test_without_a_server_prefect_is_ephemeral():
    with temporary_settings({PREFECT_API_URL: None, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: True}):
        assert prefect_server().what.startswith("ephemeral")


def test_prefect_is_broken_where_it_has_no_server_and_may_start_none():
    """As with a profile of one's own, in which temporary servers are not switched on."""
    with temporary_settings({PREFECT_API_URL: None, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}):
        found = prefect_server()
        with pytest.raises(UserError, match="name no server"), require_prefect():
            pass
    assert (found.state, "PREFECT_API_URL" in found.remedy) == ("broken", True)


def test_a_server_that_answers_is_fine(server):
    with temporary_settings({PREFECT_API_URL: server}):
        assert prefect_server() == Check("Prefect", "ok", f"server at {server} answers")


def test_a_server_that_does_not_answer_is_broken_and_its_password_is_not_shown():
    with temporary_settings({PREFECT_API_URL: "http://me:sesame@127.0.0.1:9/api"}):
        found = prefect_server()
    assert found.state == "broken"
    assert "http://127.0.0.1:9/api does not answer" in found.what
    assert "sesame" not in str(found)


def test_an_address_is_shown_without_what_is_secret_in_it():
    assert without_query("https://u:p@host:4200/api?token=t#f") == "https://host:4200/api"


def test_every_variable_that_the_documentation_names_is_known():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"BIASGRID_[A-Z]\w+", page.read_text(encoding="utf-8"))}
    assert len(named) > 5
    unknown = [check for check in check_settings(dict.fromkeys(named, "1"), None) if check.state != "ok"]
    assert unknown == []
