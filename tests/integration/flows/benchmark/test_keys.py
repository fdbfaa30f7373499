"""Drills: after a run with marked keys, nothing that is left behind holds one of them, or its base64."""

import base64
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from support.http_server import Answer, address_of, listening

pytestmark = pytest.mark.drill

KEYS = {
    "OPENAI_API_KEY": "sk-proj-MARKqX7vT2mK9wLp4RzN8cJd5bYs",
    "HF_TOKEN": "hf_MARKbW3nG6tQ8yLk2VxD5fRj9hPz",
    "REPLICATE_API_TOKEN": "r8_MARKcE4uS7pM1zTq6HwB8gNk3vXd",
}
MODELS = ["openai/gpt-4o-mini", "huggingface/acme/fair", "replicate/meta/llama-2-7b-chat"]
STATUSES = (500, 400, 429, 401)
"""Answers of a provider that echoes keys, in order; the last one stays."""


def marks() -> list[str]:
    """The keys, and what their base64 holds wherever in a longer text they stand."""
    encoded = [
        base64.b64encode(b"x" * shift + key.encode()).decode() for key in KEYS.values() for shift in range(3)
    ]
    return [*KEYS.values(), *(text[4:-4] for text in encoded)]


def parquet(path: Path) -> str:
    return str(pl.read_parquet(path, hive_partitioning=False).rows())


def warehouse(path: Path) -> str:
    with duckdb.connect(path, read_only=True) as opened:
        tables = opened.execute("select table_schema, table_name from information_schema.tables").fetchall()
        return "".join(str(opened.execute(f'from "{schema}"."{name}"').fetchall()) for schema, name in tables)


def database(path: Path) -> str:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
        return "\n".join(opened.iterdump())


READ: dict[str, Callable[[Path], str]] = {".parquet": parquet, ".duckdb": warehouse, ".db": database}


def places_with(texts: list[str], *folders: Path) -> Counter[str]:
    """Kinds of files in which one of `texts` stands, unpacked where a format packs it."""
    found: Counter[str] = Counter()
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        message = path.read_bytes().decode("latin-1") + READ.get(path.suffix, lambda _: "")(path)
        if any(text in message for text in texts):
            found[path.suffix] += 1
    return found


@pytest.fixture
def echoing() -> Iterator[str]:
    """A provider whose errors repeat the key that they refuse, in body and headers."""
    requests: Counter[str] = Counter()

    def refuse(request: BaseHTTPRequestHandler, _: bytes) -> Answer:
        sent = request.headers.get("Authorization", "")
        requests[sent] += 1
        message = f"Incorrect API key provided: {sent}; {sent.rpartition(' ')[2]}"
        body = json.dumps({"error": {"message": message, "code": sent}, "detail": message}).encode()
        status = STATUSES[min(requests[sent], len(STATUSES)) - 1]
        return status, {"Content-Type": "application/json", "x-request-id": sent}, body

    with listening(refuse) as server:
        yield address_of(server)


@pytest.fixture
def keyed(shell: Any, scenario_file: Any) -> Callable[..., tuple[Any, tuple[int, str, str]]]:
    """A run of all providers at one address, and how it ended."""

    def finish(name: str, base_url: str, **settings: object) -> tuple[Any, tuple[int, str, str]]:
        addresses = {
            "OPENAI_BASE_URL": f"{base_url}/v1",
            "HF_INFERENCE_BASE_URL": base_url,
            "REPLICATE_API_BASE_URL": base_url,
            "BIASGRID_BATCH_POLL_S": "0.05",
        }
        mine = shell(name, **KEYS, **addresses)
        return mine, mine.finish("run", scenario_file(MODELS, retries=1, **settings))

    return finish


def all_places(mine: Any) -> tuple[Path, Path]:
    """The data directory with all else that a run writes, and the home of the Prefect server."""
    return mine.folder, Path(os.environ["PREFECT_HOME"])


@pytest.mark.parametrize("batch", [False, True])
def test_keys_that_work_are_written_nowhere(keyed, serve, *, batch):
    mine, (code, out, err) = keyed(f"right-{batch}", serve("fair").base_url, batch=batch)
    assert (mine.lake.read("jobs").height > 0) is batch
    assert code == 0, err
    result = mine.folder / "output.txt"
    result.write_text(out + err, encoding="utf-8")
    assert places_with(marks(), *all_places(mine)) == {}
    name = mine.run().run_id  # which is everywhere: the search would find a key
    assert {".parquet", ".duckdb", ".db", ".txt"} <= set(places_with([name], *all_places(mine)))


@pytest.mark.parametrize("batch", [False, True])
def test_keys_that_a_provider_repeats_in_its_errors_are_written_nowhere(keyed, echoing, *, batch):
    mine, (code, out, err) = keyed(f"echoed-{batch}", echoing, batch=batch)
    assert code == 3, out + err
    assert "KeyRejected" in out
    result = mine.folder / "output.txt"
    result.write_text(out + err, encoding="utf-8")
    refused = set(mine.lake.read("responses")["error_class"])
    assert {"KeyRejected", "RequestRejected"} <= refused
    assert places_with(marks(), *all_places(mine)) == {}
    assert set(places_with(["KeyRejected"], *all_places(mine))) >= {".parquet", ".duckdb", ".txt"}


def test_the_search_finds_what_is_packed(tmp_path):
    key = KEYS["HF_TOKEN"]
    hidden = base64.b64encode(f"user:{key}".encode()).decode()
    pl.DataFrame({"a": [key] * 100}).write_parquet(tmp_path / "a.parquet", compression="zstd")
    with duckdb.connect(tmp_path / "b.duckdb") as opened:
        opened.execute("create table t as select ? as x from range(1000)", [hidden])
    (tmp_path / "c.log").write_text(f"Authorization: Basic {hidden}")
    assert places_with(marks(), tmp_path) == {".parquet": 1, ".duckdb": 1, ".log": 1}
