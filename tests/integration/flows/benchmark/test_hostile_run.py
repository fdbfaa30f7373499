"""A whole run against servers that misbehave in every known way, resumed once they have mended their ways."""

import asyncio
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from support.flows import write_yaml
from support.hostile_server import KNOWN, TEXT, HostileServer, hostile_server

pytestmark = pytest.mark.drill
PROVIDERS = ("openai", "azure", "huggingface", "replicate", "endpoint")
PREFIXES = {"endpoint": "endpoint/", "replicate": "hostile-replicate/owner/"}
TIMEOUT_S, PATIENCE_S = 20, 900.0


@contextmanager
def in_a_thread() -> Iterator[HostileServer]:
    """The hostile server on an event loop of its own."""
    loop, ready, ends = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found = []

    async def serve() -> None:
        async with hostile_server() as server:
            found.append(server)
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()


def finish(process: subprocess.Popen[str]) -> tuple[int, str, int]:
    """Exit code, what it wrote, and the most memory it had, in kB."""
    peak, written = [0], []
    reading = threading.Thread(target=lambda: written.extend(process.communicate(timeout=PATIENCE_S)))
    reading.start()
    while reading.is_alive():
        status = Path(f"/proc/{process.pid}/status")
        try:
            lines = status.read_text().splitlines()
        except OSError:
            lines = []
        peak += [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
        reading.join(0.2)
    return process.returncode, "".join(written), max(peak)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with in_a_thread() as found:
        yield found


@pytest.fixture
def models(overlay, server) -> list[str]:
    """A model for each behaviour, shared out over the providers; their address is in the environment. That of an
    endpoint, a chatbot of the user's own, is in its file."""
    limits = {"limits": {"concurrency": 16, "timeout_s": TIMEOUT_S}, "limits_per": "model", "models": "any"}
    own = {"azure": {"api_version": "2024-10-21"}}
    described = {
        f"hostile-{name}": {
            "connector": name,
            "base_url_env": f"HOSTILE_{name.upper()}",
            **limits,
            **own.get(name, {}),
        }
        for name in PROVIDERS[:-1]
    }
    folder = overlay({"providers": described}) / "endpoints"
    folder.mkdir()
    shared = [(PROVIDERS[place % len(PROVIDERS)], name) for place, name in enumerate(KNOWN)]
    for name in (name for provider, name in shared if provider == "endpoint"):
        body = {"model": f"behave-{name}", "messages": "{history}"}
        chatbot = {
            "id": f"behave-{name}",
            "description": "A chatbot that misbehaves.",
            "url": f"{server.url}/chat",
            "body": body,
            "reply": "choices[0].message.content",
        }
        write_yaml(folder / f"behave-{name}.yaml", chatbot | {"concurrency": 16, "timeout_s": TIMEOUT_S})
    return [f"{PREFIXES.get(provider, f'hostile-{provider}/')}behave-{name}" for provider, name in shared]


def test_every_case_has_one_outcome_and_nothing_paid_is_lost_or_asked_again(
    models, server, shell, scenario, requirement, tmp_path
):
    asked = scenario(models, [requirement(reflections=["observational"])], templates=1, retries=1)
    file = write_yaml(tmp_path / "hostile.yaml", asked)
    paths = {name: "/v1" if name == "openai" else "" for name in PROVIDERS[:-1]}
    places = {f"HOSTILE_{name.upper()}": server.url + path for name, path in paths.items()}
    server.is_sound = True
    code, written, usual_kb = finish(shell("sound", **places).start("run", file, "--yes"))
    assert code in (0, 1), written
    server.is_sound = False
    server.requests.clear()

    mine = shell("hostile", **places)
    code, written, peak_kb = finish(mine.start("run", file, "--yes"))
    assert (code, "Traceback" in written) == (3, False), written[-3000:]
    assert peak_kb < 1.5 * usual_kb
    cases = mine.lake.read("cases")
    replies = mine.lake.read("responses").filter(pl.col("text").is_not_null())
    assert replies["case_id"].is_unique().all()
    assert mine.lake.read("responses")["case_id"].n_unique() == cases.height
    whole = Counter(replies.filter(pl.col("text") == TEXT)["model"].to_list())
    for model in models:
        name = model.partition("behave-")[2]
        received = [count for (asked_of, _), count in server.requests.items() if asked_of == name]
        if KNOWN[name].delivers:  # a connection that the server had closed may have failed, retries included
            assert whole[model] == sum(received) == len(received) > 0, model
        elif KNOWN[name].delivers is False:
            assert whole[model] == 0, model

    server.is_sound = True
    server.requests.clear()
    code, written, peak_kb = finish(mine.start("resume"))
    assert (code, "Traceback" in written) == (3, False), written[-3000:]
    assert peak_kb < 1.5 * usual_kb
    after = mine.lake.read("responses").filter(pl.col("text").is_not_null())
    assert after["case_id"].is_unique().all()
    # a reply of another shape is kept as it came, for a better reader
    kept = mine.lake.read("responses").filter(pl.col("raw").is_not_null())["case_id"].unique()
    left = cases.join(after, on="case_id", how="anti")["case_id"]
    assert left.is_in(kept.implode()).all()
    asked_again = Counter(name for name, _ in server.requests)
    for model in models:
        lacking = cases.filter(pl.col("model") == model).join(replies, on="case_id", how="anti")
        asked_for = lacking.filter(~pl.col("case_id").is_in(left.implode())).height
        assert asked_again[model.partition("behave-")[2]] == asked_for, model
